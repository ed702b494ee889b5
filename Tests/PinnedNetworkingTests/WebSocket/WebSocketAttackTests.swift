import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// What requests are protected from, for the handshakes of WebSockets: WS1 to WS4, WS7 and WS9.
@Suite(.timeLimit(.minutes(10)))
struct WebSocketAttackTests {
    private static let url = "wss://pinned.test/socket"

    /// Sends a message over a new WebSocket and returns the first one from the server. Closes the WebSocket.
    private func exchange(
        _ session: URLSession, _ url: String = url, adjust: (inout URLRequest) -> Void = { _ in }
    ) async throws -> String {
        var request = URLRequest(url: try #require(URL(string: url)))
        adjust(&request)
        let task = session.webSocketTask(with: request)
        task.resume()
        defer { task.cancel(with: .normalClosure, reason: nil) }
        try await task.send(.string("secret"))
        return try await task.text()
    }

    private func failure(
        _ session: URLSession, _ url: String = url, sourceLocation: SourceLocation = #_sourceLocation
    ) async throws -> URLError {
        let error = await #expect(throws: URLError.self, sourceLocation: sourceLocation) {
            _ = try await exchange(session, url)
        }
        return try #require(error, sourceLocation: sourceLocation)
    }

    @Test("A server without the pinned key receives nothing, and one with it does (WS2)")
    func pins() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .echo).run { server in
            let pinned = try site.session(server, policy: .pinning(site.leaf.key.pin))
            #expect(try await exchange(pinned) == "secret")
            let other = try site.session(server, policy: .pinning(unknownPin))
            let error = try await failure(other)
            #expect(error.code == .serverCertificateUntrusted)
            #expect(error.pinningError != nil)
            #expect(server.records.dropFirst().allSatisfy { $0.applicationBytes.isEmpty })
        }
    }

    @Test("A connection that earlier pins approved isn't used after they changed (WS2)")
    func changedPins() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(
            chain: site.chain,
            .handle { connection in
                while let request = try connection.readRequest() {
                    guard request.values(of: "Upgrade") == ["websocket"] else {
                        try connection.write(LoopbackServer.Response(body: "hello"))
                        continue
                    }
                    try connection.write(WebSocketPeer.answer(to: request) + WebSocketPeer.frame("opened"))
                    _ = try connection.read()
                    return
                }
            }
        ).run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin))
            #expect(try await session.get().body == "hello")
            #expect(try await exchange(session) == "opened")
            #expect(server.records.count == 1, "the WebSocket uses the idle connection")
            #expect(try await session.get().body == "hello")
            #expect(server.records.count == 2, "and takes it out of the pool")
            session.pinning = try .pinning(unknownPin)
            #expect(try await failure(session).code == .serverCertificateUntrusted)
            #expect(server.records.flatMap(\.requests).count == 3)
        }
    }

    @Test("A WebSocket without TLS to a pinned host is refused before it connects (WS2)")
    func cleartext() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .echo).run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin))
            #expect(
                try await failure(session, "ws://pinned.test/").code == .appTransportSecurityRequiresSecureConnection)
            #expect(server.records.isEmpty)
            #expect(try await exchange(site.session(server), "ws://pinned.test/") == "secret")
        }
    }

    @Test("A redirect to another origin loses credentials and cookies, and one to cleartext is refused (WS3)")
    func redirects() async throws {
        let site = try TestSite.shared.get()
        let location = Locked("https://start.test/there")
        let script = LoopbackServer.Script.handle { connection in
            guard let request = try connection.readRequest() else { return }
            guard request.target == "/there" else {
                return try connection.write(
                    LoopbackServer.Response(
                        "302 Found", fields: ["Location: \(location.withLock(\.self))"], closes: true))
            }
            try connection.write(WebSocketPeer.answer(to: request) + WebSocketPeer.frame("arrived"))
            _ = try connection.read()
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let secrets: (inout URLRequest) -> Void = { request in
                for name in ["Authorization", "Cookie", "Sec-WebSocket-Protocol"] {
                    request.setValue("secret", forHTTPHeaderField: name)
                }
            }
            for next in ["https://start.test/there", "wss://start.test/there"] {
                location.withLock { $0 = next }
                #expect(try await exchange(session, adjust: secrets) == "arrived")
            }
            location.withLock { $0 = "/there" }
            #expect(try await exchange(session, adjust: secrets) == "arrived")
            let requests = server.records.flatMap(\.requests).filter { $0.target == "/there" }
            #expect(requests.map { $0.values(of: "Authorization") } == [[], [], ["secret"]])
            #expect(requests.map { $0.values(of: "Cookie") } == [[], [], ["secret"]])
            #expect(requests.map { $0.values(of: "Sec-WebSocket-Protocol") } == [[], [], ["secret"]])
            #expect(Set(server.records.flatMap(\.requests).flatMap { $0.values(of: "Sec-WebSocket-Key") }).count == 6)
            for next in ["ws://pinned.test/there", "http://pinned.test/there"] {
                location.withLock { $0 = next }
                #expect(try await failure(session).code == .appTransportSecurityRequiresSecureConnection)
            }
            #expect(server.records.flatMap(\.requests).filter { $0.target == "/there" }.count == 3)
        }
    }

    /// Adds a body to every redirected request.
    private final class PostingDelegate: NSObject, URLSessionTaskDelegate {
        func urlSession(
            _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
            newRequest request: URLRequest
        ) async -> URLRequest? {
            var request = request
            request.httpMethod = "POST"
            request.httpBody = Data("a body".utf8)
            return request
        }
    }

    @Test("A redirected handshake stays a GET without a body, in whose place frames would follow (WS3)")
    func redirectWithBody() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.handle { connection in
            guard let request = try connection.readRequest() else { return }
            guard request.target == "/there" else {
                return try connection.write(
                    LoopbackServer.Response("302 Found", fields: ["Location: /there"], closes: true))
            }
            try connection.write(WebSocketPeer.answer(to: request) + WebSocketPeer.frame("arrived"))
            _ = try connection.read()
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server, delegate: PostingDelegate())
            #expect(try await exchange(session) == "arrived")
            let sent = server.records.flatMap(\.requests)
            #expect(sent.map(\.line) == ["GET /socket HTTP/1.1", "GET /there HTTP/1.1"])
            #expect(sent.map { $0.values(of: "Content-Length") } == [[], []])
        }
    }

    @Test("A subprotocol that can't be sent isn't in the error, because it may be a token (CS2)")
    func secretProtocol() async throws {
        let session = URLSession(configuration: .ephemeral)
        let task = session.webSocketTask(
            with: try #require(URL(string: Self.url)), protocols: ["bearer", "c2VjcmV0=="])
        task.resume()
        let error = try #require(await #expect(throws: URLError.self) { _ = try await task.receive() })
        #expect(error.code == .badURL)
        #expect(error.localizedDescription.contains("number 2"))
        #expect(!"\(error) \(error.userInfo)".contains("c2Vj"))
    }

    @Test(
        "A URL with another scheme is an error of its own",
        arguments: ["data:,x", "ftp://pinned.test/x", "ftps://pinned.test/x", "file:///etc/passwd"])
    func otherSchemes(_ url: String) async throws {
        let error = try await failure(URLSession(configuration: .ephemeral), url)
        #expect(error.code == .unsupportedURL)
    }

    @Test("Other requests are served while a server floods a WebSocket with short frames (WS7)")
    func flood() async throws {
        let site = try TestSite.shared.get()
        let portions = 5
        let script = LoopbackServer.Script.webSocket { peer in
            let portion = [[UInt8]](repeating: WebSocketPeer.frame(9, []), count: 16_000).flatMap(\.self)
            try peer.write(WebSocketPeer.frame("start"))
            for _ in 0..<portions { try peer.write(portion) }
            try peer.write(WebSocketPeer.frame("end"))
            try peer.echo()
        }
        try await LoopbackServer(chain: site.chain, script).run { flooding in
            try await LoopbackServer(chain: site.chain).run { server in
                let task = try site.session(flooding).webSocketTask(with: try #require(URL(string: Self.url)))
                task.resume()
                #expect(try await task.text() == "start")
                let isOver = Collected<Bool>()
                let flood = Task { isOver.append(try await task.text() == "end") }
                let session = try site.session(server)
                var served = 0
                while isOver.values.isEmpty {
                    _ = try await session.get()
                    served += 1
                }
                try await flood.value
                #expect(isOver.values == [true])
                // Without turns, only a few are served between the portions.
                #expect(served > portions)
                task.cancel()
            }
        }
    }

    @Test("An HTTP proxy has to open a tunnel, also without TLS, and learns nothing but the host (WS4)")
    func proxy() async throws {
        let site = try TestSite.shared.get()
        for (url, usesTLS) in [("wss://pinned.test/socket", true), ("ws://pinned.test/socket", false)] {
            let server = try usesTLS ? LoopbackServer(chain: site.chain, .echo) : LoopbackServer(plain: .echo)
            try await server.run { server in
                let script = LoopbackServer.Script.proxy(to: ["pinned.test:\(usesTLS ? 443 : 80)": server.port]) {
                    $0.values(of: "Proxy-Authorization").isEmpty
                        ? .respond(
                            .init(
                                "407 Proxy Authentication Required",
                                fields: ["Proxy-Authenticate: Basic realm=\"way out\""]))
                        : .serve
                }
                try await LoopbackServer(plain: script).run { proxy in
                    let session = try site.session(server) {
                        var way = try? proxy.configuration()
                        way?.applyCredential(username: "open", password: "sesame")
                        $0.proxyConfigurations = [way].compactMap(\.self)
                    }
                    #expect(try await exchange(session, url) == "secret")
                    let requests = proxy.records.flatMap(\.requests)
                    #expect(requests.map(\.method).allSatisfy { $0 == "CONNECT" })
                    #expect(!requests.isEmpty)
                    #expect(server.records.flatMap(\.requests).map(\.line) == ["GET /socket HTTP/1.1"])
                    #expect(server.records.flatMap(\.requests).flatMap { $0.values(of: "Proxy-Authorization") } == [])
                }
            }
        }
    }

    @Test("A response other than the handshake's opens nothing, and the message isn't sent (WS1)")
    func refused() async throws {
        let site = try TestSite.shared.get()
        let responses: [LoopbackServer.Response] = [
            .init("404 Not Found", body: "no"), .init("200 OK", body: "hello"), .init("401 Unauthorized"),
            .headOnly("101 Switching Protocols", fields: ["Upgrade: websocket", "Connection: Upgrade"]),
            .headOnly("204 No Content"),
        ]
        for response in responses {
            try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
                let session = try site.session(server)
                let error = try await failure(session)
                #expect(error.code == .badServerResponse)
                await session.flush()
                let bytes = await server.ended().flatMap(\.applicationBytes)
                #expect(String(decoding: bytes, as: UTF8.self).hasSuffix("\r\n\r\n"))
            }
        }
    }

    @Test("The handshake answers a login challenge, and carries the session's cookies (WS9)")
    func loginAndCookies() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.handle { connection in
            while let request = try connection.readRequest() {
                guard request.values(of: "Authorization").isEmpty else {
                    try connection.write(WebSocketPeer.answer(to: request) + WebSocketPeer.frame("welcome"))
                    _ = try connection.read()
                    return
                }
                try connection.write(
                    LoopbackServer.Response(
                        "401 Unauthorized",
                        fields: ["WWW-Authenticate: Basic realm=\"r\"", "Set-Cookie: a=1; Secure; Path=/"]))
            }
        }
        for isTrusted in [true, false] {
            let storage = HTTPCookieStorage(file: nil, suffixes: CookieScene().suffixes)
            try await LoopbackServer(chain: site.chain, script).run { server in
                let delegate = TaskAsyncDelegate { challenge in
                    challenge.protectionSpace.authenticationMethod == NSURLAuthenticationMethodServerTrust
                        ? acceptServer(challenge)
                        : (.useCredential, URLCredential(user: "me", password: "secret", persistence: .none))
                }
                let session = try site.session(server, delegate: delegate) {
                    $0.httpCookieStorage = storage
                    if !isTrusted { $0.trustStore = TrustStore(certificates: []) }
                }
                #expect(try await exchange(session) == "welcome")
                let requests = server.records.flatMap(\.requests)
                #expect(requests.map { $0.values(of: "Cookie") } == (isTrusted ? [[], ["a=1"]] : [[], []]))
                #expect(requests.map { $0.values(of: "Authorization").count } == [0, 1])
            }
        }
    }

    @Test("A 101 response to an ordinary request is an error")
    func unrequested() async throws {
        let site = try TestSite.shared.get()
        let response = LoopbackServer.Response.headOnly("101 Switching Protocols", fields: ["Upgrade: websocket"])
        try await LoopbackServer(chain: site.chain, .respond(response)).run { server in
            #expect(try await site.session(server).failure().code == .cannotParseResponse)
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            for (name, value) in [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Key", "x")] {
                request.setValue(value, forHTTPHeaderField: name)
            }
            let session = try site.session(server)
            let sealed = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: sealed) }
            #expect(error?.code == .cannotParseResponse)
            await session.flush()
            let sent = await server.ended(2).flatMap(\.requests).flatMap { $0.values(of: "Sec-WebSocket-Key") }
            #expect(sent == [])
        }
    }

    @Test("A flood of pings is answered with the last one, and stops no message (WS7)")
    func pingFlood() async throws {
        let site = try TestSite.shared.get()
        let pongs = Collected<String>()
        let script = LoopbackServer.Script.webSocket { peer in
            let pings = (0..<20_000).flatMap { WebSocketPeer.frame(9, Array("\($0)".utf8)) }
            try peer.write(pings + WebSocketPeer.frame("after"))
            while let frame = try peer.next(), frame.opcode != 8 { if frame.opcode == 10 { pongs.append(frame.text) } }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            #expect(try await exchange(session) == "after")
            _ = await server.ended()
            #expect(pongs.values.last == "19999")
            let numbers = pongs.values.compactMap { Int($0) }
            #expect(numbers == numbers.sorted())
        }
    }
}
