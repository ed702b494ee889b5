import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// Cookies with the whole client: CK1 to CK3 and CK5 to CK7.
@Suite(.timeLimit(.minutes(10)))
struct CookieSessionTests {
    private static let site = Result<TestSite, any Error> {
        try TestSite.pinned([.dns("pinned.test"), .dns("start.test"), .dns("www.pinned.test")])
    }

    private let storage = HTTPCookieStorage(file: nil, suffixes: CookieScene().suffixes)

    /// Runs a server with this script, and a session with the storage.
    private func run(
        _ script: LoopbackServer.Script,
        adjust: (URLSessionConfiguration) -> Void = { _ in },
        _ body: (URLSession) async throws -> Void
    ) async throws -> [LoopbackServer.Request] {
        let site = try Self.site.get()
        return try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server) {
                $0.httpCookieStorage = storage
                adjust($0)
            }
            try await body(session)
            await session.flush()
            return await server.ended(server.records.count).flatMap(\.requests)
        }
    }

    private func cookies(_ requests: [LoopbackServer.Request]) -> [String] {
        requests.map { $0.target + " " + $0.values(of: "Cookie").joined(separator: " | ") }
    }

    private func request(_ url: String, cookie: String? = nil) throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: url)))
        request.setValue(cookie, forHTTPHeaderField: "Cookie")
        return request
    }

    @Sendable private static func setting(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        .init(fields: ["Set-Cookie: a=\(request.target.dropFirst()); Path=/", "set-cookie: b=2"], body: "hello")
    }

    @Test("A session without a storage has no cookies, which is the default")
    func off() async throws {
        #expect(URLSessionConfiguration.default.httpCookieStorage == nil)
        #expect(URLSessionConfiguration.ephemeral.httpCookieStorage == nil)
        #expect(URLSessionConfiguration.default.httpShouldSetCookies)
        #expect(URLSessionConfiguration.default.httpCookieAcceptPolicy == .onlyFromMainDocumentDomain)
        #expect(try request("https://a.test/").httpShouldHandleCookies)
        let shared = HTTPCookieStorage.shared.cookies
        let withoutStorage: (URLSessionConfiguration) -> Void = { $0.httpCookieStorage = nil }
        let requests = try await run(.answer(Self.setting), adjust: withoutStorage) { session in
            for target in ["1", "2"] { _ = try await session.get("https://pinned.test/\(target)") }
        }
        #expect(cookies(requests) == ["/1 ", "/2 "])
        #expect(HTTPCookieStorage.shared.cookies == shared)
    }

    @Test("A session with a storage sends back what responses set, whatever their status")
    func on() async throws {
        let requests = try await run(
            .answer { request in
                let status = ["/1": "200 OK", "/2": "404 Not Found", "/3": "500 Oops"][request.target] ?? "200 OK"
                return .init(status, fields: ["Set-Cookie: c\(request.target.dropFirst())=1"], body: "hello")
            }
        ) { session in
            for target in ["1", "2", "3", "4"] { _ = try await session.get("https://pinned.test/\(target)") }
        }
        #expect(cookies(requests) == ["/1 ", "/2 c1=1", "/3 c1=1; c2=1", "/4 c1=1; c2=1; c3=1"])
        #expect(storage.cookies?.map(\.name) == ["c1", "c2", "c3", "c4"])
    }

    @Test("The settings of the session and of the request switch sending and storing off")
    func settings() async throws {
        let known = try #require(
            HTTPCookie(properties: [.name: "k", .value: "1", .path: "/", .domain: "pinned.test"]))
        let document = try #require(URL(string: "https://other.test/"))
        let rows: [(String, (URLSessionConfiguration) -> Void, (inout URLRequest) -> Void, String, Int)] = [
            ("all", { _ in }, { _ in }, "k=1", 3),
            ("sending off", { $0.httpShouldSetCookies = false }, { _ in }, "", 3),
            ("policy", { $0.httpCookieAcceptPolicy = .never }, { _ in }, "k=1", 1),
            ("request off", { _ in }, { $0.httpShouldHandleCookies = false }, "", 1),
            ("other site", { _ in }, { $0.mainDocumentURL = document }, "", 1),
            ("other site, always", { $0.httpCookieAcceptPolicy = .always }, { $0.mainDocumentURL = document }, "", 1),
            ("own site", { _ in }, { $0.mainDocumentURL = $0.url }, "k=1", 3),
        ]
        for (name, adjust, change, sent, count) in rows {
            storage.removeCookies(since: .distantPast)
            storage.setCookie(known)
            let requests = try await run(.answer(Self.setting), adjust: adjust) { session in
                var request = try request("https://pinned.test/x")
                change(&request)
                _ = try await session.data(for: request)
            }
            #expect(cookies(requests) == ["/x \(sent)"], "\(name)")
            #expect(storage.cookies?.count == count, "\(name)")
        }
    }

    @Test("The storage's cookies replace the caller's Cookie field, which is sent if there are none")
    func callersField() async throws {
        storage.setCookie(
            try #require(HTTPCookie(properties: [.name: "k", .value: "1", .path: "/x", .domain: "pinned.test"])))
        let requests = try await run(.respond(.init())) { session in
            for target in ["x", "y"] {
                _ = try await session.data(for: try request("https://pinned.test/\(target)", cookie: "own=1"))
            }
            var request = try request("https://pinned.test/x", cookie: "own=1")
            request.httpShouldHandleCookies = false
            _ = try await session.data(for: request)
        }
        #expect(cookies(requests) == ["/x k=1", "/y own=1", "/x own=1"])
    }

    @Test("CK2: A redirect sets cookies, and the next request carries those of its own URL only")
    func redirects() async throws {
        let requests = try await run(
            .answer { request in
                switch (request.values(of: "Host").first ?? "", request.target) {
                case ("pinned.test", "/go"):
                    .init("302 Found", fields: ["Location: /on", "Set-Cookie: p=1", "Set-Cookie: d=1; Path=/on"])
                case ("pinned.test", "/on"):
                    .init(
                        "302 Found",
                        fields: ["Location: https://start.test/other", "Set-Cookie: q=1; Domain=start.test"])
                case ("start.test", "/other"):
                    .init("307 Temporary Redirect", fields: ["Location: https://pinned.test/back", "Set-Cookie: s=1"])
                default: .init(body: "hello")
                }
            }
        ) { session in
            let (_, response) = try await session.data(for: try request("https://pinned.test/go", cookie: "own=1"))
            #expect((response as? HTTPURLResponse)?.statusCode == 200)
        }
        #expect(Set(cookies(requests)) == ["/go own=1", "/on d=1; p=1", "/other ", "/back p=1"])
        #expect(
            storage.cookies?.map { "\($0.domain) \($0.name)" } == ["pinned.test p", "pinned.test d", "start.test s"])
    }

    @Test("A 401 sets cookies, and the request with the login carries them")
    func login() async throws {
        let requests = try await run(
            .answer { request in
                request.values(of: "Authorization").isEmpty
                    ? .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"in\"", "Set-Cookie: c=1"])
                    : .init(body: "hello")
            }
        ) { session in
            let body = try await session.get("https://me:secret@pinned.test/").body
            #expect(body == "hello")
        }
        #expect(cookies(requests) == ["/ ", "/ c=1"])
    }

    @Test("CK3: A Secure cookie isn't sent to the same host over http, which can't replace it either")
    func cleartext() async throws {
        _ = try await run(.respond(.init(fields: ["Set-Cookie: s=1; Secure; Path=/", "Set-Cookie: p=1; Path=/"]))) {
            _ = try await $0.get()
        }
        let site = try Self.site.get()
        let script = LoopbackServer.Script.respond(
            .init(fields: ["Set-Cookie: s=2; Path=/", "Set-Cookie: t=1; Secure"]))
        try await LoopbackServer(plain: script).run { server in
            let session = try site.session(server) { $0.httpCookieStorage = storage }
            _ = try await session.get("http://pinned.test/")
            await session.flush()
            #expect(cookies(await server.ended(1).flatMap(\.requests)) == ["/ p=1"])
        }
        #expect(storage.cookies?.map { "\($0.name)=\($0.value)" } == ["s=1", "p=1"])
    }

    @Test("CK5: A proxy's 407 and its answers to CONNECT set no cookie", arguments: ["http", "https"])
    func proxy(scheme: String) async throws {
        let site = try Self.site.get()
        let script = LoopbackServer.Script.respond(.init(fields: ["Set-Cookie: own=1"], body: "hello"))
        try await (scheme == "http" ? LoopbackServer(plain: script) : LoopbackServer(chain: site.chain, script)).run {
            server in
            let targets = ["pinned.test:443": server.port, "pinned.test:80": server.port, "pinned.test": server.port]
            let proxyScript = LoopbackServer.Script.proxy(to: targets) { request in
                guard request.values(of: "Proxy-Authorization").isEmpty else {
                    return scheme == "http"
                        ? .serve
                        : .tunnel(after: .headOnly("200 OK", fields: ["Set-Cookie: tunnel=1; Domain=pinned.test"]))
                }
                return .respond(
                    .init(
                        "407 Proxy Authentication Required",
                        fields: ["Proxy-Authenticate: Basic realm=\"p\"", "Set-Cookie: proxy=1"]))
            }
            try await LoopbackServer(plain: proxyScript).run { proxy in
                var way = try proxy.configuration()
                way.applyCredential(username: "me", password: "secret")
                let session = try site.session(server) {
                    $0.httpCookieStorage = storage
                    $0.urlCredentialStorage = URLCredentialStorage()
                    $0.proxyConfigurations = [way]
                }
                storage.setCookie(
                    try #require(
                        HTTPCookie(properties: [.name: "k", .value: "1", .path: "/", .domain: "pinned.test"])))
                #expect(try await session.get("\(scheme)://pinned.test/").body == "hello")
                await session.flush()
                #expect(storage.cookies?.map(\.name) == ["k", "own"])
                #expect(cookies(await server.ended(1).flatMap(\.requests)) == ["/ k=1"])
                let asked = await proxy.ended(1).flatMap(\.requests)
                #expect(asked.count == 2)
                // The proxy that fetches the resource sees the cookies, the one that opens a tunnel doesn't.
                #expect(asked.allSatisfy { $0.values(of: "Cookie").isEmpty == (scheme == "https") })
            }
        }
    }

    @Test("CK6: A server that only a delegate accepted gets no cookies and sets none")
    func untrusted() async throws {
        storage.setCookie(
            try #require(HTTPCookie(properties: [.name: "k", .value: "1", .path: "/", .domain: "pinned.test"])))
        for delegate in [SessionAsyncDelegate(acceptServer), TaskAsyncDelegate(acceptServer)]
            as [any URLSessionTaskDelegate]
        {
            let unrelated = try TestSite.pinned()
            // The delegate accepts both servers, but only one has a chain that the session trusts.
            for (chain, sent, stored) in try [
                (unrelated.chain, "", ["k"]), (Self.site.get().chain, "k=1", ["k", "a", "b"]),
            ] {
                let requests = try await LoopbackServer(chain: chain, .answer(Self.setting)).run { server in
                    let session = try Self.site.get().session(server, delegate: delegate) {
                        $0.httpCookieStorage = storage
                    }
                    for _ in 0..<2 { _ = try await session.get("https://pinned.test/x") }
                    await session.flush()
                    return await server.ended(server.records.count).flatMap(\.requests)
                }
                #expect(requests.count == 2)
                #expect(cookies(requests).first == "/x \(sent)")
                if sent.isEmpty { #expect(cookies(requests).last == "/x ") }
                #expect(storage.cookies?.map(\.name) == stored)
            }
            storage.removeCookies(since: .distantPast)
            storage.setCookie(
                try #require(HTTPCookie(properties: [.name: "k", .value: "1", .path: "/", .domain: "pinned.test"])))
        }
    }

    @Test("CK6: A cookie isn't sent to a server that the request's pins refuse")
    func pins() async throws {
        _ = try await run(.answer(Self.setting)) { _ = try await $0.get() }
        #expect(storage.cookies?.count == 2)
        let site = try Self.site.get()
        let policy = try PinningPolicy.pinning("sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=")
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, policy: policy) { $0.httpCookieStorage = storage }
            #expect(try await session.failure().pinningError != nil)
            await session.flush()
            #expect(await server.ended(1).flatMap(\.applicationBytes).isEmpty)
        }
    }

    @Test("CK7: A response with a control character in Set-Cookie sets no cookie")
    func injection() async throws {
        let head = "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nSet-Cookie: a=1\r\nSet-Cookie: b=x\u{1}y\r\n\r\nhello"
        _ = try await run(.respond(.raw(Array(head.utf8)))) { session in
            _ = try? await session.get()
        }
        #expect(storage.cookies?.contains { $0.name == "b" } == false)
    }

    @Test("CK8: Of one response, 50 Set-Cookie fields are considered")
    func flood() async throws {
        let fields = (0..<60).map { "Set-Cookie: c\($0)=1; Path=/p" } + ["Set-Cookie: x=1"]
        _ = try await run(.respond(.init(fields: fields))) { _ = try await $0.get() }
        #expect(storage.cookies?.count == 50)
        #expect(storage.cookies?.contains { $0.name == "x" } == false)
    }

    @Test("Cookies of a storage with a file are sent and stored, and reset() removes them")
    func file() async throws {
        let parent = try TestDirectory()
        let directory = URL(filePath: parent.path + "/c")
        let stored = try HTTPCookieStorage(directory: directory)
        let known = try #require(
            HTTPCookie(properties: [
                .name: "k", .value: "1", .path: "/", .domain: "pinned.test", .expires: Date(timeIntervalSinceNow: 1000),
            ]))
        // Another process stores it while the session exists.
        let other = try HTTPCookieStorage(directory: directory)
        let script = LoopbackServer.Script.respond(.init(fields: ["Set-Cookie: f=1; Max-Age=100"], body: "hello"))
        let withFile: (URLSessionConfiguration) -> Void = { $0.httpCookieStorage = stored }
        let requests = try await run(script, adjust: withFile) { session in
            _ = try await session.get("https://pinned.test/1")
            other.setCookie(known)
            _ = try await session.get("https://pinned.test/2")
            #expect(Set(try HTTPCookieStorage(directory: directory).cookies?.map(\.name) ?? []) == ["f", "k"])
            await session.reset()
            _ = try await session.get("https://pinned.test/3")
        }
        #expect(
            cookies(requests).map { Set($0.split { " ;".contains($0) }) } == [["/1"], ["/2", "f=1", "k=1"], ["/3"]])
    }

    @Test("A task's cookies are those of its current request")
    func tasks() async throws {
        let url = try #require(URL(string: "https://pinned.test/x"))
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: url)
        let cookie = try #require(HTTPCookie(properties: [.name: "k", .value: "1", .path: "/x", .originURL: url]))
        let foreign = try #require(HTTPCookie(properties: [.name: "f", .value: "1", .path: "/", .domain: "b.test"]))
        storage.storeCookies([cookie, foreign], for: task)
        #expect(storage.cookies == [cookie])
        #expect(await storage.cookies(for: task) == [cookie])
        let seen = Collected<[HTTPCookie]?>()
        storage.getCookiesFor(task) { seen.append($0) }
        #expect(seen.values == [[cookie]])
        session.invalidateAndCancel()
    }
}
