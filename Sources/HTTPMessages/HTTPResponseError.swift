/// An error in a server's HTTP/1.1 response. The connection can't be used after any of them.
package enum HTTPResponseError: Error, Hashable, Sendable {
    case malformedStatusLine(HTTPExcerpt)
    /// An HTTP version other than 1.0 and 1.1.
    case unsupportedVersion(HTTPExcerpt)
    case malformedField(HTTPExcerpt)
    /// A line that begins with a blank (`obs-fold`, RFC 9112, section 5.2).
    case foldedField
    /// A line feed without a carriage return, or a carriage return without a line feed.
    case bareLineEnd
    /// The header, interim responses and trailers exceed this many bytes.
    case headTooLarge(limit: Int)
    /// The header and trailers have more than this many fields.
    case tooManyFields(limit: Int)
    /// More than this many 1xx responses arrived.
    case tooManyInterimResponses(limit: Int)
    /// The server sent 101, although no request asks for another protocol.
    case switchedProtocols
    case lengthAndTransferEncoding
    /// The response has this many Content-Length fields.
    case repeatedContentLength(Int)
    case malformedContentLength(HTTPExcerpt)
    case unsupportedTransferEncoding(HTTPExcerpt)
    case malformedChunk(HTTPExcerpt)
    /// A chunk holds more bytes than its size.
    case chunkOverrun
    /// The chunk extensions exceed this many bytes.
    case chunkExtensionsTooLarge(limit: Int)
    /// The body exceeds this many bytes.
    case bodyTooLarge(limit: Int)
    /// The stream ended before the response did.
    case truncated
    /// The server sent more bytes after the end of its response.
    case bytesAfterResponse
}

extension HTTPResponseError: CustomStringConvertible {
    package var description: String {
        let reason =
            switch self {
            case .malformedStatusLine(let line): "its status line is \(line)"
            case .unsupportedVersion(let version): "its version is \(version), not HTTP/1.0 or HTTP/1.1"
            case .malformedField(let line): "the header line \(line) is not a field"
            case .foldedField: "a header line begins with a blank"
            case .bareLineEnd: "a line ends in CR or LF alone, not in both"
            case .headTooLarge(let limit): "its header takes more than \(limit) bytes"
            case .tooManyFields(let limit): "it has more than \(limit) header fields"
            case .tooManyInterimResponses(let limit): "more than \(limit) interim responses came before it"
            case .switchedProtocols: "it switches to a protocol that was not asked for"
            case .lengthAndTransferEncoding: "it has both Content-Length and Transfer-Encoding"
            case .repeatedContentLength(let count): "it has \(count) Content-Length fields"
            case .malformedContentLength(let value): "its Content-Length is \(value), not a number of bytes"
            case .unsupportedTransferEncoding(let value): "its Transfer-Encoding is \(value), not chunked"
            case .malformedChunk(let line): "the chunk line \(line) does not begin with a size"
            case .chunkOverrun: "a chunk is longer than its size"
            case .chunkExtensionsTooLarge(let limit): "its chunk extensions take more than \(limit) bytes"
            case .bodyTooLarge(let limit): "it has more than \(limit) bytes"
            case .truncated: "it ends early"
            case .bytesAfterResponse: "more bytes follow its end"
            }
        return "the response was not taken: \(reason); ask whoever runs the server"
    }
}
