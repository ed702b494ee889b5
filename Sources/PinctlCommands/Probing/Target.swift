package import CertificateTrust
package import PinctlTLSTransport

/// A server to connect to: its address, the hostname to verify, and the way it starts TLS.
package struct Target: Sendable, Hashable {
    package var endpoint: Endpoint
    /// The protocol that the server speaks before TLS, or `nil` for TLS from the first byte.
    package var startTLS: StartTLSProtocol?

    package init(_ endpoint: Endpoint, startTLS: StartTLSProtocol? = nil) {
        self.endpoint = endpoint
        self.startTLS = startTLS
    }
}

extension Target: CustomStringConvertible {
    /// The target in messages: `api.example.com:443`, `smtp://mail.example.com:25`.
    package var description: String {
        (startTLS.map { "\($0.rawValue)://" } ?? "") + endpoint.description
    }

    /// The target as it is written on a command line: `api.example.com:443@192.0.2.1`.
    package var operand: String {
        var way = self
        way.endpoint.route = nil
        guard let route = endpoint.route else { return "\(way)" }
        // The port is the target's unless another one is given.
        let isSame = route.port == endpoint.port
        return "\(way)@" + (isSame ? "\(route.host)" : "\(Endpoint(name: route.host, port: route.port))")
    }
}

extension Target {
    /// Returns the lines of `pinctl help targets`.
    static func grammar(columns: Int) -> [String] {
        let forms = [
            ("host", "port 443"), ("host:port", ""), ("192.0.2.1:port", "an address"), ("[2001:db8::1]:port", ""),
            ("https://host:port/path", "the path is ignored"),
            (
                "smtp://host:port",
                "cleartext first, then STARTTLS: "
                    + StartTLSProtocol.allCases.map(\.rawValue).joined(separator: ", ")
            ),
            (
                "smtps://host",
                "TLS from the first byte, on the port of " + implicit.keys.sorted().joined(separator: ", ")
            ),
            (
                "host:443@192.0.2.1",
                "connect to that address and expect the certificate of host; it may have a :port"
            ),
        ]
        return forms.flatMap { tableRow($0, width: 23, $1, columns: columns) }.map { String($0[...].trimmingSpaces) }
    }

    /// The schemes with TLS from the first byte, and their ports.
    static let implicit: [String: UInt16] = [
        "https": 443, "smtps": 465, "imaps": 993, "pop3s": 995, "ldaps": 636, "ftps": 990, "nntps": 563,
    ]

    /// Whether the port is the default port of a scheme with which the target starts TLS.
    var hasDefaultPort: Bool {
        startTLS.map { $0.defaultPort == endpoint.port } ?? Self.implicit.values.contains(endpoint.port)
    }

    /// Parses a target according to the grammar above.
    package init(_ text: String, defaultPort: UInt16 = 443) throws(TargetError) {
        var rest = text[...]
        var port = defaultPort
        if let range = text.firstRange(of: "://") {
            let scheme = text[..<range.lowerBound].lowercased()
            if let implicit = Self.implicit[scheme] {
                port = implicit
            } else if let startTLS = StartTLSProtocol(rawValue: scheme) {
                self.startTLS = startTLS
                port = startTLS.defaultPort
            } else {
                throw .scheme(scheme)
            }
            rest = text[range.upperBound...].prefix { !"/?#".contains($0) }
            // In a URL pasted from a browser, the text before the @ is a user.
            guard scheme != "https" || !rest.contains("@") else { throw .userPart }
        }
        let parts = rest.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
        let (name, number) = try Self.hostAndPort(parts[0], defaultPort: port)
        endpoint = Endpoint(name: name, port: number)
        if parts.count == 2 {
            let (host, port) = try Self.hostAndPort(parts[1], defaultPort: number)
            endpoint.route = Route(host: host, port: port)
        }
    }

    /// Parses a target that is an operand or the value of a flag.
    init(argument text: String) throws(UsageError) {
        do throws(TargetError) {
            try self.init(text)
        } catch {
            throw .invalidOperand(text, reason: error.description)
        }
    }

    private static func hostAndPort(
        _ text: Substring, defaultPort: UInt16
    ) throws(TargetError) -> (ServerName, UInt16) {
        let (host, digits) = splitPort(text)
        var port = defaultPort
        if let digits {
            guard let number = tcpPort(digits) else { throw .port(String(digits)) }
            port = number
        }
        do throws(ServerNameError) {
            return (try ServerName(String(host)), port)
        } catch {
            throw .name(error)
        }
    }
}

/// A reason why a text isn't a target.
package enum TargetError: Error, Hashable, Sendable {
    case scheme(String)
    case userPart
    case port(String)
    case name(ServerNameError)
}

extension TargetError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .scheme(let scheme): "unsupported scheme \"\(scheme)\": see pinctl help targets"
        case .userPart: "the URL contains a user: give only the host, or host@ADDRESS to connect to another address"
        case .port(let text): "\"\(text)\" isn't a port: give a number from 1 to 65535"
        case .name(let error): error.description
        }
    }
}
