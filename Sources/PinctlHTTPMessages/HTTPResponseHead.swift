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
    static let lengthLimit = 1 << 62

    /// Reads the framing from the header. Throws an error that names the offending field.
    package init(
        fields: [HTTPField], statusCode: Int, minorVersion: Int, requestMethod: String
    ) throws(HTTPResponseError) {
        guard requestMethod != "CONNECT" || !(200..<300).contains(statusCode) else {
            // Both fields are meaningless here (RFC 9112, section 6.3, item 2).
            self = .none
            return
        }
        var lengths: [ArraySlice<UInt8>] = []
        var codings: [HTTPField] = []
        for field in fields {
            if field.isNamed("Content-Length") { for length in field.members { lengths.append(length) } }
            if field.isNamed("Transfer-Encoding") { codings.append(field) }
        }
        // mutant length-and-coding: true by HTTPResponseParserTests
        guard lengths.isEmpty || codings.isEmpty else { throw .lengthAndTransferEncoding }
        // Values that agree digit by digit are one (RFC 9110, section 8.6). Of others, two parsers could pick different
        // ones, which makes response smuggling possible.
        // mutant two-lengths: true by HTTPResponseParserTests
        guard lengths.allSatisfy({ $0 == lengths[0] }) else { throw .repeatedContentLength(lengths.count) }
        let stated: HTTPBodyFraming
        if let length = lengths.first {
            guard let count = HTTPGrammar.number(length, radix: 10), count <= Self.lengthLimit else {
                throw .malformedContentLength(HTTPExcerpt(length))
            }
            stated = .length(count)
        } else if let coding = codings.first {
            // The request offers no other coding (it has no TE field), and HTTP/1.0 has none (RFC 9112, section 6.1).
            // mutant other-coding: true for 2 by HTTPResponseParserTests
            // mutant two-codings: true for 1 by HTTPResponseParserTests
            // mutant chunked-1-0: true for 3 by HTTPResponseParserTests
            guard codings.count == 1, HTTPGrammar.isEqual(coding.value, "chunked"), minorVersion == 1 else {
                throw .unsupportedTransferEncoding(HTTPExcerpt(codings.map(\.value).joined(separator: ", ")))
            }
            stated = .chunked
        } else {
            stated = .untilClose
        }
        self = requestMethod == "HEAD" || statusCode == 204 || statusCode == 304 ? .none : stated
    }
}

/// The chunks of a request's body (RFC 9112, section 7.1).
package enum HTTPChunk {
    /// Returns one chunk with these bytes. For no bytes it returns an empty array, since an empty chunk would end the
    /// body.
    package static func encoded(_ bytes: some Collection<UInt8>) -> [UInt8] {
        guard !bytes.isEmpty else { return [] }
        let size = String(bytes.count, radix: 16)
        var chunk: [UInt8] = []
        chunk.reserveCapacity(size.utf8.count + bytes.count + 4)
        chunk += size.utf8
        chunk += "\r\n".utf8
        chunk += bytes
        chunk += "\r\n".utf8
        return chunk
    }

    /// The chunk that ends the body, without trailers.
    package static let last = Array("0\r\n\r\n".utf8)
}

/// A limit on a body held in memory, because the server decides how much it sends.
package struct HTTPBodyLimit: Sendable {
    /// The largest allowed body, in bytes.
    package let limit: Int
    package private(set) var count = 0

    /// Creates a limit, 1 GiB by default.
    package init(_ limit: Int = 1 << 30) {
        self.limit = limit
    }

    /// Rejects a body that is announced as too large, before any of it arrives.
    package func check(_ head: HTTPResponseHead) throws(HTTPResponseError) {
        if case .length(let count) = head.framing, count > limit { throw .bodyTooLarge(limit: limit) }
    }

    /// Counts a part of the body. Throws if the body exceeds the limit.
    package mutating func add(_ part: ArraySlice<UInt8>) throws(HTTPResponseError) {
        // mutant body-limit: true by HTTPExchangeTests HTTPResponseParserTests SessionTaskTests RequestFailureTests
        guard part.count <= limit - count else { throw .bodyTooLarge(limit: limit) }
        count += part.count
    }
}
