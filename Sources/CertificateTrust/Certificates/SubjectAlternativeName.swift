/// One entry of the subjectAltName extension (RFC 5280, section 4.2.1.6).
///
/// Nine kinds exist; a server's name is proved by two of them. The others are kept with their tag and never matched.
@nonexhaustive
public enum SubjectAlternativeName: Sendable, Hashable {
    /// `dNSName`, bytes as sent, ASCII or not; a name with other bytes matches nothing.
    case dns([UInt8])
    /// `iPAddress`, 4 or 16 bytes when well formed.
    case ipAddress([UInt8])
    /// Any other kind: its tag number 0 to 8 and its contents.
    case other(tag: UInt8, contents: [UInt8])

    /// Reads a GeneralNames sequence.
    static func list(_ bytes: Span<UInt8>, _ value: Range<Int>) throws(DERError) -> [SubjectAlternativeName] {
        var outer = DERCursor(value)
        var names = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        try outer.finish()
        var list: [SubjectAlternativeName] = []
        while !names.isAtEnd {
            let name = try names.next(bytes)
            let contents = name.contents.map { bytes[$0] }
            switch name.tag {
            case DERTag.context(2): list.append(.dns(contents))
            case DERTag.context(7): list.append(.ipAddress(contents))
            default:
                guard let kind = GeneralNameKind(tag: name.tag) else {
                    throw .invalidValue(what: "kind of alternative name", offset: name.whole.lowerBound)
                }
                list.append(.other(tag: kind.rawValue, contents: contents))
            }
        }
        return list
    }
}

extension SubjectAlternativeName {
    /// What stands behind `*.`, ASCII capitals lowered; nil for a name without a wildcard in front.
    var wildcardParent: [UInt8]? {
        guard case .dns(let bytes) = self, bytes.starts(with: "*.".utf8) else { return nil }
        return HostText.lowered(Array(bytes.dropFirst(2)))
    }
}

/// The kinds of GeneralName, by the numbers of their tags (RFC 5280, section 4.2.1.6).
enum GeneralNameKind: UInt8, Sendable {
    case other = 0
    case email, dns, x400, directory, ediParty, uri, ipAddress, registeredID

    /// Nil for a tag that no GeneralName has.
    init?(tag: UInt8) {
        guard tag & 0xC0 == 0x80 else { return nil }
        self.init(rawValue: tag & 0x1F)
    }
}

extension SubjectAlternativeName: CustomStringConvertible {
    /// The name as text, safe to print; of a malformed one the first 256 octets.
    public var description: String {
        switch self {
        case .dns(let bytes):
            visibleText(String(decoding: bytes.prefix(shownOctets), as: UTF8.self))
                + (bytes.count > shownOctets ? "…" : "")
        case .ipAddress(let bytes): IPAddressText.format(Array(bytes.prefix(shownOctets)))
        case .other(let tag, _): "name of kind \(tag)"
        }
    }
}

extension ServerName {
    /// Whether a certificate's entry names this server (RFC 9525, section 6.3 and 6.4).
    ///
    /// A DNS name equals another, ASCII case aside; `*` may be the whole left-most label of the entry and then stands
    /// for exactly one label, with two labels or more behind it. An address equals byte for byte. The common name is
    /// never looked at.
    public func matches(_ entry: SubjectAlternativeName) -> Bool {
        switch (kind, entry) {
        case (.ipv4(let address), .ipAddress(let bytes)), (.ipv6(let address), .ipAddress(let bytes)):
            return address == bytes
        case (.dns(let name), .dns(let bytes)):
            guard let parent = entry.wildcardParent else {
                return HostText.lowered(bytes).elementsEqual(name.utf8)
            }
            guard parent.contains(UInt8(ascii: ".")), let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else {
                return false
            }
            return parent.elementsEqual(name.utf8[name.utf8.index(after: dot)...])
        default: return false
        }
    }
}
