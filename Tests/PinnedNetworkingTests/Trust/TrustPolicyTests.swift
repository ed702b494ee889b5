import CertificateTrust
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The trust policy and the evidence about revocation of a session.
@Suite(.timeLimit(.minutes(10)))
struct TrustPolicyTests {
    private let site: TestSite

    init() throws { site = try .pinned() }

    /// Returns lists of both CAs, valid now, of which the intermediate's has these entries.
    private func evidence(
        _ entries: TestRevocationList.Entry..., lasting seconds: Int64 = 3600
    ) throws -> RevocationEvidence {
        let now = Int64(Date().timeIntervalSince1970)
        let lists = try [(site.root, []), (site.intermediate, entries)].map { authority, entries in
            try authority.revocationList {
                $0.entries = entries
                $0.thisUpdate = now - 3600
                $0.nextUpdate = now + seconds
            }
        }
        return RevocationEvidence(lists: try lists.map { try CertificateRevocationList(derBytes: $0) })
    }

    private func rule(_ error: URLError) throws -> TrustRule {
        guard case .untrusted(let finding)? = error.pinningError else { throw error }
        return finding.rule
    }

    /// Returns the body of a response, or the rule that rejects the server.
    private func outcome(
        _ mode: RevocationMode, _ evidence: RevocationEvidence, from server: LoopbackServer
    ) async throws -> String {
        let session = try site.session(server) {
            $0.trustPolicy.revocation = mode
            $0.revocationEvidence = evidence
        }
        do {
            return try await session.get().body
        } catch let error as URLError {
            return try rule(error).rawValue
        }
    }

    @Test("A revoked certificate is rejected if the session checks revocation")
    func revoked() async throws {
        let (good, revoked) = (try evidence(), try evidence(.init(site.leaf)))
        try await LoopbackServer(chain: site.chain).run { server async throws in
            // Off by default.
            let session = try site.session(server) { $0.revocationEvidence = revoked }
            #expect(try await session.get().body == "hello")
            #expect(try await outcome(.ignore, revoked, from: server) == "hello")
            #expect(try await outcome(.use, .none, from: server) == "hello")
            #expect(try await outcome(.require, good, from: server) == "hello")
            #expect(try await outcome(.use, revoked, from: server) == "revoked")
            #expect(try await outcome(.require, .none, from: server) == "revocation-unknown")
        }
    }

    @Test("A connection isn't reused after the session's trust store has changed (TC1–TC9)")
    func changedStore() async throws {
        let other = try X509Certificate(derBytes: TestCertificate.root("Other").derBytes)
        try await LoopbackServer(chain: site.chain).run { server async throws in
            let session = try site.session(server)
            for _ in 0..<2 { #expect(try await session.get().body == "hello") }
            let store = session.trustStore
            session.trustStore = TrustStore(certificates: [other])
            #expect(try await rule(session.failure()) == .unknownIssuer)
            session.trustStore = store
            #expect(try await session.get().body == "hello")
        }
    }

    @Test("A connection isn't reused after the session's revocation lists or trust policy have changed")
    func changed() async throws {
        let (good, revoked) = (try evidence(), try evidence(.init(site.leaf)))
        try await LoopbackServer(chain: site.chain).run { server async throws in
            let session = try site.session(server) {
                $0.trustPolicy.revocation = .require
                $0.revocationEvidence = good
            }
            for _ in 0..<2 { #expect(try await session.get().body == "hello") }
            session.revocationEvidence = revoked
            #expect(try await rule(session.failure()) == .revoked)
            session.revocationEvidence = good
            #expect(try await session.get().body == "hello")
            session.trustPolicy = .strict
            #expect(try await session.get().body == "hello")
            #expect(
                session.configuration.trustPolicy == .strict
                    && session.configuration.revocationEvidence.lists == good.lists)
            await session.flush()
            #expect(await server.ended(3).map(\.requests.count) == [3, 0, 1])
        }
    }

    @Test(
        "A server that has been revoked is rejected although its TLS session could be resumed (CVE-2024-0853)",
        arguments: [
            LoopbackServer.TLSVersion.tls12, .tls13,
        ])
    func resumed(version: LoopbackServer.TLSVersion) async throws {
        let (good, revoked) = (try evidence(), try evidence(.init(site.leaf)))
        let script = LoopbackServer.Script.answer { _ in .init(fields: ["Connection: close"], body: "hello") }
        let server = try LoopbackServer(chain: site.chain, script) { $0.protocolVersions = version...version }
        try await server.run { server async throws in
            let session = try site.session(server) {
                $0.trustPolicy.revocation = .require
                $0.revocationEvidence = good
            }
            for _ in 0..<2 { #expect(try await session.get().body == "hello") }
            session.revocationEvidence = revoked
            for _ in 0..<2 { #expect(try await rule(session.failure()) == .revoked) }
            let connections = await server.ended(4)
            #expect(connections.map(\.requests.count) == [1, 1, 0, 0])
            #expect(connections.prefix(2).map(\.sessionResumed) == [false, true])
        }
    }

    @Test("A connection isn't reused after a revocation list has expired that it was accepted with (CB24)")
    func expired() async throws {
        try await LoopbackServer(chain: site.chain).run { server async throws in
            let evidence = try evidence(lasting: 3)
            let session = try site.session(server) {
                $0.trustPolicy.revocation = .use
                $0.revocationEvidence = evidence
            }
            let end = try #require(evidence.lists.first?.nextUpdate)
            _ = try? await session.get()
            try await Task.sleep(for: .seconds(end.timeIntervalSinceNow + 1.1))
            #expect(try await rule(session.failure()) == .revocationStale)
        }
    }

    @Test("The profile of a session applies to its servers")
    func strict() async throws {
        let leaf = try site.intermediate.server([.dns("pinned.test")]) {
            $0.subject = TestName(.commonName("PINNED.test"))
        }
        try await LoopbackServer(chain: [leaf, site.intermediate]).run { server async throws in
            #expect(try await site.session(server).get().body == "hello")
            let strict = try site.session(server) { $0.trustPolicy = .strict }
            #expect(try await rule(strict.failure()) == .commonName)
        }
    }
}
