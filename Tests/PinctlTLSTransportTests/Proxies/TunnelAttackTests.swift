import CertificateTrust
import PinctlHTTPMessages
import PinctlTLSTransport
import PinctlTestPKI
import Testing

/// Tests of HA5: proxies that don't open the requested tunnel, or that read its contents.
@Suite struct TunnelAttackTests {
    /// Returns the request for a tunnel to the site.
    private func request(for site: TestSite) throws -> HTTPRequestHead {
        try HTTPRequestHead(
            method: "CONNECT", target: .authority, origin: HTTPOrigin(scheme: .https, name: site.name, port: 443))
    }

    private func reach(_ proxy: LoopbackServer) async throws -> BareConnection {
        try await Transport.shared.connect(to: try ServerName(proxy.address), port: proxy.port, options: .patient)
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: LoopbackServer.ProxyAnswer
        let limit: Duration
        let isExpected: @Sendable (TransportError) -> Bool

        init(
            _ name: String, _ answer: LoopbackServer.ProxyAnswer, limit: Duration = .seconds(60),
            _ isExpected: @escaping @Sendable (TransportError) -> Bool
        ) {
            testDescription = name
            self.answer = answer
            self.limit = limit
            self.isExpected = isExpected
        }
    }

    private static func refused(_ reason: String) -> @Sendable (TransportError) -> Bool {
        { error in
            guard case .tunnelRefused = error else { return false }
            return error.description.contains(reason)
        }
    }

    private static let isTimedOut: @Sendable (TransportError) -> Bool = { error in
        if case .timedOut(.tunnel, _, _) = error { true } else { false }
    }

    private static func raw(_ text: String) -> LoopbackServer.Response { .raw(Array(text.utf8), closes: false) }

