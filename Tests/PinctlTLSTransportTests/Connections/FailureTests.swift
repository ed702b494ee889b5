import CertificateTrust
import Glibc
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@Suite struct FailureTests {
    /// A way in which a server ends a handshake or never begins it.
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let isExpected: @Sendable (TransportError) -> Bool
        let limit: Duration
        let server: @Sendable (TestSite) throws -> LoopbackServer

        init(
            _ name: String, _ isExpected: @escaping @Sendable (TransportError) -> Bool,
            limit: Duration = .seconds(60), _ server: @escaping @Sendable (TestSite) throws -> LoopbackServer
        ) {
            testDescription = name
            self.isExpected = isExpected
            self.limit = limit
            self.server = server
        }
    }

    @Test(
        "A handshake that doesn't reach a certificate ends with the right error",
        arguments: [
            Row("closes at once", \.isLostDuringHandshake) { try LoopbackServer(chain: $0.chain, .closeAfterAccept) },
            Row("never answers", \.isHelloTimeout, limit: .milliseconds(100)) {
                try LoopbackServer(chain: $0.chain, .stall)
            },
            Row("speaks no TLS", \.isNotTLS) { _ in
                try LoopbackServer(plain: .handle { try $0.write(Array("220 mail ESMTP\r\n".utf8)) })
            },
            Row("ends with handshake_failure", \.isOfferRejected) { _ in
                try LoopbackServer(plain: .handle { try $0.write([21, 3, 3, 0, 2, 2, 40]) })
            },
            Row("ends with unrecognized_name", \.isHandshakeFailed) { _ in
                try LoopbackServer(plain: .handle { try $0.write([21, 3, 3, 0, 2, 2, 112]) })
            },
            Row("says close_notify at once", \.isLostDuringHandshake) { _ in
                try LoopbackServer(plain: .handle { try $0.write([21, 3, 3, 0, 2, 1, 0]) })
            },
            Row("TC14: TLS 1.0 and 1.1 only", \.isOtherVersion) {
                try LoopbackServer(chain: $0.chain) { $0.protocolVersions = .tls10 ... .tls11 }
            },
            Row("TC14: key exchange without forward secrecy", \.isOfferRejected) { _ in
                try LoopbackServer(chain: try TestSite(key: try TestKey(.rsa(bits: 2048))).chain) {
                    $0.protocolVersions = .tls12 ... .tls12
                    $0.cipherList = "kRSA:@SECLEVEL=0"
                }
            },
            Row("CB27: anonymous key exchange", \.isOfferRejected) { _ in
                try LoopbackServer(chain: []) {
                    $0.protocolVersions = .tls12 ... .tls12
                    $0.cipherList = "aNULL:@SECLEVEL=0"
                }
            },
            Row("TC19: more than 100 KiB of certificates", \.isHandshakeFailed) { site in
                let large = try TestCertificate.root("Large") {
                    $0.extensions = [.init("1.2.3.4", [4, 0x82, 0xFF, 0xFF] + [UInt8](repeating: 0, count: 0xFFFF))]
                }
                return try LoopbackServer(chain: site.chain + [large, large])
            },
        ])
    func noHandshake(row: Row) async throws {
        let site = try TestSite()
        let server = try row.server(site)
        try await server.run { server in
            await expectFailure(row.isExpected) {
                _ = try await site.connect(to: server, .with { $0.handshakeTimeout = row.limit })
            }
            try expectNoSockets(to: server.port)
        }
    }

    @Test("A server with a weak key still reaches the decision")
    func weakKey() async throws {
        let site = try TestSite(key: try TestKey(.rsa(bits: 1024)))
        try await LoopbackServer(chain: site.chain).run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            #expect(pending.presented.leaf.derBytes == site.leaf.derBytes)
            await pending.refuse()
        }
    }

    @Test("A refused connection is reported with the address and the system's reason")
    func connectionRefused() async throws {
        let dead = try DeadPort(.refusing)
        let address = "127.0.0.1:\(dead.port)"
        let attempt = ConnectAttempt(address: address, error: SystemError(code: ECONNREFUSED))
        await expectFailure(.unreachable(peer: address, attempts: [attempt])) {
            _ = try await Transport.shared.dial(
                Endpoint(name: try ServerName("127.0.0.1"), port: dead.port), options: .patient)
        }
    }

    @Test("A hostname that doesn't exist is an error, even without access to DNS")
    func unresolvable() async throws {
        let name = try ServerName("does-not-exist.invalid")
        let isExpected: (TransportError) -> Bool = { error in
            switch error {
            case .unresolvable(name, let reason): !reason.isEmpty
            case .timedOut(.resolve, _, .seconds(1)): true
            default: false
            }
        }
        await expectFailure(isExpected) {
            _ = try await Transport.shared.dial(
                Endpoint(name: name, port: 443), options: .with { $0.resolveTimeout = .seconds(1) })
        }
    }

    @Test("An address of the wrong family isn't dialled")
    func wrongFamily() async throws {
        let endpoint = Endpoint(name: try ServerName("::1"), port: 443)
        await expectFailure(\.isWithoutAddress) {
            _ = try await Transport.shared.dial(endpoint, options: .with { $0.addressFamily = .ipv4 })
        }
    }

    @Test("An address that never answers reaches the limit of the phase or of the whole dial")
    func silentAddress() async throws {
        let dead = try DeadPort(.silent)
        let endpoint = Endpoint(name: try ServerName("127.0.0.1"), port: dead.port)
        let peer = endpoint.description
        await expectFailure(.timedOut(.connect, peer: peer, limit: .milliseconds(50))) {
            _ = try await Transport.shared.dial(endpoint, options: .with { $0.connectTimeout = .milliseconds(50) })
        }
        await expectFailure(.timedOut(.connect, peer: peer, limit: .milliseconds(40))) {
            _ = try await Transport.shared.dial(endpoint, options: .with { $0.totalTimeout = .milliseconds(40) })
        }
    }

    @Test("Limits of the longest duration are accepted")
    func endlessLimits() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let options = DialOptions.with {
                ($0.resolveTimeout, $0.connectTimeout) = (.seconds(Int64.max), .seconds(Int64.max))
                ($0.handshakeTimeout, $0.totalTimeout) = (.seconds(Int64.max), .seconds(Int64.max))
            }
            await (try site.connect(to: server, options)).close()
        }
    }

    @Test("Offers that OpenSSL doesn't support are errors and aren't dropped")
    func impossibleOffers() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            for options in [
                DialOptions.with { $0.signatureAlgorithms = "RSA+ROT13" },
                .with { $0.applicationProtocols = [""] },
                .with { $0.applicationProtocols = [String(repeating: "x", count: 256)] },
            ] {
                await expectFailure(\.isHandshakeFailed) { _ = try await site.connect(to: server, options) }
            }
            #expect(server.records.isEmpty)
        }
    }

    @Test(
        "TC17: a server that stalls, ends or resets anywhere in the handshake is an error",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13], LoopbackRelay.Ending.allCases)
    func cutHandshake(version: LoopbackServer.TLSVersion, ending: LoopbackRelay.Ending) async throws {
        // Ed25519 signatures have a fixed length, and so does every handshake.
        let site = try TestSite(key: try TestKey(.ed25519))
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let whole = try await LoopbackRelay(to: server).run { relay in
                let pending = try await Transport.shared.dial(try endpoint(of: site, relay), options: .patient)
                // In TLS 1.3 the server's part is done and tickets follow. In TLS 1.2 its Finished is still to come.
                let asked = relay.passedCount
                let path = try site.path(pending.presented)
                let connection = try await pending.accept(path)
                let done = relay.passedCount
                await connection.close()
                return version == .tls13 ? asked : done
            }
            for limit in stride(from: 0, to: whole, by: 61) + [whole - 1] {
                try await LoopbackRelay(to: server, passing: limit, then: ending).run { relay in
                    let isExpected: (TransportError) -> Bool = { error in
                        switch error {
                        case .timedOut(.handshake, _, _), .timedOut(.hello, _, _): ending == .stall
                        case .lostDuringHandshake: ending != .stall
                        // The reset arrived together with the connection.
                        case .unreachable: ending == .reset && limit == 0
                        default: false
                        }
                    }
                    await expectFailure(isExpected) {
                        let patience = ending == .stall ? Duration.milliseconds(60) : .seconds(60)
                        let pending = try await Transport.shared.dial(
                            try endpoint(of: site, relay), options: .with { $0.handshakeTimeout = patience })
                        let path = try site.path(pending.presented)
                        _ = try await pending.accept(path)
                    }
                    try expectNoSockets(to: relay.port)
                }
            }
            #expect(server.applicationBytes.isEmpty)
        }
    }

    private func endpoint(of site: TestSite, _ relay: LoopbackRelay) throws -> Endpoint {
        Endpoint(name: try site.name, port: 443, route: Route(host: try ServerName(relay.address), port: relay.port))
    }
}
