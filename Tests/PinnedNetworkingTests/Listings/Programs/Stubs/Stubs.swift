import PinnedNetworking
import Synchronization

/// A protocol class as most test suites have it: the response comes from a closure that the test sets.
class MockURLProtocol: URLProtocol {
    #if swift(>=6)
    static let handler = Mutex<(@Sendable (URLRequest) throws -> (HTTPURLResponse, Data?))?>(nil)
    static var requestHandler: (@Sendable (URLRequest) throws -> (HTTPURLResponse, Data?))? {
        get { handler.withLock { $0 } }
        set { handler.withLock { $0 = newValue } }
    }
    #else
    static var requestHandler: ((URLRequest) throws -> (HTTPURLResponse, Data?))?
    #endif

    override class func canInit(with request: URLRequest) -> Bool {
        true
    }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        request
    }

    override func startLoading() {
        guard let handler = MockURLProtocol.requestHandler else {
            client?.urlProtocol(self, didFailWithError: URLError(.unknown))
            return
        }
        do {
            let (response, data) = try handler(request)
            client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .notAllowed)
            if let data = data {
                client?.urlProtocol(self, didLoad: data)
            }
            client?.urlProtocolDidFinishLoading(self)
        } catch {
            client?.urlProtocol(self, didFailWithError: error)
        }
    }

    override func stopLoading() {}
}

/// A class that handles one task at a time, with state of its own, and marks the requests that it has seen.
final class MarkingURLProtocol: URLProtocol {
    private var marks: [String]

    required init(request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?) {
        marks = ["created"]
        super.init(request: request, cachedResponse: cachedResponse, client: client)
    }

    override class func canInit(with task: URLSessionTask) -> Bool {
        guard let request = task.currentRequest else { return false }
        return property(forKey: "marked", in: request) == nil && canInit(with: request)
    }

    override class func canInit(with request: URLRequest) -> Bool { request.url?.scheme == "mark" }

    override class func canonicalRequest(for request: URLRequest) -> URLRequest {
        guard let marked = (request as NSURLRequest).mutableCopy() as? NSMutableURLRequest else { return request }
        setProperty(true, forKey: "marked", in: marked)
        return marked as URLRequest
    }

    override func startLoading() {
        marks.append(Self.property(forKey: "marked", in: request) as? Bool == true ? "marked" : "plain")
        marks.append(task == nil ? "no task" : "task")
        guard let url = request.url else { return }
        let response = URLResponse(
            url: url, mimeType: "text/plain", expectedContentLength: -1, textEncodingName: "utf-8")
        client?.urlProtocol(self, didReceive: response, cacheStoragePolicy: .allowedInMemoryOnly)
        client?.urlProtocol(self, didLoad: Data(marks.joined(separator: " ").utf8))
        client?.urlProtocolDidFinishLoading(self)
    }

    override func stopLoading() { marks = [] }
}
