import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of the key exchange. It happens before the server's certificate is evaluated, so the server must not choose
/// its cost.
@Suite struct KeyExchangeTests {
    /// `X25519MLKEM768`, which OpenSSL supports since 3.5.
    private static let hybrid: UInt16 = 0x11EC
    /// X25519, P-256, P-384, P-521 (RFC 8446, section 4.2.7).
    private static let groups: [UInt16] = [29, 23, 24, 25]
    /// The suites of TLS 1.3, those of TLS 1.2 with ECDHE, and the renegotiation signal (RFC 5746, section 3.3).
    private static let suites: Set<UInt16> = [
        0x1301, 0x1302, 0x1303, 0xC009, 0xC00A, 0xC013, 0xC014, 0xC023, 0xC024, 0xC027, 0xC028, 0xC02B, 0xC02C, 0xC02F,
        0xC030, 0xCCA8, 0xCCA9, 0x00FF,
    ]

    @Test(
        "The ClientHello doesn't offer finite-field Diffie-Hellman, whichever key type is requested (KX1)",
        arguments: [nil, ServerKeyKind.rsa, .ecdsa])
    func offer(key: ServerKeyKind?) async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { _ = try $0.read() }
        try await LoopbackServer(plain: script).run { server in
            await expectFailure(\.isLostDuringHandshake) {
                _ = try await site.connect(to: server, .with { $0.serverKey = key })
            }
            let hello = try #require(ClientHello(record: await server.ended()[0].applicationBytes))
            #expect(!hello.cipherSuites.isEmpty && Set(hello.cipherSuites).isSubset(of: Self.suites))
            #expect([Self.groups, [Self.hybrid] + Self.groups].contains(hello.groups))
            // A share of each kind that servers prefer, so that none has to request another.
            #expect(hello.keyShares == hello.groups.filter { $0 == Self.hybrid || $0 == 29 })
        }
    }

    @Test(
        "A server with only finite-field Diffie-Hellman is rejected, and the error names the reason (KX1)",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func finiteFieldOnly(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite(key: try .shared(.rsa2048))
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            if version == .tls12 {
                $0.cipherList = "kDHE:@SECLEVEL=0"
                $0.finiteFieldBits = 2048
            } else {
                $0.groups = "ffdhe2048"
            }
        }
        try await server.run { server in
            for key in [nil, ServerKeyKind.rsa] {
                let says: (TransportError) -> Bool = {
                    $0.description.contains("finite-field DHE")
                        && (key != nil || $0.description.contains("enable ECDHE"))
                }
                await expectFailure(says) { _ = try await site.connect(to: server, .with { $0.serverKey = key }) }
            }
            let records = await server.ended(2)
            #expect(records.allSatisfy { !$0.handshakeCompleted && $0.applicationBytes.isEmpty })
            try expectNoSockets(to: server.port)
        }
    }

    @Test(
        "A server with any one of the offered groups is accepted",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13], ["X25519", "P-256", "P-384", "P-521"])
    func offeredGroups(version: LoopbackServer.TLSVersion, group: String) async throws {
        let site = try TestSite(key: try .shared(.rsa2048))
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            $0.groups = group
        }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            try await connection.send(request)
            #expect(try await connection.receive() != nil)
            await connection.close()
        }
    }
}
