/// The request line and header of a request. All request heads are written here.
///
/// Host is written from the name that the TLS handshake verifies, so the two can't differ. The connection stays open
/// unless `closes` is set.
package struct HTTPRequestHead: Sendable, Hashable {
    /// The form of the request target (RFC 9112, section 3.2).
    package enum Target: Sendable, Hashable {
        /// A path with its query, as in a URL.
        case origin(String)
        /// A path with its query, preceded by scheme and host, for a proxy that fetches the URL.
        case absolute(String)
        /// Only host and port, for CONNECT.
        case authority
    }

    /// The way the server finds the end of the request body (RFC 9112, section 6).
    package enum Body: Sendable, Hashable {
        case none
        /// A body of this many bytes. Without any, it is the same as ``none``.
        case length(Int)
        case chunked
    }

    /// The bytes to send.
    package let bytes: [UInt8]
    package let method: String
    package let body: Body
    /// Whether the body waits for the server's 100 response (RFC 9110, section 10.1.1).
    package let expectsContinue: Bool
    /// Whether the request asks to switch to a WebSocket, so that the server may answer with 101.
    let requestsUpgrade: Bool

    /// Creates a head. `fields` come from the caller. Those that the client writes itself are left out
    /// (``ignores(_:)``), and a Host other than the origin's is an error. `credentials` are the client's own
    /// Authorization and Proxy-Authorization, which replace the caller's field of the same name.
    ///
    /// `expectsContinue` has no effect without a body. The body of a POST has the type of a form if the caller gives it
    /// none, unless it is an upload. With `webSocket`, the request opens a WebSocket.
    package init(
        method: String, target: Target, origin: HTTPOrigin, body: Body = .none, expectsContinue: Bool = false,
        isUpload: Bool = false, closes: Bool = false, webSocket: WebSocketHandshake? = nil, fields: [HTTPField] = [],
        credentials: [HTTPField] = []
    ) throws(HTTPRequestError) {
        // Hops would disagree about a CONNECT that opens no tunnel, or a tunnel opened by another method.
        // mutant method-injection: true for 1 by HTTPRequestHeadTests
        guard HTTPGrammar.isToken(method.utf8), (method == "CONNECT") == (target == .authority) else {
            throw .malformedMethod(HTTPExcerpt(method))
        }
        for field in fields {
            try Self.check(field)
            // mutant other-host: true by HTTPRequestHeadTests
            guard !field.isNamed("Host") || origin.isNamed(field.value) else {
                throw .otherHost(HTTPExcerpt(field.value), origin: origin.authority)
            }
        }
        for field in credentials { try Self.check(field) }

        let body = body == .length(0) ? .none : body
        self.method = method
        self.body = body
        self.expectsContinue = expectsContinue && body != .none
        requestsUpgrade = webSocket != nil

        var text = HTTPHeadText()
        text.write(method)
        text.write(" ")
        switch target {
        case .origin(let path):
            try Self.check(target: path)
            text.write(path)
        case .absolute(let path):
            try Self.check(target: path)
            text.write(origin.description)
            text.write(path)
        case .authority:
            text.write(origin.authorityWithPort)
        }
        text.write(Self.hostStart)
        text.write(target == .authority ? origin.authorityWithPort : origin.authority)
        text.write(Self.lineEnd)
        if closes { text.write("Connection: close\r\n") }
        if let webSocket {
            text.write("Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n")
            text.write(HTTPField(name: "Sec-WebSocket-Key", value: webSocket.key))
        }
        switch body {
        case .none where Self.expectsBody(method): text.write("Content-Length: 0\r\n")
        case .none: break
        case .length(let count): text.write("Content-Length: \(count)\r\n")
        case .chunked: text.write("Transfer-Encoding: chunked\r\n")
        }
        if self.expectsContinue { text.write("Expect: 100-continue\r\n") }
        if method == "POST", body != .none, !isUpload, !fields.contains(where: { $0.isNamed("Content-Type") }) {
            text.write(Self.form)
        }
        for preset in target == .authority ? Self.tunnelPresets : Self.presets
        where !fields.contains(where: { $0.isNamed(preset.name) }) {
            text.write(preset.bytes)
        }
        // mutant reserved-fields: true for `!Self.ignores(field)` by HTTPRequestHeadTests
        for field in fields where !Self.ignores(field) {
            if !credentials.contains(where: { $0.isNamed(field.name) }) { text.write(field) }
        }
        for field in credentials { text.write(field) }
        text.write(Self.lineEnd)
        bytes = text.bytes
    }

    /// Returns whether a caller's field is left out because the client writes it itself.
    package static func ignores(_ field: HTTPField) -> Bool {
        reservedNames[field.nameBytes.count]?.contains(where: field.isNamed) ?? false
    }

    /// Fields that describe the message and the connection rather than the resource. The client derives them from the
    /// request. A field from the caller would repeat or contradict it, or name another host than the verified one.
    /// Grouped by length, since most fields of requests have none of them.
    private static let reservedNames = Dictionary(
        grouping: [
            "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection",
            "Sec-WebSocket-Accept", "Sec-WebSocket-Extensions", "Sec-WebSocket-Key", "Sec-WebSocket-Version", "TE",
            "Trailer", "Transfer-Encoding", "Upgrade",
        ], by: \.utf8.count)

    /// Returns whether a request with this method sends `Content-Length: 0` if it has no body (RFC 9110, section 8.6).
    private static func expectsBody(_ method: String) -> Bool {
        method == "PATCH" || method == "POST" || method == "PUT"
    }

    /// The type of a POST body that the caller gives none, as in Apple's and FoundationNetworking's URLSession.
    private static let form = HTTPField(name: "Content-Type", value: "application/x-www-form-urlencoded")

    /// A field that is sent unless the caller has one of the same name.
    private struct Preset: Sendable {
        let name: String
        /// The whole line.
        let bytes: [UInt8]

        init(_ name: String, _ value: String) {
            self.name = name
            bytes = Array("\(name): \(value)\r\n".utf8)
        }
    }

    private static let tunnelPresets = [Preset("User-Agent", "PinnedNetworking")]
    private static let presets =
        [Preset("Accept", "*/*"), Preset("Accept-Encoding", "identity")] + tunnelPresets

    private static let hostStart = Array(" HTTP/1.1\r\nHost: ".utf8)
    private static let lineEnd = Array("\r\n".utf8)

    private static func check(_ field: HTTPField) throws(HTTPRequestError) {
        // mutant field-injection: true for 2 by HTTPRequestHeadTests
        // mutant field-name: true for 1 by HTTPRequestHeadTests
        guard HTTPGrammar.isToken(field.nameBytes), HTTPGrammar.isFieldContent(field.valueBytes) else {
            throw .malformedField(name: HTTPExcerpt(field.name))
        }
    }

    private static func check(target: String) throws(HTTPRequestError) {
        guard target.utf8.first == UInt8(ascii: "/"),
            // mutant target-injection: true by HTTPRequestHeadTests
            target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .malformedTarget(HTTPExcerpt(target)) }
    }
}

