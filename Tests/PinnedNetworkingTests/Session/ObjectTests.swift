import PinctlTestPKI
import PinnedNetworking
import Testing

/// The methods that packages declare in a protocol of their own, to replace a session in tests.
private protocol Fetching {
    func data(for request: URLRequest) async throws -> (Data, URLResponse)
    func data(from url: URL) async throws -> (Data, URLResponse)
    func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse)
    func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse)
    func download(for request: URLRequest) async throws -> (URL, URLResponse)
    func download(from url: URL) async throws -> (URL, URLResponse)
    func bytes(from url: URL) async throws -> (URLSession.AsyncBytes, URLResponse)
}

extension URLSession: Fetching {}

/// A session that answers without a network.
private final class SessionMock: URLSession, @unchecked Sendable {
    override func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        TaskMock { completionHandler(Data("mock".utf8), request.url.flatMap { ResponseMock($0) }, nil) }
    }
}

private final class TaskMock: URLSessionDataTask, @unchecked Sendable {
    private let body: @Sendable () -> Void

    init(_ body: @escaping @Sendable () -> Void) {
        self.body = body
        super.init()
    }

    override func resume() { body() }
}

private final class ResponseMock: HTTPURLResponse, @unchecked Sendable {
    init?(_ url: URL) {
        super.init(url: url, statusCode: 299, httpVersion: nil, headerFields: nil)
    }

    override var mimeType: String? { "text/mock" }
}

/// The classes as objects: `NSObject` subclasses with the semantics of FoundationNetworking's.
@Suite struct ObjectTests {
    /// Makes an object, and whether another one with the same contents is equal to it.
    private static let rows: [(name: String, make: @Sendable () throws -> NSObject, isValue: Bool)] = [
        ("session", { URLSession(configuration: .ephemeral) }, false),
        ("configuration", { URLSessionConfiguration.ephemeral }, false),
        ("data task", { URLSession.shared.dataTask(with: try url()) }, false),
        ("upload task", { URLSession.shared.uploadTask(with: URLRequest(url: try url()), from: Data()) }, false),
        ("download task", { URLSession.shared.downloadTask(with: try url()) }, false),
        ("WebSocket task", { URLSession.shared.webSocketTask(with: try url("wss")) }, false),
        ("bare task", { URLSessionDataTask() }, false),
        ("response", { response(try url()) }, true),
        ("HTTP response", { try http(["A": "b"]) }, true),
        ("cookie", { try cookie("v") }, true),
        ("cookie storage", { HTTPCookieStorage() }, false),
        ("credential", { URLCredential(user: "u", password: "p", persistence: .none) }, true),
        ("credential storage", { URLCredentialStorage() }, false),
        ("space", { space(443) }, true),
        ("cache", { URLCache(memoryCapacity: 1, diskCapacity: 0) }, false),
        ("cached response", { CachedURLResponse(response: response(try url()), data: Data([1])) }, true),
    ]

    private static func url(_ scheme: String = "https") throws -> URL {
        try #require(URL(string: "\(scheme)://object.test/"))
    }

    private static func response(_ url: URL) -> URLResponse {
        URLResponse(url: url, mimeType: "a/b", expectedContentLength: 3, textEncodingName: nil)
    }

    private static func http(_ fields: [String: String]) throws -> HTTPURLResponse {
        try #require(HTTPURLResponse(url: try url(), statusCode: 200, httpVersion: nil, headerFields: fields))
    }

    private static func cookie(_ value: String) throws -> HTTPCookie {
        try #require(HTTPCookie(properties: [.name: "n", .value: value, .domain: "object.test", .path: "/"]))
    }

