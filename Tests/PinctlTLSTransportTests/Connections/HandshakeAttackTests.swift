import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of servers, and attackers on the path, that violate the protocol during the handshake.
@Suite struct HandshakeAttackTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The server's bytes, whatever the ClientHello is.
        let bytes: [UInt8]
        /// A part of the error's text.
        let reason: String

        init(_ name: String, _ bytes: [UInt8], _ reason: String) {
            testDescription = name
            self.bytes = bytes
            self.reason = reason
        }
    }

    // The server then waits, so only the bytes that it sent can end the handshake within the limit. Some rows fail
    // without the minimum version, "!kRSA", "!kDHE" and the other entries of the cipher list, or the limit of the
    // Certificate message, among other lines. The other rows test that OpenSSL's rejection arrives as an error with its
    // reason.
    @Test(
        "A server that violates the protocol is rejected with the reason",
        arguments: [
            Row("TC14: SSL 2.0", [0x80, 11, 4, 0, 1, 0, 2, 0, 0, 0, 0, 0, 0], "isn't TLS"),
            Row("TC14: SSL 3.0", RawTLS.serverHello(version: 0x0300), "no newer version than SSL 3.0"),
            Row("TC14: TLS 1.0", RawTLS.serverHello(version: 0x0301), "offers TLS 1.0 alone"),
            Row("TC14: TLS 1.1", RawTLS.serverHello(version: 0x0302), "no newer version than TLS 1.1"),
            Row("TC14: TLS 1.4", RawTLS.serverHello(version: 0x0305), "unsupported protocol"),
            Row("TC14: RC4", RawTLS.serverHello(suite: 0x0005), "unknown cipher returned"),
            Row("TC14: 3DES", RawTLS.serverHello(suite: 0x000A), "unknown cipher returned"),
            Row("TC14: no encryption", RawTLS.serverHello(suite: 0x0002), "wrong cipher returned"),
            Row("TC14: export", RawTLS.serverHello(suite: 0x0003), "unknown cipher returned"),
            Row("TC14: RSA key exchange", RawTLS.serverHello(suite: 0x009C), "wrong cipher returned"),
            Row("KX1: finite-field key exchange", RawTLS.serverHello(suite: 0x009E), "wrong cipher returned"),
            Row("TC14: anonymous", RawTLS.serverHello(suite: 0xC018), "wrong cipher returned"),
            Row("TC14: shared secret", RawTLS.serverHello(suite: 0x00A8), "wrong cipher returned"),
            Row("TC14: compression", RawTLS.serverHello(compression: 1), "compression disabled"),
            Row(
                "TC13: a protocol that was not offered",
                RawTLS.serverHello(extension: [0, 16, 0, 5, 0, 3, 2, 0x68, 0x33]), "bad extension"),
            Row("an extension nobody asked for", RawTLS.serverHello(extension: [0, 42, 0, 0]), "bad extension"),
            Row(
                "TC15: a record of 16,385 bytes",
                RawTLS.record(RawTLS.message(2, [UInt8](repeating: 3, count: 16_381))), "data length too long"),
            Row(
                "TC15: a record of 65,535 bytes", RawTLS.record([UInt8](repeating: 2, count: 65_535)),
                "length too long"),
            Row(
                "TC15: 10,000 records without contents",
                Array(repeatElement(RawTLS.record([]), count: 10_000).joined()), "record too small"),
            Row(
                "TC15: 10,000 warnings",
                Array(repeatElement(RawTLS.record([1, 90], type: 21), count: 10_000).joined()), "too many warn alerts"),
            Row(
                "TC15: Finished at once",
                RawTLS.serverHello() + RawTLS.record(RawTLS.message(20, [UInt8](repeating: 0, count: 12))),
                "unexpected message"),
            Row(
                "TC15: change_cipher_spec at once", RawTLS.serverHello() + RawTLS.record([1], type: 20),
                "unexpected message"),
            Row(
                "TC15: application data at once",
                RawTLS.serverHello() + RawTLS.record(Array("HTTP/1.1 200 OK\r\n\r\n".utf8), type: 23),
                "unexpected record"),
            Row(
                "TC19: a certificate message of 10 MB",
                RawTLS.serverHello() + RawTLS.record(RawTLS.message(11, [0x98, 0x96, 0x7D], claiming: 10_000_000)),
                "excessive message size"),
            Row(
                "TC19: a ServerHello of 10 MB", RawTLS.record(RawTLS.message(2, [3, 3], claiming: 10_000_000)),
                "excessive message size"),
        ])
    func refused(row: Row) async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.read()
            try connection.write(row.bytes)
            while try connection.read() != nil {}
        }
        try await LoopbackServer(plain: script).run { server in
            let isExpected: (TransportError) -> Bool = {
                ($0.isHandshakeFailed || $0.isNotTLS || $0.isOtherVersion) && $0.description.contains(row.reason)
            }
            await expectFailure(isExpected) {
                _ = try await site.connect(to: server, .with { $0.handshakeTimeout = .seconds(5) })
            }
            try expectNoSockets(to: server.port)
        }
    }

    // OpenSSL rejects this (RFC 8446, section 4.1.3). The test checks that the rejection arrives as an error.
    @Test("TC15: an attacker who hides TLS 1.3 from the server is detected")
    func downgrade() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let relay = try RecordRelay(to: server) { record in
                guard record.sender == .client, record.index == 0 else { return .pass }
                // supported_versions turns into an unknown extension.
                let versions: [UInt8] = [0, 43, 0, 5, 4, 3, 4, 3, 3]
                guard let start = record.bytes.indices.first(where: { record.bytes[$0...].starts(with: versions) })
                else { return .end(.close) }
                var bytes = record.bytes
                bytes[start] = 0x7A
                return .replace(bytes)
            }
            await relay.run { relay in
                await expectFailure({ $0.isHandshakeFailed && $0.description.contains("inappropriate fallback") }) {
                    _ = try await site.connect(via: relay)
                }
            }
            #expect(await !server.ended()[0].handshakeCompleted)
        }
    }

    // Fails if accept() no longer waits for the rest of the handshake, that is, for the server's Finished.
    @Test(
        "TC15: a handshake with one byte changed in transit fails",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func changed(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            // Tickets aren't part of the handshake.
            $0.resumption = .none
        }
        try await server.run { server in
            let handshake = try await RecordRelay(to: server).run { relay in
                await (try site.connect(via: relay)).close()
                return relay.records.filter { $0.sender == .server && $0.bytes.count > 40 }
            }
            #expect(handshake.count >= 4)
            for changed in handshake {
                for part in [3, 2, 1] {
                    let relay = try RecordRelay(to: server) { record in
                        guard record.sender == .server, record.index == changed.index else { return .pass }
                        var bytes = record.bytes
                        bytes[bytes.count / part - 1] ^= 1
                        return .replace(bytes)
                    }
                    let isConnected = await relay.run { relay in (try? await site.connect(via: relay)) != nil }
                    #expect(!isConnected, "byte \(changed.bytes.count / part - 1) of record \(changed.index)")
                }
            }
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test(
        "TC15: a server with a stolen certificate fails the handshake",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func impostor(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = version...version
            $0.key = try? .impostor(of: site.leaf.key)
        }
        await server.run { server in
            await expectFailure(\.isHandshakeFailed) { _ = try await site.connect(to: server) }
            let record = await server.ended()[0]
            #expect(!record.handshakeCompleted && record.applicationBytes.isEmpty)
        }
    }

    // Doesn't end without the timer of a call.
    @Test(
        "TC17: a server that sends a byte now and then reaches the handshake limit",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13], [0, 1, 2])
    func slow(version: LoopbackServer.TLSVersion, index: Int) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain) { $0.protocolVersions = version...version }
        try await server.run { server in
            let relay = try RecordRelay(to: server) { record in
                record.sender == .server && record.index >= index ? .slowly(.milliseconds(100)) : .pass
            }
            try await relay.run { relay in
                await expectFailure(\.isHandshakeTimeout) {
                    _ = try await site.connect(via: relay, .with { $0.handshakeTimeout = .milliseconds(300) })
                }
                try expectNoSockets(to: relay.port)
            }
            #expect(server.applicationBytes.isEmpty)
        }
    }
}
