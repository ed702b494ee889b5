package import CertificateTrust

/// The supported URL schemes (RFC 9110, section 4.2).
package enum HTTPScheme: String, Sendable, Hashable {
    case http
    case https
    /// FTP, only for requests to a proxy that fetches the URL.
    case ftp

    package var defaultPort: UInt16 {
        switch self {
        case .http: 80
        case .https: 443
        case .ftp: 21
        }
    }
}

/// A scheme, host and port (RFC 9110, section 4.3.1). Requests go to an origin, and credentials belong to one.
package struct HTTPOrigin: Sendable, Hashable {
    package let scheme: HTTPScheme
    /// The hostname or IP address, used for verification, SNI and the Host field.
    package let name: ServerName
    package let port: UInt16
    /// The host and port for the Host field (RFC 9110, section 7.2). The scheme's default port is left out.
    package let authority: String

    package init(scheme: HTTPScheme, name: ServerName, port: UInt16) {
        self.scheme = scheme
        self.name = name
        self.port = port
        let host = Self.host(name)
        authority = port == scheme.defaultPort ? host : host + ":" + String(port)
    }

    /// The host and port for CONNECT (RFC 9112, section 3.2.3).
    package var authorityWithPort: String { "\(Self.host(name)):\(port)" }

    /// Returns whether the value of a Host field names this origin, with or without its port.
    func isNamed(_ host: String) -> Bool {
        HTTPGrammar.isEqual(host, authority) || HTTPGrammar.isEqual(host, authorityWithPort)
    }

    private static func host(_ name: ServerName) -> String {
        if case .ipv6 = name.kind { "[\(name)]" } else { name.description }
    }
}

extension HTTPOrigin: CustomStringConvertible {
    /// The origin as a URL without a trailing slash.
    package var description: String { "\(scheme)://\(authority)" }
}
