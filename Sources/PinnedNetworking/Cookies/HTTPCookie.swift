import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages

/// A cookie: a value that a server sets and that later requests to it carry (RFC 6265bis).
///
/// Cookies are stored in an ``HTTPCookieStorage``, which a session uses only if its configuration names it. See
/// <doc:UseCookies>.
public final class HTTPCookie: NSObject, Sendable {
    /// The rules for accepting cookies.
    public enum AcceptPolicy: UInt, Sendable {
        /// Accept all cookies.
        case always
        /// Accept no cookies.
        case never
        /// Accept the cookies of requests for a document of the same site (``URLRequest/mainDocumentURL``), and of
        /// requests without one.
        case onlyFromMainDocumentDomain
    }

    /// The fields of a cookie. Name and value are the bytes that a server sent.
    struct Content: Hashable, Sendable {
        var name: [UInt8]
        var value: [UInt8]
        var host: ServerName
        /// Whether the cookie is for the host alone, and not for its subdomains.
        var isHostOnly: Bool
        var path: String
        var expires: Date?
        var isSecure = false
        var isHTTPOnly = false
        var isSessionOnly = false
        var sameSite: SetCookie.SameSite?
        var version = 0
        var comment: String?
        var commentURL: URL?
        /// The only ports that the cookie is sent to, or nil for all.
        var ports: [UInt16]?
    }

    let content: Content

    init(_ content: Content) { self.content = content }

    /// The name, not empty.
    public var name: String { HTTPField.text(content.name) }

    /// The value, which is often a secret.
    public var value: String { HTTPField.text(content.value) }

    /// The host that the cookie is for, in lower case. With a leading dot, the cookie is for its subdomains too.
    public var domain: String { (content.isHostOnly ? "" : ".") + content.host.description }

    /// The path that the cookie is for, with everything below it.
    public var path: String { content.path }

    /// The time when the cookie expires, or nil if it lasts for the session. At most 400 days after the response that
    /// set it.
    public var expiresDate: Date? { content.expires }

    /// Whether the cookie lasts only as long as its storage, and is never written to a file.
    public var isSessionOnly: Bool { content.isSessionOnly }

    /// Whether the cookie is sent over TLS only.
    public var isSecure: Bool { content.isSecure }

    /// Whether the server asks that scripts of a page can't read the cookie. It makes no difference to this client.
    public var isHTTPOnly: Bool { content.isHTTPOnly }

    /// The value of `SameSite` if it is Lax or Strict, otherwise nil.
    ///
    /// Only requests with a ``URLRequest/mainDocumentURL`` can come from another site.
    public var sameSitePolicy: HTTPCookieStringPolicy? {
        switch content.sameSite {
        case .lax: .sameSiteLax
        case .strict: .sameSiteStrict
        case .unrestricted, nil: nil
        }
    }

    /// The version that the cookie was created with, 0 or 1. Always 0 for cookies of a server.
    public var version: Int { content.version }

    /// The comment that the cookie was created with. Always nil for cookies of a server.
    public var comment: String? { content.comment }

    /// The URL of a comment that the cookie was created with. Always nil for cookies of a server.
    public var commentURL: URL? { content.commentURL }

    /// The only ports that the cookie is sent to, if it was created with some. Always nil for cookies of a server: all
    /// ports of a host share its cookies (RFC 6265bis, section 8.5).
    public var portList: [NSNumber]? { content.ports?.map { NSNumber(value: $0) } }

    /// Compares all fields, including the value.
    public override func isEqual(_ object: Any?) -> Bool { (object as? HTTPCookie)?.content == content }

    public override var hash: Int { content.hashValue }

    /// The name, domain and path. The value may be secret and is left out.
    public override var description: String { visibleText("\(name) for \(domain)\(path)") }
}

