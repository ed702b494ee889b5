import CertificatePinning

/// Flags for connecting to servers.
extension Flag {
    static let resolve = Flag(
        "resolve", value: .text("HOST:PORT:ADDRESS"), repeatable: true, in: .connection,
        "connect to ADDRESS for this host and port",
        details: "The certificate is still to be for HOST. A target of its own says it as host:443@ADDRESS.")
    static let sni = Flag(
        "sni", value: .text("NAME|none"), in: .connection, "tell the server this name, or none",
        details: "The name chooses the certificate that the server shows; what it is verified for stays the target's.")
    static let ipv4 = Flag("ipv4", short: "4", in: .connection, "connect by IPv4 alone")
    static let ipv6 = Flag("ipv6", short: "6", in: .connection, "connect by IPv6 alone")
    static let allAddresses = Flag(
        "all-addresses", in: .connection, "ask every address of a host, not the first that accepts")
    static let keys = Flag(
        "keys", value: .choice("KEYS", CheckSettings.Keys.allCases.map(\.rawValue)), in: .connection,
        "ask for the server's rsa key, its ecdsa key, both, or whichever it shows",
        details: "For both there are two handshakes, and a kind that the server does not have is passed over.")
    static let startTLS = Flag(
        "starttls", value: .choice("PROTOCOL", CheckSettings.startTLSProtocols), in: .connection,
        "begin in the clear as this protocol does, then turn to TLS",
        details: "It holds for targets without a scheme; smtp://mail.example.com says it for one of them.")
    static let proxy = Flag(
        "proxy", value: .text("URL"), in: .connection,
        "go through the proxy http://HOST:PORT (CONNECT), socks5://HOST:PORT",
        details: "socks4a://HOST:PORT is the third kind. No variable of the environment names one. The proxy resolves "
            + "the names.")
    static let proxyLogin = Flag(
        "proxy-login", value: .file("FILE"), in: .connection, "USER:PASSWORD for the proxy, on the first line of FILE",
        details: "The login goes to the proxy in the clear (Basic, RFC 1929); SOCKS 4a has no password.")
    static let certificate = Flag(
        "cert", value: .file("FILE"), in: .connection,
        "show this certificate to servers that ask for one: PEM, or PKCS #12",
        details: """
            The server is shown it before anybody has judged the server, which learns who is here; no byte of a request \
            is sent.
            """)
    static let certificateKey = Flag(
        "key", value: .file("FILE"), in: .connection, "the private key of --cert, where it is in another file")
    static let passwordFile = Flag(
        "password-file", value: .file("FILE"),
        "read the password of keys and PKCS #12 from FILE, one line; - is standard input")
    static let minimumTLS = Flag(
        "min-tls", value: .choice("VERSION", ["1.2", "1.3"]), in: .connection, "offer no older TLS (1.2)")
    static let maximumTLS = Flag(
        "max-tls", value: .choice("VERSION", ["1.2", "1.3"]), in: .connection, "offer no newer TLS (1.3)")
    static let connectTimeout = Flag(
        "connect-timeout", value: .text("SECONDS"), in: .connection, "give up a connection that takes longer (5)")
    static let timeout = Flag(
        "timeout", value: .text("SECONDS"), in: .connection, "give up a target that takes longer (10)",
        details: "It holds for everything: names, connections, tries, STARTTLS, the proxy and the handshakes.")
    static let retries = Flag(
        "retries", value: .text("NUMBER"), in: .connection, "how often to connect again where nobody answers (2)",
        details: "A server that answers, with a failed handshake for example, is not asked again.")
    static let rate = Flag(
        "rate", value: .text("NUMBER"), in: .connection, "begin no more connections than this in a second")
    static let jobs = Flag(
        "jobs", short: "j", value: .text("NUMBER"), in: .connection, "ask this many targets at a time (64)")

    /// All flags above, for every command that connects to servers.
    static let probing = [
        resolve, sni, ipv4, ipv6, allAddresses, keys, startTLS, proxy, proxyLogin, certificate, certificateKey,
        passwordFile, minimumTLS, maximumTLS, connectTimeout, timeout, retries, rate, jobs,
    ]
}
