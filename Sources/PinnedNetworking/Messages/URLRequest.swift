public import Foundation
import PinctlBasics
import PinctlHTTPMessages

/// A request for a URL.
///
/// A request is checked when it is sent. If it can't be sent, the task fails with a `URLError` that says what to
/// change.
public struct URLRequest: Sendable {
    /// The URL to request, over `https` or `http`, or over FTP (`ftp`, `ftps`, `ftpes`).
    public var url: URL?
    /// Whether the request carries the cookies of the session's storage, and its responses set some. The default is
    /// true. It has no effect unless ``URLSessionConfiguration/httpCookieStorage`` is set.
    public var httpShouldHandleCookies = true
    /// The URL of the document that the request is made for, or nil if it isn't made for one.
    ///
    /// If the document is of another site, the request carries only cookies with `SameSite=None`, and the accept policy
    /// ``HTTPCookie/AcceptPolicy/onlyFromMainDocumentDomain`` accepts none from its responses.
    public var mainDocumentURL: URL?
    /// The body to send, from any source.
    var content: RequestBody? { didSet { properties.bodyStream = nil } }
    /// The values that protocol classes attach.
    var properties = RequestProperties()

    private var method = "GET"
    /// The header fields, or nil if none were ever set.
    private var ownFields: [HTTPField]?
    private(set) var ownTimeoutInterval: TimeInterval?
    var unused = UnusedSettings()

    /// A choice between the server and the responses that the program stored in a ``URLCache``.
    public enum CachePolicy: UInt, Sendable {
        /// Follow the configuration, and otherwise load from the server.
        case useProtocolCachePolicy = 0
        /// Load from the server.
        case reloadIgnoringLocalCacheData = 1
        /// Return the stored response, and load from the server if there is none.
        case returnCacheDataElseLoad = 2
        /// Return the stored response, and fail with `URLError.resourceUnavailable` if there is none.
        case returnCacheDataDontLoad = 3
        /// Load from the server.
        case reloadIgnoringLocalAndRemoteCacheData = 4
        /// Load from the server.
        case reloadRevalidatingCacheData = 5

        /// Load from the server.
        public static var reloadIgnoringCacheData: CachePolicy { .reloadIgnoringLocalCacheData }
    }

    /// Creates a GET request for a URL.
    public init(url: URL) {
        self.url = url
    }

    /// Creates a GET request for a URL with a time limit in seconds. See ``timeoutInterval``.
    public init(url: URL, timeoutInterval: TimeInterval) {
        self.url = url
        ownTimeoutInterval = timeoutInterval
    }

    /// Creates a GET request for a URL with a cache policy. See ``cachePolicy``.
    public init(url: URL, cachePolicy: CachePolicy) {
        self.url = url
        self.cachePolicy = cachePolicy
    }

    /// Creates a GET request for a URL with a cache policy and a time limit in seconds. See ``cachePolicy`` and
    /// ``timeoutInterval``.
    public init(url: URL, cachePolicy: CachePolicy, timeoutInterval: TimeInterval) {
        self.url = url
        self.cachePolicy = cachePolicy
        ownTimeoutInterval = timeoutInterval
    }

    /// The choice between a cache and the server. The default, ``CachePolicy/useProtocolCachePolicy``, means that of
    /// ``URLSessionConfiguration/requestCachePolicy``.
    public var cachePolicy = CachePolicy.useProtocolCachePolicy

    /// The HTTP method. Any method is allowed, and nil sets `GET`.
    ///
    /// Methods are case-sensitive (RFC 9110, section 9.1). As on Apple's platforms, the most common ones are converted
    /// to upper case: GET, HEAD, POST, PUT, DELETE and CONNECT.
    public var httpMethod: String? {
        get { method }
        set {
            let given = newValue ?? "GET"
            let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT"]
            method = known.first { HTTPField.foldedName($0) == HTTPField.foldedName(given) } ?? given
        }
    }

    /// The body. Nil if there is none or if it is a stream. Setting it replaces a stream.
    public var httpBody: Data? {
        get { content?.data }
        set { content = newValue.map { .data($0) } }
    }

    /// The body as an unopened stream, or nil. The request takes ownership of the stream, which can be sent once. For
    /// another attempt the delegate is asked for a new one
    /// (``URLSessionTaskDelegate/urlSession(_:needNewBodyStreamForTask:)``).
    public var httpBodyStream: InputStream? {
        get { if case .stream(let body?) = content { body.stream } else { properties.bodyStream?.stream } }
        set { content = newValue.map { .stream(BodyStream($0)) } }
    }

