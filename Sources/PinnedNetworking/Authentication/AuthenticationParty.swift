import CertificateTrust
import PinctlHTTPMessages

/// The party that may request a credential: the server of the URL, or the proxy in use.
///
/// A credential for one party is never sent to another (P6). Each party is heard only in its own fields, so a 407 that
/// doesn't come from the proxy releases no credential (HA5).
enum AuthenticationParty: Sendable, Hashable {
    /// The server. `protocol` is ``NSURLProtectionSpaceHTTP`` or ``NSURLProtectionSpaceHTTPS``.
    case origin(ServerName, port: UInt16, protocol: String)
    /// The proxy. `type` is ``NSURLProtectionSpaceHTTPProxy`` or ``NSURLProtectionSpaceHTTPSProxy``.
    case proxy(ServerName, port: UInt16, type: String)

    var isProxy: Bool {
        if case .proxy = self { true } else { false }
    }

    /// The status code of a challenge (RFC 9110, sections 15.5.2 and 15.5.8).
    var statusCode: Int { isProxy ? 407 : 401 }
    var challengeField: String { isProxy ? "Proxy-Authenticate" : "WWW-Authenticate" }
    var credentialField: String { isProxy ? "Proxy-Authorization" : "Authorization" }
    /// The field with authentication information (RFC 7615).
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

    /// Returns the path of an absolute or relative URI at this server or proxy, or `nil` if it is at another one.
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

/// The permission to use NTLM and Negotiate, which reveal the user to the server and log in a whole connection (HA11).
enum ConnectionLogins: Sendable, Hashable {
    /// Permitted: the user named the host, or it is a proxy.
    case permitted
    /// Permitted with the credential stored for exactly this space: a redirect named the host.
    case stored
    /// Refused: the host is behind a proxy that forwards cleartext requests. The connection belongs to the proxy and
    /// may be shared.
    case refused
}

/// The properties of a request that authentication depends on.
struct AuthenticationRequest: Sendable {
    let party: AuthenticationParty
    let method: String
    /// The request target as sent: path and query, a full URI for a forwarding proxy, or host and port for CONNECT.
    let target: String
    /// The body for `auth-int`, or `nil` if it isn't available as a whole.
    var body: [UInt8]? = []
    /// The user in the URL or in the proxy's settings, percent-decoded.
    var user: String?
    var password: String?
    /// Whether the caller set the field itself. It is never overridden.
    var hasOwnField = false
    /// Whether NTLM and Negotiate may be used.
    var connectionLogins = ConnectionLogins.permitted

    /// The path without its query. For a proxy, where paths have no meaning, it is the root.
    var path: String {
        guard !party.isProxy else { return "/" }
        let bare = String(Substring(target.utf8.prefix { $0 != UInt8(ascii: "?") }))
        return party.path(of: bare) ?? bare
    }
}
