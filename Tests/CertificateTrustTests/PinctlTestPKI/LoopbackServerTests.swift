import PinctlTestPKI
import Testing

/// Tests of the loopback server with `openssl s_client` as the client.
@Suite("LoopbackServer", .enabled(if: TestCommand.isPresent("openssl", "version"), "no openssl command in PATH"))
struct LoopbackServerTests {
    let files: TestDirectory
    let root: TestCertificate
    let intermediate: TestCertificate
    let leaf: TestCertificate

    init() throws {
        files = try TestDirectory()
        root = try TestCertificate.root("Test Root")
        intermediate = try root.intermediate("Test Intermediate")
        leaf = try intermediate.leaf("api.example.test")
    }

    static let request = "GET /hello HTTP/1.1\r\nHost: api.example.test\r\n\r\n"

    @Test(
        "A trusted server answers and logs the request",
        arguments: [("-tls1_2", "TLSv1.2"), ("-tls1_3", "TLSv1.3")])
    func answers(version: (option: String, name: String)) async throws {
        let server = try LoopbackServer(chain: [leaf, intermediate], .respond(.init(body: "good day", closes: true))) {
            $0.applicationProtocols = ["spdy/1", "http/1.1"]
        }
        try await server.run { server in
            let result = try client(
                server, trusting: root, version.option, "-servername", "api.example.test", "-alpn", "h2,http/1.1",
                input: Self.request)
            #expect(result.text.contains("HTTP/1.1 200 OK\r\nContent-Length: 8\r\n\r\ngood day"), "\(result.text)")
            let record = try #require(await server.ended().first)
            #expect(record.handshakeCompleted)
            #expect(record.serverName == "api.example.test")
            #expect(record.protocolVersion == version.name)
            #expect(record.applicationProtocol == "http/1.1")
            #expect(record.applicationBytes == Array(Self.request.utf8))
            #expect(record.requests.map(\.line) == ["GET /hello HTTP/1.1"])
            #expect(record.alerts == [.closeNotify])
            #expect(record.failure == nil)
        }
    }

    static let hasIPv6 = (try? LoopbackServer(chain: [], adjusting: { $0.isIPv6 = true })) != nil

    @Test("A server on ::1 works like one on 127.0.0.1", .enabled(if: hasIPv6, "this machine has no ::1"))
    func overIPv6() async throws {
        let server = try LoopbackServer(chain: [leaf, intermediate], .respond(.init(closes: true))) { $0.isIPv6 = true }
        try await server.run { server in
            #expect(server.address == "::1")
            let result = try client(server, trusting: root, input: Self.request)
            #expect(result.text.contains("HTTP/1.1 200 OK"), "\(result.text)")
        }
    }

    @Test(
        "A client that doesn't trust the root sends an alert and no application data",
        arguments: ["-tls1_2", "-tls1_3"])
    func refused(version: String) async throws {
        try await LoopbackServer(chain: [leaf, intermediate]).run { server in
            let unrelated = try TestCertificate.root("Another Root")
            let result = try client(server, trusting: unrelated, version, input: Self.request)
            #expect(result.status != 0)
            let record = try #require(await server.ended().first)
            #expect(!record.handshakeCompleted)
            #expect(record.applicationBytes.isEmpty)
            #expect(record.alerts.map(\.description) == ["unknown CA"])
            #expect(record.failure?.contains("alert unknown ca") == true)
        }
    }

    @Test("The chain is sent as configured: shuffled, doubled and with unrelated certificates")
    func chainAsGiven() async throws {
        let unrelated = try TestCertificate.root("Unrelated", key: .shared(.rsa2048))
        let chain = [leaf, unrelated, intermediate, intermediate, root]
        try await LoopbackServer(chain: chain).run { server in
            let result = try client(server, trusting: root, "-showcerts", input: "")
            // What s_client prints around the blocks doesn't matter. The leaf appears once more below them.
            let sent = result.text.split(separator: "-----BEGIN CERTIFICATE-----").dropFirst().prefix(chain.count)
            let given = chain.map(\.pemText).joined().split(separator: "-----BEGIN CERTIFICATE-----")
            #expect(sent.count == chain.count)
            #expect(zip(sent, given).allSatisfy { $0.hasPrefix($1) }, "\(result.text)")
        }
    }

