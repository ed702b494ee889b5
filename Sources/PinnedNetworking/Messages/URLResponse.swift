public import Foundation
import PinctlBasics
import PinctlHTTPMessages

/// A server's response without its body.
// @unchecked because a class with a subclass can't be checked. It is safe since every stored property, here and in the
// subclass, is a `let` of a Sendable type.
open class URLResponse: NSObject, NSCopying, @unchecked Sendable, CustomReflectable {
    /// The URL that was requested.
    public let url: URL?

    private let ownMIMEType: String?
    private let ownContentLength: Int64
    private let ownTextEncodingName: String?

    /// Creates a response by hand. A length of -1 means unknown.
    public init(url: URL, mimeType: String?, expectedContentLength length: Int, textEncodingName name: String?) {
        self.url = url
        ownMIMEType = mimeType
        ownContentLength = Int64(length)
        ownTextEncodingName = name
    }

    /// The media type without parameters, or nil if the server sends none. It is never guessed from the body.
    open var mimeType: String? { ownMIMEType }

    /// The body's length in bytes according to the server, or -1 (`NSURLResponseUnknownLength`).
    open var expectedContentLength: Int64 { ownContentLength }

    /// The body's character set according to the server, such as `utf-8`, or nil.
    open var textEncodingName: String? { ownTextEncodingName }

    /// A file name for the body, never with a slash: the last component of the URL's path, or `Unknown`.
    open var suggestedFilename: String? {
        url.flatMap { fileName($0.lastPathComponent) } ?? "Unknown"
    }

    /// The scheme, host and path of the URL. The user, query and header fields may be secret and are left out.
    open override var description: String { visibleText(url?.withoutSecrets ?? "no URL") }

    /// A mirror without children, so that `dump` prints no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: [:]) }

    /// Returns the response itself, which can't be changed.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Compares the URL and what the server sent: type, length and encoding, and for HTTP the status and all fields.
    open override func isEqual(_ object: Any?) -> Bool { (object as? URLResponse)?.contents == contents }

    open override var hash: Int { contents.hashValue }

    /// Everything by which responses are compared.
    struct Contents: Hashable {
        var url: URL?
        var mimeType: String?
        var contentLength: Int64
        var textEncodingName: String?
        /// `nil` for a response without a status.
        var statusCode: Int?
        var fields: [HTTPField] = []
    }

    var contents: Contents {
        Contents(url: url, mimeType: mimeType, contentLength: expectedContentLength, textEncodingName: textEncodingName)
    }
}

/// An HTTP response: its status code and header fields.
open class HTTPURLResponse: URLResponse, @unchecked Sendable {
    /// The status code. The server's is always 200 or more, since interim responses aren't reported, or 101 for a
    /// WebSocket.
    public let statusCode: Int

    private let fields: [HTTPField]
    /// Whether the client decodes the body, which has another length than the server announces.
    private let isDecoded: Bool

