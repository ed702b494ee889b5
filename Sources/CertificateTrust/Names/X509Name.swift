import PinctlBasics

/// The subject or issuer of a certificate (RFC 5280, section 4.1.2.4).
public struct X509Name: Sendable, Hashable {
    /// The DER as received.
    public let derBytes: [UInt8]

    /// The first 256 octets of the first common name, unescaped. `nil` if there is none. It is only for display and
    /// never affects a decision.
    public var commonName: String? { shownText(.commonName) }

    /// The first 256 octets of the first organization, unescaped.
    package var organization: String? { shownText(.organization) }

    /// The common names, unescaped, in order.
    var commonNames: [String] { texts(.commonName) }

    /// The values of the attribute `emailAddress` (PKCS #9), unescaped.
    var emailAddresses: [String] { texts(.emailAddress) }

    /// Whether the name has no attributes.
    var isEmpty: Bool { derBytes.count <= 2 }

    /// The position of one attribute. It is decoded on demand, because a name may have thousands of attributes.
    private struct Attribute {
        var identifier: Range<Int>
        var value: DERElement
        /// Whether the attribute is in the same RDN as the previous one.
        var isJoined = false
    }

    private var attributes: [Attribute] {
        var result: [Attribute] = []
        try? NameWalk.forEachAttribute(derBytes.span, 0..<derBytes.count) { identifier, value, isJoined in
            result.append(Attribute(identifier: identifier.contents, value: value, isJoined: isJoined))
        }
        return result
    }

    private func texts(_ type: ObjectIdentifierNumber) -> [String] {
        attributes.lazy.filter { ObjectIdentifierNumber(derBytes.span, $0.identifier) == type }
            .map { DirectoryString.text(derBytes.span, $0.value) }
    }

    private func shownText(_ type: ObjectIdentifierNumber) -> String? {
        attributes.first { ObjectIdentifierNumber(derBytes.span, $0.identifier) == type }
            .map { DirectoryString.text(derBytes.span, $0.value, limit: shownOctets) }
    }

    /// Appends the short name of an attribute type to `text`, or its identifier in dotted decimal if it has none.
    private static func appendType(_ identifier: Span<UInt8>, to text: inout [UInt8]) {
        if identifier.count == 3, identifier[0] == 0x55, identifier[1] == 0x04,
            let name = standardName(identifier[2])
        {
            return text.append(name)
        }
        let dotted = ObjectIdentifierText.dotted(identifier, identifier.indices)
        text += (otherNames[dotted] ?? dotted).utf8
    }

    /// Returns the short name of a type below 2.5.4, which includes most types in use.
    private static func standardName(_ number: UInt8) -> StaticString? {
        switch number {
        case 3: "CN"
        case 5: "serialNumber"
        case 6: "C"
        case 7: "L"
        case 8: "ST"
        case 9: "STREET"
        case 10: "O"
        case 11: "OU"
        case 97: "organizationIdentifier"
        default: nil
        }
    }

    private static let otherNames = [
        "0.9.2342.19200300.100.1.25": "DC", "0.9.2342.19200300.100.1.1": "UID",
        "1.2.840.113549.1.9.1": "emailAddress",
    ]
}

extension X509Name: CustomStringConvertible {
    /// The name as RFC 4514 text, last attribute first: `CN=Example,O=Example Inc,C=US`. Characters that could change
    /// how the name appears on a screen are escaped. Only the last 32 attributes, and 256 octets of each value, are
    /// included. A peer may present thousands of attributes, and the finding for every candidate of a search would
    /// repeat them.
    public var description: String { String(appending: { Self.append(derBytes.span, to: &$0) }) }

    /// Appends the ``description`` of the DER Name `name` to `text`.
    static func append(_ name: Span<UInt8>, to text: inout [UInt8]) {
        let nothing = Attribute(identifier: 0..<0, value: DERElement(tag: 0, whole: 0..<0, contents: 0..<0))
        var last = [32 of Attribute](repeating: nothing)
        var count = 0
        try? NameWalk.forEachAttribute(name, 0..<name.count) { identifier, value, isJoined in
            last[count % last.count] = Attribute(identifier: identifier.contents, value: value, isJoined: isJoined)
            count += 1
        }
        let start = max(0, count - last.count)
        for index in (start..<count).reversed() {
            let attribute = last[index % last.count]
            appendType(name.extracting(attribute.identifier), to: &text)
            text.append(UInt8(ascii: "="))
            append(attribute.value, of: name, to: &text)
            if attribute.value.contents.count > shownOctets { text.append("…") }
            if index > start { text.append(attribute.isJoined ? UInt8(ascii: "+") : UInt8(ascii: ",")) }
        }
        if start > 0 { text.append(",…") }
    }