extension HTTPCookie: CustomReflectable {
    /// A mirror without children, so that `dump` prints no more than ``description``.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}

// MARK: Received cookies

extension HTTPCookie {
    /// Creates the cookie that a response to `request` sets. Returns nil if the server may not set it (RFC 6265bis,
    /// section 5.7, steps 7 to 21).
    convenience init?(_ set: SetCookie, from request: CookieRequest, _ suffixes: PublicSuffixes, at now: Date) {
        guard let (host, isHostOnly) = Self.scope(of: set.domain, from: request.host, suffixes) else { return nil }
        let stated = set.path.map { HTTPField.text(Array($0)) }
        let path = stated.flatMap { $0.utf8.first == UInt8(ascii: "/") ? $0 : nil } ?? request.defaultPath
        let expires = set.expiry(at: now)
        self.init(
            Content(
                name: set.name, value: set.value, host: host, isHostOnly: isHostOnly, path: path, expires: expires,
                isSecure: set.isSecure, isHTTPOnly: set.isHTTPOnly, isSessionOnly: expires == nil,
                sameSite: set.sameSite))
        // A cookie for a whole host has to ask for that.
        let isForRoot = set.path != nil && (set.domain ?? []).isEmpty
        // mutant cookie-prefix-root: true for 2 by CookieAttackTests/prefixes
        guard canBeSet(by: request, suffixes), isForRoot || !hasPrefix("__host-") else { return nil }
    }

    /// Returns whether a server that answers `request` may set the cookie.
    func canBeSet(by request: CookieRequest, _ suffixes: PublicSuffixes) -> Bool {
        let isForHost =
            isHostOnlyMatch(request.host)
            // mutant cookie-suffix: true for `!suffixes.contains(content.host)` by CookieAttackTests CookieStorageTests
            || !content.isHostOnly && suffixes.isKnown && !suffixes.contains(content.host)
                && request.host.matches(domain: content.host)
        // Cleartext sets no cookie for TLS, and one that other sites may use has to be for TLS.
        // mutant cookie-cleartext-sets: true for `request.isSecure || !isSecure` by CookieAttackTests
        // mutant cookie-none-secure: true for `isSecure || content.sameSite != .unrestricted` by
        //   CookieAttackTests/sites
        return isForHost && (request.isSecure || !isSecure) && (isSecure || content.sameSite != .unrestricted)
            && keepsPromise
    }

    private func isHostOnlyMatch(_ host: ServerName) -> Bool { content.isHostOnly && content.host == host }

    /// Whether the cookie has what the prefix of its name promises (RFC 6265bis, section 5.4, and
    /// draft-ietf-httpbis-layered-cookies).
    private var keepsPromise: Bool {
        // mutant cookie-prefix: false for 2 by CookieAttackTests
        if hasPrefix("__host-"), !(isSecure && content.isHostOnly && path == "/") { return false }
        if hasPrefix("__http-") || hasPrefix("__host-http-"), !(isSecure && isHTTPOnly) { return false }
        // mutant cookie-prefix-secure: true by CookieAttackTests
        return isSecure || !hasPrefix("__secure-")
    }

    /// Returns whether the name begins with this text, whatever its case.
    private func hasPrefix(_ prefix: String) -> Bool {
        HTTPField.foldedName(String(decoding: content.name.prefix(prefix.utf8.count), as: UTF8.self)) == prefix
    }

    /// Returns the host that a cookie with this `Domain` is for, and whether it is for that host alone. Returns nil if
    /// `request` may not set it.
    ///
    /// Without a list of public suffixes it is unknown whether a domain has one owner, so every cookie is for its host
    /// alone.
    private static func scope(
        of domain: ArraySlice<UInt8>?, from host: ServerName, _ suffixes: PublicSuffixes
    ) -> (ServerName, isHostOnly: Bool)? {
        guard let domain, !domain.isEmpty else { return (host, true) }
        // A hostname can end with a dot, but a Domain can't.
        guard domain.last != UInt8(ascii: "."), let name = try? ServerName(String(decoding: domain, as: UTF8.self)),
            // mutant cookie-domain: true by CookieAttackTests CookieStorageTests CookieParsingTests
            host.matches(domain: name)
        else { return nil }
        // An address has no subdomains, and those of a public suffix belong to others.
        guard suffixes.isKnown, name != host || !(host.isIPAddress || suffixes.contains(host)) else {
            return (host, true)
        }
        return (name, false)
    }
}
