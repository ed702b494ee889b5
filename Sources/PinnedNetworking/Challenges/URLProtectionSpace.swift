/// What a challenge is about: a server, and how it, or the client, is to be authenticated.
public final class URLProtectionSpace: Sendable {
    /// The name that is verified: lower case, no trailing dot, an address without brackets.
    public let host: String
    /// The TCP port.
    public let port: Int
    /// The scheme, `https`.
    public let `protocol`: String?
    /// The realm of an HTTP challenge; nil for others.
    public let realm: String?
    /// Which kind of challenge, such as ``NSURLAuthenticationMethodServerTrust``.
    public let authenticationMethod: String
    /// The chain the server presented, to be verified for this host; nil but for a server trust challenge.
    public let serverTrust: SecTrust?
    /// DER names of the authorities a client certificate should come from; nil for other challenges.
    public var distinguishedNames: [Data]? { nil }

    /// A space as a program names it for comparison; it has no server trust. A nil `authenticationMethod` is
    /// ``NSURLAuthenticationMethodDefault``.
    public init(host: String, port: Int, protocol: String?, realm: String?, authenticationMethod: String?) {
        self.host = host
        self.port = port
        self.protocol = `protocol`
        self.realm = realm
        self.authenticationMethod = authenticationMethod ?? NSURLAuthenticationMethodDefault
        serverTrust = nil
    }

    init(serverTrust: SecTrust, port: UInt16) {
        host = serverTrust.name.description
        self.port = Int(port)
        `protocol` = NSURLProtectionSpaceHTTPS
        realm = nil
        authenticationMethod = NSURLAuthenticationMethodServerTrust
        self.serverTrust = serverTrust
    }
}

/// A certificate chain to be judged, under the name that Apple's platforms use.
public typealias SecTrust = ServerTrust

extension URLProtectionSpace: Hashable {
    /// Equal in host, port, protocol, realm and method; the chain a server presented is not part of the place.
    public static func == (left: URLProtectionSpace, right: URLProtectionSpace) -> Bool {
        left.identity == right.identity
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(identity)
    }

    private var identity: [String?] { [host, String(port), `protocol`, realm, authenticationMethod] }
}
