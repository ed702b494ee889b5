/// An error in connecting through a SOCKS proxy.
package enum SOCKSError: Error, Sendable, Hashable {
    /// A hostname is empty or longer than the 255 bytes that fit in a request, or contains a NUL in SOCKS 4a.
    case unusableHost(byteCount: Int)
    /// SOCKS 4a can't carry IPv6 addresses, or addresses that begin with three zeros.
    case unusableAddress
    /// The user or password is longer than 255 bytes or can't be carried by the protocol. It isn't part of the message.
    case unusableLogin
    /// The proxy accepts none of the authentication methods that it was offered.
    case noMethod(hadLogin: Bool)
    /// The proxy chose an authentication method that it wasn't offered.
    case foreignMethod(UInt8)
    /// The proxy rejected the user and password.
    case refusedLogin
    case refused(SOCKSRefusal)
    /// The peer doesn't speak SOCKS, or sent more than its reply.
    case malformedReply(String)
    /// The proxy closed the connection during its reply.
    case truncatedReply
}

/// A SOCKS 5 reply (RFC 1928, section 6).
package struct SOCKSRefusal: RawRepresentable, Sendable, Hashable {
    package let rawValue: UInt8

    package init(rawValue: UInt8) { self.rawValue = rawValue }

    init(reply: UInt8) { self.init(rawValue: reply) }

    package static let general = SOCKSRefusal(rawValue: 1)
}

extension SOCKSRefusal: CustomStringConvertible {
    package var description: String {
        switch rawValue {
        case 1: "general failure"
        case 2: "not allowed by its rules"
        case 3: "network unreachable"
        case 4: "host unreachable"
        case 5: "connection refused"
        case 6: "TTL expired"
        case 7: "command not supported"
        case 8: "address type not supported"
        default: "reply \(rawValue)"
        }
    }
}

extension SOCKSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unusableHost(let count):
            "a SOCKS proxy cannot connect to a hostname of \(count) bytes: use one of 1 to 255 bytes"
        case .unusableAddress: "SOCKS 4a does not support this address: use SOCKS 5, or the hostname"
        case .unusableLogin:
            "the SOCKS proxy's user or password is empty, too long or has a NUL: use one of 1 to 255 bytes"
        case .noMethod(let hadLogin):
            hadLogin
                ? "the SOCKS proxy does not accept a user and password: ask its operator which login it accepts"
                : "the SOCKS proxy requires a login: set a user and password in its configuration"
        case .foreignMethod(let method):
            "the SOCKS proxy chose method \(method), which was not offered: check its port and version"
        case .refusedLogin: "the SOCKS proxy rejected the login: correct the user or password"
        case .refused(let refusal):
            "the SOCKS proxy could not connect (\(refusal)): "
                + ((3...6).contains(refusal.rawValue)
                    ? "check the host and the port, because the proxy did not reach them, or contact the proxy's "
                        + "operator"
                    : "contact the proxy's operator")
        case .malformedReply(let reason): "invalid SOCKS reply (\(reason)): check the proxy's port and version"
        case .truncatedReply: "the proxy closed the connection during its SOCKS reply: check its port and version"
        }
    }
}
