/// Why the bytes of a server are no HTTP/1.1 response. The connection is over with any of them.
package enum HTTPResponseError: Error, Hashable, Sendable {
    case malformedStatusLine(HTTPExcerpt)
    /// An HTTP version other than 1.0 and 1.1.
    case unsupportedVersion(HTTPExcerpt)
    case malformedField(HTTPExcerpt)
    /// A line that begins with a blank (`obs-fold`, RFC 9112, section 5.2).
    case foldedField
    /// A line feed without its carriage return, or the reverse.
    case bareLineEnd
    /// More bytes of header, interim responses and trailers than this.
    case headTooLarge(limit: Int)
    /// More header and trailer fields than this.
    case tooManyFields(limit: Int)
    /// More 1xx responses than this.
    case tooManyInterimResponses(limit: Int)
    /// 101, though no request asks for another protocol.
    case switchedProtocols
    case lengthAndTransferEncoding
    /// This many Content-Length fields.
    case repeatedContentLength(Int)
    case malformedContentLength(HTTPExcerpt)
    case unsupportedTransferEncoding(HTTPExcerpt)
    case malformedChunk(HTTPExcerpt)
    /// A chunk holds more bytes than its size.
    case chunkOverrun
    /// More bytes of chunk extensions than this.
    case chunkExtensionsTooLarge(limit: Int)
    /// More bytes of body than this.
    case bodyTooLarge(limit: Int)
    /// The stream ended before the response did.
    case truncated
    /// The server sent on after the end of its response.
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
