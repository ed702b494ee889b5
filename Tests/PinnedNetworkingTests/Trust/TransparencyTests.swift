import CertificatePinning
import CertificateTrust
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// Certificate Transparency in sessions.
@Suite("Certificate Transparency of a session", .timeLimit(.minutes(10)))
struct TransparencyTests {
    private let site: TestSite
    private let logs: [TestLog]
    /// A leaf with timestamps of both logs.
    private let logged: TestCertificate

    init() throws {
        site = try .pinned()
        logs = [try TestLog("A"), try TestLog("B")]
        logged = try site.intermediate.leaf(
            "pinned.test", loggedBy: logs, adjusting: { $0.makeValidNow() },
            fields: { $0.milliseconds = Self.milliseconds })
    }

    private static let milliseconds = UInt64(Date().timeIntervalSince1970 - 3_600) * 1_000

    /// Returns a list of the logs that is this old.
    private func list(age: TimeInterval = 0) throws -> TransparencyLogList {
        let published = Date().addingTimeInterval(-age).ISO8601Format()
        return try TransparencyLogList(json: Array(try TestLog.listJSON(logs, published: published).utf8))
    }

    /// Returns the list of timestamps that a server sends for the site's leaf, which has none inside.
    private func extensionList() throws -> [UInt8] {
        TestLog.list(
            try logs.map { log in
                try log.timestamp(of: .certificate(site.leaf.derBytes)) { $0.milliseconds = Self.milliseconds }
            })
    }

    private func session(
        _ server: LoopbackServer, _ mode: CertificateTransparencyMode, _ logs: TransparencyLogList?,
        policy: PinningPolicy? = nil
    ) throws -> URLSession {
        try site.session(server, policy: policy) {
            $0.trustPolicy.certificateTransparency = mode
            $0.certificateTransparencyLogs = logs
        }
    }

    /// Returns the body of a response, or the rule that rejects the server.
    private func outcome(_ session: URLSession) async throws -> String {
        do {
            return try await session.get().body
        } catch let error as URLError {
            guard case .untrusted(let finding)? = error.pinningError else { throw error }
            return finding.rule.rawValue
        }
    }

    @Test("A server without timestamps is rejected only if the session requires them, before anything is sent")
    func required() async throws {
        try await LoopbackServer(chain: site.chain).run { server async throws in
            #expect(try await outcome(session(server, .ignore, list())) == "hello")
            #expect(try await outcome(session(server, .report, list())) == "hello")
            #expect(try await outcome(session(server, .require, list())) == "certificate-transparency")
            #expect(try await outcome(session(server, .require, nil)) == "transparency-unknown")
            #expect(server.records.last?.applicationBytes.isEmpty == true)
        }
        try await LoopbackServer(chain: [logged, site.intermediate]).run { server async throws in
            #expect(try await outcome(session(server, .require, list())) == "hello")
            #expect(try await outcome(session(server, .require, list(age: 71 * 86_400))) == "transparency-unknown")
        }
    }

    @Test(
        "Timestamps in the handshake count, for a resumed session too",
        arguments: [
            LoopbackServer.TLSVersion.tls12, .tls13,
        ])
    func handshake(version: LoopbackServer.TLSVersion) async throws {
        let timestamps = try extensionList()
        let script = LoopbackServer.Script.answer { _ in .init(fields: ["Connection: close"], body: "hello") }
        let server = try LoopbackServer(chain: site.chain, script) {
            $0.timestamps = timestamps
            $0.protocolVersions = version...version
        }
        try await server.run { server async throws in
            let session = try session(server, .require, list())
            for _ in 0..<2 { #expect(try await outcome(session) == "hello") }
            #expect(await server.ended(2).map(\.sessionResumed) == [false, true])
        }
    }

    @Test("A connection isn't reused after the session's list of logs or mode has changed")
    func changed() async throws {
        try await LoopbackServer(chain: [logged, site.intermediate]).run { server async throws in
            let session = try session(server, .require, list())
            for _ in 0..<2 { #expect(try await outcome(session) == "hello") }
            session.certificateTransparencyLogs = nil
            #expect(try await outcome(session) == "transparency-unknown")
            session.trustPolicy.certificateTransparency = .ignore
            #expect(try await outcome(session) == "hello")
            await session.flush()
            #expect(await server.ended(3).map(\.requests.count) == [2, 0, 1])
        }
    }

    @Test("A connection isn't reused after the list of logs that it was accepted with has become too old")
    func aged() async throws {
        try await LoopbackServer(chain: [logged, site.intermediate]).run { server async throws in
            // Published to the second, so that the end is between one and two seconds from now.
            let logs = try list(age: 70 * 86_400 - 3)
            let session = try session(server, .require, logs)
            _ = try? await session.get()
            try await Task.sleep(for: .seconds(3.1))
            #expect(try await outcome(session) == "transparency-unknown")
        }
    }

    @Test("A rule's own setting replaces the session's")
    func rule() async throws {
        func policy(_ mode: CertificateTransparencyMode?, _ pinning: PinningMode = .enforce) throws -> PinningPolicy {
            try PinningPolicy(rules: [
                PinningRule(
                    host: try ServerName("pinned.test"), pins: [try Pin(try site.leaf.key.pin)], mode: pinning,
                    certificateTransparency: mode)
            ])
        }
        try await LoopbackServer(chain: site.chain).run { server async throws in
            func outcome(
                _ mode: CertificateTransparencyMode, _ policy: PinningPolicy
            ) async throws -> String { try await self.outcome(session(server, mode, list(), policy: policy)) }
            #expect(try await outcome(.require, policy(nil)) == "certificate-transparency")
            #expect(try await outcome(.require, policy(.ignore)) == "hello")
            #expect(try await outcome(.ignore, policy(.require)) == "certificate-transparency")
            #expect(try await outcome(.ignore, policy(.require, .report)) == "certificate-transparency")
            #expect(try await outcome(.ignore, policy(.require, .off)) == "certificate-transparency")
            #expect(try await outcome(.ignore, policy(.report)) == "hello")
            // A connection that was kept under another setting isn't reused.
            let kept = try session(server, .ignore, list(), policy: policy(.ignore))
            #expect(try await self.outcome(kept) == "hello")
            kept.pinning = try policy(.require)
            #expect(try await self.outcome(kept) == "certificate-transparency")
        }
    }

    @Test("A delegate can't accept a server whose rule requires transparency, whatever its pins' mode is")
    func delegate() async throws {
        let rule = PinningRule(
            host: try ServerName("pinned.test"), pins: [try Pin(unknownPin)], mode: .off,
            certificateTransparency: .require)
        let policy = try PinningPolicy(rules: [rule])
        try await LoopbackServer(chain: site.chain).run { server async throws in
            let delegate = TaskHandlerDelegate { acceptServer($0) }
            let session = try session(server, .ignore, list(), policy: policy)
            await #expect(throws: URLError.self) {
                try await session.get("https://pinned.test/", delegate: delegate)
            }
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("The observer sees what report allows")
    func observed() async throws {
        let seen = Collected<TrustRule?>()
        try await LoopbackServer(chain: site.chain).run { server async throws in
            let logs = try list()
            let session = try site.session(server) {
                $0.trustPolicy.certificateTransparency = .report
                $0.certificateTransparencyLogs = logs
                $0.serverTrustObserver = { decision in
                    guard case .accepted(let accepted) = decision.outcome else { return }
                    seen.append(accepted.path.transparencyFinding?.rule)
                }
            }
            #expect(try await session.get().body == "hello")
        }
        #expect(seen.values == [.certificateTransparency])
    }
}
