import CertificateTrust
import HTTPMessages

/// Who may ask a request for a credential: the server of its URL, or the proxy it goes through.
///
/// What is given at one place is never sent to another (P6), and each is heard in its own fields alone: a 407 that does
/// not come from the proxy releases nothing (HA5).
enum AuthenticationPlace: Sendable, Hashable {
    /// `protocol` is ``NSURLProtectionSpaceHTTP`` or ``NSURLProtectionSpaceHTTPS``.
    case origin(ServerName, port: UInt16, protocol: String)
    /// `type` is ``NSURLProtectionSpaceHTTPProxy`` or ``NSURLProtectionSpaceHTTPSProxy``.
    case proxy(ServerName, port: UInt16, type: String)

    var isProxy: Bool {
        if case .proxy = self { true } else { false }
    }

    /// The status that asks (RFC 9110, sections 15.5.2 and 15.5.8).
    var statusCode: Int { isProxy ? 407 : 401 }
    var challengeField: String { isProxy ? "Proxy-Authenticate" : "WWW-Authenticate" }
    var credentialField: String { isProxy ? "Proxy-Authorization" : "Authorization" }
    /// RFC 7615.
    var informationField: String { isProxy ? "Proxy-Authentication-Info" : "Authentication-Info" }

    func space(realm: String?, method: String) -> URLProtectionSpace {
        switch self {
        case .origin(let name, let port, let scheme):
            URLProtectionSpace(
                host: name.description, port: Int(port), protocol: scheme, realm: realm, authenticationMethod: method)
        case .proxy(let name, let port, let type):
            URLProtectionSpace(
                proxyHost: name.description, port: Int(port), type: type, realm: realm, authenticationMethod: method)
        }
    }

    /// The path of a URI, absolute or not, that lies at this place; nil for any other.
    func path(of uri: String) -> String? {
        if uri.hasPrefix("/") { return uri }
        guard case .origin(let name, let port, let scheme) = self, let url = URL(string: uri),
            url.scheme.map(HTTPField.foldedName) == scheme, let host = url.host(percentEncoded: false),
            (try? ServerName(host)) == name,
            url.port ?? (scheme == NSURLProtectionSpaceHTTPS ? 443 : 80) == Int(port)
        else { return nil }
        let path = url.path(percentEncoded: true)
        return path.isEmpty ? "/" : path
    }
}

/// Whether NTLM and Negotiate, which show a server who the user is and hold for a connection, may answer (HA11).
enum ConnectionLogins: Sendable, Hashable {
    /// At the host that the user named, and at a proxy.
    case permitted
    /// At a host that a redirect named: with what is stored for that very space.
    case stored
    /// At a host behind a proxy that takes requests in the clear: the connection is the proxy's, and anybody's.
    case refused
}

/// What authentication needs to know of a request.
struct AuthenticationRequest: Sendable {
    let place: AuthenticationPlace
    let method: String
    /// As it is sent: a path and query, a whole URI to a forwarding proxy, host and port with CONNECT.
    let target: String
    /// For `auth-int`; nil when it is not at hand as a whole.
    var body: [UInt8]? = []
    /// Whom the URL names, or the proxy's settings; percent-decoded.
    var user: String?
    var password: String?
    /// Whether the caller wrote the field himself, which nothing here overrides.
    var hasOwnField = false
    /// Who may be logged in by NTLM and Negotiate.
    var connectionLogins = ConnectionLogins.permitted

    /// The path without its query; for a proxy, where paths mean nothing, the root.
    var path: String {
        guard !place.isProxy else { return "/" }
        let bare = String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        return place.path(of: bare) ?? bare
    }
}
