/// The metrics of a task, collected for ``URLSessionTaskDelegate/urlSession(_:task:didFinishCollecting:)``.
public final class URLSessionTaskMetrics: NSObject, Sendable {
    /// The source of a response.
    public enum ResourceFetchType: Int, Sendable {
        /// Not known. It doesn't occur here.
        case unknown
        /// The response is from the server.
        case networkLoad
        /// The server sent the response without a request. It doesn't occur here.
        case serverPush
        /// The response is from a cache. It doesn't occur here, since there is none.
        case localCache
    }

    /// The protocol by which a name was looked up.
    public enum DomainResolutionProtocol: Int, Sendable {
        /// Not known: the operating system looks names up.
        case unknown
        /// DNS over UDP.
        case udp
        /// DNS over TCP.
        case tcp
        /// DNS over TLS (RFC 7858).
        case tls
        /// DNS over HTTPS (RFC 8484).
        case https
    }

    /// The metrics of each request that was sent or started, including logins, redirects and retries.
    public let transactionMetrics: [URLSessionTaskTransactionMetrics]
    /// The interval from the start of the task to its end.
    public let taskInterval: DateInterval
    /// The number of redirects that were followed.
    public let redirectCount: Int

    init(_ transactions: [URLSessionTaskTransactionMetrics], _ interval: DateInterval, redirectCount: Int) {
        transactionMetrics = transactions
        taskInterval = interval
        self.redirectCount = redirectCount
    }

    /// The duration and the counts. Requests may have secrets and are left out.
    public override var description: String {
        "(\(taskInterval.duration) s, \(transactionMetrics.count) requests, \(redirectCount) redirects)"
    }
}

/// The metrics of one request and its response. Times of events that didn't occur are `nil`, for example the connection
/// times of a reused connection.
public final class URLSessionTaskTransactionMetrics: NSObject, Sendable {
    /// See ``URLSessionTaskMetrics/ResourceFetchType``.
    public typealias ResourceFetchType = URLSessionTaskMetrics.ResourceFetchType

    let record: TransactionRecord

    init(_ record: TransactionRecord) { self.record = record }

