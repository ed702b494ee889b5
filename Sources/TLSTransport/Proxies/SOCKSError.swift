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
        case 1: "it failed"
        case 2: "its rules do not allow it"
        case 3: "the network is unreachable"
        case 4: "the host is unreachable"
        case 5: "the connection was refused"
        case 6: "it took too long"
        case 7: "it does not know the command"
        case 8: "it does not know this kind of address"
        default: "its reply is \(rawValue)"
        }
    }
}

extension SOCKSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unusableHost(let count):
            "a host name of \(count) bytes cannot be asked of a SOCKS proxy: use one of 1 to 255 bytes"
        case .unusableAddress: "SOCKS 4a cannot carry this address: use SOCKS 5, or the host's name"
        case .unusableLogin:
            "the SOCKS proxy's user or password is empty, too long or has a NUL: use one of 1 to 255 bytes"
        case .noMethod(let hadLogin):
            hadLogin
                ? "the SOCKS proxy takes no user and password: ask whoever runs it what it takes"
                : "the SOCKS proxy wants a login: give its configuration a user and password"
        case .foreignMethod(let method):
            "the SOCKS proxy chose method \(method), which it was not offered: look for who answers there"
        case .refusedLogin: "the SOCKS proxy refused the login that it was given: correct its user or password"
        case .refused(let refusal): "the SOCKS proxy did not connect: \(refusal); ask whoever runs it"
        case .malformedReply(let reason): "the proxy does not speak SOCKS: \(reason); check its port and version"
        case .truncatedReply: "the proxy ended the connection in its SOCKS reply: check its port and version"
        }
    }
}
