/// The status line and header fields of a final response, and its body framing.
package struct HTTPResponseHead: Sendable, Hashable {
    /// The minor version after `HTTP/1.`, 0 or 1.
    package let minorVersion: Int
    /// The status code: three digits, 200 or more, or 101 after a request to switch to a WebSocket.
    package let statusCode: Int
    /// The header fields in the order received.
    package let fields: [HTTPField]
    package let framing: HTTPBodyFraming
    /// The size in bytes of all heads so far, including those of interim responses.
    package let size: Int

    package init(minorVersion: Int, statusCode: Int, fields: [HTTPField], framing: HTTPBodyFraming, size: Int = 0) {
        self.minorVersion = minorVersion
        self.statusCode = statusCode
        self.fields = fields
        self.framing = framing
        self.size = size
    }

    /// Whether the server intends to keep the connection open (RFC 9112, section 9.3).
    package var isPersistent: Bool {
        guard framing != .untilClose else { return false }
        var isKept = minorVersion == 1
        for field in fields where field.isNamed("Connection") {
            for option in field.members {
                if HTTPGrammar.isEqual(option, "close") { return false }
                if HTTPGrammar.isEqual(option, "keep-alive") { isKept = true }
            }
        }
        return isKept
    }
}
