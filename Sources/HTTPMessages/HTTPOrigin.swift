package import CertificateTrust

/// The schemes that are spoken (RFC 9110, section 4.2).
package enum HTTPScheme: String, Sendable, Hashable {
    case http
    case https
    /// For a proxy alone, which fetches it.
    case ftp

    package var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        case .ftp: 21
        }
    }
}

/// Scheme, host and port (RFC 9110, section 4.3.1): where a request goes, and where a credential belongs.
package struct HTTPOrigin: Sendable, Hashable {
    package let scheme: HTTPScheme
    /// The name that is verified, told as SNI and written as Host.
    package let name: ServerName
    package let port: UInt16
    /// Host and port as Host has them (RFC 9110, section 7.2): no port when it is the scheme's own.
    package let authority: String

    package init(scheme: HTTPScheme, name: ServerName, port: UInt16) {
        self.scheme = scheme
        self.name = name
        self.port = port
        let host = Self.host(name)
        authority = port == scheme.defaultPort ? host : "\(host):\(port)"
    }

    /// Host and port, as CONNECT has them (RFC 9112, section 3.2.3).
    package var authorityWithPort: String { "\(Self.host(name)):\(port)" }

    private static func host(_ name: ServerName) -> String {
        if case .ipv6 = name.kind { "[\(name)]" } else { name.description }
    }
}

extension HTTPOrigin: CustomStringConvertible {
    /// As in a URL, without a slash at the end.
    package var description: String { "\(scheme)://\(authority)" }
}
