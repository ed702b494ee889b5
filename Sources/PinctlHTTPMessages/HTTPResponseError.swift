import CertificateTrust
import PinctlBasics

/// An error in a server's HTTP/1.1 response. The connection can't be used after any of them.
package enum HTTPResponseError: Error, Hashable, Sendable {
    case malformedStatusLine(HTTPExcerpt)
    /// An HTTP version other than 1.0 and 1.1.
    case unsupportedVersion(HTTPExcerpt)
    case malformedField(HTTPExcerpt)
    /// A line before the first field that begins with a blank (RFC 9112, section 2.2).
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
    /// The response has this many Content-Length values, which differ.
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
    /// The server sent bytes before the request.
    case bytesBeforeRequest
    /// A 206 response's body hasn't the number of bytes that its Content-Range states.
    case otherPart(stated: Int)
}

extension HTTPResponseError: CustomStringConvertible {
    package var description: String { "the HTTP response was rejected (\(reason)): contact the server's operator" }

    /// The fault of the response, in a few words.
    package var reason: String {
        switch self {
        case .malformedStatusLine(let line): "malformed status line \(line)"
        case .unsupportedVersion(let version): "unsupported version \(version), not HTTP/1.0 or HTTP/1.1"
        case .malformedField(let line): "malformed header field \(line)"
        case .foldedField: "the header begins with white space"
        case .bareLineEnd: "a line ends in CR or LF, not in CRLF"
        case .headTooLarge(let limit): "a header of more than \(limit) bytes"
        case .tooManyFields(let limit): "more than \(limit) header fields"
        case .tooManyInterimResponses(let limit): "more than \(limit) interim responses"
        case .switchedProtocols: "a switch to a protocol that was not requested"
        case .lengthAndTransferEncoding: "both Content-Length and Transfer-Encoding"
        case .repeatedContentLength(let count): "\(count) Content-Length values that differ"
        case .malformedContentLength(let value): "Content-Length \(value) is not a number of bytes"
        case .unsupportedTransferEncoding(let value): "unsupported Transfer-Encoding \(value), not chunked"
        case .malformedChunk(let line): "chunk line \(line) does not begin with a size"
        case .chunkOverrun: "a chunk is longer than its size"
        case .chunkExtensionsTooLarge(let limit): "chunk extensions of more than \(limit) bytes"
        case .bodyTooLarge(let limit): "a body of more than \(limit) bytes"
        case .truncated: "unexpected end"
        case .bytesAfterResponse: "unexpected bytes after its end"
        case .bytesBeforeRequest: "it began before the request"
        case .otherPart(let count): "a body that is not the \(count) bytes of its Content-Range"
        }
    }
}

/// An excerpt of a message for use in an error: at most 60 bytes, in quotes, with invisible characters made visible.
package struct HTTPExcerpt: Hashable, Sendable, CustomStringConvertible {
    package let description: String

    package init(_ bytes: some Collection<UInt8>) {
        let text = visibleText(String(decoding: bytes.prefix(60), as: UTF8.self))
        description = "\"" + text + (bytes.count > 60 ? "\"…" : "\"")
    }

    package init(_ text: String) { self.init(text.utf8) }
}
