package import CertificateTrust

/// The server to connect to: the name it must prove, its port, and an optional route.
package struct Endpoint: Sendable, Hashable {
    /// The name to verify. If it is a DNS name, it is also sent as SNI (RFC 6066, section 3).
    package var name: ServerName
    /// The TCP port.
    package var port: UInt16
    /// The host and port to connect to instead. Nil connects to ``name`` and ``port``.
    package var route: Route?

    package init(name: ServerName, port: UInt16, route: Route? = nil) {
        self.name = name
        self.port = port
        self.route = route
    }
}

/// Another host or port to connect to. A route doesn't change the name that is verified or sent.
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
    /// `example.com:443` or `[2001:db8::1]:443`, followed by ` via ` and the route if there is one.
    package var description: String {
        let own = hostAndPort(name, port)
        guard let route else { return own }
        return own + " via " + hostAndPort(route.host, route.port)
    }
}

/// Returns `example.com:443`, `192.0.2.1:443` or `[2001:db8::1]:443`.
func hostAndPort(_ host: ServerName, _ port: UInt16) -> String {
    if case .ipv6 = host.kind { "[\(host)]:\(port)" } else { "\(host):\(port)" }
}

/// Splits `host:port` before the port, if there is one. More than one colon without brackets is an IPv6 address without
/// a port.
package func splitPort(_ text: Substring) -> (host: Substring, port: Substring?) {
    let isBareIPv6 = !text.hasPrefix("[") && text.count { $0 == ":" } > 1
    guard !isBareIPv6, !text.hasSuffix("]"), let colon = text.lastIndex(of: ":") else { return (text, nil) }
    return (text[..<colon], text[text.index(after: colon)...])
}

/// Parses a TCP port, 1 to 65535 in at most five digits.
package func tcpPort(_ digits: Substring) -> UInt16? {
    guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(digits),
        port > 0
    else { return nil }
    return port
}
