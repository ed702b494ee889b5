import HTTPMessages

/// What a server answered, without the body.
// A class with subclasses is Sendable only when it is bound to an actor, or unchecked. Every member is nonisolated, so
// nothing ever runs on this one.
@MainActor
public class URLResponse {
    /// The URL that was requested.
    public nonisolated let url: URL?
    /// The media type in small letters, without parameters; nil when the server states none. Nothing is guessed from
    /// the bytes.
    public nonisolated let mimeType: String?
    /// Bytes of the body as the server states them, or -1 (`NSURLResponseUnknownLength`).
    public nonisolated let expectedContentLength: Int64

    nonisolated init(url: URL, mimeType: String?, expectedContentLength: Int64) {
        self.url = url
        self.mimeType = mimeType
        self.expectedContentLength = expectedContentLength
    }
}

/// An answer over HTTP: its status code and header fields.
public final class HTTPURLResponse: URLResponse {
    /// 200 or more; interim responses do not show.
    public nonisolated let statusCode: Int

    private nonisolated let fields: [HTTPField]

    /// An answer made by hand, for a program's own tests; never nil. `httpVersion` changes nothing.
    public nonisolated convenience init?(
        url: URL, statusCode: Int, httpVersion: String?, headerFields: [String: String]?
    ) {
        let fields = (headerFields ?? [:]).sorted { $0.key < $1.key }.map { HTTPField(name: $0.key, value: $0.value) }
        self.init(url: url, statusCode: statusCode, fields: fields)
    }

    nonisolated init(url: URL, statusCode: Int, fields: [HTTPField]) {
        self.statusCode = statusCode
        self.fields = fields
        let mediaType = fields.value(named: "Content-Type").map { value in
            value.prefix { $0 != ";" && $0 != "," }.trimmingCharacters(in: .whitespaces).lowercased()
        }
        super.init(
            url: url, mimeType: mediaType == "" ? nil : mediaType,
            expectedContentLength: fields.value(named: "Content-Length").flatMap { Int64($0) } ?? -1)
    }

    /// All header fields: `String` to `String`, a name as the server wrote it first, repeats joined by a comma and a
    /// space (RFC 9110, section 5.3).
    public nonisolated var allHeaderFields: [AnyHashable: Any] {
        var names: [String: String] = [:]
        var values: [AnyHashable: String] = [:]
        for field in fields {
            let key = HTTPField.foldedName(field.name)
            if let name = names[key] {
                values[name, default: ""] += ", " + field.value
            } else {
                names[key] = field.name
                values[field.name] = field.value
            }
        }
        return values
    }

    /// The value of a field, whatever the case of its name; nil when it is not there.
    public nonisolated func value(forHTTPHeaderField field: String) -> String? {
        fields.value(named: field)
    }
}
