public import Foundation

/// A ``URLRequest`` as an object, for code that requires one. `request as NSURLRequest` and `object as URLRequest`
/// convert between them.
///
/// The object is immutable, except for its subclass ``NSMutableURLRequest``.
open class NSURLRequest: NSObject, NSCopying, NSMutableCopying {
    /// See ``URLRequest/CachePolicy``.
    public typealias CachePolicy = URLRequest.CachePolicy
    /// See ``URLRequest/NetworkServiceType``.
    public typealias NetworkServiceType = URLRequest.NetworkServiceType

    /// The request. ``NSMutableURLRequest`` changes it.
    var request: URLRequest

    /// Creates a GET request for a URL.
    public convenience init(url: URL) {
        self.init(URLRequest(url: url))
    }

    /// Creates a GET request for a URL with a time limit in seconds.
    public init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        request = URLRequest(url: url, cachePolicy: cachePolicy, timeoutInterval: timeoutInterval)
    }

    /// Creates an object with the properties of a request.
    public init(_ request: URLRequest) {
        self.request = request
    }

    // MARK: Properties

    /// The URL to request.
    open var url: URL? { request.url }
    /// The HTTP method. See ``URLRequest/httpMethod``.
    open var httpMethod: String? { request.httpMethod }
    /// The body. See ``URLRequest/httpBody``.
    open var httpBody: Data? { request.httpBody }
    /// The body as a stream. See ``URLRequest/httpBodyStream``.
    open var httpBodyStream: InputStream? { request.httpBodyStream }
    /// The number of seconds without progress after which the request fails. See ``URLRequest/timeoutInterval``.
    open var timeoutInterval: TimeInterval { request.timeoutInterval }
    /// The choice between a cache and the server. See ``URLRequest/cachePolicy``.
    open var cachePolicy: CachePolicy { request.cachePolicy }
    /// The URL of the document that the request is made for. See ``URLRequest/mainDocumentURL``.
    open var mainDocumentURL: URL? { request.mainDocumentURL }
    /// Whether the request has cookies. See ``URLRequest/httpShouldHandleCookies``.
    open var httpShouldHandleCookies: Bool { request.httpShouldHandleCookies }
    /// The purpose of the traffic, which has no effect.
    open var networkServiceType: NetworkServiceType { request.networkServiceType }
    /// Whether a cellular connection may be used, which has no effect.
    open var allowsCellularAccess: Bool { request.allowsCellularAccess }
    /// Whether requests may be pipelined, which has no effect.
    open var httpShouldUsePipelining: Bool { request.httpShouldUsePipelining }
    /// All header fields, or `nil` if none were ever set.
    open var allHTTPHeaderFields: [String: String]? { request.allHTTPHeaderFields }

    /// Returns the value of a field, ignoring the case of its name, or `nil` if it isn't set.
    open func value(forHTTPHeaderField field: String) -> String? { request.value(forHTTPHeaderField: field) }

    // MARK: Copies

    /// Returns an immutable object: itself, if it can't change.
    open override func copy() -> Any { copy(with: nil) }

    /// Returns an immutable object: itself, if it can't change.
    open func copy(with zone: NSZone? = nil) -> Any { self }

    /// Returns a new ``NSMutableURLRequest``.
    open override func mutableCopy() -> Any { mutableCopy(with: nil) }

    /// Returns a new ``NSMutableURLRequest``.
    open func mutableCopy(with zone: NSZone? = nil) -> Any { NSMutableURLRequest(request) }

    // MARK: Comparison

    /// Compares the requests.
    open override func isEqual(_ object: Any?) -> Bool { (object as? NSURLRequest)?.request == request }

    open override var hash: Int { request.hashValue }

    /// The method, scheme, host and path. The user, query, header fields and body may be secret and are left out.
    open override var description: String { request.description }
}

