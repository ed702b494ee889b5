package import CertificateTrust
package import TLSTransport

extension Endpoint {
    /// `pinctl help targets`.
    static let targetGrammar = [
        "host                     port 443",
        "host:port",
        "192.0.2.1:port           an address",
        "[2001:db8::1]:port",
        "https://host:port/path   scheme and path are passed over",
        "host:443@192.0.2.1       connect to that address and expect the certificate of host; it may have a :port",
    ]

    /// Parses a target of the command line by the grammar above.
    package init(target text: String) throws(TargetError) {
        if let range = text.firstRange(of: "://") {
            guard text[..<range.lowerBound].lowercased() == "https" else {
                throw .scheme(String(text[..<range.lowerBound]))
            }
            let authority = text[range.upperBound...].prefix { !"/?#".contains($0) }
            guard !authority.contains("@") else { throw .userPart }
            let (name, port) = try Self.hostAndPort(authority, defaultPort: 443)
            self.init(name: name, port: port)
        } else {
            let parts = text.split(separator: "@", maxSplits: 1, omittingEmptySubsequences: false)
            let (name, port) = try Self.hostAndPort(parts[0], defaultPort: 443)
            self.init(name: name, port: port)
            if parts.count == 2 {
                let (host, port) = try Self.hostAndPort(parts[1], defaultPort: port)
                route = Route(host: host, port: port)
            }
        }
    }

    /// The same, for an operand or the value of a flag.
    init(argument text: String) throws(UsageError) {
        do throws(TargetError) {
            try self.init(target: text)
        } catch {
            throw .invalidOperand(text, reason: error.description)
        }
    }

    private static func hostAndPort(
        _ text: Substring, defaultPort: UInt16
    ) throws(TargetError) -> (ServerName, UInt16) {
        var host = text
        var port = defaultPort
        // More than one colon without brackets is an IPv6 address, which then has no port.
        let isBareIPv6 = !text.hasPrefix("[") && text.count { $0 == ":" } > 1
        if !isBareIPv6, !text.hasSuffix("]"), let colon = text.lastIndex(of: ":") {
            host = text[..<colon]
            let digits = text[text.index(after: colon)...]
            guard digits.utf8.count <= 5, digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }),
                let number = UInt16(digits), number > 0
            else { throw .port(String(digits)) }
            port = number
        }
        do throws(ServerNameError) {
            return (try ServerName(String(host)), port)
        } catch {
            throw .name(error)
        }
    }
}

/// Why a text is no target.
package enum TargetError: Error, Hashable, Sendable {
    case scheme(String)
    case userPart
    case port(String)
    case name(ServerNameError)
}

extension TargetError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .scheme(let scheme): "scheme \"\(scheme)\" is not supported: give https://host, or host:port"
        case .userPart: "a user part in a URL: give the host alone; host@address connects elsewhere"
        case .port(let text): "\"\(text)\" is not a port: give a number from 1 to 65535"
        case .name(let error): error.description
        }
    }
}
