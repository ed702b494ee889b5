import CertificatePinning

/// Flags for connecting to servers.
extension Flag {
    static let resolve = Flag(
        "resolve", value: .text("HOST:PORT:ADDRESS"), repeatable: true, in: .connection,
        "connect to ADDRESS for this host and port",
        details: "The certificate must still be valid for HOST. For a single target, write host:443@ADDRESS.")
    static let sni = Flag(
        "sni", value: .text("NAME|none"), in: .connection, "send this server name (SNI), or none",
        details: "The server chooses its certificate by this name. The certificate is still verified for the target's "
            + "hostname.")
    static let ipv4 = Flag("ipv4", short: "4", in: .connection, "connect only over IPv4")
    static let ipv6 = Flag("ipv6", short: "6", in: .connection, "connect only over IPv6")
    static let allAddresses = Flag(
        "all-addresses", in: .connection, "connect to every address of a host, not only the first that accepts")
    static let first = Flag(
        "first", in: .connection,
        "make one handshake for each target, with its first address that accepts and the key that it chooses",
        details: "Without this flag, pinctl checks every address that the name resolves to, and both kinds of key if "
            + "the server has both. This flag is for long lists. It overrides the policy.")
    static let keys = Flag(
        "keys", value: .choice("KEYS", CheckSettings.Keys.allCases.map(\.rawValue)), in: .connection,
        "request the server's rsa key, its ecdsa key, both, or the one that it chooses (auto)",
        details: "The default is both. pinctl then makes two handshakes and skips a key type that the server doesn't "
            + "have.")
    static let startTLS = Flag(
        "starttls", value: .choice("PROTOCOL", CheckSettings.startTLSProtocols), in: .connection,
        "connect in plaintext, then upgrade to TLS as this protocol does",
        details: "Applies to targets without a scheme. For a single target, write smtp://mail.example.com.")
    static let proxy = Flag(
        "proxy", value: .text("URL"), in: .connection,
        "connect through the proxy http://HOST:PORT (CONNECT) or socks5://HOST:PORT, or through that of the "
            + "environment (env)",
        details: "socks4a://HOST:PORT is supported too, and the port is required. Without this flag, proxies in "
            + "environment variables are ignored. With env, https_proxy, all_proxy and no_proxy apply as in curl, in "
            + "lower or upper case: a proxy without a port has port 1080, and hosts are connected to directly if no "
            + "proxy is set or no_proxy lists them (see pinctl help environment). The proxy resolves the hostnames. "
            + "Results that came through a proxy name it.")
    static let proxyLogin = Flag(
        "proxy-login", value: .file("FILE"), in: .connection,
        "read USER:PASSWORD for the proxy from the first line of FILE",
        details: "The login is sent to the proxy in plaintext (Basic, RFC 1929). SOCKS 4a has no password.")
    static let certificate = Flag(
        "cert", value: .file("FILE"), in: .connection,
        "present this client certificate (PEM or PKCS #12) if a server requests one",
        details: """
            The server receives the certificate before the server's own chain is verified, so it learns the client's \
            identity. No byte of a request is sent.
            """)
    static let certificateKey = Flag(
        "key", value: .file("FILE"), in: .connection, "read the private key of --cert from this file")
    static let passwordFile = Flag(
        "password-file", value: .file("FILE"),
        "read the password for keys and PKCS #12 from FILE, one line (- for standard input)")
    static let minimumTLS = Flag(
        "min-tls", value: .choice("VERSION", ["1.2", "1.3"]), in: .connection,
        "offer no older version of TLS (default: 1.2)")
    static let maximumTLS = Flag(
        "max-tls", value: .choice("VERSION", ["1.2", "1.3"]), in: .connection,
        "offer no newer version of TLS (default: 1.3)")
    static let connectTimeout = Flag(
        "connect-timeout", value: .text("SECONDS"), in: .connection,
        "give up on a connection after this time (default: 5)")
    static let timeout = Flag(
        "timeout", value: .text("SECONDS"), in: .connection, "give up on a target after this time (default: 10)",
        details: "The limit covers everything: name resolution, connections, retries, STARTTLS, the proxy and the "
            + "handshake. A handshake for the server's other kind of key has a limit of its own.")
    static let retries = Flag(
        "retries", value: .text("N"), in: .connection, "retry up to N times if a server does not answer (default: 2)",
        details: "A server that answers, for example with a failed handshake, is not retried.")
    static let rate = Flag(
        "rate", value: .text("N"), in: .connection, "start at most N connections per second")
    static let jobs = Flag(
        "jobs", short: "j", value: .text("N"), in: .connection, "connect to up to N targets at a time (default: 64)")

    /// Returns the flags above except `--first`, for every command that connects to servers. Those given are described
    /// as the command needs it.
    static func probing(_ described: Flag...) -> [Flag] {
        [
            resolve, sni, ipv4, ipv6, allAddresses, keys, startTLS, proxy, proxyLogin, certificate, certificateKey,
            passwordFile, minimumTLS, maximumTLS, connectTimeout, timeout, retries, rate, jobs,
        ].map { flag in described.first { $0 == flag } ?? flag }
    }
}
