/// The three messages of NTLM (MS-NLMP, section 2.2.1), as far as a login needs them.
enum NTLMMessage {
    static let signature: [UInt8] = Array("NTLMSSP".utf8) + [0]

    /// The capabilities of both sides (section 2.2.2.5).
    struct Flags: OptionSet, Sendable, Hashable {
        let rawValue: UInt32

        static let unicode = Flags(rawValue: 0x0000_0001)
        /// Names in the server's 8-bit character set. The client sends only ASCII in it.
        static let oem = Flags(rawValue: 0x0000_0002)
        static let requestTarget = Flags(rawValue: 0x0000_0004)
        static let ntlm = Flags(rawValue: 0x0000_0200)
        static let alwaysSign = Flags(rawValue: 0x0000_8000)
        static let extendedSessionSecurity = Flags(rawValue: 0x0008_0000)
        static let targetInfo = Flags(rawValue: 0x0080_0000)

        /// The client's capabilities. No keys are exchanged and nothing is signed or encrypted, because TLS does that.
        static let client: Flags = [.unicode, .requestTarget, .ntlm, .alwaysSign, .extendedSessionSecurity]
    }

    /// NEGOTIATE_MESSAGE, without a domain or a workstation. The user is sent after the server's answer.
    static let negotiate: [UInt8] =
        signature + littleEndian(UInt32(1)) + littleEndian(Flags.client.rawValue) + [UInt8](repeating: 0, count: 16)

    /// The size of AUTHENTICATE_MESSAGE up to its payload (domain, user and responses), including the MIC.
    static let authenticateHeaderCount = 88
    /// The position of the MIC in AUTHENTICATE_MESSAGE.
    static let micRange = 72..<88
}

/// A CHALLENGE_MESSAGE (MS-NLMP, section 2.2.1.2), parsed without reading beyond its end (CVE-2018-16890,
/// CVE-2019-3822).
struct NTLMChallenge: Sendable, Hashable {
    let flags: NTLMMessage.Flags
    /// The server's challenge, 8 bytes.
    let serverChallenge: [UInt8]
    /// The attributes in the server's order, without the end marker.
    let targetInfo: [NTLMAttribute]
    /// The message as received, which the MIC covers.
    let bytes: [UInt8]

    /// The largest message. No part of it can be larger either.
    static let sizeLimit = 32 * 1024
    static let attributeLimit = 64

    init(_ bytes: [UInt8]) throws(NTLMError) {
        guard bytes.count <= Self.sizeLimit else { throw .malformedChallenge("it is \(bytes.count) bytes long") }
        guard bytes.count >= 32, bytes.starts(with: NTLMMessage.signature), Self.number(bytes, at: 8, count: 4) == 2
        else { throw .malformedChallenge("it is no challenge") }
        flags = NTLMMessage.Flags(rawValue: Self.number(bytes, at: 20, count: 4))
        guard !flags.isDisjoint(with: [.unicode, .oem]) else { throw .malformedChallenge("it wants no characters") }
        serverChallenge = Array(bytes[24..<32])
        if flags.contains(.targetInfo) {
            guard bytes.count >= 48 else { throw .malformedChallenge("it ends in its header") }
            let count = Int(Self.number(bytes, at: 40, count: 2))
            let start = Int(Self.number(bytes, at: 44, count: 4))
            // mutant ntlm-offset: true for 2 by NTLMTests
            guard start <= bytes.count, count <= bytes.count - start else {
                throw .malformedChallenge("its target lies outside of it")
            }
            targetInfo = try NTLMAttribute.list(bytes[start..<start + count])
        } else {
            targetInfo = []
        }
        self.bytes = bytes
    }

    /// The server's time, 8 bytes, or nil if the server sends none (Windows before Vista).
    var timestamp: [UInt8]? { targetInfo.first { $0.kind == .timestamp && $0.value.count == 8 }?.value }

    /// Returns a little-endian number of up to four bytes. The caller has checked that they exist.
    private static func number(_ bytes: [UInt8], at start: Int, count: Int) -> UInt32 {
        bytes[start..<start + count].reversed().reduce(0) { $0 << 8 | UInt32($1) }
    }
}

/// An AV_PAIR (MS-NLMP, section 2.2.2.1): an attribute of the server or the client.
struct NTLMAttribute: Sendable, Hashable {
    struct Kind: RawRepresentable, Sendable, Hashable {
        let rawValue: UInt16

        static let end = Kind(rawValue: 0)
        static let flags = Kind(rawValue: 6)
        static let timestamp = Kind(rawValue: 7)
        static let targetName = Kind(rawValue: 9)
        static let channelBindings = Kind(rawValue: 10)
    }

    let kind: Kind
    let value: [UInt8]

    var bytes: [UInt8] { littleEndian(kind.rawValue) + littleEndian(UInt16(truncatingIfNeeded: value.count)) + value }

    /// The end marker of a list.
    static let end = NTLMAttribute(kind: .end, value: [])

    /// Parses a list up to its end marker. Bytes after the end marker are ignored.
    static func list(_ bytes: ArraySlice<UInt8>) throws(NTLMError) -> [NTLMAttribute] {
        var rest = bytes
        var list: [NTLMAttribute] = []
        while true {
            let header = Array(rest.prefix(4))
            guard header.count == 4, list.count < NTLMChallenge.attributeLimit else {
                throw .malformedChallenge("its target information has no end")
            }
            let kind = Kind(rawValue: UInt16(header[0]) | UInt16(header[1]) << 8)
            let count = Int(header[2]) | Int(header[3]) << 8
            rest = rest.dropFirst(4)
            guard count <= rest.count else { throw .malformedChallenge("its target information is truncated") }
            if kind == .end { return list }
            list.append(NTLMAttribute(kind: kind, value: Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
    }
}

/// An error in an NTLM login.
enum NTLMError: Error, Hashable {
    case malformedChallenge(String)
    /// The user, domain, password or target name is too long for the message's 16-bit lengths.
    case tooLong
    /// The server supports only ASCII, and the user or domain has other characters.
    case notASCII
    /// OpenSSL's configuration doesn't offer MD5.
    case noDigest
}

extension NTLMError: CustomStringConvertible {
    var description: String {
        switch self {
        case .malformedChallenge(let reason): "malformed NTLM challenge, \(reason): check the server"
        case .tooLong: "the user, domain or password is too long for NTLM: use a shorter one"
        case .notASCII: "the server's NTLM supports only ASCII: use a user name in ASCII, or another login"
        case .noDigest:
            "OpenSSL doesn't offer MD5, which NTLM requires: allow MD5 in its configuration, or use another login"
        }
    }
}
