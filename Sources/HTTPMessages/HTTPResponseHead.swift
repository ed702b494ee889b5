/// The status line and header fields of a final response, and where its body ends.
package struct HTTPResponseHead: Sendable, Hashable {
    /// 0 or 1: the minor number behind `HTTP/1.`.
    package let minorVersion: Int
    /// Three digits, 200 or more.
    package let statusCode: Int
    /// In the order they came.
    package let fields: [HTTPField]
    package let framing: HTTPBodyFraming

    package init(minorVersion: Int, statusCode: Int, fields: [HTTPField], framing: HTTPBodyFraming) {
        self.minorVersion = minorVersion
        self.statusCode = statusCode
        self.fields = fields
        self.framing = framing
    }

    /// Whether the server means to keep the connection (RFC 9112, section 9.3).
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
