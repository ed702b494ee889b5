/// A place that asks for authentication: a server or a proxy, or a realm on it, and how one authenticates there.
///
/// Two spaces are equal when host, port, protocol, realm, authentication method, being a proxy and its type are. Hosts
/// are compared as names: capitals, a trailing dot, brackets and the spelling of an address do not matter. Ports are
/// compared as numbers: a challenge always has one, so a space made with port 0 is none that a challenge is about.
public final class URLProtectionSpace: Sendable {
    /// The host as it was given; of a challenge lower case, without a trailing dot, an address without brackets.
    public let host: String
    /// The TCP port; 0 when it is not known.
    public let port: Int
    /// The scheme, such as ``NSURLProtectionSpaceHTTPS``; nil for a proxy. It is `ftps` for FTP over TLS, however that
    /// came about, which Apple's platforms neither speak nor have a constant for.
    public let `protocol`: String?
    /// The realm of an HTTP challenge; nil for others.
    public let realm: String?
    /// Which kind of challenge, such as ``NSURLAuthenticationMethodServerTrust``.
    public let authenticationMethod: String
    /// Such as ``NSURLProtectionSpaceHTTPProxy``; nil for a server.
    public let proxyType: String?
    /// DER names of the authorities a client certificate should come from, empty if any will do; nil but for
    /// ``NSURLAuthenticationMethodClientCertificate``.
    public let distinguishedNames: [Data]?
    /// The chain the server presented, to be verified for this host; nil but for
    /// ``NSURLAuthenticationMethodServerTrust``. Not part of what makes spaces equal.
    public let serverTrust: SecTrust?

    /// The protocol of FTP over TLS.
    static let ftps = "ftps"

    private let hasProxy: Bool
    // As bytes: to a String, an accented letter and a letter with an accent are the same.
    private let identity: [[UInt8]?]

    /// A server, or a realm on it. A nil `authenticationMethod` is ``NSURLAuthenticationMethodDefault``.
    public convenience init(
        host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?
    ) {
        self.init(
            host: host, port: port, protocol: `protocol`, realm: realm, authenticationMethod: authenticationMethod,
            isProxy: false, proxyType: nil)
    }

    /// A proxy, or a realm on it. A nil `authenticationMethod` is ``NSURLAuthenticationMethodDefault``.
    public convenience init(
        proxyHost host: String, port: Int, type: String?, realm: String?, authenticationMethod: String?
    ) {
        self.init(
            host: host, port: port, protocol: nil, realm: realm, authenticationMethod: authenticationMethod,
            isProxy: true, proxyType: type)
    }

    /// The chain that a server presented, or with a `proxyType` a proxy.
    convenience init(
        serverTrust: SecTrust, port: UInt16, protocol: String = NSURLProtectionSpaceHTTPS, proxyType: String? = nil
    ) {
        self.init(
            host: serverTrust.name.description, port: Int(port), protocol: proxyType == nil ? `protocol` : nil,
            realm: nil,
            authenticationMethod: NSURLAuthenticationMethodServerTrust, isProxy: proxyType != nil,
            proxyType: proxyType, serverTrust: serverTrust)
    }

    /// A server that asks for a client certificate, or with a `proxyType` a proxy. `issuers` are DER names.
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
        // What is no name, such as a U-label, is equal to itself alone.
        let name = (try? ServerName(host))?.description ?? host
        let parts = [name, String(port), `protocol`, realm, self.authenticationMethod, String(isProxy), proxyType]
        identity = parts.map { $0.map { Array($0.utf8) } }
    }

    /// Whether a proxy asks.
    public func isProxy() -> Bool { hasProxy }

    /// Whether nobody on the way can read the credential: over TLS, or in a method that sends no password.
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
}

/// A certificate chain to be judged, under the name that Apple's platforms use.
public typealias SecTrust = ServerTrust

extension URLProtectionSpace: Hashable {
    /// Equal in all that names the place; the chain a server presented and the authorities it names do not.
    public static func == (left: URLProtectionSpace, right: URLProtectionSpace) -> Bool {
        left.identity == right.identity
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
    }
}

extension URLProtectionSpace: CustomStringConvertible {
    /// All that names the place; a method that is not known shows as the default one.
    public var description: String {
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
