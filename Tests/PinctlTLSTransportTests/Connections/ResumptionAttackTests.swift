import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of TC1–TC9 in the transport: a resumed session needs a new decision, and nothing is sent before it.
@Suite struct ResumptionAttackTests {
    private static let hello = LoopbackServer.Script.respond(.init(body: "hello", closes: true))

    struct Row: Sendable, CustomTestStringConvertible {
        let version: LoopbackServer.TLSVersion
        let kind: LoopbackServer.Resumption

        var testDescription: String { "\(version), \(kind)" }

        static let all = [LoopbackServer.TLSVersion.tls12, .tls13].flatMap { version in
            [LoopbackServer.Resumption.tickets, .identifiers].map { Row(version: version, kind: $0) }
        }
    }

    private func server(_ site: TestSite, _ row: Row, later: [TestCertificate] = []) throws -> LoopbackServer {
        try LoopbackServer(chain: site.chain, Self.hello) {
            $0.protocolVersions = row.version...row.version
            $0.resumption = row.kind
            $0.laterChain = later
        }
    }

    // Fails if no decision is requested.
    @Test(
        "A resumed session presents the chain that the session began with, not the server's new one (TC1–TC9)",
        arguments: Row.all)
    func swapped(row: Row) async throws {
        let (site, other) = (try TestSite(), try TestSite())
        try await server(site, row, later: other.chain).run { server in
            let session = try await site.session(with: server)
            let pending = try await site.resume(session, with: server)
            let isResumed = pending.isResumed
            #expect(isResumed)
            #expect(pending.presented.certificates.map(\.derBytes) == site.chain.map(\.derBytes))
            let path = try site.path(pending.presented)
            let connection = try await pending.accept(path)
            try await connection.send(request)
            let response = try await connection.receiveAll()
            #expect(response.suffix(5) == Array("hello".utf8)[...])
            await connection.close()
            #expect(await server.ended(2).map(\.sessionResumed) == [false, true])
        }
    }

    // Fails if advance() sends the output of a resumed handshake before the decision. That output is the client's
    // Finished.
    @Test(
        "A resumed server that is rejected or dropped receives no Finished and no data (TC1–TC9)",
        arguments: Row.all, [true, false])
    func refused(row: Row, isDropped: Bool) async throws {
        let site = try TestSite()
        try await server(site, row).run { server in
            let session = try await site.session(with: server)
            let pending = try await site.resume(session, with: server)
            let isResumed = pending.isResumed
            #expect(isResumed)
            if !isDropped { await pending.refuse() }
            let record = await server.ended(2)[1]
            #expect(!record.handshakeCompleted && record.applicationBytes.isEmpty && record.alerts.isEmpty)
        }
    }

    // Fails without the comparison of the path with the chain and the name.
    @Test("A resumed session isn't accepted with another server's path (TC1–TC9)", arguments: Row.all)
    func foreign(row: Row) async throws {
        let (site, other) = (try TestSite(), try TestSite())
        let theirs = try other.path(PresentedChain(derCertificates: other.chain.map(\.derBytes)))
        try await server(site, row, later: other.chain).run { server in
            let session = try await site.session(with: server)
            await expectFailure(\.isForeignPath) {
                _ = try await site.resume(session, with: server).accept(theirs)
            }
            let record = await server.ended(2)[1]
            #expect(!record.handshakeCompleted && record.applicationBytes.isEmpty)
        }
    }

    @Test(
        "A server that doesn't accept its ticket presents its current chain for the decision (TC1–TC9)",
        arguments: [
            LoopbackServer.TLSVersion.tls12, .tls13,
        ])
    func notTaken(version: LoopbackServer.TLSVersion) async throws {
        let (site, other) = (try TestSite(), try TestSite())
        try await server(site, Row(version: version, kind: .refused), later: other.chain).run { server in
            let session = try await site.session(with: server)
            let pending = try await site.resume(session, with: server)
            let isResumed = pending.isResumed
            #expect(!isResumed)
            #expect(pending.presented.certificates.map(\.derBytes) == other.chain.map(\.derBytes))
            await pending.refuse()
            #expect(await server.ended(2)[1].applicationBytes.isEmpty)
        }
    }

    // Fails if session() no longer checks the request.
    @Test("A server that requests a client certificate leaves no session (TC1–TC9)", arguments: [false, true])
    func identified(isShown: Bool) async throws {
        let site = try TestSite()
        let client = try TestCertificate.root("Client Root").issue(.client("alice"))
        let identity = try ClientIdentity(pem: Array((client.pemText + client.key.privateKeyPEM).utf8))
        let server = try LoopbackServer(chain: site.chain, Self.hello) { $0.clientAuthentication = .init() }
        try await server.run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            let path = try site.path(pending.presented)
            let connection = try await pending.accept(path) { _ in isShown ? identity : nil }
            try await connection.send(request)
            _ = try await connection.receiveAll()
            #expect(await connection.session() == nil)
            // There is one, for the task that was asked.
            #expect(await connection.session(ofSameTask: true) != nil)
            await connection.close()
            #expect(await server.ended()[0].clientChain.isEmpty == !isShown)
        }
    }
}
