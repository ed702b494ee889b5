import CertificateTrust
import PinctlHTTPMessages

// Cookies in the header fields of messages.

extension HTTPCookie {
    /// Returns the `Cookie` field for a request that carries these cookies, in this order. Returns an empty dictionary
    /// if there are none.
    public class func requestHeaderFields(with cookies: [HTTPCookie]) -> [String: String] {
        cookies.isEmpty ? [:] : ["Cookie": field(with: cookies).value]
    }

    /// Returns the cookies that a response from a URL sets with its `Set-Cookie` field.
    ///
    /// A dictionary has one value for all `Set-Cookie` fields, which ``HTTPURLResponse/allHeaderFields`` joins by
    /// commas. A new cookie begins after a comma that is followed by a name and `=`. A session reads the fields
    /// one by one.
    ///
    /// Cookies that a server at the URL can't set are left out, such as those for another domain.
    public class func cookies(withResponseHeaderFields headerFields: [String: String], for url: URL) -> [HTTPCookie] {
        guard let request = CookieRequest(url) else { return [] }
        let now = Date()
        return headerFields.filter { HTTPField.foldedName($0.key) == "set-cookie" }.values.flatMap { value in
            separated(Array(value.utf8)).compactMap { field in
                SetCookie(field).flatMap { HTTPCookie($0, from: request, .system, at: now) }
            }
        }
    }

    /// Returns the `Cookie` field for a request that carries these cookies (RFC 6265bis, section 5.8.3). Names and
    /// values are the bytes that were received.
    static func field(with cookies: [HTTPCookie]) -> HTTPField {
        let pairs = cookies.map { $0.content.name + [UInt8(ascii: "=")] + $0.content.value }
        return HTTPField(name: "Cookie", bytes: Array(pairs.joined(separator: Array("; ".utf8)))[...])
    }

    /// Splits a value at the commas that separate cookies.
    private static func separated(_ value: [UInt8]) -> [[UInt8]] {
        var fields: [[UInt8]] = []
        var start = value.startIndex
        for comma in value.indices where value[comma] == UInt8(ascii: ",") {
            let next = value[(comma + 1)...].drop(while: HTTPGrammar.isBlank)
            let rest = next.drop(while: HTTPGrammar.isTokenCharacter)
            guard rest.startIndex > next.startIndex,
                rest.drop(while: HTTPGrammar.isBlank).first == UInt8(ascii: "=")
            else { continue }
            fields.append(Array(value[start..<comma]))
            start = comma + 1
        }
        return fields + [Array(value[start...])]
    }
}
