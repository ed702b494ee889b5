import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of how servers react to a client certificate that isn't followed by a request.
@Suite struct ShowIdentityTests {
    let site: TestSite
    let identity: ClientIdentity

    init() throws {
        site = try TestSite()
        let root = try TestCertificate.root("Client Root")
        let client = try root.leaf("client")
        identity = try ClientIdentity(pem: Array((client.pemText + client.key.privateKeyPEM).utf8))
    }

    @Test(
        "A server that doesn't request a client certificate isn't shown one",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func notAsked(version: LoopbackServer.TLSVersion) async throws {
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            let (outcome, staple) = try await pending.show(identity, patience: .milliseconds(50))
            #expect(outcome == .notAsked && staple == nil)
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    // TLS 1.3 reports a rejection after the handshake, which is complete for the client by then.
    @Test(
        "A server's rejection of a client certificate is reported, and silence means acceptance",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13], [true, false])
    func asked(version: LoopbackServer.TLSVersion, isTaken: Bool) async throws {
        let roots = isTaken ? [] : [try TestCertificate.root("Another Root")]
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            $0.clientAuthentication = .init(roots: roots, isRequired: true)
        }
        try await server.run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            // A rejection arrives long before this limit. Acceptance takes the whole limit.
            let (outcome, _) = try await pending.show(identity, patience: isTaken ? .milliseconds(50) : .seconds(60))
            if isTaken {
                #expect(outcome == .taken)
            } else if case .refused(let error) = outcome {
                #expect(error.identityRefusal(wasShown: true, hasAnswered: false) == .rejected)
            } else {
                Issue.record("\(outcome)")
            }
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    @Test("The end of the time for everything isn't acceptance of a client certificate, also if the limits are equal")
    func outOfTime() async throws {
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = .tls13 ... .tls13
            $0.clientAuthentication = .init(roots: [], isRequired: true)
        }
        try await server.run { server in
            let endpoint = try site.endpoint(on: server)
            // On a busy machine the handshake itself may take longer than the first limits.
            for limit in [Duration.milliseconds(300), .seconds(2), .seconds(20)] {
                let options = DialOptions.with { ($0.handshakeTimeout, $0.totalTimeout) = (limit, limit) }
                do throws(TransportError) {
                    let pending = try await Transport.shared.dial(endpoint, options: options)
                    let (outcome, _) = try await pending.show(identity, patience: limit)
                    Issue.record("\(outcome)")
                } catch {
                    guard case .timedOut = error else { throw error }
                }
                if server.records.contains(where: \.handshakeCompleted) { return }
            }
            Issue.record("no handshake was done within any limit")
        }
    }

    @Test("The staple is nil if the server has none", arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func noStaple(version: LoopbackServer.TLSVersion) async throws {
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let pending = try await Transport.shared.dial(
                try site.endpoint(on: server), options: .with { $0.requestsStaple = true })
            #expect(try await pending.staple() == nil)
            let record = await server.ended()[0]
            #expect(!record.handshakeCompleted && record.applicationBytes.isEmpty)
        }
    }
}