    /// The request that was sent.
    public var request: URLRequest { record.request }
    /// The response, if its header arrived.
    public var response: URLResponse? { record.response }
    /// The time when the request started to wait for a connection.
    public var fetchStartDate: Date? { record.fetchStart }
    /// Always `nil`. Looking up a name and connecting to its addresses overlap. ``connectStartDate`` is the start of
    /// both.
    public var domainLookupStartDate: Date? { nil }
    /// Always `nil`, like ``domainLookupStartDate``.
    public var domainLookupEndDate: Date? { nil }
    /// The time when the lookup of the server's or the proxy's name started.
    public var connectStartDate: Date? { record.connectStart }
    /// The time when the connection was ready for the request, including TLS.
    public var connectEndDate: Date? { record.connectEnd }
    /// The time when TLS with the origin started, or `nil` for `http`.
    public var secureConnectionStartDate: Date? { record.secureStart }
    /// The time when the origin was accepted and the handshake completed.
    public var secureConnectionEndDate: Date? { record.secureStart == nil ? nil : record.connectEnd }
    /// The time when the first byte of the request was sent.
    public var requestStartDate: Date? { record.requestStart }
    /// The time when the last byte of the request was sent.
    public var requestEndDate: Date? { record.requestEnd }
    /// The time when the header of the response had arrived.
    public var responseStartDate: Date? { record.responseStart }
    /// The time when the last byte of the response had arrived, or was no longer needed.
    public var responseEndDate: Date? { record.responseEnd }
    /// The protocol: `http/1.1` or `ftp`.
    public var networkProtocolName: String? { record.protocolName }
    /// Whether the request went through a proxy.
    public var isProxyConnection: Bool { record.isProxied }
    /// Whether the connection was reused from an earlier request.
    public var isReusedConnection: Bool { record.isReused }
    /// Always `networkLoad`.
    public var resourceFetchType: ResourceFetchType { .networkLoad }
    /// The number of bytes of the request's header, or of the FTP commands.
    public var countOfRequestHeaderBytesSent: Int64 { record.headerBytesSent }
    /// The number of bytes of the request's body on the wire, including the framing of chunks.
    public var countOfRequestBodyBytesSent: Int64 { record.bodyBytesSent }
    /// The number of bytes of the request's body before the framing of chunks.
    public var countOfRequestBodyBytesBeforeEncoding: Int64 { record.bodyBytesUnframed }
    /// The number of bytes of the response's header, with that of interim responses. 0 for FTP.
    public var countOfResponseHeaderBytesReceived: Int64 { record.headerBytesReceived }
    /// The number of bytes of the response's body as received, before decoding.
    public var countOfResponseBodyBytesReceived: Int64 { record.bodyBytesReceived }
    /// The number of bytes of the response's body after decoding.
    public var countOfResponseBodyBytesAfterDecoding: Int64 { record.bodyBytesDecoded }
    /// The IP address of the server, or of the proxy if there is one, without the port.
    public var remoteAddress: String? { record.remote.map { String($0.address) } }
    /// The port of ``remoteAddress``, a number as at Apple. FoundationNetworking has a string.
    public var remotePort: Int? { record.remote?.port }
    /// The version that was negotiated with the origin, or `nil` for `http`.
    public var negotiatedTLSProtocolVersion: tls_protocol_version_t? { record.version }
    /// OpenSSL's name of the cipher suite, such as `TLS_AES_256_GCM_SHA384`, or `nil` for `http`.
    public var negotiatedTLSCipherSuiteName: String? { record.cipherSuite }
    /// Unavailable: Apple's numbers don't include every cipher suite.
    @available(*, unavailable, message: "use negotiatedTLSCipherSuiteName, which every cipher suite has")
    public var negotiatedTLSCipherSuite: UInt16? { nil }
    /// Unavailable: the address isn't recorded.
    @available(*, unavailable, message: "the local address isn't recorded: use remoteAddress for the server's")
    public var localAddress: String? { nil }
    /// Unavailable: the port isn't recorded.
    @available(*, unavailable, message: "the local port isn't recorded: use remotePort for the server's")
    public var localPort: Int? { nil }
    /// Always ``URLSessionTaskMetrics/DomainResolutionProtocol/unknown``.
    public var domainResolutionProtocol: URLSessionTaskMetrics.DomainResolutionProtocol { .unknown }
    /// Always false: the kind of the network isn't known on Linux.
    public var isCellular: Bool { false }
    /// Always false, like ``isCellular``.
    public var isExpensive: Bool { false }
    /// Always false, like ``isCellular``.
    public var isConstrained: Bool { false }
    /// Always false: each connection has one path.
    public var isMultipath: Bool { false }
    /// Whether the handshake of the connection resumed a session. The chain was evaluated again.
    public var isResumedSession: Bool { record.isResumed }
    /// The time in seconds for verifying the origin's chain and comparing its pins, or `nil` for a reused connection.
    public var trustEvaluationDuration: TimeInterval? { record.trustDuration }
}

extension URLSessionTaskMetrics: CustomReflectable {
    /// A mirror of the counts alone, because requests contain data that must not be logged.
    public var customMirror: Mirror {
        Mirror(self, children: ["transactions": transactionMetrics.count, "redirects": redirectCount])
    }
}

extension URLSessionTaskTransactionMetrics: CustomReflectable {
    /// A mirror of the request's own description.
    public var customMirror: Mirror { Mirror(self, children: ["request": "\(record.request)"]) }
}

/// The metrics of one request while it is in progress.
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
    var protocolName: String? = "http/1.1"
    var isProxied = false
    var isReused = false
    var isResumed = false
    var headerBytesSent: Int64 = 0
    var headerBytesReceived: Int64 = 0
    var bodyBytesSent: Int64 = 0
    var bodyBytesUnframed: Int64 = 0
    var bodyBytesReceived: Int64 = 0
    var bodyBytesDecoded: Int64 = 0
    var remote: (address: Substring, port: Int)?
    var version: tls_protocol_version_t?
    var cipherSuite: String?
    var trustDuration: TimeInterval?

    init(_ request: URLRequest) {
        self.request = request
        fetchStart = Date()
    }

    /// Records the address from `192.0.2.1:443` or `[2001:db8::1]:443`.
    mutating func note(address: String) {
        guard let colon = address.lastIndex(of: ":"), let port = Int(address[address.index(after: colon)...]) else {
            return
        }
        var host = address[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        remote = (host, port)
    }
}
