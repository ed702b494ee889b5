package import CertificateTrust
import PinctlBasics

/// The URL of a proxy, `[scheme://][user:password@]host[:port]`, as curl reads it.
///
/// The scheme is `http`, `https`, `socks5`, `socks5h` or `socks4a`, and `http` if there is none. A proxy of any kind
/// resolves the names itself. User and password are percent-encoded. A path of `/` is ignored.
package struct ProxyURL: Sendable {
    package let kind: CleartextProxy.Kind
    /// Whether the connection to the proxy itself uses TLS.
    package let usesTLS: Bool
    package let host: ServerName
    /// The port in the URL, if it has one.
    package let ownPort: UInt16?
    package let login: CleartextProxy.Login?

    /// The port of the proxy. Without one in the URL it is 443 over TLS, and otherwise 1080, as in curl.
    package var port: UInt16 { ownPort ?? (usesTLS ? 443 : 1_080) }

    /// The proxy, or `nil` if the connection to it uses TLS.
    package var cleartext: CleartextProxy? {
        usesTLS ? nil : CleartextProxy(kind, host: host, port: port, login: login)
    }

    package init(_ text: String) throws(ProxyURLError) {
        // Bytes are compared, because a combining mark joins the character before it.
        let bytes = text.utf8
        var (scheme, rest) = ("http", bytes[...])
        if let mark = bytes.firstRange(of: "://".utf8) {
            guard let given = Self.scheme(bytes[..<mark.lowerBound]) else { throw .malformed }
            (scheme, rest) = (given, bytes[mark.upperBound...])
        }
        guard let (kind, usesTLS) = Self.kinds[scheme] else { throw .unsupportedScheme(scheme) }
        (self.kind, self.usesTLS) = (kind, usesTLS)
        // RFC 3986, section 3.2.
        let authority = rest.prefix { !"/?#".utf8.contains($0) }
        let path = rest[authority.endIndex...]
        let parts = authority.split(separator: UInt8(ascii: "@"), omittingEmptySubsequences: false)
        guard path.isEmpty || path.elementsEqual("/".utf8), parts.count <= 2, let last = parts.last else {
            throw .malformed
        }
        let (name, digits) = splitPort(Substring(last))
        let port = digits.map { tcpPort($0) }
        guard port != .some(nil), let host = try? ServerName(String(name)) else { throw .malformed }
        (self.host, ownPort) = (host, port ?? nil)
        login = parts.count == 2 ? try Self.login(parts[0], for: kind) : nil
    }

    private static let kinds: [String: (kind: CleartextProxy.Kind, usesTLS: Bool)] = [
        "http": (.http, false), "https": (.http, true), "socks5": (.socks(.socks5), false),
        "socks5h": (.socks(.socks5), false), "socks4a": (.socks(.socks4a), false),
    ]

    /// Returns a scheme (RFC 3986, section 3.1) in lower case, or `nil` if the text isn't one, such as a login.
    private static func scheme(_ text: Substring.UTF8View) -> String? {
        let isScheme = text.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "+"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        return isScheme ? String(Substring(text)).lowercased() : nil
    }

    private static func login(
        _ text: Substring.UTF8View, for kind: CleartextProxy.Kind
    ) throws(ProxyURLError) -> CleartextProxy.Login {
        let parts = text.split(separator: UInt8(ascii: ":"), maxSplits: 1, omittingEmptySubsequences: false)
        guard let user = parts.first.flatMap(decoded), !user.isEmpty,
            let password = parts.count > 1 ? decoded(parts[1]) : ""
        else { throw .malformed }
        let login = CleartextProxy.Login(user: user, password: password)
        if let flaw = kind.flaw(of: login) { throw .login(flaw) }
        return login
    }

    /// Returns the text with percent escapes decoded, or `nil` if one is malformed or a control character.
    private static func decoded(_ text: Substring.UTF8View) -> String? {
        guard let bytes = Hexadecimal.percentDecoded(text), !bytes.contains(where: { $0 < 0x20 || $0 == 0x7F }) else {
            return nil
        }
        return String(validating: bytes, as: UTF8.self)
    }
}

/// The reason why a text isn't a ``ProxyURL``. It never has a part of the text except the scheme, because the text may
/// have a password.
package enum ProxyURLError: Error, Hashable, Sendable {
    case malformed
    case unsupportedScheme(String)
    /// The login can't be sent to a proxy of this kind, with the remedy.
    case login(String)
}

extension CleartextProxy.Kind {
    /// Returns the reason why a proxy of this kind can't be sent a login, with the remedy, or `nil` if it can.
    package func flaw(of login: CleartextProxy.Login) -> String? {
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
}