    private static func append(_ value: DERElement, of name: Span<UInt8>, to text: inout [UInt8]) {
        let contents = name.extracting(value.contents.prefix(shownOctets))
        // Nearly every value is printable ASCII and needs no string of its own.
        guard DirectoryString.isUTF8(value.tag), isPlainASCII(contents) else {
            var escaped: [UInt8] = []
            appendEscaped(DirectoryString.text(name, value, limit: shownOctets).utf8.span, to: &escaped)
            text += visibleText(String(decoding: escaped, as: UTF8.self)).utf8
            return
        }
        appendEscaped(contents, to: &text)
    }

    /// Escapes the characters that have a meaning in RFC 4514, section 2.4.
    private static func appendEscaped(_ value: Span<UInt8>, to text: inout [UInt8]) {
        guard hasEscaped(value) else {
            text.append(copying: value)
            return
        }
        for index in value.indices {
            let byte = value[index]
            let isEscaped =
                isSpecial(byte) || index == 0 && byte == UInt8(ascii: "#")
                || (index == 0 || index == value.count - 1) && byte == UInt8(ascii: " ")
            if isEscaped { text.append(UInt8(ascii: "\\")) }
            text.append(byte)
        }
    }

    /// Whether a character may have to be escaped, which is rare.
    private static func hasEscaped(_ value: Span<UInt8>) -> Bool {
        guard value.count > 0 else { return false }
        var hasSpecial = value[0] <= UInt8(ascii: "#") || value[value.count - 1] == UInt8(ascii: " ")
        for index in value.indices { hasSpecial = isSpecial(value[index]) || hasSpecial }
        return hasSpecial
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 64 ? specials &>> UInt64(byte) & 1 == 1 : byte == UInt8(ascii: "\\")
    }

    /// The special characters below 64, with one bit for each.
    private static let specials: UInt64 = 1 << 0x22 | 1 << 0x2B | 1 << 0x2C | 1 << 0x3B | 1 << 0x3C | 1 << 0x3E
}

/// The number of octets that are shown of a text chosen by a peer: four times the 64 characters of RFC 5280, appendix
/// A.1, which leaves room for a hostname.
let shownOctets = 256

/// A walk over `SEQUENCE OF SET OF SEQUENCE { OBJECT IDENTIFIER, value }`.
enum NameWalk {
    static func forEachAttribute(
        _ bytes: Span<UInt8>, _ name: Range<Int>,
        _ body: (_ identifier: DERElement, _ value: DERElement, _ isJoined: Bool) -> Void
    ) throws(DERError) {
        var outer = DERCursor(name)
        var names = DERCursor(try outer.next(DERTag.sequence, bytes).contents)
        try outer.finish()
        while !names.isAtEnd {
            var members = DERCursor(try names.next(DERTag.set, bytes).contents)
            var isJoined = false
            while !members.isAtEnd {
                var pair = DERCursor(try members.next(DERTag.sequence, bytes).contents)
                let identifier = try pair.next(DERTag.objectIdentifier, bytes)
                let value = try pair.next(bytes)
                try pair.finish()
                body(identifier, value, isJoined)
                isJoined = true
            }
        }
    }
}

/// The string types in names (RFC 5280, section 4.1.2.4).
enum DirectoryString {
    static func isText(_ tag: UInt8) -> Bool {
        switch tag {
        case DERTag.utf8String, DERTag.printableString, DERTag.teletexString, DERTag.ia5String, DERTag.visibleString,
            DERTag.universalString, DERTag.bmpString:
            true
        default: false
        }
    }

    /// Whether the contents of a type are decoded as UTF-8, which includes ASCII.
    static func isUTF8(_ tag: UInt8) -> Bool {
        switch tag {
        case DERTag.utf8String, DERTag.printableString, DERTag.ia5String, DERTag.visibleString: true
        default: false
        }
    }

