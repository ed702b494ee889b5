/// The way a response's body ends (RFC 9112, section 6.3). A response with an ambiguous end is rejected.
package enum HTTPBodyFraming: Sendable, Hashable {
    /// No body: the response to HEAD, 204, 304, or a CONNECT that opened a tunnel.
    case none
    /// A body of this many bytes.
    case length(Int)
    case chunked
    /// A body up to the end of the stream, which must be a clean end.
    case untilClose

    /// The most bytes that a server may announce. No file system holds as many. Adding the bytes already stored or sent
    /// still fits in 63 bits.
    package static let lengthLimit = 1 << 62

    /// Reads the framing from the header. Throws an error that names the offending field.
    package init(
        fields: [HTTPField], statusCode: Int, minorVersion: Int, requestMethod: String
    ) throws(HTTPResponseError) {
        guard requestMethod != "CONNECT" || !(200..<300).contains(statusCode) else {
            // Both fields are meaningless here (RFC 9112, section 6.3, item 2).
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
        // Repeated fields are rejected even if they agree, although the RFC lets a client accept them. Two parsers that
        // pick different ones make response smuggling possible.
        guard lengths.count <= 1 else { throw .repeatedContentLength(lengths.count) }
        let stated: HTTPBodyFraming
        if let length = lengths.first {
            guard let count = HTTPGrammar.number(length.utf8, radix: 10), count <= Self.lengthLimit else {
                throw .malformedContentLength(HTTPExcerpt(length))
            }
            stated = .length(count)
        } else if let coding = codings.first {
            // The request offers no other coding (it has no TE field), and HTTP/1.0 has none (RFC 9112, section 6.1).
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
