import PinnedNetworking

/// A library that makes sessions of its own, in every way there is. It knows nothing of pins, and accepts every server.
enum Dependency {
    final class Careless: NSObject, URLSessionDataDelegate {
        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    /// A protocol class that sends the request by a session of its own.
    final class Forwarding: URLProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func stopLoading() {}

        override func startLoading() {
            let session = URLSession(configuration: .default)
            session.dataTask(with: request) { [self] data, response, error in
                if let error { return client?.urlProtocol(self, didFailWithError: error) ?? () }
                if let response { client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed) }
                if let data { client?.urlProtocol(self, didLoad: data) }
                client?.urlProtocolDidFinishLoading(self)
            }.resume()
        }
    }

    /// A protocol class that answers itself.
    final class Answering: URLProtocol, @unchecked Sendable {
        override class func canInit(with request: URLRequest) -> Bool { true }
        override class func canonicalRequest(for request: URLRequest) -> URLRequest { request }
        override func stopLoading() {}

        override func startLoading() {
            client?.urlProtocol(self, didLoad: Data("the class".utf8))
            client?.urlProtocolDidFinishLoading(self)
        }
    }

    /// The delegate of a connection, which passes the body on.
    final class Reader: NSObject, NSURLConnectionDataDelegate {
        private let continuation: CheckedContinuation<String, any Error>

        init(_ continuation: CheckedContinuation<String, any Error>) { self.continuation = continuation }

        func connection(_ connection: NSURLConnection, didReceive data: Data) {
            continuation.resume(returning: text(data))
        }

        func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {
            continuation.resume(throwing: error)
        }
    }

    /// A session class of its own.
    final class Session: URLSession, @unchecked Sendable {}

    typealias Way = (name: String, send: @Sendable (URL) async throws -> String)

    static let ways: [Way] = [
        ("shared", { try await text(URLSession.shared.data(from: $0)) }),
        ("default", { try await text(session(.default).data(for: URLRequest(url: $0))) }),
        ("ephemeral", { try await text(session(.ephemeral).data(from: $0)) }),
        ("copy", { try await text(session(copy(of: .default)).data(from: $0)) }),
        ("session's", { try await text(session(URLSession.shared.configuration).data(from: $0)) }),
        ("subclass", { try await text(Session(configuration: .default).data(from: $0)) }),
        ("session delegate", { try await text(session(.default, Careless()).data(from: $0)) }),
        ("task delegate", { try await text(session(.default).data(from: $0, delegate: Careless())) }),
        (
            "no pins",
            { url in
                let session = session(.default)
                session.pinning = nil
                return try await text(session.data(from: url))
            }
        ),
        (
            "registered class",
            { url in
                URLProtocol.registerClass(Answering.self)
                defer { URLProtocol.unregisterClass(Answering.self) }
                return try await text(URLSession.shared.data(from: url))
            }
        ),
        (
            "own class",
            { url in
                let configuration = URLSessionConfiguration.default
                configuration.protocolClasses = [Forwarding.self]
                return try await text(session(configuration).data(from: url))
            }
        ),
        (
            "handler",
            { url in
                try await withCheckedThrowingContinuation { continuation in
                    session(.default).dataTask(with: url) { data, _, error in
                        continuation.resume(with: error.map { .failure($0) } ?? .success(text(data)))
                    }.resume()
                }
            }
        ),
        (
            "upload",
            { url in
                var request = URLRequest(url: url)
                request.httpMethod = "POST"
                return try await text(session(.default).upload(for: request, from: Data("secret".utf8)))
            }
        ),
        (
            "streamed upload",
            { url in
                var request = URLRequest(url: url)
                request.httpMethod = "POST"
                request.httpBodyStream = InputStream(data: Data("secret".utf8))
                return try await text(session(.default).data(for: request))
            }
        ),
        (
            "download",
            { url in
                let (file, _) = try await session(.default).download(from: url)
                defer { try? FileManager.default.removeItem(at: file) }
                return try String(contentsOf: file, encoding: .utf8)
            }
        ),
        (
            "bytes",
            { url in
                let (bytes, _) = try await session(.default).bytes(from: url)
                var body = Data()
                for try await byte in bytes { body.append(byte) }
                return text(body)
            }
        ),
        (
            "WebSocket",
            { url in
                let task = session(.default).webSocketTask(with: try webSocket(url))
                task.resume()
                defer { task.cancel() }
                guard case .string(let text) = try await task.receive() else { return "no text" }
                return text
            }
        ),
        (
            "connection",
            { url in
                try await withCheckedThrowingContinuation { continuation in
                    let connection = NSURLConnection(
                        request: URLRequest(url: url), delegate: Reader(continuation), startImmediately: false)
                    connection?.setDelegateQueue(OperationQueue())
                    connection?.start()
                }
            }
        ),
    ]

    static func session(
        _ configuration: URLSessionConfiguration, _ delegate: (any URLSessionDelegate)? = nil
    ) -> URLSession {
        URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    static func copy(of configuration: URLSessionConfiguration) -> URLSessionConfiguration {
        configuration.copy() as? URLSessionConfiguration ?? configuration
    }

    static func text(_ answer: (Data, URLResponse)) -> String { text(answer.0) }
    static func text(_ data: Data?) -> String { String(decoding: data ?? Data(), as: UTF8.self) }

    private static func webSocket(_ url: URL) throws -> URL {
        var components = URLComponents(url: url, resolvingAgainstBaseURL: false)
        components?.scheme = "wss"
        guard let url = components?.url else { throw URLError(.badURL) }
        return url
    }
}