    /// The number of seconds without progress after which the request fails, 60 by default.
    ///
    /// If set, it replaces ``URLSessionConfiguration/timeoutIntervalForRequest``.
    public var timeoutInterval: TimeInterval {
        get { ownTimeoutInterval ?? 60 }
        set { ownTimeoutInterval = newValue }
    }

    /// All header fields of the request, or nil if none were ever set.
    ///
    /// The client itself writes `Host`, `Connection`, `Content-Length` and the other fields that follow from the
    /// request and the connection. If the request contains one of them, it is ignored and its name is logged. A `Host`
    /// other than the URL's is an error, because it would reach another virtual host under the pins of this one.
    public var allHTTPHeaderFields: [String: String]? {
        get { ownFields.map { Dictionary($0.map { ($0.name, $0.value) }) { $1 } } }
        set {
            ownFields = newValue.map { _ in [] }
            for (name, value) in (newValue ?? [:]).sorted(by: { $0.key < $1.key }) {
                setValue(value, forHTTPHeaderField: name)
            }
        }
    }

    /// The header fields in the order they are sent.
    private(set) var fields: [HTTPField] {
        get { ownFields ?? [] }
        set { ownFields = newValue }
    }

    /// Returns the value of a field, ignoring the case of its name, or nil if it isn't set.
    public func value(forHTTPHeaderField field: String) -> String? {
        fields.value(named: field)
    }

    /// Sets a field and replaces any with the same name. Removes the field if `value` is nil.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        fields.removeAll { $0.isNamed(field) }
        if let value { fields.append(HTTPField(name: field, value: value)) }
    }

    /// Adds a value to a field. If the field is already set, the value is appended after a comma (RFC 9110, section
    /// 5.3).
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        let values = [self.value(forHTTPHeaderField: field), value].compactMap(\.self)
        setValue(values.joined(separator: ","), forHTTPHeaderField: field)
    }

    /// Returns the request with this body, or with none.
    func with(body: RequestBody?) -> URLRequest {
        var request = self
        request.content = body
        return request
    }

    /// The request for a protocol class, which can read a body in memory or in a file also as a stream. Each call
    /// creates a new stream.
    var withBodyStream: URLRequest {
        var request = self
        switch content {
        case .data(let data): request.properties.bodyStream = BodyStream(InputStream(data: data))
        case .file(let url): request.properties.bodyStream = InputStream(url: url).map { BodyStream($0) }
        case .stream, nil: break
        }
        return request
    }

    /// A request that fails when it is sent.
    static var withoutURL: URLRequest {
        var request = URLRequest(url: URL(filePath: "/"))
        request.url = nil
        return request
    }

    /// Returns the request with additional fields, except those that it already sets.
    func adding(_ fields: [HTTPField]?) -> URLRequest {
        guard let fields else { return self }
        var request = self
        request.fields += fields.filter { field in !self.fields.contains { $0.isNamed(field.name) } }
        return request
    }

    /// Removes the fields for which `isUnwanted` returns true.
    mutating func removeFields(where isUnwanted: (HTTPField) -> Bool) {
        fields.removeAll(where: isUnwanted)
    }
}

extension URLRequest: Hashable {
    /// Compares the values of the properties. A default equals the same value set by the program: no header fields
    /// equal an empty dictionary, and no time limit equals 60 seconds. The order of fields and the case of their names
    /// are ignored.
    public static func == (left: URLRequest, right: URLRequest) -> Bool {
        left.url == right.url && left.method == right.method && left.namedValues == right.namedValues
            && left.content == right.content && left.timeoutInterval == right.timeoutInterval
            && left.cachePolicy == right.cachePolicy && left.httpShouldHandleCookies == right.httpShouldHandleCookies
            && left.mainDocumentURL == right.mainDocumentURL && left.unused == right.unused
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(url)
        hasher.combine(method)
        hasher.combine(namedValues)
    }

    /// The values of the header fields by their names in lower case.
    private var namedValues: [String: String] {
        Dictionary(fields.map { (HTTPField.foldedName($0.name), $0.value) }) { $1 }
    }
}

extension URLRequest: CustomStringConvertible, CustomDebugStringConvertible, CustomReflectable {
    /// The method, scheme, host and path. The user, query, header fields and body may be secret and are left out.
    public var description: String {
        visibleText("\(method) \(url?.withoutSecrets ?? "no URL")")
    }

    /// The same text as ``description``.
    public var debugDescription: String { description }

    /// A mirror without children, so that `dump` prints no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension URL {
    /// The scheme, host and path, or nil without a host.
    var withoutSecrets: String? { host.map { "\(scheme ?? "")://\($0)\(path)" } }
}