/// A request as an object that can be changed.
open class NSMutableURLRequest: NSURLRequest {
    /// The URL to request.
    open override var url: URL? {
        get { request.url }
        set { request.url = newValue }
    }

    /// The HTTP method. See ``URLRequest/httpMethod``.
    open override var httpMethod: String? {
        get { request.httpMethod }
        set { request.httpMethod = newValue }
    }

    /// The body. Setting it replaces a stream.
    open override var httpBody: Data? {
        get { request.httpBody }
        set { request.httpBody = newValue }
    }

    /// The body as an unopened stream. See ``URLRequest/httpBodyStream``.
    open override var httpBodyStream: InputStream? {
        get { request.httpBodyStream }
        set { request.httpBodyStream = newValue }
    }

    /// The number of seconds without progress after which the request fails. See ``URLRequest/timeoutInterval``.
    open override var timeoutInterval: TimeInterval {
        get { request.timeoutInterval }
        set { request.timeoutInterval = newValue }
    }

    /// The choice between a cache and the server. See ``URLRequest/cachePolicy``.
    open override var cachePolicy: CachePolicy {
        get { request.cachePolicy }
        set { request.cachePolicy = newValue }
    }

    /// The URL of the document that the request is made for. See ``URLRequest/mainDocumentURL``.
    open override var mainDocumentURL: URL? {
        get { request.mainDocumentURL }
        set { request.mainDocumentURL = newValue }
    }

    /// Whether the request has cookies. See ``URLRequest/httpShouldHandleCookies``.
    open override var httpShouldHandleCookies: Bool {
        get { request.httpShouldHandleCookies }
        set { request.httpShouldHandleCookies = newValue }
    }

    /// The purpose of the traffic, which has no effect.
    open override var networkServiceType: NetworkServiceType {
        get { request.networkServiceType }
        set { request.networkServiceType = newValue }
    }

    /// Whether a cellular connection may be used, which has no effect.
    open override var allowsCellularAccess: Bool {
        get { request.allowsCellularAccess }
        set { request.allowsCellularAccess = newValue }
    }

    /// Whether requests may be pipelined, which has no effect.
    open override var httpShouldUsePipelining: Bool {
        get { request.httpShouldUsePipelining }
        set { request.httpShouldUsePipelining = newValue }
    }

    /// All header fields, or `nil` if none were ever set.
    open override var allHTTPHeaderFields: [String: String]? {
        get { request.allHTTPHeaderFields }
        set { request.allHTTPHeaderFields = newValue }
    }

    /// Sets a field and replaces any with the same name. Removes the field if `value` is `nil`.
    open func setValue(_ value: String?, forHTTPHeaderField field: String) {
        request.setValue(value, forHTTPHeaderField: field)
    }

    /// Adds a value to a field. See ``URLRequest/addValue(_:forHTTPHeaderField:)``.
    open func addValue(_ value: String, forHTTPHeaderField field: String) {
        request.addValue(value, forHTTPHeaderField: field)
    }

    /// Returns an immutable copy.
    open override func copy(with zone: NSZone? = nil) -> Any { NSURLRequest(request) }
}

// swift-format-ignore: NoLeadingUnderscores
extension URLRequest: _ObjectiveCBridgeable {
    public typealias _ObjectType = NSURLRequest

    /// Returns the object for `request as NSURLRequest`.
    public func _bridgeToObjectiveC() -> NSURLRequest { NSURLRequest(self) }

    /// Sets the request for `object as! URLRequest`.
    public static func _forceBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) {
        result = source.request
    }

    /// Sets the request for `object as? URLRequest`.
    public static func _conditionallyBridgeFromObjectiveC(_ source: NSURLRequest, result: inout URLRequest?) -> Bool {
        result = source.request
        return true
    }

    /// Returns the request for `object as URLRequest`.
    public static func _unconditionallyBridgeFromObjectiveC(_ source: NSURLRequest?) -> URLRequest {
        source?.request ?? .withoutURL
    }
}
