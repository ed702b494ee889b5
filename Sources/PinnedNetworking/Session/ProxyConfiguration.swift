import TLSTransport

/// An HTTP or SOCKS proxy.
///
/// An HTTP proxy is asked for a tunnel for `https` (CONNECT; RFC 9110, section 9.3.6), and to pass `http` requests on. A
/// SOCKS proxy connects to the host in any case, and resolves its name too. What is behind either is judged as if there
/// were no proxy.
///
/// Proxies come from here alone, never from the environment.
public struct ProxyConfiguration: Sendable, Hashable {
    /// The proxy's name or address. Over TLS it is what the proxy has to prove.
    public let host: ServerName
    /// The proxy's TCP port, 1 to 65535.
    public let port: UInt16
    /// Whether the proxy itself is spoken to over TLS, with a server trust challenge and pins of its own.
    public let usesTLS: Bool
    /// Hosts that are reached without the proxy, each with the names below it.
    ///
    /// An entry is a DNS name or an IP address; `.example.com` and `*.example.com` mean `example.com`. Every request of a
    /// session with an entry that is neither fails.
    public var excludedDomains: [String] = []
    /// The hosts that are reached through the proxy, each with the names below it; empty for all of them.
    ///
    /// Entries are written as in ``excludedDomains``, and are as strictly required to be valid.
    public var matchDomains: [String] = []

    /// What the proxy speaks.
    enum Kind: Sendable, Hashable {
        case http
        case socks(SOCKSHandshake.Version)
    }

    let kind: Kind
    private(set) var credential: URLCredential?

    /// A proxy that is spoken to in the clear.
    public init(httpCONNECTProxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, usesTLS: false)
    }

    /// A proxy that is spoken to over TLS.
    public init(tlsCONNECTProxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, usesTLS: true)
    }

    /// A SOCKS 5 proxy (RFC 1928), which resolves names itself, as `socks5h` says elsewhere.
    ///
    /// It is spoken to in the clear, and so is its password (RFC 1929).
    public init(socksv5Proxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, kind: .socks(.socks5))
    }

    /// A SOCKS 4a proxy, which resolves names itself. It knows a user name and no password, and no IPv6 addresses.
    public init(socksv4aProxy host: ServerName, port: UInt16) {
        self.init(host: host, port: port, kind: .socks(.socks4a))
    }

    private init(host: ServerName, port: UInt16, usesTLS: Bool = false, kind: Kind = .http) {
        self.host = host
        self.port = port
        self.usesTLS = usesTLS
        self.kind = kind
    }

    /// Gives the user name and password for this proxy, which are tried before any delegate is asked. A SOCKS proxy has
    /// these or none; SOCKS 4a gets the name alone.
    public mutating func applyCredential(username: String, password: String) {
        credential = URLCredential(user: username, password: password, persistence: .none)
    }

    var isHTTP: Bool { kind == .http }

    /// What a SOCKS proxy is told.
    var socksLogin: SOCKSHandshake.Login? {
        credential.map { SOCKSHandshake.Login(user: $0.user ?? "", password: $0.password ?? "") }
    }

    /// Whether requests to a host go through this proxy. Asked only when ``domainError`` is nil.
    func reaches(_ host: ServerName) -> Bool {
        !excludedDomains.contains { host.isWithin($0) }
            && (matchDomains.isEmpty || matchDomains.contains { host.isWithin($0) })
    }

    /// The first entry of ``excludedDomains`` and ``matchDomains`` that isn't valid; nil when all are.
    var domainError: ProxyDomainError? {
        for (list, domains) in [("excludedDomains", excludedDomains), ("matchDomains", matchDomains)] {
            if let domain = domains.first(where: { ServerName(domain: $0) == nil }) {
                return ProxyDomainError(proxy: "\(host) port \(port)", list: list, domain: domain)
            }
        }
        return nil
    }
}

/// An entry of a proxy's domain lists that isn't valid, so that nobody can say which requests the proxy is for.
struct ProxyDomainError: Error, Hashable, CustomStringConvertible {
    let proxy: String
    /// The name of the property.
    let list: String
    let domain: String

    var description: String {
        "\(list) of the proxy \(proxy) has \"\(visibleText(domain))\", which is neither a DNS name nor an IP address: "
            + "write example.com, .example.com, *.example.com or 192.0.2.1"
    }
}

extension ServerName {
    /// The domain of an entry; nil when it isn't valid. `.example.com` and `*.example.com` mean the same domain.
    fileprivate init?(domain: String) {
        let bare =
            domain.hasPrefix("*.") ? domain.dropFirst(2) : domain.hasPrefix(".") ? domain.dropFirst() : domain[...]
        guard let name = try? ServerName(String(bare)), bare.utf8.count == domain.utf8.count || !name.isIPAddress else {
            return nil
        }
        self = name
    }

    /// Whether this is the domain or a name below it.
    fileprivate func isWithin(_ domain: String) -> Bool {
        guard let domain = ServerName(domain: domain) else { return false }
        return self == domain || isSubdomain(of: domain)
    }
}
