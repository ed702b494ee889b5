/// The request line and header of a request, and the only way its bytes are made.
///
/// Host is written from the name that the handshake verifies, so what is sent cannot differ from what was proven. The
/// connection stays open unless asked otherwise.
package struct HTTPRequestHead: Sendable, Hashable {
    /// What the request line asks for (RFC 9112, section 3.2).
    package enum Target: Sendable, Hashable {
        /// A path with its query, as in a URL.
        case origin(String)
        /// The same behind scheme and host: for a proxy that is to fetch it.
        case absolute(String)
        /// Host and port alone: CONNECT.
        case authority
    }

    /// How the server is to find the end of the request's body (RFC 9112, section 6).
    package enum Body: Sendable, Hashable {
        case none
        /// This many bytes.
        case length(Int)
        case chunked
    }

    /// The bytes to send.
    package let bytes: [UInt8]
    package let method: String
    package let body: Body
    /// Whether the body waits until the server says 100 (RFC 9110, section 10.1.1).
    package let expectsContinue: Bool

    /// `fields` are the caller's and may not be among those that the client writes itself. `credentials` are the
    /// client's own Authorization and Proxy-Authorization; they take the place of one of the caller's.
    ///
    /// `expectsContinue` says nothing without a body.
    package init(
        method: String, target: Target, origin: HTTPOrigin, body: Body = .none, expectsContinue: Bool = false,
        closes: Bool = false, fields: [HTTPField] = [], credentials: [HTTPField] = []
    ) throws(HTTPRequestError) {
        // A CONNECT that is no tunnel, or a tunnel by another name, means something else to each hop.
        guard HTTPGrammar.isToken(method.utf8), (method == "CONNECT") == (target == .authority) else {
            throw .malformedMethod(HTTPExcerpt(method))
        }
        for field in fields {
            try Self.check(field)
            guard !Self.reservedNames.contains(where: field.isNamed) else { throw .reservedField(name: field.name) }
        }
        for field in credentials { try Self.check(field) }

        self.method = method
        self.body = body
        self.expectsContinue = expectsContinue && body != .none && body != .length(0)

        var text = HTTPHeadText()
        text.write(method, " ")
        switch target {
        case .origin(let path):
            try Self.check(target: path)
            text.write(path)
        case .absolute(let path):
            try Self.check(target: path)
            text.write(origin.description, path)
        case .authority:
            text.write(origin.authorityWithPort)
        }
        text.write(" HTTP/1.1\r\n")
        text.write("Host: ", target == .authority ? origin.authorityWithPort : origin.authority, "\r\n")
        if closes { text.write("Connection: close\r\n") }
        switch body {
        case .none where Self.methodsWithBody.contains(method): text.write("Content-Length: 0\r\n")
        case .none: break
        case .length(let count): text.write("Content-Length: ", String(count), "\r\n")
        case .chunked: text.write("Transfer-Encoding: chunked\r\n")
        }
        if self.expectsContinue { text.write("Expect: 100-continue\r\n") }
        for preset in target == .authority ? Self.tunnelPresets : Self.presets
        where !fields.contains(where: { $0.isNamed(preset.name) }) {
            text.write(preset)
        }
        for field in fields where !credentials.contains(where: { $0.isNamed(field.name) }) { text.write(field) }
        for field in credentials { text.write(field) }
        text.write("\r\n")
        bytes = text.bytes
    }

    /// Fields of the message and the connection rather than of the resource. They follow from the request and from how
    /// the client works; one of the caller's would contradict it, or name another host than the one that is verified.
    private static let reservedNames = [
        "Connection", "Content-Length", "Expect", "Host", "Keep-Alive", "Proxy-Authorization", "Proxy-Connection", "TE",
        "Trailer", "Transfer-Encoding", "Upgrade",
    ]

    /// Methods that say so when they have no body (RFC 9110, section 8.6).
    private static let methodsWithBody: Set = ["PATCH", "POST", "PUT"]

    private static let tunnelPresets = [HTTPField(name: "User-Agent", value: "PinnedNetworking")]
    private static let presets =
        [HTTPField(name: "Accept", value: "*/*"), HTTPField(name: "Accept-Encoding", value: "identity")] + tunnelPresets

    private static func check(_ field: HTTPField) throws(HTTPRequestError) {
        guard HTTPGrammar.isToken(field.name.utf8), HTTPGrammar.isFieldContent(field.value.utf8) else {
            throw .malformedField(name: HTTPExcerpt(field.name))
        }
    }

    private static func check(target: String) throws(HTTPRequestError) {
        guard target.utf8.first == UInt8(ascii: "/"),
            target.utf8.allSatisfy({ (0x21...0x7E).contains($0) && $0 != UInt8(ascii: "#") })
        else { throw .malformedTarget(HTTPExcerpt(target)) }
    }
}

/// Collects the bytes of a head.
private struct HTTPHeadText {
    private(set) var bytes: [UInt8] = []

    init() { bytes.reserveCapacity(512) }

    mutating func write(_ first: String, _ second: String = "", _ third: String = "") {
        bytes += first.utf8
        bytes += second.utf8
        bytes += third.utf8
    }

    mutating func write(_ field: HTTPField) {
        write(field.name, ": ")
        bytes += field.bytes
        write("\r\n")
    }
}

/// Why a request is not sent: its parts would not come out as the one message they were meant to be.
package enum HTTPRequestError: Error, Hashable, Sendable {
    case malformedMethod(HTTPExcerpt)
    case malformedTarget(HTTPExcerpt)
    /// The value stays out of the text, since it may be a secret.
    case malformedField(name: HTTPExcerpt)
    /// A field that the client writes itself.
    case reservedField(name: String)
}

extension HTTPRequestError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedMethod(let method): "\(method) is not an HTTP method: give one like GET"
        case .malformedTarget(let target): "\(target) is not a path: escape what a URL may not hold"
        case .malformedField(let name):
            "the header field \(name) has a character that HTTP forbids: leave out line breaks and control characters"
        case .reservedField(let name): "the header field \(name) is written by the client: leave it out"
        }
    }
}
