/// Where a response's body ends (RFC 9112, section 6.3). There is exactly one answer, or the response is refused.
package enum HTTPBodyFraming: Sendable, Hashable {
    /// No body: HEAD, 204, 304, and the tunnel that a CONNECT opened.
    case none
    /// This many bytes.
    case length(Int)
    case chunked
    /// Up to the end of the stream, which must be a clean one.
    case untilClose

    /// Bytes that a server may announce. No file system holds as many, and whoever adds to them what a file has already
    /// or what was sent stays within 63 bits.
    package static let lengthLimit = 1 << 62

    /// Reads the framing from the header; says which field forbids it.
    package init(
        fields: [HTTPField], statusCode: Int, minorVersion: Int, requestMethod: String
    ) throws(HTTPResponseError) {
        guard requestMethod != "CONNECT" || !(200..<300).contains(statusCode) else {
            // The two fields mean nothing here (RFC 9112, section 6.3, item 2).
            self = .none
            return
        }
        var lengths: [String] = []
        var codings: [String] = []
        for field in fields {
            if field.isNamed("Content-Length") { lengths.append(field.value) }
            if field.isNamed("Transfer-Encoding") { codings.append(field.value) }
        }
        guard lengths.isEmpty || codings.isEmpty else { throw .lengthAndTransferEncoding }
        // Repeats are refused even when they agree (the RFC lets a client choose): two parsers that pick different
        // ones are how responses get smuggled.
        guard lengths.count <= 1 else { throw .repeatedContentLength(lengths.count) }
        let stated: HTTPBodyFraming
        if let length = lengths.first {
            guard let count = HTTPGrammar.number(length.utf8, radix: 10), count <= Self.lengthLimit else {
                throw .malformedContentLength(HTTPExcerpt(length))
            }
            stated = .length(count)
        } else if let coding = codings.first {
            // The request offers no other coding (no TE field), and HTTP/1.0 knows none (RFC 9112, section 6.1).
            guard codings.count == 1, HTTPGrammar.isEqual(coding, "chunked"), minorVersion == 1 else {
                throw .unsupportedTransferEncoding(HTTPExcerpt(codings.joined(separator: ", ")))
            }
            stated = .chunked
        } else {
            stated = .untilClose
        }
        self = requestMethod == "HEAD" || statusCode == 204 || statusCode == 304 ? .none : stated
    }
}
