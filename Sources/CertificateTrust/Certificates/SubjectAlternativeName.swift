import PinctlBasics

/// One entry of the subjectAltName extension (RFC 5280, section 4.2.1.6).
///
/// There are nine kinds, two of which can match a server's hostname. The others are kept with their tag and never
/// match.
@nonexhaustive
public enum SubjectAlternativeName: Sendable, Hashable {
    /// A `dNSName`, with the bytes as received, ASCII or not. A name with non-ASCII bytes never matches.
    case dns([UInt8])
    /// An `iPAddress`, with 4 or 16 bytes if it is well-formed.
    case ipAddress([UInt8])
    /// Any other kind, with its tag number from 0 to 8 and its contents.
    case other(tag: UInt8, contents: [UInt8])

    /// Parses a GeneralNames sequence.
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
                    throw .invalidValue(what: "type of alternative name", offset: name.whole.lowerBound)
                }
                list.append(.other(tag: kind.rawValue, contents: contents))
            }
        }
        return list
    }
}

extension SubjectAlternativeName {
    /// The part after `*.`, with ASCII capitals in lower case. `nil` for a name without a leading wildcard.
    var wildcardParent: [UInt8]? {
        guard case .dns(let bytes) = self, bytes.starts(with: "*.".utf8) else { return nil }
        return HostText.lowered(Array(bytes.dropFirst(2)))
    }
}

/// The kinds of GeneralName, by tag number (RFC 5280, section 4.2.1.6).
enum GeneralNameKind: UInt8, Sendable {
    case other = 0
    case email, dns, x400, directory, ediParty, uri, ipAddress, registeredID

    /// Creates the kind for a tag. Returns `nil` if no GeneralName has the tag.
    init?(tag: UInt8) {
        guard tag & 0xC0 == 0x80 else { return nil }
        self.init(rawValue: tag & 0x1F)
    }
}

extension SubjectAlternativeName: CustomStringConvertible {
    /// The name as text that is safe to print. Only the first 256 octets of a longer name are included.
    public var description: String {
        switch self {
        case .dns(let bytes):
            visibleText(String(decoding: bytes.prefix(shownOctets), as: UTF8.self))
                + (bytes.count > shownOctets ? "…" : "")
        case .ipAddress(let bytes): IPAddressText.format(Array(bytes.prefix(shownOctets)))
        case .other(let tag, _): "name of type \(tag)"
        }
    }
}

extension ServerName {
    /// Whether a certificate's entry matches this hostname (RFC 9525, sections 6.3 and 6.4).
    ///
    /// DNS names match if they are equal, ignoring ASCII case. In the entry, `*` may be the whole left-most label. It
    /// then matches exactly one label and must be followed by at least two labels. Addresses match if their bytes are
    /// equal. The common name is never used.
    public func matches(_ entry: SubjectAlternativeName) -> Bool {
        switch (kind, entry) {
        case (.ipv4(let address), .ipAddress(let bytes)), (.ipv6(let address), .ipAddress(let bytes)):
            // mutant address-match: address.starts(with: bytes) by ServerNameTests/addresses
            return address == bytes
        case (.dns(let name), .dns(let bytes)):
            guard let parent = entry.wildcardParent else { return HostText.isHost(name, spelled: bytes) }
            // mutant wildcard-two-labels: true for 1 by ServerNameTests/matching
            guard parent.contains(UInt8(ascii: ".")), let dot = name.utf8.firstIndex(of: UInt8(ascii: ".")) else {
                return false
            }
            // mutant wildcard-one-label: name.hasSuffix(String(decoding: parent, as: UTF8.self)) by
            //   ServerNameTests/matching
            return parent.elementsEqual(name.utf8[name.utf8.index(after: dot)...])
        default: return false
        }
    }
}
