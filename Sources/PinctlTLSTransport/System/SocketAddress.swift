import CertificateTrust
import PinctlLibC

/// The IP address and port that a TCP socket connects to (`sockaddr_in`, `sockaddr_in6`).
package struct SocketAddress: Hashable, Sendable {
    /// The IP address, 4 or 16 bytes in network order.
    let bytes: [UInt8]
    private(set) var port: UInt16
    /// The interface of a link-local IPv6 address (`sin6_scope_id`), otherwise 0.
    let scope: UInt32

    /// Creates the address for a host that is an IP address. Returns nil for a DNS name.
    init?(_ host: ServerName, port: UInt16) {
        guard let bytes = host.addressBytes else { return nil }
        self.bytes = bytes
        self.port = port
        scope = 0
    }

    /// Creates an address from a result of `getaddrinfo`. Returns nil for other families.
    init?(_ address: UnsafePointer<sockaddr>?, port: UInt16) {
        guard let address = unsafe address else { return nil }
        switch unsafe CInt(address.pointee.sa_family) {
        case AF_INET:
            let found = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in.self)
            bytes = unsafe withUnsafeBytes(of: found.sin_addr) { unsafe Array($0) }
            scope = 0
        case AF_INET6:
            let found = unsafe UnsafeRawPointer(address).loadUnaligned(as: sockaddr_in6.self)
            bytes = unsafe withUnsafeBytes(of: found.sin6_addr) { unsafe Array($0) }
            scope = found.sin6_scope_id
        default: return nil
        }
        self.port = port
    }

    /// Returns the same address with another port.
    func at(port: UInt16) -> SocketAddress {
        var address = self
        address.port = port
        return address
    }

    var isIPv6: Bool { bytes.count == 16 }

    var family: CInt { isIPv6 ? AF_INET6 : AF_INET }

    /// Calls `body` with the address as a C structure.
    func withSocketAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        if isIPv6 {
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
            return unsafe Self.withRebound(address, body)
        }
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = port.bigEndian
        unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: bytes) }
        return unsafe Self.withRebound(address, body)
    }

    private static func withRebound<Address, Result>(
        _ address: Address, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Result
    ) -> Result {
        unsafe withUnsafeBytes(of: address) { bytes in
            // Never nil, since both structures have a size.
            let pointer = unsafe bytes.baseAddress.unsafelyUnwrapped.assumingMemoryBound(to: sockaddr.self)
            return unsafe body(pointer, socklen_t(bytes.count))
        }
    }
}

extension SocketAddress: CustomStringConvertible {
    /// `192.0.2.1:443` or `[2001:db8::1]:443`.
    package var description: String { isIPv6 ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// `192.0.2.1` or `2001:db8::1`.
    var host: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard unsafe inet_ntop(family, bytes, &text, socklen_t(text.count)) != nil else { return "an unknown address" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
