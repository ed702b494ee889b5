import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@Suite struct HandshakeTests {
    @Test(
        "A server is presented for a decision, accepted and used", arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func exchange(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            #expect(pending.presented.certificates.map(\.derBytes) == site.chain.map(\.derBytes))
            #expect(pending.remoteAddress == "127.0.0.1:\(server.port)")
            let path = try site.path(pending.presented)
            let connection = try await pending.accept(path)
            #expect(connection.negotiated.version == (version == .tls12 ? "TLSv1.2" : "TLSv1.3"))
            #expect(connection.negotiated.applicationProtocol == nil)
            #expect(connection.path == path)
            try await connection.send(request)
            let response = String(decoding: try await connection.receiveAll(), as: UTF8.self)
            #expect(response.hasSuffix("\r\n\r\nhello"))
            await connection.close()
            let record = try #require(await server.ended().first)
            #expect(record.applicationBytes == request)
            #expect(record.serverName == "api.example.test")
            #expect(!record.sessionResumed)
        }
    }

    @Test(
        "A second connection doesn't resume the session of the first",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func noResumption(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            for _ in 0..<2 {
                let connection = try await site.connect(to: server)
                try await connection.send(request)
                _ = try await connection.receiveAll()
                await connection.close()
            }
            #expect(await server.ended(2).map(\.sessionResumed) == [false, false])
        }
    }

    @Test("A rejected server receives an alert and no data", arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func refusal(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            await pending.refuse()
            try await Self.expectRefused(server)
        }
    }

    @Test("A pending connection that is dropped is rejected")
    func dropped() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            _ = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            try await Self.expectRefused(server)
        }
    }

    @Test("Nothing is sent while the decision is pending")
    func undecided() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
            // Meanwhile, other connections are opened and closed.
            for _ in 0..<3 { await (try site.connect(to: server)).close() }
            let first = try #require(server.records.first)
            #expect(!first.handshakeCompleted && !first.hasEnded && first.alerts.isEmpty)
            #expect(server.applicationBytes.isEmpty)
            let path = try site.path(pending.presented)
            let connection = try await pending.accept(path)
            try await connection.send(request)
            #expect(try await connection.receive() != nil)
        }
    }

    @Test("A path for another certificate is rejected")
    func foreignCertificate() async throws {
        let site = try TestSite()
        let other = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            try await LoopbackServer(chain: other.chain).run { otherServer in
                let theirs = try await Transport.shared.dial(try other.endpoint(on: otherServer), options: .patient)
                let path = try other.path(theirs.presented)
                await expectFailure(\.isForeignPath) {
                    let pending = try await Transport.shared.dial(try site.endpoint(on: server), options: .patient)
                    _ = try await pending.accept(path)
                }
                try await Self.expectRefused(server)
            }
        }
    }

    @Test("A path for the same certificate and another name is rejected")
    func foreignName() async throws {
        let root = try TestCertificate.root("Test Root")
        let leaf = try root.leaf("a.example.test", "b.example.test")
        let store = TrustStore(certificates: [try X509Certificate(derBytes: root.derBytes)])
        try await LoopbackServer(chain: [leaf]).run { server in
            let route = Route(host: try ServerName(server.address), port: server.port)
            await expectFailure(\.isForeignPath) {
                let pending = try await Transport.shared.dial(
                    Endpoint(name: try ServerName("a.example.test"), port: 443, route: route), options: .patient)
                let path = try ServerTrust(
                    presented: pending.presented, name: try ServerName("b.example.test"), store: store
                ).evaluate(at: TestSite.time)
                _ = try await pending.accept(path)
            }
            try await Self.expectRefused(server)
        }
    }

    @Test("An unverified server can be accepted, and its connection has no path")
    func unverified() async throws {
        let leaf = try TestCertificate.selfSigned(.server(["api.example.test"]))
        try await LoopbackServer(chain: [leaf]).run { server in
            let pending = try await Transport.shared.dial(
                Endpoint(name: try ServerName("127.0.0.1"), port: server.port), options: .patient)
            let connection = try await pending.accept(nil)
            #expect(connection.path == nil)
            try await connection.send(request)
            #expect(try await connection.receive() != nil)
            // An address isn't sent as a server name (RFC 6066, section 3).
            #expect(try #require(server.records.first).serverName == nil)
        }
    }

    @Test("An IPv6 address can be dialled and isn't sent as a server name")
    func ipv6() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain, .respond(.init())) { $0.isIPv6 = true }.run { server in
            let pending = try await Transport.shared.dial(
                Endpoint(name: try ServerName("::1"), port: server.port), options: .patient)
            #expect(pending.remoteAddress == "[::1]:\(server.port)")
            let connection = try await pending.accept(nil)
            await connection.close()
            #expect(try #require(await server.ended().first).serverName == nil)
        }
    }

    @Test("The server selects one of the offered protocols, or none")
    func applicationProtocol() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain) { $0.applicationProtocols = ["h2", "http/1.1"] }.run { server in
            let one = try await site.connect(to: server)
            #expect(one.negotiated.applicationProtocol == "http/1.1")
            let none = try await site.connect(to: server, .with { $0.applicationProtocols = [] })
            #expect(none.negotiated.applicationProtocol == nil)
        }
    }

    @Test("TC13: a protocol that wasn't offered ends the handshake")
    func unofferedProtocol() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain) { $0.forcedApplicationProtocol = "h2\u{1B}[2J" }.run { server in
            await expectFailure({ error in
                guard case .handshakeFailed = error else { return false }
                return !error.description.contains("\u{1B}")
            }) { _ = try await site.connect(to: server) }
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    @Test(
        "The offered signature algorithms determine which server certificate is accepted", arguments: ["rsa", "ecdsa"])
    func signatureAlgorithms(kind: String) async throws {
        let site = try TestSite(key: kind == "rsa" ? try TestKey(.rsa(bits: 2048)) : try TestKey(.p256))
        try await LoopbackServer(chain: site.chain).run { server in
            let fitting = kind == "rsa" ? "RSA-PSS+SHA256" : "ECDSA+SHA256"
            let other = kind == "rsa" ? "ECDSA+SHA256" : "RSA-PSS+SHA256"
            await (try site.connect(to: server, .with { $0.signatureAlgorithms = fitting })).close()
            await expectFailure(\.isOfferRejected) {
                _ = try await site.connect(to: server, .with { $0.signatureAlgorithms = other })
            }
        }
    }

    /// Expects one connection that reached the certificate, with an alert and nothing else.
    private static func expectRefused(_ server: LoopbackServer) async throws {
        let record = try #require(await server.ended().first)
        #expect(!record.handshakeCompleted)
        #expect(record.applicationBytes.isEmpty)
        #expect(record.alerts == [LoopbackServer.Alert(level: 2, code: 42)])
    }
}
