package import CertificateTrust

/// The exchange between a client and a SOCKS proxy until the proxy has reached the host: SOCKS 5 (RFC 1928, with a
/// password per RFC 1929) and SOCKS 4a. A pure state machine.
///
/// Hostnames are sent to the proxy, which resolves them. The client doesn't look them up. Call ``next()`` until it
/// returns ``Action/done``, and pass received bytes to ``receive(_:)``.
package struct SOCKSHandshake: Sendable {
    /// The protocol version that the proxy speaks.
    package enum Version: Sendable, Hashable {
        /// SOCKS 4 with hostnames. It carries a user name but no password.
        case socks4a
        /// SOCKS 5 (RFC 1928).
        case socks5
    }

    /// A user and password for the proxy, in UTF-8.
    package struct Login: Sendable, Hashable {
        package let user: String
        package let password: String

        package init(user: String, password: String) {
            self.user = user
            self.password = password
        }
    }

    /// The host that the proxy is asked to connect to.
    package enum Destination: Sendable, Hashable {
        /// A hostname, 1 to 255 bytes.
        case name(String)
        /// An IPv4 address, 4 bytes in network order.
        case ipv4([UInt8])
        /// An IPv6 address, 16 bytes in network order.
        case ipv6([UInt8])

        package init(_ name: ServerName) {
            switch name.kind {
            case .ipv4(let bytes): self = .ipv4(bytes)
            case .ipv6(let bytes): self = .ipv6(bytes)
            default: self = .name(name.description)
            }
        }
    }

    /// The next step for the caller.
    package enum Action: Sendable, Hashable {
        case send([UInt8])
        case wantsInput
        /// The proxy has reached the host. Everything that follows comes from the host.
        case done
    }

    private enum State: Sendable {
        case start
        case awaitsMethod
        case awaitsLogin
        case awaitsReply
        case done
    }

    private let version: Version
    private let login: Login?
    private let request: [UInt8]
    private var state = State.start
    private var input: [UInt8] = []
    /// The bytes that the host sent after the reply. Empty unless the host speaks first.
    package private(set) var greeting: [UInt8] = []
    private let hostSpeaksFirst: Bool

    /// The largest reply: SOCKS 5 with a hostname of 255 bytes.
    private static let replyLimit = 4 + 1 + 255 + 2

    /// Creates a handshake. Throws if a value doesn't fit into the request. Nothing is truncated (CVE-2023-38545).
    package init(
        _ version: Version, to destination: Destination, port: UInt16, login: Login? = nil,
        hostSpeaksFirst: Bool = false
    ) throws(SOCKSError) {
        self.hostSpeaksFirst = hostSpeaksFirst
        self.version = version
        self.login = login
        let user = Array((login?.user ?? "").utf8)
        switch version {
        case .socks5:
            if let login {
                guard 1...255 ~= user.count, login.password.utf8.count <= 255 else { throw .unusableLogin }
            }
            request = [5, 1, 0] + (try Self.address(destination)) + Self.bytes(of: port)
        case .socks4a:
            // mutant socks-nul: true for 2 by SOCKSTests
            guard user.count <= 255, !user.contains(0) else { throw .unusableLogin }
            request = [4, 1] + Self.bytes(of: port) + (try Self.place(destination, behind: user))
        }
    }

    /// Adds bytes received from the proxy.
    package mutating func receive(_ bytes: [UInt8]) { input += bytes }

    /// Returns the next step. Throws if the proxy refuses or violates the protocol.
    package mutating func next() throws(SOCKSError) -> Action {
        switch state {
        case .start: return begin()
        case .awaitsMethod:
            guard let reply = try take(2) else { return .wantsInput }
            return try choose(reply)
        case .awaitsLogin:
            guard let reply = try take(2) else { return .wantsInput }
            // The reply to the login (RFC 1929, section 2).
            guard reply[0] == 1 else { throw .malformedReply("version \(reply[0]) of the login") }
            // mutant socks-login: true by SOCKSTests
            guard reply[1] == 0 else { throw .refusedLogin }
            state = .awaitsReply
            return .send(request)
        case .awaitsReply: return try version == .socks5 ? takeReply5() : takeReply4()
        case .done: return .done
        }
    }

    private mutating func begin() -> Action {
        guard version == .socks5 else {
            state = .awaitsReply
            return .send(request)
        }
        state = .awaitsMethod
        return .send(login == nil ? [5, 1, Self.noLogin] : [5, 2, Self.noLogin, Self.password])
    }

    private static let noLogin: UInt8 = 0
    private static let password: UInt8 = 2
    private static let noMethod: UInt8 = 0xFF

    private mutating func choose(_ reply: ArraySlice<UInt8>) throws(SOCKSError) -> Action {
        let (number, method) = (reply[reply.startIndex], reply[reply.startIndex + 1])
        guard number == 5 else { throw .malformedReply("version \(number)") }
        switch (method, login) {
        case (Self.noLogin, _):
            state = .awaitsReply
            return .send(request)
        case (Self.password, let login?):
            state = .awaitsLogin
            let (user, password) = (Array(login.user.utf8), Array(login.password.utf8))
            return .send([1, UInt8(user.count)] + user + [UInt8(password.count)] + password)
        case (Self.noMethod, _): throw .noMethod(hadLogin: login != nil)
        default: throw .foreignMethod(method)
        }
    }

    private mutating func takeReply5() throws(SOCKSError) -> Action {
        // Version, reply, reserved byte, address type, and the first byte of the address, which for a name is its
        // length.
        guard input.count >= 2 else { return .wantsInput }
        guard input[0] == 5 else { throw .malformedReply("version \(input[0])") }
        // The rest of a refusal is often cut short, and carries no information.
        // mutant socks-refused: true by SOCKSTests
        guard input[1] == 0 else { throw .refused(SOCKSRefusal(reply: input[1])) }
        guard input.count >= 5 else { return .wantsInput }
        let addressCount: Int
        switch input[3] {
        case 1: addressCount = 4
        case 3: addressCount = 1 + Int(input[4])
        case 4: addressCount = 16
        default: throw .malformedReply("address type \(input[3])")
        }
        guard input[2] == 0 else { throw .malformedReply("reserved byte \(input[2])") }
        guard try takeLast(4 + addressCount + 2) != nil else { return .wantsInput }
        state = .done
        return .done
    }

    private mutating func takeReply4() throws(SOCKSError) -> Action {
        guard let reply = try takeLast(8) else { return .wantsInput }
        guard reply[0] == 0 else { throw .malformedReply("first byte \(reply[0])") }
        switch reply[1] {
        case 90: break
        case 91: throw .refused(.general)
        case 92, 93: throw .refusedLogin
        default: throw .malformedReply("reply code \(reply[1])")
        }
        state = .done
        return .done
    }

    /// Returns the last reply, which has `count` bytes.
    private mutating func takeLast(_ count: Int) throws(SOCKSError) -> ArraySlice<UInt8>? {
        if hostSpeaksFirst, input.count > count {
            greeting = Array(input[count...])
            input.removeSubrange(count...)
        }
        return try take(count)
    }

    /// Returns a reply of `count` bytes. The proxy sends only when asked, and a host with TLS doesn't send before the
    /// client, so bytes after the reply are an error.
    private mutating func take(_ count: Int) throws(SOCKSError) -> ArraySlice<UInt8>? {
        // mutant socks-surplus: true for 1 by SOCKSTests
        guard input.count <= count, count <= Self.replyLimit else {
            throw .malformedReply("\(input.count) bytes instead of \(count)")
        }
        guard input.count == count else { return nil }
        defer { input = [] }
        return ArraySlice(input)
    }

    // MARK: The request

    private static func address(_ destination: Destination) throws(SOCKSError) -> [UInt8] {
        switch destination {
        case .ipv4(let bytes) where bytes.count == 4: return [1] + bytes
        case .ipv6(let bytes) where bytes.count == 16: return [4] + bytes
        case .name(let name):
            let name = Array(name.utf8)
            // mutant socks-name: true by SOCKSTests
            guard 1...255 ~= name.count else { throw .unusableHost(byteCount: name.count) }
            return [3, UInt8(name.count)] + name
        case .ipv4, .ipv6: throw .unusableAddress
        }
    }

    /// Returns the address, the user and, for a hostname, the name. An address that begins with three zeros announces a
    /// hostname.
    private static func place(_ destination: Destination, behind user: [UInt8]) throws(SOCKSError) -> [UInt8] {
        switch destination {
        case .ipv4(let bytes) where bytes.count == 4 && !bytes.starts(with: [0, 0, 0]): return bytes + user + [0]
        case .ipv4, .ipv6: throw .unusableAddress
        case .name(let name):
            let name = Array(name.utf8)
            guard 1...255 ~= name.count, !name.contains(0) else { throw .unusableHost(byteCount: name.count) }
            return [0, 0, 0, 1] + user + [0] + name + [0]
        }
    }

    private static func bytes(of port: UInt16) -> [UInt8] { [UInt8(port >> 8), UInt8(port & 0xFF)] }
}
