package import CertificateTrust

/// Whom to speak with: the name the server must prove, its port, and, when it is to be reached elsewhere, a route.
package struct Endpoint: Sendable, Hashable {
    /// The name to verify, and the one told to the server as SNI when it is a DNS name (RFC 6066, section 3).
    package var name: ServerName
    /// The TCP port.
    package var port: UInt16
    /// Where to connect instead; nil connects to ``name`` and ``port``.
    package var route: Route?

    package init(name: ServerName, port: UInt16, route: Route? = nil) {
        self.name = name
        self.port = port
        self.route = route
    }
}

/// A detour to another host or port. It changes where the socket goes and never which name is verified or sent.
package struct Route: Sendable, Hashable {
    /// The host to resolve and connect to.
    package var host: ServerName
    /// The TCP port.
    package var port: UInt16

    package init(host: ServerName, port: UInt16) {
        self.host = host
        self.port = port
    }
}

extension Endpoint: CustomStringConvertible {
    /// `example.com:443` or `[2001:db8::1]:443`, and the route behind ` via ` when there is one.
    package var description: String {
        let own = hostAndPort(name, port)
        guard let route else { return own }
        return own + " via " + hostAndPort(route.host, route.port)
    }
}

/// `example.com:443`, `192.0.2.1:443`, `[2001:db8::1]:443`.
func hostAndPort(_ host: ServerName, _ port: UInt16) -> String {
    if case .ipv6 = host.kind { "[\(host)]:\(port)" } else { "\(host):\(port)" }
}
