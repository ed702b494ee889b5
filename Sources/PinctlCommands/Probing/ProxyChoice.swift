import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// The proxy to connect through, which may depend on the host.
enum ProxyChoice: Sendable {
    /// Direct connections. The proxies of the environment are ignored, and known only so that a failure can name them.
    case none(ignoring: EnvironmentProxy?)
    case fixed(CleartextProxy)
    /// The proxy of the environment, if there is one.
    case environment(EnvironmentProxy?)

    /// Returns the proxy for a host, or `nil` for a direct connection.
    func proxy(for host: ServerName) -> CleartextProxy? {
        switch self {
        case .none: nil
        case .fixed(let proxy): proxy
        // mutant proxy-exemption: false for `$0.exempts(host)` by EnvironmentProxyTests
        case .environment(let proxy): proxy.flatMap { $0.exempts(host) ? nil : $0.proxy }
        }
    }

    /// Returns the name of the environment variable with a proxy for the host that isn't used.
    func ignoredVariable(for host: ServerName) -> String? {
        guard case .none(let proxy?) = self, !proxy.exempts(host) else { return nil }
        return proxy.variable
    }

    /// The environment variable that the proxies come from, if they are used.
    var variable: String? {
        if case .environment(let proxy?) = self { proxy.variable } else { nil }
    }
}

/// A proxy that the environment sets for TLS connections, with the hosts that are reached without it.
///
/// The variables and their values are those of curl, as in `ProxyConfiguration.fromEnvironment`. Lower case comes
/// first.
struct EnvironmentProxy: Sendable {
    /// The name of the variable, such as `HTTPS_PROXY`.
    let variable: String
    /// The proxy, or `nil` if the value isn't the URL of a supported one.
    let proxy: CleartextProxy?
    /// Whether `no_proxy` lists `*`.
    private let exemptsAll: Bool
    private let exceptions: [ProxyDomain]

    /// Returns `nil` if no variable sets a proxy.
    init?(_ variables: [String: String]) {
        func first(_ names: String...) -> (name: String, value: String)? {
            names.lazy.compactMap { name in variables[name].flatMap { $0.isEmpty ? nil : (name, $0) } }.first
        }
        guard let (name, value) = first("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY") else { return nil }
        variable = name
        proxy = Self.proxy(value)
        let entries = (first("no_proxy", "NO_PROXY")?.value ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        exemptsAll = entries.contains("*")
        exceptions = entries.compactMap { ProxyDomain($0) }
    }

    /// Returns whether `no_proxy` lists a host: itself, a domain above it, a range of addresses around it, or `*`.
    func exempts(_ host: ServerName) -> Bool { exemptsAll || exceptions.contains { $0.contains(host) } }

    /// Parses `[scheme://][user:password@]host[:port]`, where the scheme is HTTP unless it is given. A path of `/` is
    /// ignored.
    private static func proxy(_ value: String) -> CleartextProxy? {
        let text = value.contains("://") ? value : "http://" + value
        guard let (kind, rest) = CleartextProxy.Kind.prefix(of: text) else { return nil }
        let authority = rest.hasSuffix("/") ? rest.dropLast() : rest
        var login: CleartextProxy.Login?
        var place = authority
        if let sign = authority.utf8.lastIndex(of: UInt8(ascii: "@")) {
            // Bytes are compared, because a combining mark after the colon would join it.
            let parts = authority.utf8[..<sign].split(
                separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
            guard let user = parts.first.flatMap(unescaped), let password = parts.count > 1 ? unescaped(parts[1]) : "",
                !user.isEmpty
            else { return nil }
            let given = CleartextProxy.Login(user: user, password: password)
            guard kind.flaw(of: given) == nil else { return nil }
            login = given
            place = authority[authority.utf8.index(after: sign)...]
        }
        // curl's default port for a proxy.
        guard !place.utf8.contains(UInt8(ascii: "/")), let way = try? Target(String(place), defaultPort: 1080).endpoint,
            way.route == nil
        else { return nil }
        return CleartextProxy(kind, host: way.name, port: way.port, login: login)
    }

    /// Returns the text with percent escapes decoded, or `nil` if one is malformed or a control character.
    private static func unescaped(_ text: Substring.UTF8View) -> String? {
        guard let bytes = Hexadecimal.percentDecoded(text), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return nil
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

extension CleartextProxy.Kind {
    private static let kinds: [(scheme: String, kind: CleartextProxy.Kind)] = [
        ("http://", .http), ("socks5://", .socks(.socks5)), ("socks5h://", .socks(.socks5)),
        ("socks4a://", .socks(.socks4a)),
    ]

    /// Returns the kind of proxy that a URL is for, and the text after its scheme.
    static func prefix(of text: String) -> (kind: CleartextProxy.Kind, rest: Substring)? {
        // Bytes are compared, because some non-ASCII characters have ASCII letters as their lower case, and combining
        // marks join the character before them.
        guard let (scheme, kind) = kinds.first(where: { begins(text, with: $0.scheme) }) else { return nil }
        return (kind, String(decoding: text.utf8.dropFirst(scheme.utf8.count), as: UTF8.self)[...])
    }

    /// Returns the reason why a proxy of this kind can't be sent a login, with the remedy, or `nil` if it can.
    func flaw(of login: CleartextProxy.Login) -> String? {
        let (user, password) = (login.user.utf8, login.password.utf8)
        switch self {
        case .http:
            // RFC 7617, section 2.
            return user.contains(UInt8(ascii: ":")) ? "the user of an HTTP proxy can't have a colon: use another" : nil
        case .socks(.socks5):
            return 1...255 ~= user.count && password.count <= 255
                ? nil : "SOCKS 5 allows 1 to 255 bytes for the user and at most 255 for the password"
        case .socks(.socks4a):
            return password.isEmpty && user.count <= 255
                ? nil : "SOCKS 4a has no password, and a user of at most 255 bytes: write USER:"
        }
    }

    /// Returns whether a text begins with a lowercase scheme, ignoring case.
    private static func begins(_ text: String, with scheme: String) -> Bool {
        text.utf8.count >= scheme.utf8.count
            && zip(text.utf8, scheme.utf8).allSatisfy { given, wanted in
                (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(given) ? given | 0x20 == wanted : given == wanted
            }
    }
}
