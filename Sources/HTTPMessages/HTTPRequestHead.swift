package import CertificateTrust

/// The request line and header of a request without a body, and the only way its bytes are made.
///
/// Host is written from the name that the handshake verifies, so what is sent cannot differ from what was proven.
package struct HTTPRequestHead: Sendable, Hashable {
    /// The bytes to send.
    package let bytes: [UInt8]

    /// Fields of the message and the connection rather than of the resource. They follow from the request and from how
    /// the client works; one of the caller's would contradict it, or name another host than the one that is verified.
    private static let reservedNames: Set = [
        "connection", "content-length", "expect", "host", "keep-alive", "proxy-authorization", "proxy-connection", "te",
        "trailer", "transfer-encoding", "upgrade",
    ]

    /// `target` is a path with its query, as in a URL.
    package init(
        method: String, target: String, host: ServerName, port: UInt16, fields: [HTTPField]
    ) throws(HTTPRequestError) {
        guard HTTPGrammar.isToken(method.utf8) else { throw .malformedMethod(HTTPExcerpt(method)) }
        guard target.utf8.first == UInt8(ascii: "/"), target.utf8.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw .malformedTarget(HTTPExcerpt(target))
        }
        for field in fields {
            guard HTTPGrammar.isToken(field.name.utf8), HTTPGrammar.isFieldContent(field.value.utf8) else {
                throw .malformedField(name: HTTPExcerpt(field.name))
            }
            guard !Self.reservedNames.contains(HTTPField.foldedName(field.name)) else {
                throw .reservedField(name: field.name)
            }
        }
        let defaults = [
            HTTPField(name: "Accept", value: "*/*"), HTTPField(name: "Accept-Encoding", value: "identity"),
            HTTPField(name: "User-Agent", value: "PinnedNetworking"),
        ].filter { preset in !fields.contains { $0.isNamed(preset.name) } }
        let own = [
            HTTPField(name: "Host", value: Self.authority(host, port)), HTTPField(name: "Connection", value: "close"),
        ]
        let lines = ["\(method) \(target) HTTP/1.1"] + (own + defaults + fields).map { "\($0.name): \($0.value)" }
        bytes = Array((lines.joined(separator: "\r\n") + "\r\n\r\n").utf8)
    }

    /// The value of Host (RFC 9110, section 7.2): no port when it is the scheme's own.
    private static func authority(_ host: ServerName, _ port: UInt16) -> String {
        let name = if case .ipv6 = host.kind { "[\(host)]" } else { "\(host)" }
        return port == 443 ? name : "\(name):\(port)"
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
