import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of servers that violate the protocol on an established connection.
@Suite struct RecordAttackTests {
    // Fails without SSL_OP_NO_RENEGOTIATION: OpenSSL's client agrees, and the certificate then differs.
    @Test("TC10: a server's request to renegotiate with another certificate is rejected")
    func renegotiation() async throws {
        let (site, other) = (try TestSite(), try TestSite())
        let script = LoopbackServer.Script.handle { connection in
            while try connection.readRequest() != nil {
                try connection.present(other.chain)
                try connection.requestRenegotiation()
                try connection.write(Array("again".utf8))
            }
        }
        let server = try LoopbackServer(chain: site.chain, script) { $0.protocolVersions = .tls12 ... .tls12 }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            // The rejection is in transit together with the first answer.
            await expectFailure(\.isProtocolFailure) {
                for _ in 0..<3 {
                    try await connection.send(request)
                    _ = try await connection.receive()
                }
            }
            await connection.close()
            #expect(await server.ended()[0].alerts.map(\.description) == ["no renegotiation"])
        }
    }

    // Fails if a resumed handshake begins with SSL_write_early_data.
    @Test(
        "TC11: early data is neither sent nor offered, whatever a ticket allows",
        arguments: [LoopbackServer.Resumption.tickets, .identifiers])
    func earlyData(resumption: LoopbackServer.Resumption) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain, .respond(.init(body: "hello", closes: true))) {
            $0.resumption = resumption
            $0.earlyDataLimit = 16_384
        }
        try await server.run { server in
            let session = try await site.session(with: server)
            let path = try site.path(PresentedChain(derCertificates: site.chain.map(\.derBytes)))
            let connection = try await site.resume(session, with: server).accept(path)
            try await connection.send(request)
            _ = try await connection.receiveAll()
            await connection.close()
            let records = await server.ended(2)
            #expect(records.map(\.sessionResumed) == [false, true])
            #expect(records.map(\.offeredEarlyData) == [false, false])
            #expect(records.map(\.applicationBytes) == [request, request])
        }
    }

    // Fails with SSL_CTX_set_post_handshake_auth.
    @Test("TC12: a server can't request a client certificate after the handshake")
    func lateCertificateRequest() async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain, .handle { try $0.requestCertificate() }) {
            $0.clientAuthentication = .init()
            $0.clientAuthentication?.isPostponed = true
        }
        try await server.run { server in
            await (try site.connect(to: server)).close()
            let record = await server.ended()[0]
            #expect(record.handshakeCompleted && record.failure?.hasSuffix("extension not received") == true)
        }
    }

    struct Forgery: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let reason: String
        let bytes: @Sendable (inout RecordForge) throws -> [UInt8]

        init(_ name: String, _ reason: String, _ bytes: @escaping @Sendable (inout RecordForge) throws -> [UInt8]) {
            testDescription = name
            self.reason = reason
            self.bytes = bytes
        }
    }

    // The test checks that OpenSSL's rejection ends the connection and arrives as an error with its reason. It fails if
    // receive() continues after a failure.
    @Test(
        "TC15: forbidden records end the connection",
        arguments: [
            Forgery("one byte too many", "data length too long") {
                try $0.record([UInt8](repeating: 65, count: 16_385))
            },
            Forgery("more padding than a record holds", "encrypted length too long") {
                try $0.record([65], padding: 16_640)
            },
            Forgery("10,000 without contents", "record too small") { forge in
                try (0..<10_000).flatMap { _ in try forge.record([]) }
            },
            Forgery("10,000 of padding alone", "record too small") { forge in
                try (0..<10_000).flatMap { _ in try forge.record([], padding: 100) }
            },
            Forgery("no type", "bad record type") { try $0.record([], type: nil, padding: 5) },
            Forgery("nothing inside", "bad record mac") { try $0.record([], type: nil) },
            Forgery("an unknown type", "bad record type") { try $0.record([1], type: 99) },
            Forgery("empty handshake", "bad length") { try $0.record([], type: 22) },
            Forgery("empty alert", "bad length") { try $0.record([], type: 21) },
            Forgery("heartbeat", "bad record type") { try $0.record([1, 0xFF, 0xFF], type: 24) },
            Forgery("HelloRequest", "unexpected message") { try $0.record(RawTLS.message(0, []), type: 22) },
            Forgery("ServerHello", "unexpected message") {
                try $0.record(Array(RawTLS.serverHello().dropFirst(5)), type: 22)
            },
            Forgery("TC12: CertificateRequest", "unexpected message") {
                try $0.record(RawTLS.message(13, [0, 0, 8, 0, 13, 0, 4, 0, 2, 4, 3]), type: 22)
            },
            Forgery("Certificate", "unexpected message") { try $0.record(RawTLS.message(11, [0, 0, 0, 0]), type: 22) },
            Forgery("Finished", "unexpected message") {
                try $0.record(RawTLS.message(20, [UInt8](repeating: 0, count: 48)), type: 22)
            },
            Forgery("KeyUpdate of two bytes", "excessive message size") {
                try $0.record(RawTLS.message(24, [0, 0]), type: 22)
            },
            Forgery("KeyUpdate that asks for nothing known", "bad key update") {
                try $0.record(RawTLS.message(24, [7]), type: 22)
            },
            Forgery("KeyUpdate with something behind it", "not on record boundary") {
                try $0.record(RawTLS.message(24, [0]) + RawTLS.message(24, [0]), type: 22)
            },
            Forgery("a ticket of 16 MB", "excessive message size") {
                try $0.record(RawTLS.message(4, [0, 0], claiming: 0xFF_FFFF), type: 22)
            },
            Forgery("a handshake message with data in the middle", "unexpected record") {
                try $0.record(RawTLS.message(4, [0, 0], claiming: 100), type: 22) + $0.record([65])
            },
            // Newer releases of OpenSSL ignore it and reject what follows, which has no type.
            Forgery("change_cipher_spec", "bad record type") {
                try RawTLS.record([1], type: 20) + $0.record([], type: nil, padding: 5)
            },
            Forgery("a record under no key", "bad record mac") { _ in RawTLS.record([65], type: 23) },
            Forgery("the same record twice", "bad record mac") {
                let record = try $0.record([])
                return record + record
            },
        ])
    func forged(_ row: Forgery) async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { connection in
            var forge = try connection.forge()
            try connection.writeBelow(try row.bytes(&forge))
            while try connection.read() != nil {}
        }
        let server = try LoopbackServer(chain: site.chain, script) { $0.resumption = .none }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            await expectFailure({ $0.isProtocolFailure && $0.description.contains(row.reason) }) {
                _ = try await connection.receive()
            }
            try expectNoSockets(to: server.port)
        }
    }

    @Test("A forged data record is received as data, so the forge works")
    func genuine() async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { connection in
            var forge = try connection.forge()
            try connection.writeBelow(
                try forge.record(Array("hello".utf8), padding: 7) + forge.record([1, 0], type: 21))
            _ = try connection.read()
        }
        let server = try LoopbackServer(chain: site.chain, script) { $0.resumption = .none }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            let received = try await connection.receiveAll()
            #expect(received == Array("hello".utf8))
        }
    }

    // Fails if an end in the middle of a record counts as an orderly end.
    @Test("TC16: half a record followed by the end isn't data", arguments: [LoopbackServer.TLSVersion.tls12, .tls13])
    func halfARecord(version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { try $0.write([UInt8](repeating: 65, count: 5000)) }
        let server = try LoopbackServer(chain: site.chain, script) { $0.protocolVersions = version...version }
        let isData = { @Sendable (record: RecordRelay.Record) in record.bytes.count > 5000 }
        try await server.run { server in
            let hasBegun = Flag()
            let relay = try RecordRelay(to: server) { record in
                if hasBegun.isSet { return .end(.close) }
                guard record.sender == .server, isData(record) else { return .pass }
                hasBegun.set()
                return .replace(Array(record.bytes.dropLast()))
            }
            try await relay.run { relay in
                let connection = try await site.connect(via: relay)
                for _ in 0..<2 {
                    await expectFailure(\.isTruncated) { _ = try await connection.receive() }
                }
                try expectNoSockets(to: relay.port)
            }
        }
    }
}
