import PinctlTLSTransport

/// The FTP commands and replies of one download (RFC 959, RFC 2428, RFC 4217). A pure state machine: the caller owns
/// the connections.
struct FTPExchange: Sendable {
    enum Action: Sendable, Hashable {
        /// Send this command, and read the reply to it.
        case send([UInt8])
        /// Read the next reply.
        case wait
        /// Find a login, then call ``FTPExchange/logIn(user:password:)``.
        case needLogin
        /// Connect to this port at the address of the control connection, then call ``FTPExchange/connected()``.
        /// `address` is the address that the server named with the port, if any. It must be the same one.
        case connect(port: UInt16, address: String?)
        /// Read the file to the end of its connection, then call ``FTPExchange/fileEnded()``.
        case readFile(size: Int64?)
        /// The server has confirmed that the transfer is complete.
        case done
    }

    private enum State: Sendable {
        case greeting
        case login
        case user
        case password
        case bufferSize
        case protection
        case type
        case size
        case extendedPassive
        case passive
        case connecting
        case retrieve
        case reading
        case finishing
        case done
    }

    private let path: String
    private let isProtected: Bool
    private var state: State
    private var secret = ""
    private var size: Int64?

    /// Creates an exchange. `isProtected` means that the control connection uses TLS, so the file's connection must
    /// too. `isGreeted` means that the server's greeting was read before TLS began.
    init(path: String, isProtected: Bool, isGreeted: Bool) {
        self.path = path
        self.isProtected = isProtected
        state = isGreeted ? .login : .greeting
    }

    /// Returns the first action.
    mutating func begin() -> Action { state == .greeting ? .wait : afterGreeting() }

    /// Logs in. Neither `user` nor `password` may contain control characters.
    mutating func logIn(user: String, password: String) -> Action {
        state = .user
        secret = password
        return Self.command("USER", user)
    }

    mutating func connected() -> Action {
        state = .retrieve
        return Self.command("RETR", path)
    }

    mutating func fileEnded() -> Action {
        state = .finishing
        return .wait
    }

    mutating func received(_ reply: NumberedReply) throws(FTPError) -> Action {
        let words = String(decoding: reply.words.prefix(200), as: UTF8.self)
        let code = reply.code
        // 421 can be the reply to any command, and closes the connection (RFC 959, section 4.2.1).
        if code == 421 { throw .unexpectedReply(words) }
        switch (state, code) {
        case (.greeting, 120): return .wait
        case (.greeting, 220): return afterGreeting()
        case (.user, 331):
            state = .password
            defer { secret = "" }
            return Self.command("PASS", secret)
        case (.user, 230), (.password, 230), (.password, 202): return afterLogin()
        case (.user, 530), (.password, 530), (.user, 332), (.password, 332), (.user, 331...), (.password, 500...):
            state = .login
            return .needLogin
        case (.bufferSize, 200): return send("PROT", "P", .protection)
        case (.protection, 200): return setType()
        // mutant ftp-unprotected: { return setType() } by FTPExchangeTests FTPTests
        case (.bufferSize, 400...), (.protection, 400...): throw .unprotectedData(words)
        case (.type, 200): return send("SIZE", path, .size)
        case (.size, 213):
            size = Self.number(reply.lines.last.map { Array($0) } ?? [])
            return openPassive()
        case (.size, 550): throw .noFile(words)
        // Not every server supports SIZE.
        case (.size, 400...): return openPassive()
        case (.extendedPassive, 229):
            guard let port = Self.extendedPort(words) else { throw .malformedReply("no port in the reply to EPSV") }
            state = .connecting
            return .connect(port: port, address: nil)
        case (.extendedPassive, 500...): return send("PASV", nil, .passive)
        case (.passive, 227):
            guard let place = Self.place(words) else { throw .malformedReply("no port in the reply to PASV") }
            state = .connecting
            return .connect(port: place.port, address: place.address)
        case (.retrieve, 125), (.retrieve, 150):
            state = .reading
            return .readFile(size: size)
        case (.retrieve, 450), (.retrieve, 550...): throw .noFile(words)
        case (.finishing, 226), (.finishing, 250):
            state = .done
            return .done
        case (.finishing, _): throw .truncated("the FTP server replied \(words)")
        default: throw .unexpectedReply(words)
        }
    }

    // MARK: Commands

    private mutating func afterGreeting() -> Action {
        state = .login
        return .needLogin
    }

    private mutating func afterLogin() -> Action {
        isProtected ? send("PBSZ", "0", .bufferSize) : setType()
    }

    private mutating func setType() -> Action { send("TYPE", "I", .type) }

    private mutating func openPassive() -> Action { send("EPSV", nil, .extendedPassive) }

    private mutating func send(_ command: String, _ argument: String?, _ next: State) -> Action {
        state = next
        return Self.command(command, argument)
    }

    private static func command(_ name: String, _ argument: String?) -> Action {
        .send(Array((name + (argument.map { " " + $0 } ?? "") + "\r\n").utf8))
    }

    // MARK: Replies

    /// Parses a decimal number. Apart from spaces, nothing else may be in the text.
    private static func number(_ text: [UInt8]) -> Int64? {
        let digits = text.filter { $0 != 0x20 }
        guard 1...18 ~= digits.count, digits.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(String(decoding: digits, as: UTF8.self))
    }

    /// Parses the port in `229 Entering Extended Passive Mode (|||6446|)` (RFC 2428, section 3).
    static func extendedPort(_ words: String) -> UInt16? {
        guard let open = words.utf8.firstIndex(of: UInt8(ascii: "(")) else { return nil }
        let inside = Array(words.utf8[words.utf8.index(after: open)...].prefix { $0 != UInt8(ascii: ")") })
        guard 5...9 ~= inside.count, let mark = inside.first, (33...126).contains(mark), !(0x30...0x39).contains(mark),
            inside.prefix(3).allSatisfy({ $0 == mark }), inside.last == mark
        else { return nil }
        let digits = inside.dropFirst(3).dropLast()
        guard digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0
        else { return nil }
        return port
    }

    /// Parses the address and port in `227 Entering Passive Mode (127,0,0,1,4,1)` (RFC 959, section 4.1.2).
    ///
    /// A server could make the client connect to another host (CVE-2020-8284), so the caller compares the address with
    /// the one it reached.
    static func place(_ words: String) -> (address: String, port: UInt16)? {
        let fields = words.utf8.dropFirst(4).split(whereSeparator: { !((0x30...0x39).contains($0) || $0 == 0x2C) })
            .map { $0.split(separator: 0x2C, omittingEmptySubsequences: false) }
        guard let parts = fields.first(where: { $0.count == 6 }) else { return nil }
        let numbers = parts.compactMap { $0.count <= 3 ? UInt8(String(decoding: Array($0), as: UTF8.self)) : nil }
        guard numbers.count == 6 else { return nil }
        let port = UInt16(numbers[4]) << 8 | UInt16(numbers[5])
        return port > 0 ? (numbers[..<4].map { String($0) }.joined(separator: "."), port) : nil
    }
}
