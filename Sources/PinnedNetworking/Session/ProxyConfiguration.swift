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
    public var excludedDomains: [String] = []
    /// The hosts that are reached through the proxy, each with the names below it; empty for all of them.
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

    /// Whether requests to a host go through this proxy.
    func reaches(_ host: ServerName) -> Bool {
        !excludedDomains.contains { host.isWithin($0) }
            && (matchDomains.isEmpty || matchDomains.contains { host.isWithin($0) })
    }
}

extension ServerName {
    /// Whether this is the domain or a name below it; `.example.com` and `*.example.com` mean the same domain.
    fileprivate func isWithin(_ domain: String) -> Bool {
        let bare =
            domain.hasPrefix("*.") ? domain.dropFirst(2) : domain.hasPrefix(".") ? domain.dropFirst() : domain[...]
        guard let domain = try? ServerName(String(bare)) else { return false }
        return self == domain || !isIPAddress && description.hasSuffix("." + domain.description)
    }
}
