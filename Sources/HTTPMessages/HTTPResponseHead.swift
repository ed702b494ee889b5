/// The status line and header fields of a final response, and where its body ends.
package struct HTTPResponseHead: Sendable, Hashable {
    /// 0 or 1: the minor number behind `HTTP/1.`.
    package let minorVersion: Int
    /// Three digits, 200 or more.
    package let statusCode: Int
    /// In the order they came.
    package let fields: [HTTPField]
    package let framing: HTTPBodyFraming
}

/// Where a response's body ends (RFC 9112, section 6.3). There is exactly one answer, or the response is refused.
package enum HTTPBodyFraming: Sendable, Hashable {
    /// No body: HEAD, 204, 304.
    case none
    /// This many bytes.
    case length(Int)
    case chunked
    /// Up to the end of the stream, which must be a clean one.
    case untilClose

    /// Reads the framing from the header; says which field forbids it.
    package init(
        fields: [HTTPField], statusCode: Int, minorVersion: Int, requestMethod: String
    ) throws(HTTPResponseError) {
        let lengths = fields.filter { $0.isNamed("Content-Length") }.map(\.value)
        let codings = fields.filter { $0.isNamed("Transfer-Encoding") }.map(\.value)
        guard lengths.isEmpty || codings.isEmpty else { throw .lengthAndTransferEncoding }
        // Repeats are refused even when they agree (the RFC lets a client choose): two parsers that pick different
        // ones are how responses get smuggled.
        guard lengths.count <= 1 else { throw .repeatedContentLength(lengths.count) }
        let stated: HTTPBodyFraming
        if let length = lengths.first {
            guard let count = HTTPGrammar.number(Array(length.utf8)[...], radix: 10) else {
                throw .malformedContentLength(HTTPExcerpt(length))
            }
            stated = .length(count)
        } else if let coding = codings.first {
            // The request offers no other coding (no TE field), and HTTP/1.0 knows none (RFC 9112, section 6.1).
            guard codings.count == 1, HTTPField.foldedName(coding) == "chunked", minorVersion == 1 else {
                throw .unsupportedTransferEncoding(HTTPExcerpt(codings.joined(separator: ", ")))
            }
            stated = .chunked
        } else {
            stated = .untilClose
        }
        self = requestMethod == "HEAD" || statusCode == 204 || statusCode == 304 ? .none : stated
    }
}
