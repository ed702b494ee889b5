import CertificateTrust
import PinctlBasics

/// A protocol that begins in cleartext and upgrades to TLS on the client's request.
package enum StartTLSProtocol: String, Sendable, Hashable, CaseIterable {
    case smtp
    case lmtp
    case imap
    case pop3
    case sieve
    case nntp
    case ftp
    case ldap
    case xmpp
    case xmppServer = "xmpp-server"
    case postgres
    case mysql

    /// The registered port of the protocol.
    package var defaultPort: UInt16 {
        switch self {
        case .smtp: 25
        case .lmtp: 24
        case .imap: 143
        case .pop3: 110
        case .sieve: 4190
        case .nntp: 119
        case .ftp: 21
        case .ldap: 389
        case .xmpp: 5222
        case .xmppServer: 5269
        case .postgres: 5432
        case .mysql: 3306
        }
    }
}

/// The next step on a connection that begins in cleartext.
enum StartTLSAction: Sendable, Hashable {
    case send([UInt8])
    /// More bytes from the server are needed.
    case needMore
    /// The next byte from either side belongs to TLS.
    case upgrade
    /// Send these bytes, then start TLS without waiting for an answer.
    case sendAndUpgrade([UInt8])
}

/// A failure to upgrade to TLS.
package enum StartTLSFailure: Error, Sendable, Hashable {
    case notOffered
    /// The server's own text, unchanged, at most ``StartTLSFailure/wordLimit`` bytes.
    case refused(String)
    case unreadable(String)

    static let wordLimit = 200

    /// Returns a refusal with these bytes as the server's text.
    static func refused(_ words: some Collection<UInt8>) -> StartTLSFailure {
        .refused(String(decoding: words.prefix(wordLimit), as: UTF8.self))
    }

    /// Returns a failure for bytes that the protocol doesn't allow at this point.
    static func unexpected(_ words: some Collection<UInt8>) -> StartTLSFailure {
        .unreadable("the server sent \(visibleText(String(decoding: words.prefix(wordLimit), as: UTF8.self)))")
    }
}

/// One protocol's exchange before TLS. It takes the server's bytes off the front of `input` and returns the next step.
protocol StartTLSMachine: Sendable {
    /// The step to take before the server has sent anything.
    var opening: StartTLSAction { get }

    mutating func next(_ input: inout StartTLSInput) throws(StartTLSFailure) -> StartTLSAction
}

/// A whole negotiation without I/O: a protocol's machine, limits, and the rule that the server may not send out of
/// turn.
///
/// Bytes that the server or an attacker sends before a question would be taken for its answer. Bytes after the go-ahead
/// would be taken for TLS-protected data (CVE-2021-22947 and similar). Either ends the connection.
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

    /// The first step.
    var opening: StartTLSAction { machine.opening }

    var serverSpeaksFirst: Bool { opening == .needMore }

    mutating func receive(_ bytes: [UInt8]) throws(StartTLSFailure) -> StartTLSAction {
        try input.append(bytes)
        let action = try machine.next(&input)
        // mutant starttls-injection: true by StartTLSMachineTests
        guard action == .needMore || input.isEmpty else {
            throw .unreadable("unrequested data, which an attacker may have injected")
        }
        return action
    }
}

/// The bytes from a server that no machine has consumed yet.
package struct StartTLSInput: Sendable {
    package init() {}

    private(set) var bytes: ArraySlice<UInt8> = []
    private var total = 0
    private var lineCount = 0

    /// The most bytes in a whole negotiation.
    static let limit = 64 * 1024
    /// The most bytes in a line. RFC 5321 allows 512, but IMAP sends all capabilities in one line.
    static let lineLimit = 8 * 1024
    /// The most lines in a whole negotiation.
    static let lineCountLimit = 256

    var isEmpty: Bool { bytes.isEmpty }

    /// Adds received bytes. Throws if the limit is exceeded.
    package mutating func append(_ new: [UInt8]) throws(StartTLSFailure) {
        total += new.count
        // mutant starttls-size: true by StartTLSMachineTests
        guard total <= Self.limit else { throw .unreadable("more than \(Self.limit) bytes") }
        bytes += new
    }

    /// Removes and returns `count` bytes, or returns nil while there are fewer.
    mutating func take(_ count: Int) -> ArraySlice<UInt8>? {
        guard bytes.count >= count else { return nil }
        defer { bytes = bytes.dropFirst(count) }
        return bytes.prefix(count)
    }

    /// Removes and returns a line without its CR LF or LF, or returns nil while it is incomplete.
    mutating func takeLine() throws(StartTLSFailure) -> ArraySlice<UInt8>? {
        guard let end = bytes.firstIndex(of: 0x0A) else {
            guard bytes.count <= Self.lineLimit else {
                throw .unreadable("a line of more than \(Self.lineLimit) bytes")
            }
            return nil
        }
        let line = bytes[..<end]
        bytes = bytes[(end + 1)...]
        lineCount += 1
        guard line.count <= Self.lineLimit, lineCount <= Self.lineCountLimit else {
            throw .unreadable("more than \(Self.lineCountLimit) lines, or \(Self.lineLimit) bytes in one")
        }
        return line.last == 0x0D ? line.dropLast() : line
    }
}

extension ArraySlice<UInt8> {
    /// Returns whether the bytes begin with this ASCII word, ignoring case, followed by a blank or the end.
    func hasWord(_ word: String) -> Bool {
        let word = Array(word.utf8)
        guard count >= word.count, zip(self, word).allSatisfy({ $0.upperCased == $1 }) else { return false }
        guard let next = dropFirst(word.count).first else { return true }
        return next == 0x20 || next == 0x09
    }

    /// The words separated by blanks.
    var words: [ArraySlice<UInt8>] { split(whereSeparator: { $0 == 0x20 || $0 == 0x09 }) }
}

extension UInt8 {
    /// The byte with an ASCII letter mapped to upper case.
    fileprivate var upperCased: UInt8 { (0x61...0x7A).contains(self) ? self & 0xDF : self }
}
