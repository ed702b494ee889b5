import CertificateTrust

/// What a connection that begins in the clear is to do next.
enum StartTLSAction: Sendable, Hashable {
    case send([UInt8])
    /// More of what the server says.
    case needMore
    /// The next byte is TLS's, from both sides.
    case upgrade
    /// These bytes, and TLS behind them without an answer.
    case sendAndUpgrade([UInt8])
}

/// Why a server is not spoken to by TLS.
package enum StartTLSFailure: Error, Sendable, Hashable {
    case notOffered
    /// The server's own words, at most ``StartTLSFailure/wordLimit`` bytes of them and as they came.
    case refused(String)
    case unreadable(String)

    static let wordLimit = 200

    /// A refusal in these bytes.
    static func refused(_ words: some Collection<UInt8>) -> StartTLSFailure {
        .refused(String(decoding: words.prefix(wordLimit), as: UTF8.self))
    }

    /// A server that says something else than it should.
    static func strange(_ words: some Collection<UInt8>) -> StartTLSFailure {
        .unreadable("the server says \(visibleText(String(decoding: words.prefix(wordLimit), as: UTF8.self)))")
    }
}

/// One protocol's way to TLS: takes what the server says off the front of `input`, and says what to do.
protocol StartTLSMachine: Sendable {
    /// What is to be done before the server has said anything.
    var opening: StartTLSAction { get }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction
}

/// A whole negotiation, without any I/O: a machine, its bounds, and the rule that nobody speaks out of turn.
///
/// What a server, or somebody on the way, sends ahead of a question would be taken for the answer; behind the go-ahead,
/// for a part of what TLS protects (CVE-2021-22947 and its kin). Either ends the connection.
struct StartTLSNegotiation: Sendable {
    private var machine: any StartTLSMachine
    private var input = StartTLSInput()

    init(_ spoken: StartTLSProtocol, to host: ServerName) {
        machine =
            switch spoken {
            case .smtp: SMTPStartTLS(greeting: "EHLO")
            case .lmtp: SMTPStartTLS(greeting: "LHLO")
            case .imap: IMAPStartTLS()
            case .pop3: POP3StartTLS()
            case .sieve: SieveStartTLS()
            case .nntp: NNTPStartTLS()
            case .ftp: FTPStartTLS()
            case .ldap: LDAPStartTLS()
            case .xmpp: XMPPStartTLS(to: host, namespace: "jabber:client")
            case .xmppServer: XMPPStartTLS(to: host, namespace: "jabber:server")
            case .postgres: PostgreSQLStartTLS()
            case .mysql: MySQLStartTLS()
            }
    }

    /// The first thing to do.
    var opening: StartTLSAction { machine.opening }

    var serverSpeaksFirst: Bool { opening == .needMore }

    mutating func receive(_ bytes: [UInt8]) throws(StartTLSFailure) -> StartTLSAction {
        try input.append(bytes)
        let action = try machine.next(&input)
        guard action == .needMore || input.isEmpty else {
            throw .unreadable("more follows before it was asked for: somebody on the way may have put it there")
        }
        return action
    }
}

/// What a server has said and no machine has taken yet.
package struct StartTLSInput: Sendable {
    package init() {}

    private(set) var bytes: ArraySlice<UInt8> = []
    private var total = 0
    private var lineCount = 0

    /// Bytes in a whole negotiation.
    static let limit = 64 * 1024
    /// Bytes of a line: RFC 5321 has 512, and capabilities of IMAP come on one.
    static let lineLimit = 8 * 1024
    /// Lines in a whole negotiation.
    static let lineCountLimit = 256

    var isEmpty: Bool { bytes.isEmpty }

    /// Takes what came; throws past the limit.
    package mutating func append(_ new: [UInt8]) throws(StartTLSFailure) {
        total += new.count
        guard total <= Self.limit else { throw .unreadable("it says more than \(Self.limit) bytes") }
        bytes += new
    }

    /// Takes `count` bytes; nil while there are fewer.
    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    /// Takes a line without its end, CR LF or LF alone; nil while it has none.
    mutating func takeLine() throws(StartTLSFailure) -> ArraySlice<UInt8>? {
        guard let end = bytes.firstIndex(of: 0x0A) else {
            guard bytes.count <= Self.lineLimit else {
                throw .unreadable("a line has more than \(Self.lineLimit) bytes")
            }
            return nil
        }
        let line = bytes[..<end]
        bytes = bytes[(end + 1)...]
        lineCount += 1
        guard line.count <= Self.lineLimit, lineCount <= Self.lineCountLimit else {
            throw .unreadable("it says more than \(Self.lineCountLimit) lines, or \(Self.lineLimit) bytes in one")
        }
        return line.last == 0x0D ? line.dropLast() : line
    }
}

extension ArraySlice<UInt8> {
    /// Whether it begins with this ASCII word, in upper or lower case, and the word ends there.
    func hasWord(_ word: String) -> Bool {
        let word = Array(word.utf8)
        guard count >= word.count, zip(self, word).allSatisfy({ $0.upperCased == $1 }) else { return false }
        guard let next = dropFirst(word.count).first else { return true }
        return next == 0x20 || next == 0x09
    }

    /// The words between spaces.
    var words: [ArraySlice<UInt8>] { split(whereSeparator: { $0 == 0x20 || $0 == 0x09 }) }
}

extension UInt8 {
    /// The capital of an ASCII letter, itself else.
    fileprivate var upperCased: UInt8 { (0x61...0x7A).contains(self) ? self & 0xDF : self }
}