    @Test("A server with a stolen certificate can't prove possession of its key", arguments: ["-tls1_2", "-tls1_3"])
    func impostor(version: String) async throws {
        let server = try LoopbackServer(chain: [leaf, intermediate]) { $0.key = try? .impostor(of: leaf.key) }
        try await server.run { server in
            let result = try client(server, trusting: root, version, input: Self.request)
            #expect(result.text.contains("bad signature"), "\(result.text)")
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    @Test("Parallel connections each have their own record")
    func parallel() async throws {
        let script = LoopbackServer.Script.answer { .init(body: "you asked \($0.line)", closes: true) }
        let server = try LoopbackServer(chain: [leaf, intermediate], script)
        try await server.run { server in
            try await withThrowingTaskGroup { group in
                for number in 1...4 {
                    group.addTask {
                        let result = try client(server, trusting: root, input: "GET /\(number) HTTP/1.1\r\n\r\n")
                        #expect(result.text.contains("you asked GET /\(number) HTTP/1.1"))
                    }
                }
                try await group.waitForAll()
            }
            let lines = await server.ended(4).flatMap(\.requests).map(\.line)
            #expect(lines.sorted() == (1...4).map { "GET /\($0) HTTP/1.1" })
        }
    }

    @Test("A request's body is read, and a second request follows on the same connection")
    func keepAlive() async throws {
        let server = try LoopbackServer(chain: [leaf, intermediate])
        try await server.run { server in
            let post = "POST / HTTP/1.1\r\ncontent-length: 5\r\nX-Twice: a\r\nX-Twice: b\r\n\r\n12345"
            let close = "GET /2 HTTP/1.1\r\nConnection: close\r\n\r\n"
            let result = try client(server, trusting: root, input: post + close)
            #expect(result.text.split(separator: "hello", omittingEmptySubsequences: false).count == 3)
            let requests = try #require(await server.ended().first).requests
            #expect(requests.map(\.body) == [Array("12345".utf8), []])
            #expect(requests.first?.values(of: "x-twice") == ["a", "b"])
        }
    }

    struct Ending: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let script: LoopbackServer.Script
        let said: String
        var sendsCloseNotify = true
        var handshakeCompleted = true
    }

    @Test(
        "The server ends connections as its script specifies",
        arguments: [
            Ending(testDescription: "close_notify", script: .respond(.init(closes: true)), said: "\nclosed\n"),
            Ending(
                testDescription: "no close_notify", script: .respond(.init(closes: true)),
                said: "unexpected eof while reading", sendsCloseNotify: false),
            Ending(
                testDescription: "after the handshake", script: .closeAfterHandshake,
                said: "unexpected eof while reading"),
            Ending(
                testDescription: "after accept", script: .closeAfterAccept, said: "unexpected eof while reading",
                handshakeCompleted: false),
            Ending(
                testDescription: "bytes of its own", script: .handle { try $0.write(Array("no HTTP".utf8)) },
                said: "no HTTP"),
        ])
    func endings(_ row: Ending) async throws {
        let server = try LoopbackServer(chain: [leaf, intermediate], row.script) {
            $0.sendsCloseNotify = row.sendsCloseNotify
        }
        try await server.run { server in
            let result = try client(server, trusting: root, input: Self.request)
            #expect(result.text.contains(row.said), "\(result.text)")
            #expect(await server.ended()[0].handshakeCompleted == row.handshakeCompleted)
        }
    }

    @Test("A stalled handshake lasts until the server is stopped")
    func stall() async throws {
        let server = try LoopbackServer(chain: [leaf], .stall)
        async let result = client(server, trusting: root, input: Self.request)
        while server.records.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
        server.stop()
        #expect(try await result.text.contains("no peer certificate available"))
        #expect(await server.ended()[0].protocolVersion == nil)
    }

    @Test("A cancelled wait stops the server and returns")
    func cancelledWait() async throws {
        let server = try LoopbackServer(chain: [leaf])
        let wait = Task { await server.ended() }
        wait.cancel()
        #expect(await wait.value.map(\.failure) == ["the connection never came"])
    }

    @Test("A deinitialized server frees its port")
    func lifetime() throws {
        let port = try LoopbackServer(chain: [leaf]).port
        let result = try TestCommand.run(["openssl", "s_client", "-connect", "127.0.0.1:\(port)"])
        #expect(result.text.contains("Connection refused"), "\(result.text)")
    }

    @Test("A plain server logs the bytes that a TLS client sends")
    func plain() async throws {
        let server = try LoopbackServer(plain: .handle { try $0.write(Array("HTTP/1.1 400\r\n\r\n".utf8)) })
        try await server.run { server in
            let result = try client(server, trusting: root, input: "")
            #expect(result.text.contains("wrong version number"), "\(result.text)")
            // A handshake record, then the ClientHello in it.
            #expect(await server.ended()[0].applicationBytes.prefix(2) == [0x16, 0x03])
        }
    }

    @Test("The server can select an unoffered protocol, use an old TLS version and send no certificate")
    func oddities() async throws {
        try await LoopbackServer(chain: [leaf], adjusting: { $0.forcedApplicationProtocol = "odd/1" }).run { server in
            let result = try client(server, trusting: root, "-alpn", "h2", input: "")
            #expect(result.text.contains("tls_parse_stoc_alpn"), "\(result.text)")
        }
        try await LoopbackServer(chain: [leaf], adjusting: { $0.protocolVersions = .tls10 ... .tls11 }).run { server in
            let result = try client(
                server, trusting: root, "-cipher", "ALL:@SECLEVEL=0", "-min_protocol", "TLSv1", input: "")
            #expect(result.text.contains("Protocol  : TLSv1.1"), "\(result.text)")
        }
        try await LoopbackServer(chain: [], adjusting: { $0.protocolVersions = .tls12 ... .tls12 }).run { server in
            let result = try client(server, trusting: root, "-cipher", "aNULL:@SECLEVEL=0", input: "")
            #expect(result.text.contains("no peer certificate available"), "\(result.text)")
            #expect(await server.ended()[0].handshakeCompleted)
        }
    }

    @Test("A resumed session is recorded as resumed")
    func resumption() async throws {
        let session = try files.add("")
        try await LoopbackServer(chain: [leaf, intermediate]).run { server in
            for option in ["-sess_out", "-sess_in"] {
                _ = try client(server, trusting: root, "-tls1_2", option, session, input: "")
            }
            #expect(await server.ended(2).map(\.sessionResumed) == [false, true])
        }
    }

    /// Sends `input` and reads until the server closes, or for as long as `s_client` waits after the end of its input.
    func client(
        _ server: LoopbackServer, trusting root: TestCertificate, _ options: String..., input: String
    ) throws -> TestCommand.Result {
        let host = server.address.contains(":") ? "[\(server.address)]" : server.address
        return try TestCommand.run(
            [
                "openssl", "s_client", "-connect", "\(host):\(server.port)", "-CAfile", try files.add(root.pemText),
                "-verify_return_error", "-attime", PinctlTestPKITests.time, input.isEmpty ? "-no_ign_eof" : "-ign_eof",
            ] + options, input: input)
    }
}