    /// Returns the value as text, or only its first `limit` octets. `limit` is a multiple of 4. A value that isn't a
    /// string is returned as `#` and hexadecimal (RFC 4514, section 2.4).
    static func text(_ bytes: Span<UInt8>, _ value: DERElement, limit: Int = .max) -> String {
        let contents = value.contents.prefix(limit).map { bytes[$0] }
        switch value.tag {
        case _ where isUTF8(value.tag): return String(decoding: contents, as: UTF8.self)
        case DERTag.teletexString:
            // The type is T.61 by name, but Latin-1 in practice.
            return String(String.UnicodeScalarView(contents.map { Unicode.Scalar($0) }))
        case DERTag.bmpString where contents.count % 2 == 0:
            let units = stride(from: 0, to: contents.count, by: 2).map { start -> UInt16 in
                UInt16(contents[start]) << 8 | UInt16(contents[start + 1])
            }
            return String(decoding: units, as: UTF16.self)
        case DERTag.universalString where contents.count % 4 == 0:
            let units = stride(from: 0, to: contents.count, by: 4).map { start -> UInt32 in
                contents[start..<start + 4].reduce(0) { (number: UInt32, byte: UInt8) in number << 8 | UInt32(byte) }
            }
            return String(decoding: units, as: UTF32.self)
        default:
            return "#" + Hexadecimal.encode(Array(copying: bytes.extracting(value.whole.prefix(limit))))
        }
    }
}

/// A name in a form in which different encodings of the same name are equal: string types are unified, ASCII capitals
/// converted to lower case, and spaces trimmed and collapsed (RFC 5280, section 7.1, without the preparation rules of
/// RFC 4518).
///
/// It is used to find candidate issuers. OpenSSL applies the same rules to decide whether one is the issuer.
struct CanonicalName: Sendable {
    private let bytes: [UInt8]
    /// The FNV-1a hash of the bytes, because a dictionary would otherwise hash them one by one.
    private let hash: UInt64

    /// Creates a name that was checked when its certificate was parsed.
    init(checked input: Span<UInt8>, _ name: Range<Int>) {
        self = (try? CanonicalName(input, name)) ?? CanonicalName()
    }

    private init() { (bytes, hash) = ([], 0) }

    init(_ input: Span<UInt8>, _ name: Range<Int>) throws(DERError) {
        var output: [UInt8] = []
        output.reserveCapacity(name.count)
        try NameWalk.forEachAttribute(input, name) { identifier, value, isJoined in
            output.append(isJoined ? 1 : 0)
            Self.append(input, identifier, value, to: &output)
        }
        bytes = output
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        for byte in output { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3 }
        self.hash = hash
    }

    /// Returns the relative names of a DER Name in canonical form, outermost first.
    static func relativeNames(_ input: Span<UInt8>, _ name: Range<Int>) throws(DERError) -> [[UInt8]] {
        var names: [[UInt8]] = []
        try NameWalk.forEachAttribute(input, name) { identifier, value, isJoined in
            var attribute: [UInt8] = isJoined ? names.removeLast() : []
            append(input, identifier, value, to: &attribute)
            names.append(attribute)
        }
        return names
    }

    private static func append(
        _ input: Span<UInt8>, _ identifier: DERElement, _ value: DERElement, to output: inout [UInt8]
    ) {
        for index in identifier.whole { output.append(input[index]) }
        guard DirectoryString.isText(value.tag) else {
            for index in value.whole { output.append(input[index]) }
            return
        }
        switch value.tag {
        case DERTag.teletexString, DERTag.bmpString, DERTag.universalString:
            fold(Array(DirectoryString.text(input, value).utf8).span, into: &output)
        default:
            fold(input.extracting(value.contents), into: &output)
        }
    }

    private static func fold(_ text: Span<UInt8>, into output: inout [UInt8]) {
        // A separate tag distinguishes a folded string from raw DER.
        output.append(DERTag.utf8String)
        var isSpacePending = false
        var isEmpty = true
        for index in text.indices {
            let byte = text[index]
            if byte == 0x20 || (0x09...0x0D).contains(byte) {
                isSpacePending = !isEmpty
                continue
            }
            if isSpacePending {
                output.append(0x20)
                isSpacePending = false
            }
            isEmpty = false
            output.append(UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte)
        }
        output.append(0)
    }
}

extension CanonicalName: Hashable {
    static func == (left: CanonicalName, right: CanonicalName) -> Bool {
        left.hash == right.hash && left.bytes == right.bytes
    }

    func hash(into hasher: inout Hasher) { hasher.combine(hash) }
}
