import PinctlBasics
import PinnedNetworking

/// A protocol class that handles requests to the hosts of tests. Each test has a host of its own, because tests run at
/// the same time.
class StubProtocol: URLProtocol {
    typealias Body = @Sendable (URLProtocol) -> Void

    private struct Stub: Sendable {
        let events: Collected<String>
        let start: Body
    }

    private static let stubs = Locked<[String: Stub]>([:])

    /// Handles a host, and returns the calls that its objects receive.
    static func handle(_ host: String, _ start: @escaping Body) -> Collected<String> {
        let events = Collected<String>()
        stubs.withLock { $0[host] = Stub(events: events, start: start) }
        return events
    }

    private static func stub(for request: URLRequest) -> Stub? {
        request.url?.host.flatMap { host in stubs.withLock { $0[host] } }
    }

    override class func canInit(with request: URLRequest) -> Bool { stub(for: request) != nil }

    override func startLoading() {
        guard let stub = Self.stub(for: request) else { return }
        stub.events.append("start")
        stub.start(self)
    }

    override func stopLoading() { Self.stub(for: request)?.events.append("stop") }

    /// A configuration with this class.
    class func configuration(_ adjust: (URLSessionConfiguration) -> Void = { _ in }) -> URLSessionConfiguration {
        let configuration = URLSessionConfiguration.default
        configuration.protocolClasses = [self]
        adjust(configuration)
        return configuration
    }
}

extension URLProtocol {
    /// Passes a response with a status.
    func respond(_ statusCode: Int = 200, _ fields: [String: String] = [:]) {
        guard let url = request.url,
            let response = HTTPURLResponse(
                url: url, statusCode: statusCode, httpVersion: "HTTP/1.1", headerFields: fields)
        else { return }
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
    }

    /// Passes a part of the body.
    func load(_ text: String) { client?.urlProtocol(self, didLoad: Data(text.utf8)) }

    func finish() { client?.urlProtocolDidFinishLoading(self) }

    func fail(_ error: any Error) { client?.urlProtocol(self, didFailWithError: error) }

    func redirect(to url: String, _ adjust: (inout URLRequest) -> Void = { _ in }) {
        guard let own = request.url, let url = URL(string: url),
            let response = HTTPURLResponse(
                url: own, statusCode: 302, httpVersion: nil, headerFields: ["Location": url.absoluteString])
        else { return }
        var request = URLRequest(url: url)
        adjust(&request)
        client?.urlProtocol(self, wasRedirectedTo: request, redirectResponse: response)
    }
}

extension Collected<String> {
    /// Waits for as many values. Returns all of them.
    func wait(for count: Int) async throws -> [String] {
        while values.count < count { try await Task.sleep(for: .milliseconds(2)) }
        return values
    }
}
