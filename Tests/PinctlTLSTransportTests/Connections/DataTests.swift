import CertificateTrust
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@Suite struct DataTests {
    private static let echo = LoopbackServer.Script.handle { while let bytes = try $0.read() { try $0.write(bytes) } }

    /// Returns bytes in which a lost or duplicated block is detected.
    private static func pattern(_ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 31 &+ $0 >> 12) }
    }

    @Test("A session ticket in two records that arrive byte by byte doesn't end the connection")
    func ticketInParts() async throws {
        // The ticket contains both names, which make it too long for one record.
        let site = try TestSite(String(repeating: "x", count: 60) + ".api.example.test")
        let name = String(repeating: "x", count: 255)
        let server = try LoopbackServer(chain: site.chain) {
            $0.protocolVersions = .tls13 ... .tls13
            $0.applicationProtocols = [name]
            $0.recordLimit = 512
        }
        try await server.run { server in
            try await LoopbackRelay(to: server, atOnce: 1).run { relay in
                let endpoint = Endpoint(
                    name: try site.name, port: 443, route: Route(host: try ServerName(relay.address), port: relay.port))
                let options = DialOptions.with { $0.applicationProtocols = [name] }
                let pending = try await Transport.shared.dial(endpoint, options: options)
                let path = try site.path(pending.presented)
                let connection = try await pending.accept(path)
                try await connection.send(request)
                #expect(try await connection.receiveAll().suffix(5) == Array("hello".utf8)[...])
                await connection.close()
            }
        }
    }

    @Test(
        "Bytes arrive as they were sent, in both directions at once", arguments: [1, 16_384, 65_537, 3_000_001],
        [LoopbackServer.TLSVersion.tls12, .tls13])
    func fullDuplex(count: Int, version: LoopbackServer.TLSVersion) async throws {
        let site = try TestSite()
        let server = try LoopbackServer(chain: site.chain, Self.echo) { $0.protocolVersions = version...version }
        try await server.run { server in
            let connection = try await site.connect(to: server)
            let sent = Self.pattern(count)
            let sending = Task { try await connection.send(sent) }
            var received: [UInt8] = []
            while received.count < count, let bytes = try await connection.receive() {
                #expect(!bytes.isEmpty)
                received += bytes
            }
            try await sending.value
            #expect(received == sent)
            await connection.close()
            let record = try #require(await server.ended().first)
            #expect(record.applicationBytes == sent)
            #expect(record.alerts == [.closeNotify])
        }
    }

    @Test("Sending an empty array sends nothing")
    func empty() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let connection = try await site.connect(to: server)
            try await connection.send([])
            await connection.close()
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    @Test("TC16: data that ends without close_notify is truncated", arguments: [true, false])
    func truncation(says closeNotify: Bool) async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.handle { try $0.write(Array("half a resp".utf8)) }
        try await LoopbackServer(chain: site.chain, script) { $0.sendsCloseNotify = closeNotify }.run { server in
            let connection = try await site.connect(to: server)
            #expect(try await connection.receive() == Array("half a resp".utf8))
            if closeNotify {
                #expect(try await connection.receive() == nil)
                #expect(try await connection.receive() == nil)
            } else {
                for _ in 0..<2 {
                    await expectFailure(\.isTruncated) { _ = try await connection.receive() }
                }
                try expectNoSockets(to: server.port)
            }
        }
    }

    @Test("A closed connection neither sends nor receives")
    func closed() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain, Self.echo).run { server in
            let connection = try await site.connect(to: server)
            await connection.close()
            await expectFailure(\.isClosed) { try await connection.send([1]) }
            await expectFailure(\.isClosed) { _ = try await connection.receive() }
        }
    }

    @Test("Closing a connection ends a receive that waits")
    func closeWhileReceiving() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain, Self.echo).run { server in
            let connection = try await site.connect(to: server)
            let receiving = Task { try await connection.receive() }
            for _ in 0..<20 { await Task.yield() }
            await connection.close()
            await expectFailure(\.isClosed) { _ = try await receiving.value }
        }
    }

    @Test("A connection that is dropped sends close_notify")
    func dropped() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain, Self.echo).run { server in
            _ = try await site.connect(to: server)
            let record = try #require(await server.ended().first)
            #expect(record.handshakeCompleted)
            #expect(record.alerts == [.closeNotify])
        }
    }
}