    // Doesn't end without the deadline. The other limits are the parser's.
    @Test(
        "A proxy whose answer is malformed, endless or missing hasn't opened a tunnel",
        arguments: [
            Row(
                "bytes behind the 200", .tunnel(after: raw("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n\r\n")),
                refused("unexpected bytes after its end")),
            Row(
                "interim responses without end",
                .handle { while true { try $0.write(LoopbackServer.Response.head("102 Processing", [])) } },
                refused("more than 16 interim responses")),
            Row(
                "300 kB of head", .respond(.init(fields: ["X: " + String(repeating: "x", count: 300_000)])),
                refused("more than 262144 bytes")),
            Row(
                "a head without end",
                .handle { connection in
                    try connection.write(Array("HTTP/1.1 200 OK\r\nX: ".utf8))
                    while true { try connection.write([UInt8](repeating: 120, count: 16_384)) }
                }, refused("more than 262144 bytes")),
            Row(
                "2,000 fields", .respond(.init(fields: [String](repeating: "X: x", count: 2000))),
                refused("more than 1000 header fields")),
            Row("no HTTP", .respond(raw("SSH-2.0-OpenSSH_9.2\r\n")), refused("SSH-2.0-OpenSSH_9.2")),
            Row("an end at once", .handle { _ in }, refused("unexpected end")),
            Row("an end within the head", .respond(.established.cut(at: 20)), refused("unexpected end")),
            Row("TLS", .respond(.raw([21, 3, 3, 0, 2, 2, 40])), refused("unexpected end")),
            Row(
                "half-closed",
                .handle { connection in
                    connection.endWriting()
                    while try connection.read() != nil {}
                }, refused("unexpected end")),
            // The request is sent within these limits on a busy machine too.
            Row("silence", .handle { while try $0.read() != nil {} }, limit: .seconds(2), isTimedOut),
            Row(
                "a byte now and then",
                .handle { connection in
                    var slow = LoopbackServer.Response.established
                    slow.pause = .milliseconds(500)
                    try connection.write(slow)
                }, limit: .seconds(2), isTimedOut),
        ])
    func noTunnel(row: Row) async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.example.test:443": origin.port]) { _ in row.answer }
            try await LoopbackServer(plain: script).run { proxy in
                let request = try request(for: site)
                await expectFailure(row.isExpected) {
                    let bare = try await reach(proxy)
                    _ = try await bare.requestTunnel(request, limit: row.limit)
                }
                let record = await proxy.ended()[0]
                #expect(record.applicationBytes == request.bytes && record.tunnelled.toTarget == 0)
            }
        }
    }

    // Fails without the limit on the body of a refusal.
    @Test(
        "A refused tunnel returns the head of the proxy's answer, and whether the connection is reusable",
        arguments: [
            (LoopbackServer.Response("407 Proxy Authentication Required", body: "who?"), true),
            (.init("302 Found", fields: ["Location: https://evil.example/"], body: "there"), true),
            (.init("502 Bad Gateway", body: String(repeating: "<p>", count: 100_000)), false),
            (.raw(LoopbackServer.Response.head("403 Forbidden", [])), false),
            (.init("404 Not Found", closes: true), true),
        ])
    func answers(response: LoopbackServer.Response, isReusable: Bool) async throws {
        let site = try TestSite()
        try await LoopbackServer(plain: .proxy(to: [:]) { _ in .respond(response) }).run { proxy in
            let bare = try await reach(proxy)
            let answer = try await bare.requestTunnel(try request(for: site), limit: .seconds(20))
            let line = String(decoding: response.bytes.prefix(16), as: UTF8.self)
            #expect(line.contains(" \(answer.head.statusCode) ") && answer.isReusable == isReusable)
        }
    }

    // A 2xx response to CONNECT has no body, whatever its fields say (RFC 9110, section 9.3.6).
    @Test(
        "A tunnel carries nothing that the proxy can read, with or without TLS to the proxy", arguments: [true, false],
        [
            LoopbackServer.Response.established, raw("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n"),
            raw("HTTP/1.1 299 Fine\r\nTransfer-Encoding: chunked\r\n\r\n"),
            raw("HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.0 200 OK\r\nConnection: close\r\n\r\n"),
        ])
    func tunnel(isSecure: Bool, answer: LoopbackServer.Response) async throws {
        let (site, house) = (try TestSite(), try TestSite("proxy.example.test"))
        try await LoopbackServer(chain: site.chain).run { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.example.test:443": origin.port]) { _ in
                .tunnel(after: answer)
            }
            let server = isSecure ? try LoopbackServer(chain: house.chain, script) : try LoopbackServer(plain: script)
            try await server.run { proxy in
                var bare = try await reach(proxy)
                if isSecure {
                    let pending = try await bare.secure(as: house.name, options: .patient)
                    let path = try house.path(pending.presented)
                    bare = try await pending.acceptProxy(path)
                }
                let answer = try await bare.requestTunnel(try request(for: site), limit: .seconds(20))
                #expect(answer.head.statusCode / 100 == 2)
                let pending = try await bare.secure(as: site.name, options: .patient)
                let path = try site.path(pending.presented)
                let connection = try await pending.accept(path)
                try await connection.send(PinctlTLSTransportTests.request)
                let response = try await connection.receiveAll()
                #expect(response.suffix(5) == Array("hello".utf8)[...])
                await connection.close()
                #expect(await origin.ended()[0].applicationBytes == PinctlTLSTransportTests.request)
                let record = await proxy.ended()[0]
                #expect(record.requests.map(\.method) == ["CONNECT"])
                #expect(!String(decoding: record.applicationBytes, as: UTF8.self).contains("GET / "))
                #expect(record.tunnelled.toTarget > 0 && record.failure == nil)
            }
        }
    }

    /// Connects to a site through a proxy, and expects its leaf.
    private func dial(_ site: TestSite, through proxy: CleartextProxy) async throws {
        let pending = try await Transport.shared.dial(
            Endpoint(name: site.name, port: 443), through: proxy,
            options: .with { $0.handshakeTimeout = .seconds(20) })
        #expect(pending.presented.leaf.derBytes == site.leaf.derBytes)
        await pending.refuse()
    }

    @Test(
        "A dial uses a tunnel that any 2xx status opened, and fails for any other status (RFC 9110, section 9.3.6)",
        arguments: [
            ("200 Fine", true), ("204 No Content", true), ("299 Fine", true), ("300 Choose", false),
            ("304 Not Modified", false), ("404 Not Found", false),
        ])
    func status(_ status: String, isOpen: Bool) async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.example.test:443": origin.port]) { _ in
                .tunnel(after: .headOnly(status, fields: ["Content-Length: 0"]))
            }
            try await LoopbackServer(plain: script).run { server in
                let proxy = CleartextProxy(.http, host: try ServerName(server.address), port: server.port)
                if isOpen {
                    try await dial(site, through: proxy)
                } else {
                    await expectFailure(Self.refused("response \(status.prefix(3))")) {
                        try await dial(site, through: proxy)
                    }
                    #expect(origin.records.isEmpty || origin.records[0].protocolVersion == nil)
                }
            }
        }
    }

    @Test(
        "A proxy gets the login with CONNECT, and a 407 is an error that says whether there was one",
        arguments: [
            ("word", nil), (nil, "response 407 (proxy authentication required)"),
            ("wrong", "response 407 (the proxy rejected the login)"),
        ] as [(String?, String?)])
    func login(password: String?, refusal: String?) async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.example.test:443": origin.port]) { request in
                request.values(of: "Proxy-Authorization") == ["Basic bWU6d29yZA=="]
                    ? .serve
                    : .respond(
                        .init("407 Proxy Authentication Required", fields: ["Proxy-Authenticate: Basic realm=\"a\""]))
            }
            try await LoopbackServer(plain: script).run { server in
                let login = password.map { CleartextProxy.Login(user: "me", password: $0) }
                let proxy = CleartextProxy(.http, host: try ServerName(server.address), port: server.port, login: login)
                if let refusal {
                    await expectFailure(Self.refused(refusal)) { try await dial(site, through: proxy) }
                } else {
                    try await dial(site, through: proxy)
                }
                #expect(origin.records.isEmpty == (refusal != nil))
            }
        }
    }

    @Test("A proxy is printed as its URL, and neither its text nor its dump has the login")
    func text() throws {
        let rows: [(kind: CleartextProxy.Kind, host: String, text: String)] = [
            (.http, "proxy.test", "http://proxy.test:3128"), (.socks(.socks5), "::1", "socks5://[::1]:3128"),
            (.socks(.socks4a), "192.0.2.1", "socks4a://192.0.2.1:3128"),
        ]
        for row in rows {
            let login = CleartextProxy.Login(user: "me", password: "secret")
            let proxy = CleartextProxy(row.kind, host: try ServerName(row.host), port: 3_128, login: login)
            #expect("\(proxy)" == row.text)
            var dumped = ""
            dump(proxy, to: &dumped)
            #expect(dumped.contains(row.text) && !dumped.contains("secret"), "\(dumped)")
        }
    }
}
