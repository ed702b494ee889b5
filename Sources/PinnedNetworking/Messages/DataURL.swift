import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

/// The contents of a `data` URL (RFC 2397).
struct DataURL: Sendable, Hashable {
    /// In lower case. `text/plain` if the URL states none, or one without exactly one slash.
    let mimeType: String
    /// The first `charset` of the media type in lower case, or nil.
    let charset: String?
    let bytes: [UInt8]

    /// Returns nil for a URL with another scheme. Throws if the URL is malformed.
    init?(_ url: URL) throws(DataURLError) {
        guard url.scheme?.lowercased() == "data" else { return nil }
        // A fragment isn't part of the contents (RFC 3986, section 3.5).
        let text = url.absoluteString.utf8.drop { $0 != UInt8(ascii: ":") }.dropFirst()
            .prefix { $0 != UInt8(ascii: "#") }
        guard let comma = text.firstIndex(of: UInt8(ascii: ",")) else { throw .noComma }
        guard var type = Substring(text[..<comma]).removingPercentEncoding,
            let decoded = Hexadecimal.percentDecoded(text[text.index(after: comma)...])
        else { throw .malformedPercentEncoding }
        if let end = type.range(of: ";base64", options: [.caseInsensitive, .anchored, .backwards]) {
            type.removeSubrange(end)
            guard let data = Data(base64Encoded: Data(decoded)) else { throw .malformedBase64 }
            bytes = Array(data)
        } else {
            bytes = decoded
        }
        let parameters = HTTPParameters(type)
        let parts = parameters.value.split(separator: "/", omittingEmptySubsequences: false)
        mimeType = parts.count == 2 && !parts.contains("") ? parameters.value.lowercased() : "text/plain"
        charset = parameters["charset"]?.lowercased()
    }
}

/// The reason why a `data` URL can't be decoded.
enum DataURLError: Error, Hashable, CustomStringConvertible {
    case noComma
    case malformedPercentEncoding
    case malformedBase64

    var description: String {
        switch self {
        case .noComma: "the data URL has no comma before its contents: write data:,text or data:;base64,…"
        case .malformedPercentEncoding: "the data URL has a % without two hexadecimal digits: percent-encode it as %25"
        case .malformedBase64: "the data URL's contents aren't base64: encode them again, with padding"
        }
    }
}