    private static func space(_ port: Int) -> URLProtectionSpace {
        URLProtectionSpace(
            host: "object.test", port: port, protocol: "https", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
    }

    @Test("Objects compare by identity or by value, and can be members of NSSet")
    func equality() throws {
        for row in Self.rows {
            let (first, second) = (try row.make(), try row.make())
            #expect(first.isEqual(first) && first == first, "\(row.name)")
            #expect(first.isEqual(second) == row.isValue, "\(row.name)")
            #expect((first == second) == row.isValue, "\(row.name)")
            if row.isValue { #expect(first.hash == second.hash, "\(row.name)") }
            #expect(NSSet(array: [first, second]).count == (row.isValue ? 1 : 2), "\(row.name)")
            #expect(Set([first, second]).count == (row.isValue ? 1 : 2), "\(row.name)")
            #expect(!first.isEqual("\(row.name)") && !first.isEqual(nil), "\(row.name)")
            #expect(!first.description.isEmpty && first.debugDescription == first.description, "\(row.name)")
        }
    }

    @Test("Objects with other contents differ")
    func difference() throws {
        #expect(try Self.http(["A": "b"]) != Self.http(["A": "c"]))
        #expect(try Self.http([:]).isEqual(Self.response(Self.url())) == false)
        #expect(try Self.cookie("v") != Self.cookie("w"))
        #expect(Self.space(443) != Self.space(444))
        #expect(
            URLCredential(user: "u", password: "p", persistence: .none)
                != URLCredential(user: "u", password: "q", persistence: .none))
    }

    @Test("A copy of a configuration is another object, and a copy of what can't change is the same")
    func copies() throws {
        let configuration = URLSessionConfiguration.default
        configuration.timeoutIntervalForRequest = 7
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        #expect(copy !== configuration && copy.timeoutIntervalForRequest == 7)
        let task = URLSession.shared.dataTask(with: try Self.url())
        #expect(task.copy() as AnyObject === task)
        let space = Self.space(1)
        #expect(space.copy() as AnyObject === space)
    }

    @Test("Descriptions of objects contain no secrets (CS2)")
    func descriptions() throws {
        let credential = URLCredential(user: "mellon", password: "sesame", persistence: .none)
        let texts = [
            credential.description, "\(credential)", String(reflecting: credential),
            try Self.cookie("sesame").description,
            "\(try Self.http(["Set-Cookie": "a=sesame"]))",
        ]
        #expect(texts.allSatisfy { !$0.contains("sesame") && !$0.contains("mellon") })
    }

    @Test("A subclass of a session, a task or a response can replace it in tests")
    func subclasses() async throws {
        let session = SessionMock(configuration: .ephemeral)
        let url = try Self.url()
        let (data, response): (Data?, URLResponse?) = await withCheckedContinuation { continuation in
            session.dataTask(with: URLRequest(url: url)) { data, response, _ in
                continuation.resume(returning: (data, response))
            }.resume()
        }
        #expect(data == Data("mock".utf8))
        #expect((response as? HTTPURLResponse)?.statusCode == 299 && response?.mimeType == "text/mock")
        let task = URLSessionDataTask()
        task.resume()
        task.cancel()
        #expect(task.originalRequest == nil && task.response == nil)
    }

    @Test("A session satisfies a protocol with the async methods, which have no delegate there")
    func witnesses() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { .init(body: "\($0.method) \($0.body.count)") }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session: any Fetching = try site.session(server, policy: .pinning(site.leaf.key.pin))
            let url = try #require(URL(string: "https://pinned.test/"))
            var post = URLRequest(url: url)
            post.httpMethod = "POST"
            let file = try TestDirectory()
            let body = URL(filePath: try file.add("four"))
            let answers = [
                try await session.data(for: URLRequest(url: url)).0, try await session.data(from: url).0,
                try await session.upload(for: post, from: Data("sent".utf8)).0,
                try await session.upload(for: post, fromFile: body).0,
            ]
            #expect(answers.map { String(decoding: $0, as: UTF8.self) } == ["GET 0", "GET 0", "POST 4", "POST 4"])
            for (file, _) in [
                try await session.download(for: URLRequest(url: url)), try await session.download(from: url),
            ] {
                #expect(try String(contentsOf: file, encoding: .utf8) == "GET 0")
                try FileManager.default.removeItem(at: file)
            }
            let (bytes, _) = try await session.bytes(from: url)
            #expect(try await bytes.reduce(0) { count, _ in count + 1 } == 5)
        }
    }
}
