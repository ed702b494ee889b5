/// When things happened on a task's way; collected for ``URLSessionTaskDelegate/urlSession(_:task:didFinishCollecting:)``.
public final class URLSessionTaskMetrics: Sendable {
    /// One for each request that was sent or begun: logins, redirects and repetitions included.
    public let transactionMetrics: [URLSessionTaskTransactionMetrics]
    /// From the task's begin to its end.
    public let taskInterval: DateInterval
    /// How many redirects were followed.
    public let redirectCount: Int

    init(_ transactions: [URLSessionTaskTransactionMetrics], _ interval: DateInterval, redirectCount: Int) {
        transactionMetrics = transactions
        taskInterval = interval
        self.redirectCount = redirectCount
    }
}

/// When things happened for one request and its response. What did not happen is nil: a connection that was reused has no
/// times of its own.
public final class URLSessionTaskTransactionMetrics: Sendable {
    /// Where a response comes from.
    public enum ResourceFetchType: Int, Sendable {
        /// From the server: there is no cache here.
        case networkLoad = 1
    }

    let record: TransactionRecord

    init(_ record: TransactionRecord) { self.record = record }

    /// The request as it was sent.
    public var request: URLRequest { record.request }
    /// The response, once its header came.
    public var response: URLResponse? { record.response }
    /// When a connection was wanted.
    public var fetchStartDate: Date? { record.fetchStart }
    /// Nil: looking up a name and connecting to its addresses overlap, and ``connectStartDate`` is the begin of both.
    public var domainLookupStartDate: Date? { nil }
    /// Nil, like ``domainLookupStartDate``.
    public var domainLookupEndDate: Date? { nil }
    /// When a name began to be looked up, or a proxy's.
    public var connectStartDate: Date? { record.connectStart }
    /// When the connection was ready for the request, TLS included.
    public var connectEndDate: Date? { record.connectEnd }
    /// When TLS with the origin began; nil for `http`.
    public var secureConnectionStartDate: Date? { record.secureStart }
    /// When the origin had been accepted and the handshake was done.
    public var secureConnectionEndDate: Date? { record.secureStart == nil ? nil : record.connectEnd }
    /// When the request's first byte was sent.
    public var requestStartDate: Date? { record.requestStart }
    /// When the request's last byte was sent.
    public var requestEndDate: Date? { record.requestEnd }
    /// When the response's header had come.
    public var responseStartDate: Date? { record.responseStart }
    /// When the response's last byte had come, or nobody wanted it any longer.
    public var responseEndDate: Date? { record.responseEnd }
    /// `http/1.1`, or `ftp`.
    public var networkProtocolName: String? { record.protocolName }
    /// Whether the request went through a proxy.
    public var isProxyConnection: Bool { record.isProxied }
    /// Whether an earlier request had left the connection.
    public var isReusedConnection: Bool { record.isReused }
    /// Always ``ResourceFetchType/networkLoad``.
    public var resourceFetchType: ResourceFetchType { .networkLoad }
    /// Bytes of the request's header; of FTP's commands.
    public var countOfRequestHeaderBytesSent: Int64 { record.headerBytesSent }
    /// Bytes of the request's body on the wire, chunked ones with their frame.
    public var countOfRequestBodyBytesSent: Int64 { record.bodyBytesSent }
    /// Bytes of the response's body.
    public var countOfResponseBodyBytesReceived: Int64 { record.bodyBytesReceived }
    /// The address that was reached, the proxy's where there is one; without the port.
    public var remoteAddress: String? { record.remote.map { String($0.address) } }
    /// The port of ``remoteAddress``.
    public var remotePort: Int? { record.remote?.port }
    /// The version that was negotiated with the origin; nil for `http`.
    public var negotiatedTLSProtocolVersion: tls_protocol_version_t? { record.version }
    /// The cipher suite by OpenSSL's name, as in `TLS_AES_256_GCM_SHA384`; nil for `http`. Apple's has a number.
    public var negotiatedTLSCipherSuiteName: String? { record.cipherSuite }
    /// Whether the connection's handshake resumed a session; its chain was judged again.
    public var isResumedSession: Bool { record.isResumed }
    /// Seconds that verifying the origin's chain and finding its pins took; nil where a kept connection needed neither.
    public var trustEvaluationDuration: TimeInterval? { record.trustDuration }
}

extension URLSessionTaskMetrics: CustomReflectable {
    /// Shows the counts alone: requests hold what is not for logs.
    public var customMirror: Mirror {
        Mirror(self, children: ["transactions": transactionMetrics.count, "redirects": redirectCount])
    }
}

extension URLSessionTaskTransactionMetrics: CustomReflectable {
    /// Shows the request as it describes itself.
    public var customMirror: Mirror { Mirror(self, children: ["request": "\(record.request)"]) }
}

/// What is noted of one request while it is on its way.
struct TransactionRecord: Sendable {
    var request: URLRequest
    var response: URLResponse?
    var fetchStart: Date
    var connectStart: Date?
    var connectEnd: Date?
    var secureStart: Date?
    var requestStart: Date?
    var requestEnd: Date?
    var responseStart: Date?
    var responseEnd: Date?
    var protocolName = "http/1.1"
    var isProxied = false
    var isReused = false
    var isResumed = false
    var headerBytesSent: Int64 = 0
    var bodyBytesSent: Int64 = 0
    var bodyBytesReceived: Int64 = 0
    var remote: (address: Substring, port: Int)?
    var version: tls_protocol_version_t?
    var cipherSuite: String?
    var trustDuration: TimeInterval?

    init(_ request: URLRequest) {
        self.request = request
        fetchStart = Date()
    }

    /// Takes `192.0.2.1:443` or `[2001:db8::1]:443` apart.
    mutating func note(address: String) {
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]) else {
            return
        }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        remote = (host, port)
    }
}
