import CertificateTrust
import PinctlBasics

/// A message of a client to the verdict service, in the frame that the article "Pin other programs" describes.
struct VerdictMessage: Sendable {
    enum Kind: UInt8 {
        /// May the program talk to this server?
        case question = 1
        /// The program connects a TCP socket.
        case connected = 2
        /// The guard was loaded into a program.
        case started = 3
        /// A connection ended, and no data can have been sent over it.
        case unused = 4
        /// A program starts, or was started, whose connections the guard can't see.
        case unguarded = 5
    }

    /// The version of the frame.
    static let version: UInt8 = 1
    /// The size of the longest message in bytes, without its length.
    static let maximumSize = 256 << 10
    private static let maximumText = 4_096

    let kind: Kind
    /// The name of the server that the program expects: a DNS name or an IP address.
    private(set) var host: String?
    /// The port of the peer.
    private(set) var port: UInt16?
    /// The peer's IP address.
    private(set) var address: String?
    /// The certificates in DER, as presented.
    private(set) var certificates: [[UInt8]] = []
    private(set) var stapledOCSP: [UInt8]?
    private(set) var timestamps: [UInt8]?
    private(set) var isResumed = false
    private(set) var program: String?
    private(set) var process: UInt32?
    /// The name of the TLS library.
    private(set) var library: String?

    /// Parses a message without its length. Everything that isn't known is an error.
    init(_ frame: [UInt8]) throws(VerdictMessageError) {
        guard frame.count >= 2, frame[0] == Self.version else {
            throw VerdictMessageError("the frame isn't of version \(Self.version)")
        }
        guard let kind = Kind(rawValue: frame[1]) else {
            throw VerdictMessageError("\(frame[1]) isn't a kind of message")
        }
        self.kind = kind
        var seen: Set<UInt8> = []
        var index = 2
        while index < frame.count {
            guard index + 5 <= frame.count else { throw VerdictMessageError("the last field is cut off") }
            let type = frame[index]
            let length = frame[(index + 1)..<(index + 5)].reduce(0) { $0 << 8 | Int($1) }
            index += 5
            guard length <= frame.count - index else { throw VerdictMessageError("field \(type) is cut off") }
            // mutant verdict-repeated: true for `seen.insert(type).inserted || type == 4` by VerdictMessageTests
            guard seen.insert(type).inserted || type == 4 else {
                throw VerdictMessageError("field \(type) is given twice")
            }
            try take(type, Array(frame[index..<index + length]))
            index += length
        }
    }

    private mutating func take(_ type: UInt8, _ value: [UInt8]) throws(VerdictMessageError) {
        func text() throws(VerdictMessageError) -> String {
            guard value.count <= Self.maximumText, let text = String(validating: value, as: UTF8.self) else {
                throw VerdictMessageError("field \(type) isn't a text")
            }
            return text
        }
        func number(_ size: Int) throws(VerdictMessageError) -> UInt32 {
            guard value.count == size else { throw VerdictMessageError("field \(type) isn't of \(size) bytes") }
            return value.reduce(0) { $0 << 8 | UInt32($1) }
        }
        switch type {
        case 1: host = try text()
        case 2: port = UInt16(truncatingIfNeeded: try number(2))
        case 3: address = try text()
        case 4: certificates.append(value)
        case 5: stapledOCSP = value
        case 6: timestamps = value
        case 7:
            guard value == [0] || value == [1] else { throw VerdictMessageError("field 7 is neither 0 nor 1") }
            isResumed = value == [1]
        case 8: program = try text()
        case 9: process = try number(4)
        case 10: library = try text()
        default:
            // mutant verdict-unknown: {} by VerdictMessageTests
            throw VerdictMessageError("field \(type) isn't known")
        }
    }

    /// The digest of everything that the verdict depends on.
    var digest: [UInt8] {
        var bytes: [UInt8] = []
        func add(_ part: [UInt8]?) {
            let count = part.map { $0.count + 1 } ?? 0
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: count >> (8 * $0)) }
            if let part { bytes.append(copying: part.span) }
        }
        add(host.map { Array($0.utf8) })
        add(host == nil ? address.map { Array($0.utf8) } : nil)
        add(port.map { [UInt8($0 >> 8), UInt8($0 & 0xFF)] })
        add(stapledOCSP)
        add(timestamps)
        for certificate in certificates { add(certificate) }
        return sha256Digest(bytes.span)
    }

    /// The server in messages: `api.example.com:443`.
    var server: String {
        guard let name = host ?? address else { return "a server without a name" }
        let visible = visibleText(name)
        guard let port else { return visible }
        return visible.contains(":") ? "[\(visible)]:\(port)" : "\(visible):\(port)"
    }

    /// The program in messages: `curl (123)`.
    var source: String {
        let name = program.flatMap { $0.split(separator: "/").last }.map { visibleText(String($0)) } ?? "a program"
        return name + (process.map { " (\($0))" } ?? "")
    }
}

/// The reason why a message isn't one.
struct VerdictMessageError: Error, Hashable {
    let reason: String
    init(_ reason: String) { self.reason = reason }
}

/// The answer to a question.
struct VerdictAnswer: Sendable, Hashable {
    let isAccepted: Bool
    /// One line for people.
    let reason: String
    /// The pin that matched, if any.
    var pin: String?
    /// Whether the name of the server isn't known, so that the names of its certificate were judged.
    var isNameless = false
    /// Whether the server is accepted only because its rule reports, is bypassed, or has expired.
    var isReported = false

    private static let maximumReason = 1_000

    /// The message without its length.
    var frame: [UInt8] {
        var bytes: [UInt8] = [VerdictMessage.version, VerdictMessage.Kind.question.rawValue]
        func add(_ type: UInt8, _ value: [UInt8]) {
            bytes.append(type)
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: value.count >> (24 - 8 * $0)) } + value
        }
        add(1, [isAccepted ? 1 : 0])
        // Cut between characters.
        var text = reason
        if text.utf8.count > Self.maximumReason { text = String(text.prefix(Self.maximumReason / 4)) + "…" }
        add(2, Array(text.utf8))
        if let pin { add(3, Array(pin.utf8)) }
        return bytes
    }
}
