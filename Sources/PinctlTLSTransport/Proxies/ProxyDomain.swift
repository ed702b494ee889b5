package import CertificateTrust
import PinctlHTTPMessages

/// An entry of a list of hosts that use a proxy, or that don't.
package struct ProxyDomain: Sendable {
    private enum Scope: Sendable {
        /// A host, and the names below it.
        case host(ServerName)
        /// The addresses of 4 or 16 bytes whose first bits are these (RFC 4632, section 3.1).
        case range([UInt8], bits: Int)
    }

    private let scope: Scope
    /// The only port that the entry is for, or `nil` for all.
    private let port: UInt16?

    /// Parses an entry: a DNS name, an IP address or a range of addresses. A name or address may have a port, before
    /// which an IPv6 address is in brackets. `.example.com` and `*.example.com` mean the same domain as `example.com`.
    /// Returns `nil` if the entry isn't valid.
    package init?(_ text: String) {
        if let slash = text.firstIndex(of: "/") {
            let length = text[text.index(after: slash)...]
            guard let address = (try? ServerName(String(text[..<slash])))?.addressBytes,
                let bits = HTTPGrammar.number(length.utf8, radix: 10), bits <= address.count * 8
            else { return nil }
            (scope, port) = (.range(address, bits: bits), nil)
            return
        }
        let (host, digits) = splitPort(text[...])
        let port = digits.map { tcpPort($0) }
        let bare = host.hasPrefix("*.") ? host.dropFirst(2) : host.hasPrefix(".") ? host.dropFirst() : host
        guard port != .some(nil), let name = try? ServerName(String(bare)),
            bare.utf8.count == host.utf8.count || !name.isIPAddress
        else { return nil }
        (scope, self.port) = (.host(name), port ?? nil)
    }

    /// Returns whether a host is the entry's, is below it, or is in its range, and the port is the entry's.
    private func contains(_ host: ServerName, port: UInt16) -> Bool {
        // mutant proxy-exemption-port: true by ProxyEnvironmentTests EnvironmentProxyTests
        guard self.port == nil || self.port == port else { return false }
        switch scope {
        case .host(let name): return host == name || host.isSubdomain(of: name)
        case .range(let start, let bits):
            guard let address = host.addressBytes, address.count == start.count else { return false }
            return zip(address, start).enumerated().allSatisfy { index, bytes in
                let rest = min(max(0, bits - index * 8), 8)
                return (bytes.0 ^ bytes.1) >> UInt8(8 - rest) == 0
            }
        }
    }

    /// Returns whether one of the entries contains a host and port. An entry that isn't valid contains none.
    package static func contains(_ host: ServerName, port: UInt16, in entries: [String]) -> Bool {
        entries.contains { ProxyDomain($0)?.contains(host, port: port) ?? false }
    }
}
