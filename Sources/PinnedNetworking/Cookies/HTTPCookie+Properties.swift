import CertificateTrust
import PinctlHTTPMessages

/// A key of the properties that a cookie is created with (``HTTPCookie/init(properties:)``).
public struct HTTPCookiePropertyKey: RawRepresentable, Hashable, Sendable {
    /// The text of the key.
    public let rawValue: String

    /// Creates a key.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Creates a key.
    public init(_ rawValue: String) { self.rawValue = rawValue }

    /// The name, a `String`. Required.
    public static let name = HTTPCookiePropertyKey("Name")
    /// The value, a `String`. Required.
    public static let value = HTTPCookiePropertyKey("Value")
    /// The host, a `String`. With a leading dot, the cookie is for its subdomains too. Required without ``originURL``.
    public static let domain = HTTPCookiePropertyKey("Domain")
    /// The URL whose host the cookie is for, a `URL` or a `String`. Required without ``domain``.
    public static let originURL = HTTPCookiePropertyKey("OriginURL")
    /// The path, a `String`. Required.
    public static let path = HTTPCookiePropertyKey("Path")
    /// Whether the cookie is sent over TLS only: a `Bool`, or a `String` other than `FALSE`.
    public static let secure = HTTPCookiePropertyKey("Secure")
    /// The time when the cookie expires, a `Date` or a `String`.
    public static let expires = HTTPCookiePropertyKey("Expires")
    /// The lifetime in seconds, a `String`. It takes precedence over ``expires``, but counts with version 1 only.
    public static let maximumAge = HTTPCookiePropertyKey("Max-Age")
    /// Whether the cookie lasts for the session only: `TRUE` or `FALSE`.
    public static let discard = HTTPCookiePropertyKey("Discard")
    /// The version, 0 or 1, as a `String`.
    public static let version = HTTPCookiePropertyKey("Version")
    /// A comment, a `String`.
    public static let comment = HTTPCookiePropertyKey("Comment")
    /// The URL of a comment, a `URL` or a `String`.
    public static let commentURL = HTTPCookiePropertyKey("CommentURL")
    /// The only ports that the cookie is sent to, a `String` with commas. With version 0, only the first one counts.
    public static let port = HTTPCookiePropertyKey("Port")
    /// The value of `SameSite`, a `String` or an ``HTTPCookieStringPolicy``.
    public static let sameSitePolicy = HTTPCookiePropertyKey("SameSite")

    static let httpOnly = HTTPCookiePropertyKey("HttpOnly")
}

/// A value of `SameSite` that restricts a cookie.
public struct HTTPCookieStringPolicy: RawRepresentable, Hashable, Sendable {
    /// The value in lower case.
    public let rawValue: String

    /// Creates a value.
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The cookie isn't sent with requests of other sites, except for those that open a page.
    public static let sameSiteLax = HTTPCookieStringPolicy(rawValue: "lax")
    /// The cookie isn't sent with requests of other sites.
    public static let sameSiteStrict = HTTPCookieStringPolicy(rawValue: "strict")
}

extension HTTPCookie {
    /// Creates a cookie. Returns nil if the name, the value, the path or the host is missing, if the host isn't a
    /// hostname, or if a text couldn't be sent as it is.
    ///
    /// Names and values can't have control characters or semicolons, and names can't have `=`, because the rest of the
    /// text would become another cookie or another field.
    public convenience init?(properties: [HTTPCookiePropertyKey: Any]) {
        let given = CookieProperties(properties)
        guard let name = given.text(.name), !name.isEmpty, let value = given.text(.value), let path = given.text(.path),
            // mutant cookie-injection: true for `HTTPGrammar.isFieldContent($0.utf8)` by CookieTests
            [name, value, path].allSatisfy({ HTTPGrammar.isFieldContent($0.utf8) && !$0.utf8.contains(0x3B) }),
            !name.utf8.contains(UInt8(ascii: "=")), let domain = given.text(.domain) ?? given.originHost,
            let host = try? ServerName(domain.hasPrefix(".") ? String(domain.dropFirst()) : domain)
        else { return nil }
        let version = given.text(.version) == "1" ? 1 : 0
        let expires = given.expiry(version: version)
        let isSessionOnly = given.text(.discard).map { $0.uppercased() == "TRUE" }
        self.init(
            Content(
                name: Array(name.utf8), value: Array(value.utf8), host: host,
                isHostOnly: !domain.hasPrefix(".") || host.isIPAddress, path: path, expires: expires,
                isSecure: given.flag(.secure), isHTTPOnly: given.flag(.httpOnly),
                isSessionOnly: isSessionOnly ?? (expires == nil || version == 1 && properties[.maximumAge] == nil),
                sameSite: given.text(.sameSitePolicy).flatMap { SetCookie.SameSite(rawValue: $0.lowercased()) },
                version: version, comment: given.text(.comment), commentURL: given.url(.commentURL),
                ports: given.ports(version: version)))
    }

    /// The properties from which an equal cookie can be created. Never nil.
    public var properties: [HTTPCookiePropertyKey: Any]? {
        var properties: [HTTPCookiePropertyKey: Any] = [
            .name: name, .value: value, .domain: domain, .path: path, .version: String(version),
            .discard: isSessionOnly ? "TRUE" : "FALSE",
        ]
        properties[.expires] = expiresDate
        properties[.secure] = isSecure ? "TRUE" : nil
        properties[.httpOnly] = isHTTPOnly ? "TRUE" : nil
        properties[.sameSitePolicy] = content.sameSite?.rawValue
        properties[.comment] = comment
        properties[.commentURL] = commentURL
        properties[.port] = content.ports.map { $0.map(String.init).joined(separator: ",") }
        return properties
    }
}

/// The properties of a cookie that a program creates.
private struct CookieProperties {
    private let values: [HTTPCookiePropertyKey: Any]

    init(_ values: [HTTPCookiePropertyKey: Any]) { self.values = values }

    func text(_ key: HTTPCookiePropertyKey) -> String? {
        switch values[key] {
        case let text as String: text
        case let text as Substring: String(text)
        case let policy as HTTPCookieStringPolicy: policy.rawValue
        case let flag as Bool where key != .version: flag ? "TRUE" : "FALSE"
        case let number as Int: String(number)
        default: nil
        }
    }

    func flag(_ key: HTTPCookiePropertyKey) -> Bool {
        guard let text = text(key) else { return false }
        return !["", "FALSE"].contains(text.uppercased())
    }

    func url(_ key: HTTPCookiePropertyKey) -> URL? { values[key] as? URL ?? text(key).flatMap { URL(string: $0) } }

    var originHost: String? { url(.originURL)?.absoluteURL.host(percentEncoded: false) }

    func expiry(version: Int) -> Date? {
        if let seconds = text(.maximumAge).flatMap({ Int($0) }) {
            return version == 1 ? Date(timeIntervalSinceNow: Double(seconds)) : nil
        }
        return values[.expires] as? Date ?? text(.expires).flatMap { CookieDate.parse($0.utf8) }
    }

    func ports(version: Int) -> [UInt16]? {
        guard let text = text(.port) else { return nil }
        let ports = text.split(separator: ",").compactMap { UInt16($0.trimmingCharacters(in: .whitespaces)) }
        return version == 1 ? ports : ports.isEmpty ? nil : [ports[0]]
    }
}
