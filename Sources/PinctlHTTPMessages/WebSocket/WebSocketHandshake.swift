import CertificateTrust
import PinctlBasics

/// The opening handshake of one WebSocket connection (RFC 6455, section 4).
package struct WebSocketHandshake: Sendable, Hashable {
    /// The value of Sec-WebSocket-Key: 16 random bytes in Base64. It is new for every connection.
    package let key: String
    /// The subprotocols that the request offers, in order of preference.
    package let protocols: [String]

    /// Creates the handshake for a request with these fields, of which Sec-WebSocket-Protocol is read.
    package init(_ fields: [HTTPField]) throws(WebSocketHandshakeError) {
        var random = SystemRandomNumberGenerator()
        let bytes = (0..<16).map { _ in UInt8.random(in: 0...0xFF, using: &random) }
        key = Base64.encode(bytes.span)
        protocols = fields.filter { $0.isNamed(Self.protocolName) }.flatMap(\.members).map { HTTPField.text(Array($0)) }
        if let index = protocols.firstIndex(where: { !HTTPGrammar.isToken($0.utf8) }) {
            throw .malformedProtocol(position: index + 1)
        }
        guard Set(protocols).count == protocols.count else { throw .repeatedProtocol }
    }

    /// Checks a 101 response, and returns the subprotocol that the server selected, if any.
    package func check(_ head: HTTPResponseHead) throws(WebSocketHandshakeError) -> String? {
        // mutant websocket-upgrade: true by WebSocketHandshakeTests
        guard head.statusCode == 101 else { throw .refused(statusCode: head.statusCode) }
        guard head.minorVersion == 1, head.hasMember("websocket", of: "Upgrade"),
            head.hasMember("upgrade", of: "Connection")
        else { throw .otherUpgrade }
        // This proves that the server read this request as a handshake, and didn't just repeat a stored response.
        let accepts = head.fields.filter { $0.isNamed("Sec-WebSocket-Accept") }
        // mutant websocket-accept: !expected.isEmpty for 2 by WebSocketHandshakeTests
        guard let expected = Self.answer(to: key), accepts.map(\.bytes) == [Array(expected.utf8)] else {
            throw .wrongAccept
        }
        // mutant websocket-extension: true by WebSocketHandshakeTests
        guard head.fields.values(named: "Sec-WebSocket-Extensions").allSatisfy(\.isEmpty) else {
            throw .unrequestedExtension
        }
        let selected = head.fields.values(named: Self.protocolName)
        // Compared as bytes: other characters than ASCII can be equal to an ASCII letter, such as the Kelvin sign to K.
        guard selected.count <= 1,
            selected.allSatisfy({ name in protocols.contains { $0.utf8.elementsEqual(name.utf8) } })
        else {
            throw .unrequestedProtocol(HTTPExcerpt(selected.joined(separator: ", ")))
        }
        return selected.first
    }

    /// Returns the value of Sec-WebSocket-Accept for a key (RFC 6455, section 4.2.2, item 5.4). SHA-1 keeps nothing
    /// secret here. Returns nil if OpenSSL's configuration doesn't offer it.
    static func answer(to key: String) -> String? {
        digest("SHA1", of: Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)).map { Base64.encode($0.span) }
    }

    private static let protocolName = "Sec-WebSocket-Protocol"
}

extension HTTPResponseHead {
    /// Returns whether the list value of the fields with this name has a member. Case makes no difference.
    fileprivate func hasMember(_ member: String, of name: String) -> Bool {
        fields.contains { $0.isNamed(name) && $0.members.contains { HTTPGrammar.isEqual($0, member) } }
    }
}

extension [HTTPField] {
    fileprivate func values(named name: String) -> [String] { filter { $0.isNamed(name) }.map(\.value) }
}

/// The reason why a WebSocket isn't opened.
package enum WebSocketHandshakeError: Error, Hashable, Sendable {
    /// The program offers a subprotocol that isn't a token (RFC 6455, section 4.1, item 10), at this position, counted
    /// from 1. The name isn't part of the error, since some programs put a token there that is a secret.
    case malformedProtocol(position: Int)
    /// The program offers a subprotocol twice.
    case repeatedProtocol
    /// The server answered with this status instead of 101.
    case refused(statusCode: Int)
    /// The server switched to something other than a WebSocket.
    case otherUpgrade
    /// The value of Sec-WebSocket-Accept is missing, repeated, or doesn't belong to the key.
    case wrongAccept
    /// The server selected an extension, although the client offers none.
    case unrequestedExtension
    /// The server selected a subprotocol that wasn't offered, or several.
    case unrequestedProtocol(HTTPExcerpt)
}

extension WebSocketHandshakeError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .malformedProtocol(let position):
            "number \(position) of the WebSocket protocols isn't a token: use letters, digits, - and ."
        case .repeatedProtocol: "a WebSocket protocol is offered twice: offer each once"
        case .refused(let statusCode):
            "the server answered the WebSocket handshake with \(statusCode): see the task's response"
        case .otherUpgrade: Self.rejected("it doesn't switch to a WebSocket")
        case .wrongAccept: Self.rejected("Sec-WebSocket-Accept doesn't match the request")
        case .unrequestedExtension: Self.rejected("it selects an extension that was not offered")
        case .unrequestedProtocol(let name): Self.rejected("it selects the protocol \(name), which was not offered")
        }
    }

    private static func rejected(_ reason: String) -> String {
        "the WebSocket handshake was rejected (\(reason)): contact the server's operator"
    }
}