/// A buffer that collects the bytes of a head.
private struct HTTPHeadText {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(512) }

    mutating func write(_ text: String) { bytes += text.utf8 }

    mutating func write(_ text: some Collection<UInt8>) { bytes += text }

    mutating func write(_ field: HTTPField) {
        write(field.nameBytes)
        write(": ")
        write(field.valueBytes)
        write("\r\n")
    }
}

/// An error in the parts of a request, which wouldn't form the intended message. The request isn't sent.
package enum HTTPRequestError: Error, Hashable, Sendable {
    case malformedMethod(HTTPExcerpt)
    case malformedTarget(HTTPExcerpt)
    /// The value isn't part of the error, since it may be a secret.
    case malformedField(name: HTTPExcerpt)
    /// A Host field that names another host than the URL. It would reach another virtual host, under this one's pins.
    case otherHost(HTTPExcerpt, origin: String)
}

extension HTTPRequestError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedMethod(let method): "\(method) is not an HTTP method: use one such as GET"
        case .malformedTarget(let target): "\(target) is not a valid path: percent-encode characters that URLs forbid"
        case .malformedField(let name):
            "the header field \(name) has a character that HTTP forbids: remove line breaks and control characters"
        case .otherHost(let host, let origin):
            "the header field Host is \(host), but the URL names \(origin): put the host into the URL"
        }
    }
}