    /// Creates a response by hand, for use in tests. Never returns nil. `httpVersion` has no effect.
    public init?(url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?) {
        self.statusCode = statusCode
        fields = (headerFields ?? [:]).sorted { $0.key < $1.key }.map { HTTPField(name: $0.key, value: $0.value) }
        isDecoded = false
        super.init(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
    }

    init(url: URL, statusCode: Int, fields: [HTTPField], isDecoded: Bool = false) {
        self.statusCode = statusCode
        self.fields = fields
        self.isDecoded = isDecoded
        super.init(url: url, mimeType: nil, expectedContentLength: -1, textEncodingName: nil)
    }

    /// All header fields, as a dictionary from `String` to `String`.
    ///
    /// Names are spelled as in FoundationNetworking, whatever the server's spelling is: `Content-Type`, `Etag`,
    /// `WWW-Authenticate`. Names that begin with `X-` are spelled as in their first occurrence. Values of repeated
    /// fields are joined by a comma and a space (RFC 9110, section 5.3). ``value(forHTTPHeaderField:)`` ignores case.
    open var allHeaderFields: [AnyHashable: Any] {
        var names: [String: String] = [:]
        var values: [AnyHashable: String] = [:]
        for field in fields {
            let key = HTTPField.foldedName(field.name)
            if let name = names[key] {
                values[name, default: ""] += ", " + field.value
            } else {
                let name = field.canonicalName
                names[key] = name
                values[name] = field.value
            }
        }
        return values
    }

    /// Returns the value of a field, ignoring the case of its name, or nil if it isn't present.
    public func value(forHTTPHeaderField field: String) -> String? {
        fields.value(named: field)
    }

    /// The media type in lower case without parameters, or nil if the server sends none.
    open override var mimeType: String? {
        let type = contentType?.value.prefix { $0 != "," }.trimmingCharacters(in: .whitespaces).lowercased()
        return type == "" ? nil : type
    }

    /// The value of Content-Length, or -1 (`NSURLResponseUnknownLength`). Also -1 for a body that the client decodes,
    /// since Content-Length is the number of encoded bytes.
    open override var expectedContentLength: Int64 {
        guard !isDecoded else { return -1 }
        // Repeated values agree: HTTPBodyFraming rejects others. Blanks may precede a comma.
        let length = fields.value(named: "Content-Length")?.prefix { $0 != "," }.trimmingCharacters(in: .whitespaces)
        return length.flatMap { Int64($0) } ?? -1
    }

    /// The `charset` of Content-Type in lower case, or nil.
    open override var textEncodingName: String? {
        contentType?["charset"]?.lowercased()
    }

    /// A file name for the body, never with a slash: the name in Content-Disposition, else the last component of the
    /// URL's path, else `Unknown`.
    open override var suggestedFilename: String? {
        let stated = fields.value(named: "Content-Disposition").flatMap { HTTPParameters($0)["filename"] }
        return stated.flatMap(fileName) ?? super.suggestedFilename
    }

    private var contentType: HTTPParameters? {
        fields.value(named: "Content-Type").map { HTTPParameters($0) }
    }

    override var contents: Contents {
        var contents = super.contents
        (contents.statusCode, contents.fields) = (statusCode, fields)
        return contents
    }

    /// The status code, scheme, host and path. The user, query and header fields may be secret and are left out.
    open override var description: String { "\(statusCode) \(super.description)" }

    /// Returns the meaning of a status code, in English and in lower case, such as `not found`.
    public class func localizedString(forStatusCode statusCode: Int) -> String {
        if let meaning = statusMeanings[statusCode] { return meaning }
        return switch statusCode {
        case 100..<200: "informational"
        case 200..<300: "success"
        case 300..<400: "redirected"
        case 400..<500: "client error"
        default: "server error"
        }
    }
}

/// Returns `text` as the name of one file, without control characters and with slashes replaced by `_`. Returns nil if
/// nothing usable is left.
private func fileName(_ text: String) -> String? {
    let visible = String(
        String.UnicodeScalarView(text.unicodeScalars.filter { $0.properties.generalCategory != .control }))
    let name = visible.split(separator: "/").joined(separator: "_")
    return ["", ".", ".."].contains(name) ? nil : name
}

/// The meanings of the status codes in RFC 9110, section 15, and of those registered since.
private let statusMeanings = [
    100: "continue", 101: "switching protocols", 102: "processing", 103: "early hints",
    200: "no error", 201: "created", 202: "accepted", 203: "non-authoritative information", 204: "no content",
    205: "reset content", 206: "partial content", 207: "multi-status", 208: "already reported", 226: "IM used",
    300: "multiple choices", 301: "moved permanently", 302: "found", 303: "see other", 304: "not modified",
    305: "needs proxy", 307: "temporarily redirected", 308: "permanently redirected",
    400: "bad request", 401: "unauthorized", 402: "payment required", 403: "forbidden", 404: "not found",
    405: "method not allowed", 406: "unacceptable", 407: "proxy authentication required", 408: "request timed out",
    409: "conflict", 410: "no longer exists", 411: "length required", 412: "precondition failed",
    413: "request too large", 414: "requested URL too long", 415: "unsupported media type",
    416: "requested range not satisfiable", 417: "expectation failed", 421: "misdirected request",
    422: "unprocessable content", 423: "locked", 424: "failed dependency", 425: "too early", 426: "upgrade required",
    428: "precondition required", 429: "too many requests", 431: "request header fields too large",
    451: "unavailable for legal reasons",
    500: "internal server error", 501: "unimplemented", 502: "bad gateway", 503: "service unavailable",
    504: "gateway timed out", 505: "unsupported version", 506: "variant also negotiates", 507: "insufficient storage",
    508: "loop detected", 511: "network authentication required",
]
