import PinctlTestPKI
import PinnedNetworking
import Testing

/// The requests that a server receives, where other clients change what the program has set.
@Suite(.timeLimit(.minutes(10)))
struct SentRequestTests {
    private let site: TestSite
    init() throws { site = try TestSite.shared.get() }

    /// Sends a request and returns what the server received.
    private func sent(
        _ request: URLRequest, _ adjust: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws -> LoopbackServer.Request {
        try await LoopbackServer(chain: site.chain).run { server async throws in
            _ = try await site.session(server, adjust).data(for: request)
            return try #require(server.records.first?.requests.first)
        }
    }

    private func request(_ method: String = "GET", _ path: String = "") throws -> URLRequest {
        var request = URLRequest(url: try #require(URL(string: "https://pinned.test/\(path)")))
        request.httpMethod = method
        return request
    }

    @Test("Dots in a path, the names of header fields and the body of a GET are sent as they were set")
    func unchanged() async throws {
        var request = try request("GET", "a/../b/./c?d=e")
        request.setValue("1", forHTTPHeaderField: "x-lower")
        request.setValue("2", forHTTPHeaderField: "X-UPPER")
        request.httpBody = Data("hello".utf8)
        let sent = try await sent(request)
        #expect(sent.line == "GET /a/../b/./c?d=e HTTP/1.1")
        #expect(sent.fields.contains("x-lower: 1") && sent.fields.contains("X-UPPER: 2"))
        #expect(sent.body == Array("hello".utf8))
        #expect(sent.values(of: "Content-Type") == [])
    }

    @Test("The configuration can set User-Agent and Accept-Language, and without it there is no language")
    func presets() async throws {
        let plain = try await sent(request())
        #expect(plain.values(of: "User-Agent") == ["PinnedNetworking"])
        #expect(plain.values(of: "Accept-Language") == [])
        let own = try await sent(request()) {
            $0.httpAdditionalHeaders = ["User-Agent": "mine", "Accept-Language": "en"]
        }
        #expect(own.values(of: "User-Agent") == ["mine"])
        #expect(own.values(of: "Accept-Language") == ["en"])
    }

    @Test(
        "Without a body, only methods that usually have one send Content-Length",
        arguments: [
            ("GET", []), ("DELETE", []), ("OPTIONS", []), ("POST", ["0"]), ("PUT", ["0"]), ("PATCH", ["0"]),
        ] as [(String, [String])])
    func lengths(method: String, lengths: [String]) async throws {
        #expect(try await sent(request(method)).values(of: "Content-Length") == lengths)
    }

    @Test("A server that prefers HTTP/2 gets HTTP/1.1")
    func version() async throws {
        let server = try LoopbackServer(chain: site.chain) { $0.applicationProtocols = ["h2", "http/1.1"] }
        try await server.run { server async throws in
            #expect(try await site.session(server).get().body == "hello")
            #expect(server.records.map(\.applicationProtocol) == ["http/1.1"])
            #expect(server.records.first?.requests.first?.line == "GET / HTTP/1.1")
        }
    }
}
