import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

/// An HTTP or SOCKS proxy.
///
/// An HTTP proxy receives a CONNECT request for `https` (RFC 9110, section 9.3.6) and forwards `http` requests. A SOCKS
/// proxy always connects to the host, and also resolves its name. Servers behind either kind are evaluated as if there
/// were no proxy.
///
/// A session uses the environment's proxies only if the program passes it ``fromEnvironment(_:)``.
public struct ProxyConfiguration: Sendable, Hashable {
    /// The proxy's hostname or address. Over TLS, the proxy's certificate must be valid for it.
    public let host: ServerName
    /// The proxy's TCP port, 1 to 65535.
    public let port: UInt16
    /// Whether the connection to the proxy itself uses TLS, with its own server trust challenge and pins.
    public let usesTLS: Bool
    /// Hosts that are reached without the proxy, each including the names below it.
    ///
    /// An entry is a DNS name, an IP address, or a range of addresses such as `192.0.2.0/24`. An address or range
    /// applies to URLs with an address, since names aren't resolved for it. `.example.com` and `*.example.com` mean
    /// `example.com`. A name or address with a port, such as `example.com:8443` or `[::1]:8443`, applies to that port
    /// only. If a session has any other entry, all its requests fail.
    public var excludedDomains: [String] = []
    /// The hosts that are reached through the proxy, each including the names below it. If empty, all hosts are.
    ///
    /// Entries have the same form as in ``excludedDomains``. Invalid entries have the same effect.
    public var matchDomains: [String] = []

    /// The protocol of the proxy.
    enum Kind: Sendable, Hashable {
        case http
        case socks(SOCKSHandshake.Version)
    }

    let kind: Kind
    /// The schemes of the URLs that the proxy is for. `nil` means all.
    var schemes: Set<HTTPScheme>?
    private(set) var credential: URLCredential?

    /// Creates an HTTP proxy with a cleartext connection.
    public init(httpCONNECTProxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, usesTLS: false)
    }

    /// Creates an HTTP proxy with a TLS connection.
    public init(tlsCONNECTProxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, usesTLS: true)
    }

    /// Creates a SOCKS 5 proxy (RFC 1928). It resolves names itself, which other programs call `socks5h`.
    ///
    /// The connection to it is in cleartext, including the password (RFC 1929).
    public init(socksv5Proxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, kind: .socks(.socks5))
    }

    /// Creates a SOCKS 4a proxy, which resolves names itself. It has a user name but no password, and doesn't support
    /// IPv6 addresses.
    public init(socksv4aProxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, kind: .socks(.socks4a))
    }

    init(host: ServerName, port: UInt16, usesTLS: Bool = false, kind: Kind = .http) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.kind = kind
    }

    /// Sets the user name and password for this proxy, which are tried before any delegate is asked. For a SOCKS proxy
    /// they are the only login. SOCKS 4a uses the user name alone.
    public mutating func applyCredential(username: String, password: String) {
        credential = URLCredential(user: username, password: password, persistence: .none)
    }

    var isHTTP: Bool { kind == .http }

    /// The login for a SOCKS proxy.
    var socksLogin: SOCKSHandshake.Login? {
        guard let user = credential?.user, let password = credential?.password else { return nil }
        return SOCKSHandshake.Login(user: user, password: password)
    }

    /// Whether requests to a host and port use this proxy. Only valid if ``domainError`` is `nil`.
    func reaches(_ host: ServerName, port: UInt16, _ scheme: HTTPScheme) -> Bool {
        (schemes?.contains(scheme) ?? true) && !ProxyDomain.contains(host, port: port, in: excludedDomains)
            && (matchDomains.isEmpty || ProxyDomain.contains(host, port: port, in: matchDomains))
    }

    /// The error for the first invalid entry of ``excludedDomains`` and ``matchDomains``, or `nil` if all are valid.
    var domainError: ProxyDomainError? {
        for (list, domains) in [("excludedDomains", excludedDomains), ("matchDomains", matchDomains)] {
            if let domain = domains.first(where: { ProxyDomain($0) == nil }) {
                return ProxyDomainError(proxy: "\(host) port \(port)", list: list, domain: domain)
            }
        }
        return nil
    }
}

/// The error for an invalid entry of a proxy's domain lists, which leaves open which requests use the proxy.
struct ProxyDomainError: Error, Hashable, CustomStringConvertible {
    let proxy: String
    /// The name of the property.
    let list: String
    let domain: String

    var description: String {
        "\(list) of the proxy \(proxy) has \"\(visibleText(domain))\", which is not a DNS name, an IP address or a "
            + "range of addresses: use example.com, .example.com, *.example.com, example.com:8443, "
            + "192.0.2.1 or 192.0.2.0/24"
    }
}
