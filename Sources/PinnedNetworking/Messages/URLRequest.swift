import HTTPMessages

/// A request for a URL: GET, or HEAD, without a body.
///
/// Whatever it holds is checked when it is sent; a request that cannot be sent as it stands is a `URLError` that says
/// what to change.
public struct URLRequest: Sendable, Hashable {
    /// What is requested. Only `https` is sent.
    public var url: URL?
    /// `GET` or `HEAD`; nil stands for `GET`.
    public var httpMethod: String? = "GET"

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
}

extension URLRequest: CustomStringConvertible, CustomReflectable {
    /// Method, scheme, host and path; what may be secret stays out of logs: user, query and header fields.
    public var description: String {
        let place = url.flatMap { url in url.host.map { "\(url.scheme ?? "")://\($0)\(url.path)" } }
        return visibleText("\(httpMethod ?? "GET") \(place ?? "no URL")")
    }

    /// Shows what ``description`` does and no more, `dump` included.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
