import PinctlBasics

/// The first bytes of a peer's answer, which show what it speaks.
struct HandshakeHead {
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// Whether the bytes begin a TLS record (RFC 8446, section 5.1), as far as they go.
    var isTLS: Bool {
        guard let type = bytes.first else { return false }
        return (20...24).contains(type) && bytes.dropFirst().first ?? 3 == 3
    }

    /// The number of bytes up to the end of a ServerHello's version.
    static let versionEnd = 11

    /// The version in a ServerHello (RFC 8446, section 4.1.3), such as `TLS 1.0`. `nil` if there is no whole one, or it
    /// is unknown.
    var serverHelloVersion: String? {
        guard bytes.count >= Self.versionEnd, bytes[0] == 22, bytes[5] == 2, bytes[9] == 3, bytes[10] <= 3 else {
            return nil
        }
        return bytes[10] == 0 ? "SSL 3.0" : "TLS 1.\(bytes[10] - 1)"
    }
}

/// The beginning of an answer that isn't TLS.
package struct PlaintextAnswer: Sendable, Hashable {
    /// The first bytes, at most 256.
    private let bytes: [UInt8]

    init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The protocols that begin like this and can be upgraded to TLS, the most likely first.
    package var upgradable: [StartTLSProtocol] {
        let words = text.uppercased()
        func begins(_ heads: String...) -> Bool { heads.contains { words.hasPrefix($0) } }
        if begins("220 ", "220-", "421 ", "421-", "554 ", "554-") {
            if words.contains("LMTP") { return [.lmtp] }
            if words.contains("FTP") { return [.ftp] }
            return words.contains("SMTP") || begins("554") ? [.smtp] : [.smtp, .ftp]
        }
        if begins("* OK", "* PREAUTH", "* BYE") { return [.imap] }
        if begins("+OK") { return [.pop3] }
        if begins("200 ", "201 ") { return [.nntp] }
        if begins("\"IMPLEMENTATION\"") { return [.sieve] }
        if begins("<?XML", "<STREAM:") { return [.xmpp, .xmppServer] }
        if isMySQL { return [.mysql] }
        // A notice of disconnection (RFC 4511, section 4.4.1).
        if bytes.first == 0x30, words.contains("1.3.6.1.4.1.1466.20036") { return [.ldap] }
        return []
    }

    /// The name of another protocol that begins like this, or `nil` if none is known.
    package var otherProtocol: String? {
        if text.hasPrefix("HTTP/") { return "HTTP" }
        if text.hasPrefix("SSH-") { return "SSH" }
        return nil
    }

    /// A packet with a 3-byte length and number 0: a greeting of version 10, or an error.
    private var isMySQL: Bool {
        guard bytes.count > 5, bytes[2] == 0, bytes[3] == 0 else { return false }
        let length = Int(bytes[0]) | Int(bytes[1]) << 8
        return (bytes[4] == 0x0A || bytes[4] == 0xFF) && length >= bytes.count - 4 && length < 4096
    }

    private var text: String { String(decoding: bytes, as: UTF8.self) }
}

extension PlaintextAnswer: CustomStringConvertible {
    /// The first line in quotes, at most 80 characters, or the first 8 bytes in hexadecimal if it isn't text.
    package var description: String {
        let line = bytes.prefix { $0 != 0x0A && $0 != 0x0D }
        let isText = !line.isEmpty && line.allSatisfy { (0x20...0x7E).contains($0) || $0 == 0x09 || $0 >= 0x80 }
        return isText
            ? quoted(String(decoding: line, as: UTF8.self))
            : "bytes " + bytes.prefix(8).map { Hexadecimal.encode([$0]) }.joined(separator: " ")
    }
}
