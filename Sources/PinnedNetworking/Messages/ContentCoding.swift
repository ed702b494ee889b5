import PinctlHTTPMessages

/// A content coding that the client decodes (RFC 9110, section 8.4.1).
enum ContentCoding: String {
    case gzip
    case deflate

    private static let acceptEncoding = "Accept-Encoding"
    private static let offer = HTTPField(name: acceptEncoding, value: "\(Self.gzip.rawValue), \(Self.deflate.rawValue)")

    private init?(named name: String) {
        switch HTTPField.foldedName(name) {
        case "gzip", "x-gzip": self = .gzip
        case "deflate": self = .deflate
        default: return nil
        }
    }

    /// Returns the codings of a body in the order in which they were applied. Returns none if the client doesn't know
    /// one of them: such a body is passed on as received.
    static func applied(to response: HTTPURLResponse) -> [ContentCoding] {
        applied(response.value(forHTTPHeaderField: "Content-Encoding"))
    }

    /// Returns the codings that a value of Content-Encoding lists. `identity` isn't one, and empty members count as
    /// absent (RFC 9110, sections 5.6.1 and 12.5.3).
    static func applied(_ value: String?) -> [ContentCoding] {
        var codings: [ContentCoding] = []
        for member in value?.split(separator: ",") ?? [] {
            let name = member.trimmingCharacters(in: .whitespaces)
            if name.isEmpty || HTTPField.foldedName(name) == "identity" { continue }
            guard let coding = ContentCoding(named: name) else { return [] }
            codings.append(coding)
        }
        return codings
    }

    /// Returns the fields to send with a request. Without Accept-Encoding among them, the request asks for `identity`.
    ///
    /// A client that decodes offers its codings, unless the request has its own field. It offers none for a range: a
    /// range counts encoded bytes (RFC 9110, section 14.1), and a part of an encoded body can't be decoded. A client
    /// that can't decode drops the request's own field, because the program relies on decoding.
    static func fields(of request: URLRequest, decodesBodies: Bool) -> [HTTPField] {
        guard decodesBodies else { return request.fields.filter { !$0.isNamed(acceptEncoding) } }
        let isSettled = request.fields.contains { $0.isNamed(acceptEncoding) || $0.isNamed("Range") }
        var fields = request.fields
        if !isSettled { fields.append(offer) }
        return fields
    }
}

/// The reason why a body can't be decoded.
enum ContentCodingError: Error, Hashable {
    case tooManyCodings(Int, limit: Int)
    /// The body isn't in the format of the coding, or its checksum or length is wrong. The text is zlib's.
    case malformed(ContentCoding, String)
    /// The body ended within the compressed data.
    case truncated(ContentCoding)
    /// More bytes follow the compressed data.
    case trailingBytes(ContentCoding)
    /// The body expands to more than this many bytes for each received one.
    case expansion(limit: Int)
    /// zlib failed for another reason than the data.
    case failed(String)

    var code: URLError.Code {
        switch self {
        case .tooManyCodings, .malformed, .truncated, .trailingBytes, .failed: .cannotDecodeRawData
        case .expansion: .dataLengthExceedsMaximum
        }
    }
}

extension ContentCodingError: CustomStringConvertible {
    var description: String {
        switch self {
        case .tooManyCodings(let count, let limit):
            "the response has \(count) content codings and at most \(limit) are decoded: \(Self.remedy)"
        case .malformed(let coding, let reason):
            "cannot decode the response's \(coding) data (\(reason)): \(Self.remedy)"
        case .truncated(let coding): "the response's \(coding) data is truncated: \(Self.remedy)"
        case .trailingBytes(let coding): "the response has bytes after the end of its \(coding) data: \(Self.remedy)"
        case .expansion(let limit):
            "the response expands to more than \(limit) times its size, as a decompression bomb does: \(Self.remedy)"
        case .failed(let reason): "zlib cannot decode the response (\(reason)): \(Self.remedy)"
        }
    }

    private static let remedy = "fix the server, or set the request's Accept-Encoding to identity"
}
