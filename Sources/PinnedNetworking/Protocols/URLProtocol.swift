public import Foundation
import PinctlBasics

/// A superclass for classes that handle requests in place of the network, for example in tests.
///
/// Name the subclass in ``URLSessionConfiguration/protocolClasses``. A request that it handles isn't sent, so no server
/// is evaluated and no pins are checked. See <doc:StubTheNetwork>.
///
/// Instances are created, started and stopped on one serial queue, which all protocol classes share. Their methods may
/// block it, but then other requests with protocol classes wait.
open class URLProtocol: NSObject {
    private let ownRequest: URLRequest
    private let ownCachedResponse: CachedURLResponse?
    private let ownClient: (any URLProtocolClient)?
    private var ownTask: URLSessionTask?

    /// Creates the object for a request. A session passes no cached response.
    public required init(
        request: URLRequest, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?
    ) {
        ownRequest = request
        ownCachedResponse = cachedResponse
        ownClient = client
    }

    /// Creates the object for the current request of a task. A session calls this initializer.
    public required convenience init(
        task: URLSessionTask, cachedResponse: CachedURLResponse?, client: (any URLProtocolClient)?
    ) {
        self.init(request: task.currentRequest ?? .withoutURL, cachedResponse: cachedResponse, client: client)
        ownTask = task
    }

    /// The receiver of what is loaded.
    open var client: (any URLProtocolClient)? { ownClient }
    /// The request, in its canonical form and with the session's additional header fields.
    ///
    /// A body in memory is available as ``URLRequest/httpBody`` and as ``URLRequest/httpBodyStream``. A body in a file
    /// is available as a stream.
    open var request: URLRequest { ownRequest }
    /// A cached response. A session passes none.
    open var cachedResponse: CachedURLResponse? { ownCachedResponse }
    /// The task of the request. `nil` if the object was created without one.
    open var task: URLSessionTask? { ownTask }

    // MARK: Methods to override

    /// Returns whether the class handles a request. False unless overridden.
    open class func canInit(with request: URLRequest) -> Bool { false }

    /// Returns whether the class handles a task. Unless overridden, this depends on the task's current request.
    open class func canInit(with task: URLSessionTask) -> Bool {
        task.currentRequest.map { canInit(with: $0) } ?? false
    }

    /// Returns the request to handle in place of the given one. Returns it unchanged unless overridden.
    open class func canonicalRequest(for request: URLRequest) -> URLRequest { request }

    /// Returns whether a response to one request would also answer the other one. A session never calls it. Unless
    /// overridden, compares the canonical requests.
    open class func requestIsCacheEquivalent(_ a: URLRequest, to b: URLRequest) -> Bool {
        canonicalRequest(for: a) == canonicalRequest(for: b)
    }

    /// Starts to load, and passes the results to ``client``. Unless overridden, the task fails.
    open func startLoading() {
        client?.urlProtocol(
            self, didFailWithError: URLError(ProtocolLoadError.notOverridden("\(type(of: self))"), url: request.url))
    }

    /// Stops loading. Called once after ``startLoading()``: after the end, a failure, a redirect or a cancellation.
    open func stopLoading() {}

    // MARK: Properties of requests

    /// Returns the value that was stored in a request, or `nil`.
    open class func property(forKey key: String, in request: URLRequest) -> Any? {
        request.properties.values[key]
    }

    /// Stores a value in a request, for example a mark that the class has already handled it. The value isn't sent, and
    /// is ignored when requests are compared. Don't change the value afterwards.
    open class func setProperty(_ value: Any, forKey key: String, in request: NSMutableURLRequest) {
        request.request.properties.values[key] = value
    }

    /// Removes a value from a request.
    open class func removeProperty(forKey key: String, in request: NSMutableURLRequest) {
        request.request.properties.values[key] = nil
    }

    // MARK: Registration

    private static let registered = Locked<[URLProtocol.Type]>([])

    /// The registered classes, the last one first.
    static var registeredClasses: [URLProtocol.Type] { registered.withLock { $0.reversed() } }

    /// Registers a class for ``URLSession/shared``, ``NSURLConnection`` and ``NSURLDownload``. The class that was
    /// registered last is asked first. Returns false if it isn't a subclass of ``URLProtocol``.
    ///
    /// Registered classes aren't asked about a request to which pins apply: while the session has a
    /// ``URLSession/pinning``, it uses only its own ``URLSessionConfiguration/protocolClasses``. Any code in the
    /// process can register a class, so this could otherwise disable the pins.
    @discardableResult
    open class func registerClass(_ protocolClass: AnyClass) -> Bool {
        guard let added = protocolClass as? URLProtocol.Type else { return false }
        registered.withLock { classes in
            classes.removeAll { $0 == added }
            classes.append(added)
        }
        return true
    }

    /// Removes a registered class.
    open class func unregisterClass(_ protocolClass: AnyClass) {
        registered.withLock { $0.removeAll { $0 == protocolClass } }
    }
}
