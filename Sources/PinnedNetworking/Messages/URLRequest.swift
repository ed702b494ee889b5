public import Foundation
import HTTPMessages

/// A request for a URL.
///
/// Whatever it holds is checked when it is sent; a request that cannot be sent as it stands is a `URLError` that says
/// what to change. There is no `cachePolicy` and no `httpShouldHandleCookies`: this client keeps neither a cache nor
/// cookies.
public struct URLRequest: Sendable, Hashable {
    /// What is requested, over `https` or `http`.
    public var url: URL?
    /// What is sent, whatever it comes from.
    var content: RequestBody?

    private var method = "GET"
    private(set) var fields: [HTTPField] = []
    private(set) var ownTimeoutInterval: TimeInterval?

    /// A GET of this URL.
    public init(url: URL) {
        self.url = url
    }

    /// A GET of this URL that waits this many seconds; see ``timeoutInterval``.
    public init(url: URL, timeoutInterval: TimeInterval) {
        self.url = url
        ownTimeoutInterval = timeoutInterval
    }

    /// Any method; setting nil sets `GET`.
    ///
    /// The case of a method counts (RFC 9110, section 9.1). As on Apple's systems the commonest are put into capitals:
    /// GET, HEAD, POST, PUT, DELETE and CONNECT.
    public var httpMethod: String? {
        get { method }
        set {
            let given = newValue ?? "GET"
            let known = ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT"]
            method = known.first { HTTPField.foldedName($0) == HTTPField.foldedName(given) } ?? given
        }
    }

    /// The body; nil for none, and for one that comes from a stream. One takes the place of the other.
    public var httpBody: Data? {
        get { content?.data }
        set { content = newValue.map { .data($0) } }
    }

    /// The body as a stream that has not been opened; nil for none. It is the request's from then on, and can be sent
    /// once: a delegate is asked for another (``URLSessionTaskDelegate/urlSession(_:needNewBodyStreamForTask:)``).
    public var httpBodyStream: InputStream? {
        get { if case .stream(let body?) = content { body.stream } else { nil } }
        set { content = newValue.map { .stream(BodyStream($0)) } }
    }

    /// Seconds without progress after which the request fails; 60 unless set.
    ///
    /// Where it is set it takes the place of ``URLSessionConfiguration/timeoutIntervalForRequest``.
    public var timeoutInterval: TimeInterval {
        get { ownTimeoutInterval ?? 60 }
        set { ownTimeoutInterval = newValue }
    }

    /// All header fields of the request; nil when there is none.
    ///
    /// `Host`, `Connection`, `Content-Length` and the other fields that follow from the request and the connection are
    /// written by the client. A request that holds one is refused when it is sent.
    public var allHTTPHeaderFields: [String: String]? {
        get { fields.isEmpty ? nil : Dictionary(fields.map { ($0.name, $0.value) }) { $1 } }
        set {
            fields = []
            for (name, value) in (newValue ?? [:]).sorted(by: { $0.key < $1.key }) {
                setValue(value, forHTTPHeaderField: name)
            }
        }
    }

    /// The value of a field, whatever the case of its name; nil when it is not there.
    public func value(forHTTPHeaderField field: String) -> String? {
        fields.value(named: field)
    }

    /// Sets a field in place of one with this name, or removes it when `value` is nil.
    public mutating func setValue(_ value: String?, forHTTPHeaderField field: String) {
        fields.removeAll { $0.isNamed(field) }
        if let value { fields.append(HTTPField(name: field, value: value)) }
    }

    /// Adds a value to a field, behind a comma when the field is there already (RFC 9110, section 5.3).
    public mutating func addValue(_ value: String, forHTTPHeaderField field: String) {
        let values = [self.value(forHTTPHeaderField: field), value].compactMap(\.self)
        setValue(values.joined(separator: ","), forHTTPHeaderField: field)
    }

    /// The same with this body, or without one.
    func with(body: RequestBody?) -> URLRequest {
        var request = self
        request.content = body
        return request
    }

    /// The same with fields that it does not set itself.
    func adding(_ fields: [HTTPField]?) -> URLRequest {
        guard let fields else { return self }
        var request = self
        request.fields += fields.filter { field in !self.fields.contains { $0.isNamed(field.name) } }
        return request
    }

    /// Removes the fields that `isUnwanted` picks.
    mutating func removeFields(where isUnwanted: (HTTPField) -> Bool) {
        fields.removeAll(where: isUnwanted)
    }
}

extension URLRequest: CustomStringConvertible, CustomReflectable {
    /// Method, scheme, host and path; what may be secret stays out of logs: user, query, header fields and body.
    public var description: String {
        visibleText("\(method) \(url?.withoutSecrets ?? "no URL")")
    }

    /// Shows what ``description`` does and no more, `dump` included.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

extension URL {
    /// Scheme, host and path; nil without a host.
    var withoutSecrets: String? { host.map { "\(scheme ?? "")://\($0)\(path)" } }
}
