package import CertificateTrust
import PinctlHTTPMessages

/// An entry of a list of hosts that use a proxy, or that don't.
package enum ProxyDomain: Sendable {
    /// A host, and the names below it.
    case host(ServerName)
    /// The addresses of 4 or 16 bytes whose first bits are these (RFC 4632, section 3.1).
    case range([UInt8], bits: Int)

    /// Parses an entry. Returns `nil` if it isn't valid. `.example.com` and `*.example.com` mean the same domain.
    package init?(_ text: String) {
        if let slash = text.firstIndex(of: "/") {
            let length = text[text.index(after: slash)...]
            guard let address = (try? ServerName(String(text[..<slash])))?.addressBytes,
                let bits = HTTPGrammar.number(length.utf8, radix: 10), bits <= address.count * 8
            else { return nil }
            self = .range(address, bits: bits)
            return
        }
        let bare = text.hasPrefix("*.") ? text.dropFirst(2) : text.hasPrefix(".") ? text.dropFirst() : Substring(text)
        guard let name = try? ServerName(String(bare)), bare.utf8.count == text.utf8.count || !name.isIPAddress else {
            return nil
        }
        self = .host(name)
    }

    /// Returns whether a host is the entry's, is below it, or is in its range.
    package func contains(_ host: ServerName) -> Bool {
        switch self {
        case .host(let name): return host == name || host.isSubdomain(of: name)
        case .range(let start, let bits):
            guard let address = host.addressBytes, address.count == start.count else { return false }
            return zip(address, start).enumerated().allSatisfy { index, bytes in
                let rest = min(max(0, bits - index * 8), 8)
                return (bytes.0 ^ bytes.1) >> UInt8(8 - rest) == 0
            }
        }
    }
}
