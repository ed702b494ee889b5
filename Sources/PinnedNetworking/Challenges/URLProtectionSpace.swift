import PinctlBasics

/// A server or proxy that requires authentication, or a realm on it, together with the authentication method.
///
/// Two spaces are equal if host, port, protocol, realm, authentication method, proxy flag and proxy type are equal.
/// Hosts are compared as names, so letter case, a trailing dot, brackets and the notation of an address make no
/// difference. Ports are compared as numbers. A challenge always has a port, so a space with port 0 never matches a
/// challenge.
public final class URLProtectionSpace: NSObject, NSCopying, Sendable {
    /// The host as given. In a challenge it is in lowercase, without a trailing dot, and an address has no brackets.
    public let host: String
    /// The TCP port, or 0 if it isn't known.
    public let port: Int
    /// The scheme, such as ``NSURLProtectionSpaceHTTPS``, or `nil` for a proxy. It is `ftps` for both kinds of FTP over
    /// TLS, explicit and implicit. Apple's platforms don't support FTP over TLS and have no constant for it.
    public let `protocol`: String?
    /// The realm of an HTTP challenge, otherwise `nil`.
    public let realm: String?
    /// The kind of challenge, such as ``NSURLAuthenticationMethodServerTrust``.
    public let authenticationMethod: String
    /// The proxy type, such as ``NSURLProtectionSpaceHTTPProxy``, or `nil` for a server.
    public let proxyType: String?
    /// The DER names of the CAs that a client certificate should be issued by. Empty if any CA is accepted. `nil` for
    /// methods other than ``NSURLAuthenticationMethodClientCertificate``.
    public let distinguishedNames: [Data]?
    /// The chain that the server presented, to be verified for this host. `nil` for methods other than
    /// ``NSURLAuthenticationMethodServerTrust``. Ignored when spaces are compared.
    public let serverTrust: SecTrust?

    /// The protocol of FTP over TLS.
    static let ftps = "ftps"

    private let hasProxy: Bool
    // Bytes, because String treats a precomposed letter and a letter with a combining accent as equal.
    private let identity: [[UInt8]?]

    /// Creates the space of a server or of a realm on it. If `authenticationMethod` is `nil`, it is
    /// ``NSURLAuthenticationMethodDefault``.
    public convenience init(
        host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?
    ) {
        self.init(
            host: host, port: port, protocol: `protocol`, realm: realm, authenticationMethod: authenticationMethod,
            isProxy: false, proxyType: nil)
    }

    /// Creates the space of a proxy or of a realm on it. If `authenticationMethod` is `nil`, it is
    /// ``NSURLAuthenticationMethodDefault``.
    public convenience init(
        proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?
    ) {
        self.init(
            host: host, port: port, protocol: nil, realm: realm, authenticationMethod: authenticationMethod,
            isProxy: true, proxyType: type)
    }

    /// Creates the space of a certificate chain that a server presented, or a proxy if there is a `proxyType`.
    convenience init(
        serverTrust: SecTrust, port: UInt16, protocol: String = NSURLProtectionSpaceHTTPS, proxyType: String? = nil
    ) {
        self.init(
            host: serverTrust.name.description, port: Int(port), protocol: proxyType == nil ? `protocol` : nil,
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodServerTrust, isProxy: proxyType != nil,
            proxyType: proxyType, serverTrust: serverTrust)
    }

    /// Creates the space of a server that requests a client certificate, or of a proxy if there is a `proxyType`.
    /// `issuers` are DER names.
    convenience init(
        clientCertificateFor name: ServerName, port: UInt16, issuers: [[UInt8]],
        protocol: String = NSURLProtectionSpaceHTTPS, proxyType: String? = nil
    ) {
        self.init(
            host: name.description, port: Int(port), protocol: proxyType == nil ? `protocol` : nil, realm: nil,
            authenticationMethod: NSURLAuthenticationMethodClientCertificate, isProxy: proxyType != nil,
            proxyType: proxyType, distinguishedNames: issuers.map { Data($0) })
    }

    private init(
        host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?, isProxy: Bool,
        proxyType: String?, distinguishedNames: [Data]? = nil, serverTrust: SecTrust? = nil
    ) {
        self.host = host
        self.port = port
        self.protocol = `protocol`
        self.realm = realm
        self.authenticationMethod = authenticationMethod ?? NSURLAuthenticationMethodDefault
        self.proxyType = proxyType
        self.distinguishedNames = distinguishedNames
        self.serverTrust = serverTrust
        hasProxy = isProxy
        // A host that isn't a valid name, such as a U-label, is compared as it is.
        let name = (try? ServerName(host))?.description ?? host
        // mutant space-port: "" for `String(port)` by ProtectionSpaceTests
        let parts = [name, String(port), `protocol`, realm, self.authenticationMethod, String(isProxy), proxyType]
        identity = parts.map { $0.map { Array($0.utf8) } }
    }

    /// Whether a proxy sent the challenge.
    public override func isProxy() -> Bool { hasProxy }

    /// Whether the credential is protected from eavesdroppers: it is sent over TLS, or the method doesn't send a
    /// password.
    public var receivesCredentialSecurely: Bool {
        if [NSURLProtectionSpaceHTTPS, Self.ftps].contains(`protocol`) || proxyType == NSURLProtectionSpaceHTTPSProxy {
            return true
        }
        return switch authenticationMethod {
        case NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
            NSURLAuthenticationMethodClientCertificate, NSURLAuthenticationMethodServerTrust:
            true
        default: false
        }
    }

    /// Compares everything that identifies the space. The server's chain and the CA names are ignored.
    public override func isEqual(_ object: Any?) -> Bool {
        (object as? URLProtectionSpace)?.identity == identity
    }

    public override var hash: Int { identity.hashValue }

    /// Returns the space itself, which can't be changed.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// Everything that identifies the space. An unknown method is shown as the default one.
    public override var description: String {
        let method =
            authenticationMethod.hasPrefix("NSURLAuthenticationMethod")
            ? authenticationMethod : NSURLAuthenticationMethodDefault
        let text = [
            "Host:\(host)", "Server:\(`protocol` ?? "(null)")", "Auth-Scheme:\(method)", "Realm:\(realm ?? "(null)")",
            "Port:\(port)", "Proxy:\(hasProxy ? "YES" : "NO")", "Proxy-Type:\(proxyType ?? "(null)")",
        ]
        return "<URLProtectionSpace>: " + visibleText(text.joined(separator: ", "))
    }
}

/// A certificate chain to be evaluated, with the name that Apple's platforms use.
public typealias SecTrust = ServerTrust
