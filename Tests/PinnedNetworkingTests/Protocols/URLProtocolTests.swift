import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The error of a stub that isn't a `URLError`.
private struct StubError: Error, Hashable {
    let number: Int
}

@Suite("Protocol classes", .timeLimit(.minutes(10)))
struct URLProtocolTests {
    // MARK: Results

    /// A way to send a request and to get its result as text.
    struct Way: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let result: @Sendable (URLSession, URLRequest) async throws -> (String, URLResponse?)
    }

    private static func text(_ data: Data) -> String { String(decoding: data, as: UTF8.self) }

    private typealias Handler<Value> = @Sendable (Value?, URLResponse?, (any Error)?) -> Void

    /// Waits for the handler of a task.
    private static func wait<Value: Sendable>(
        for start: (@escaping Handler<Value>) -> URLSessionTask
    ) async throws -> (Value, URLResponse?) {
        let (value, response): (Value?, URLResponse?) = try await withCheckedThrowingContinuation { continuation in
            start { value, response, error in
                continuation.resume(with: error.map { .failure($0) } ?? .success((value, response)))
            }.resume()
        }
        return (try #require(value), response)
    }

    static let ways = [
        Way(testDescription: "data") { session, request in
            let (data, response) = try await session.data(for: request)
            return (text(data), response)
        },
        Way(testDescription: "bytes") { session, request in
            let (bytes, response) = try await session.bytes(for: request)
            var data = Data()
            for try await byte in bytes { data.append(byte) }
            return (text(data), response)
        },
        Way(testDescription: "upload") { session, request in
            let (data, response) = try await session.upload(for: request, from: Data("sent".utf8))
            return (text(data), response)
        },
        Way(testDescription: "download") { session, request in
            let (file, response) = try await session.download(for: request)
            defer { try? FileManager.default.removeItem(at: file) }
            return (try String(contentsOf: file, encoding: .utf8), response)
        },
        Way(testDescription: "a data task with a handler") { session, request in
            let (data, response) = try await wait { session.dataTask(with: request, completionHandler: $0) }
            return (text(data), response)
        },
        Way(testDescription: "a download task with a handler") { session, request in
            let (body, response) = try await wait { (handler: @escaping Handler<String>) in
                session.downloadTask(with: request) { file, response, error in
                    handler(file.flatMap { try? String(contentsOf: $0, encoding: .utf8) }, response, error)
                }
            }
            return (body, response)
        },
        Way(testDescription: "a data task with a delegate") { session, request in
            let delegate = CollectingDelegate()
            let session = URLSession(configuration: session.configuration, delegate: delegate, delegateQueue: nil)
            let task = session.dataTask(with: request)
            task.resume()
            if let error = try await delegate.end() { throw error }
            return (delegate.parts.values.joined(), task.response)
        },
    ]

    @Test("A stub's response and body arrive by every way to send a request", arguments: ways)
    func results(way: Way) async throws {
        let host = "\(UUID().uuidString).test".lowercased()
        let events = StubProtocol.handle(host) { stub in
            stub.respond(418, ["X-A": "1"])
            stub.load("hel")
            stub.load("")
            stub.load("lo")
            stub.finish()
        }
        let session = URLSession(configuration: StubProtocol.configuration())
        let request = URLRequest(url: try #require(URL(string: "https://\(host)/a")))
        let (body, response) = try await way.result(session, request)
        #expect(body == "hello")
        #expect((response as? HTTPURLResponse)?.statusCode == 418)
        #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "x-a") == "1")
        #expect(try await events.wait(for: 2) == ["start", "stop"])
    }

    @Test("A stub's error arrives unchanged by every way to send a request", arguments: ways)
    func failures(way: Way) async throws {
        let host = "\(UUID().uuidString).test".lowercased()
        let events = StubProtocol.handle(host) { stub in
            if stub.request.url?.path == "/late" {
                stub.respond(200, ["ETag": "\"1\"", "Accept-Ranges": "bytes"])
                stub.load("hel")
            }
            stub.fail(StubError(number: 7))
            stub.finish()
        }
        let session = URLSession(configuration: StubProtocol.configuration())
        for (index, path) in ["early", "late"].enumerated() {
            let request = URLRequest(url: try #require(URL(string: "https://\(host)/\(path)")))
            await #expect(throws: StubError(number: 7)) { try await way.result(session, request) }
            #expect(try await events.wait(for: 2 * index + 2).suffix(2) == ["start", "stop"])
        }
    }

    @Test("An end without a response is an error that says what to call")
    func noResponse() async throws {
        let host = "no-response.test"
        _ = StubProtocol.handle(host) { stub in
            stub.load("hello")
            stub.finish()
        }
        let session = URLSession(configuration: StubProtocol.configuration())
        let error = try await session.failure("https://\(host)/")
        #expect(error.code == .badServerResponse)
        #expect(error.localizedDescription.contains("call urlProtocol(_:didReceive:cacheStoragePolicy:)"))
    }

    @Test("A class that overrides nothing handles nothing, and one without startLoading() fails the request")
    func unfinishedClasses() async throws {
        final class Unfinished: URLProtocol {
            override class func canInit(with request: URLRequest) -> Bool { true }
        }
        let url = try #require(URL(string: "stub://unfinished.test/"))
        #expect(!URLProtocol.canInit(with: URLRequest(url: url)))
        let configuration = URLSessionConfiguration.default
        configuration.protocolClasses = [URLProtocol.self, NSString.self]
        #expect(configuration.protocolClasses?.count == 1)
        #expect(try await URLSession(configuration: configuration).failure(url.absoluteString).code == .unsupportedURL)
        configuration.protocolClasses?.insert(Unfinished.self, at: 0)
        let error = try await URLSession(configuration: configuration).failure(url.absoluteString)
        #expect(error.localizedDescription.contains("Unfinished loads nothing"))
    }

    @Test("Calls from other threads, and calls after the end, have the same effect or none")
    func threads() async throws {
        let host = "threads.test"
        let events = StubProtocol.handle(host) { stub in
            guard let client = stub.client, let url = stub.request.url else { return }
            Thread.detachNewThread {
                let other = URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
                other.respond(201)
                DispatchQueue.concurrentPerform(iterations: 100) { _ in
                    let other = URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
                    other.load("x")
                }
                other.finish()
                other.finish()
                other.load("y")
                other.respond(500)
                other.fail(StubError(number: 1))
                other.redirect(to: "https://elsewhere.test/")
            }
        }
        let session = URLSession(configuration: StubProtocol.configuration())
        let (body, response) = try await session.get("https://\(host)/")
        #expect(body == String(repeating: "x", count: 100))
        #expect(response.statusCode == 201)
        #expect(try await events.wait(for: 2) == ["start", "stop"])
    }

    @Test("A cached response that the class calls valid is the result")
    func cachedResponse() async throws {
        let host = "cached.test"
        _ = StubProtocol.handle(host) { stub in
            guard let url = stub.request.url else { return }
            #expect(stub.cachedResponse == nil)
            let response = URLResponse(
                url: url, mimeType: "text/plain", expectedContentLength: 3, textEncodingName: nil)
            let cached = CachedURLResponse(response: response, data: Data("old".utf8))
            stub.client?.urlProtocol(stub, cachedResponseIsValid: cached)
        }
        let session = URLSession(configuration: StubProtocol.configuration())
        let (data, response) = try await session.data(from: try #require(URL(string: "https://\(host)/")))
        #expect(Self.text(data) == "old")
        #expect(response.mimeType == "text/plain")
    }

    // MARK: Choice

    @Test("The first class of the configuration that accepts a request handles it, and the canonical request is used")
    func choice() async throws {
        final class First: StubProtocol {
            override class func canInit(with request: URLRequest) -> Bool { request.url?.path == "/first" }
            override func startLoading() {
                respond()
                load("first")
                finish()
            }
        }
        final class Second: StubProtocol {
            override class func canInit(with task: URLSessionTask) -> Bool { task.taskIdentifier > 0 }
            override class func canonicalRequest(for request: URLRequest) -> URLRequest {
                var request = request
                request.url?.append(path: "canonical")
                return request
            }
            override func startLoading() {
                #expect(task?.currentRequest == request)
                respond()
                load(request.url?.path ?? "")
                finish()
            }
        }
        let configuration = URLSessionConfiguration.default
        #expect(configuration.protocolClasses?.isEmpty == true)
        configuration.protocolClasses = [First.self, Second.self]
        let session = URLSession(configuration: configuration)
        #expect(try await session.get("https://choice.test/first").body == "first")
        #expect(try await session.get("https://choice.test/other").body == "/other/canonical")
    }

    @Test("Registered classes handle requests of the shared session and of connections, the last one first")
    func registration() async throws {
        final class Later: StubProtocol {
            override func startLoading() {
                respond()
                load("later")
                finish()
            }
        }
        let host = "registered.test"
        let events = StubProtocol.handle(host) { stub in
            stub.respond()
            stub.load("earlier")
            stub.finish()
        }
        #expect(URLProtocol.registerClass(StubProtocol.self))
        #expect(URLProtocol.registerClass(Later.self))
        #expect(!URLProtocol.registerClass(NSString.self))
        defer {
            URLProtocol.unregisterClass(StubProtocol.self)
            URLProtocol.unregisterClass(Later.self)
        }
        #expect(try await URLSession.shared.get("https://\(host)/").body == "later")
        URLProtocol.unregisterClass(Later.self)
        #expect(try await URLSession.shared.get("https://\(host)/").body == "earlier")
        let delegate = CollectingConnection()
        let url = try #require(URL(string: "https://\(host)/"))
        _ = NSURLConnection(request: URLRequest(url: url), delegate: delegate)
        #expect(try await delegate.events.wait(for: 1) == ["earlier"])
        URLProtocol.unregisterClass(StubProtocol.self)
        #expect(try await events.wait(for: 5).count { $0 == "start" } == 2)
        #expect(URLSession(configuration: .default).configuration.protocolClasses?.isEmpty == true)
    }

    // MARK: Requests

    @Test("A stub sees the body of a request as data and as a stream, and the session's header fields")
    func bodies() async throws {
        let host = "bodies.test"
        let bodies = Collected<String>()
        _ = StubProtocol.handle(host) { stub in
            let data = stub.request.httpBody.map(Self.text) ?? "none"
            let stream = stub.request.httpBodyStream.map { Self.text(Data(reading: $0)) } ?? "none"
            bodies.append("\(data) \(stream) \(stub.request.value(forHTTPHeaderField: "x-b") ?? "")")
            stub.respond()
            stub.finish()
        }
        let session = URLSession(configuration: StubProtocol.configuration { $0.httpAdditionalHeaders = ["X-B": "2"] })
        var request = URLRequest(url: try #require(URL(string: "https://\(host)/")))
        _ = try await session.data(for: request)
        request.httpMethod = "POST"
        request.httpBody = Data("data".utf8)
        _ = try await session.data(for: request)
        #expect(request.httpBodyStream == nil)
        request.httpBodyStream = InputStream(data: Data("stream".utf8))
        _ = try await session.data(for: request)
        request.httpBody = nil
        _ = try await session.upload(for: request, from: Data("upload".utf8))
        let directory = try TestDirectory()
        let file = try directory.add("file")
        _ = try await session.upload(for: request, fromFile: URL(filePath: file))
        let delegate = Witness { InputStream(data: Data("provided".utf8)) }
        let streaming = URLSession(configuration: session.configuration, delegate: delegate, delegateQueue: nil)
        streaming.uploadTask(withStreamedRequest: request).resume()
        try await delegate.end()
        #expect(
            bodies.values == [
                "none none 2", "data data 2", "none stream 2", "upload upload 2", "none file 2", "none provided 2",
            ])
    }

    @Test("A body that a class reads while it is asked is complete when the class handles it, or when it is sent")
    func bodyReadEarly() async throws {
        final class Reader: StubProtocol {
            override class func canInit(with request: URLRequest) -> Bool {
                let body = request.httpBodyStream.map { Data(reading: $0) } ?? Data()
                return body == Data("handle".utf8)
            }
            override func startLoading() {
                respond()
                client?.urlProtocol(self, didLoad: request.httpBodyStream.map { Data(reading: $0) } ?? Data())
                finish()
            }
        }
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server) { $0.protocolClasses = [Reader.self] }
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.httpMethod = "POST"
            request.httpBody = Data("handle".utf8)
            #expect(Self.text(try await session.data(for: request).0) == "handle")
            #expect(server.records.isEmpty)
            request.httpBody = Data("send".utf8)
            _ = try await session.data(for: request)
            await session.flush()
            let sent = try #require(await server.ended().first?.requests.first)
            #expect(sent.values(of: "Content-Length") == ["4"])
            #expect(Self.text(Data(sent.body)) == "send")
        }
    }

    @Test("Properties are kept through copies and conversions, and neither sent nor compared")
    func properties() async throws {
        let url = try #require(URL(string: "https://properties.test/"))
        let plain = URLRequest(url: url)
        let marked = NSMutableURLRequest(plain)
        URLProtocol.setProperty(true, forKey: "seen", in: marked)
        let request = marked as URLRequest
        #expect(URLProtocol.property(forKey: "seen", in: request) as? Bool == true)
        #expect(URLProtocol.property(forKey: "seen", in: (request as NSURLRequest) as URLRequest) as? Bool == true)
        #expect(URLProtocol.property(forKey: "other", in: request) == nil)
        #expect(URLProtocol.property(forKey: "seen", in: plain) == nil)
        #expect(request == plain)
        #expect(request.allHTTPHeaderFields == nil)
        #expect(URLProtocol.requestIsCacheEquivalent(request, to: plain))
        URLProtocol.removeProperty(forKey: "seen", in: marked)
        #expect(URLProtocol.property(forKey: "seen", in: marked as URLRequest) == nil)
    }
}

extension Data {
    /// Reads an unopened stream to its end.
    init(reading stream: InputStream) {
        let body = BodyStream(stream)
        self.init()
        while let part = try? body.read(64), !part.isEmpty { append(contentsOf: part) }
    }
}

/// Passes the parts of a body and the end to a test.
final class CollectingDelegate: URLSessionDataDelegate {
    let parts = Collected<String>()
    private let ends = Collected<(any Error)?>()

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        parts.append(String(decoding: data, as: UTF8.self))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ends.append(error)
    }

    func end() async throws -> (any Error)? {
        while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        return ends.values[0]
    }
}

/// Passes the parts of a connection's body, or its error, to a test.
final class CollectingConnection: NSObject, NSURLConnectionDataDelegate {
    let events = Collected<String>()

    func connection(_ connection: NSURLConnection, didReceive data: Data) {
        events.append(String(decoding: data, as: UTF8.self))
    }

    func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {
        events.append("error \((error as NSError).code)")
    }
}
