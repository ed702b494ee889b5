/// The subject or issuer of a certificate (RFC 5280, section 4.1.2.4).
public struct X509Name: Sendable, Hashable {
    /// The DER as sent.
    public let derBytes: [UInt8]

    /// The first 256 octets of the first common name, unescaped; nil when there is none. For people to read: it never
    /// decides anything.
    public var commonName: String? { shownText(.commonName) }

    /// The first 256 octets of the first organization, unescaped.
    package var organization: String? { shownText(.organization) }

    /// Common names, unescaped, in order.
    var commonNames: [String] { texts(.commonName) }

    /// Addresses of the attribute `emailAddress` (PKCS #9), unescaped.
    var emailAddresses: [String] { texts(.emailAddress) }

    /// Whether the name has no attributes at all.
    var isEmpty: Bool { derBytes.count <= 2 }

    /// Where one attribute stands. It is decoded when it is read: a name may have thousands.
    private struct Attribute {
        var identifier: Range<Int>
        var value: DERElement
        /// Whether it shares its RDN with the attribute before.
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

    /// What messages call a type of attribute: its short name, else its identifier in dotted decimal.
    private static func appendType(_ identifier: Span<UInt8>, to text: inout [UInt8]) {
        if identifier.count == 3, identifier[0] == 0x55, identifier[1] == 0x04,
            let name = standardName(identifier[2])
        {
            return text.append(name)
        }
        let dotted = ObjectIdentifierText.dotted(identifier, identifier.indices)
        text += (otherNames[dotted] ?? dotted).utf8
    }

    /// The short names of the types below 2.5.4, which are most of those that names have.
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
    /// The text of RFC 4514: last attribute first, `CN=Example,O=Example Inc,C=US`. Characters that could change how
    /// a screen shows the name are escaped. Of more than 32 attributes the first are left out, and of a value what is
    /// over 256 octets: nobody reads them, and a peer may present thousands, which every candidate of a search would be
    /// refused with.
    public var description: String { String(appending: { Self.append(derBytes.span, to: &$0) }) }

    /// Writes the ``description`` of the DER Name `name` behind what stands in `text`.
    static func append(_ name: Span<UInt8>, to text: inout [UInt8]) {
        let nothing = Attribute(identifier: 0..<0, value: DERElement(tag: 0, whole: 0..<0, contents: 0..<0))
        var last = [32 of Attribute](repeating: nothing)
        var count = 0
        try? NameWalk.forEachAttribute(name, 0..<name.count) { identifier, value, isJoined in
            last[count % 32] = Attribute(identifier: identifier.contents, value: value, isJoined: isJoined)
            count += 1
        }
        let start = max(0, count - 32)
        for index in (start..<count).reversed() {
            let attribute = last[index % 32]
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
        // Nearly every value is ASCII that shows as itself, and needs no string of its own.
        guard DirectoryString.isUTF8(value.tag), isPlainASCII(contents) else {
            var escaped: [UInt8] = []
            appendEscaped(DirectoryString.text(name, value, limit: shownOctets).utf8.span, to: &escaped)
            text += visibleText(String(decoding: escaped, as: UTF8.self)).utf8
            return
        }
        appendEscaped(contents, to: &text)
    }

    /// Escapes what RFC 4514, section 2.4, has a meaning for.
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

    /// Whether something may have to be escaped; seldom is there anything.
    private static func hasEscaped(_ value: Span<UInt8>) -> Bool {
        guard value.count > 0 else { return false }
        var hasSpecial = value[0] <= UInt8(ascii: "#") || value[value.count - 1] == UInt8(ascii: " ")
        for index in value.indices { hasSpecial = isSpecial(value[index]) || hasSpecial }
        return hasSpecial
    }

    private static func isSpecial(_ byte: UInt8) -> Bool {
        byte < 64 ? specials &>> UInt64(byte) & 1 == 1 : byte == UInt8(ascii: "\\")
    }

    /// The special characters below 64, a bit each.
    private static let specials: UInt64 = 1 << 0x22 | 1 << 0x2B | 1 << 0x2C | 1 << 0x3B | 1 << 0x3C | 1 << 0x3E
}

/// How much is shown of a text that a peer chose: four times the 64 characters of RFC 5280, appendix A.1, and room for
/// a host name.
let shownOctets = 256

/// Text from outside with every character escaped that would not show as itself: controls, line breaks, bidirectional
/// and zero-width marks (`\u{202E}`). What a certificate says must not move a cursor or reorder a verdict.
package func visibleText(_ text: String) -> String {
    // Plain ASCII is the rule, and asks for no look at each character's properties.
    if isPlainASCII(text.utf8.span) { return text }
    var result: [UInt8] = []
    result.reserveCapacity(text.utf8.count)
    for scalar in text.unicodeScalars {
        if (0x20...0x7E).contains(scalar.value) {
            result.append(UInt8(scalar.value))
        } else if isInvisible(scalar) {
            result += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}".utf8
        } else {
            result += UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter
        }
    }
    return String(decoding: result, as: UTF8.self)
}

/// Whether all bytes are ASCII that shows as itself.
package func isPlainASCII(_ text: Span<UInt8>) -> Bool {
    // Without a way out in between the compiler takes many at a time.
    var isPlain = true
    for index in text.indices { isPlain = (0x20...0x7E).contains(text[index]) && isPlain }
    return isPlain
}

private func isInvisible(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.properties.generalCategory {
    case .control, .format, .lineSeparator, .paragraphSeparator, .surrogate, .privateUse, .unassigned: true
    default: scalar.properties.isDefaultIgnorableCodePoint
    }
}

/// The walk over `SEQUENCE OF SET OF SEQUENCE { OBJECT IDENTIFIER, value }`.
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

/// The string types of a name (RFC 5280, section 4.1.2.4).
enum DirectoryString {
    static func isText(_ tag: UInt8) -> Bool {
        switch tag {
        case DERTag.utf8String, DERTag.printableString, DERTag.teletexString, DERTag.ia5String, DERTag.visibleString,
            DERTag.universalString, DERTag.bmpString:
            true
        default: false
        }
    }

    /// Whether the contents of a type are read as UTF-8, of which ASCII is a part.
    static func isUTF8(_ tag: UInt8) -> Bool {
        switch tag {
        case DERTag.utf8String, DERTag.printableString, DERTag.ia5String, DERTag.visibleString: true
        default: false
        }
    }

    /// The value as text, or the first `limit` octets of it, a multiple of 4; what is no string is shown as `#` and
    /// hexadecimal (RFC 4514, section 2.4).
    static func text(_ bytes: Span<UInt8>, _ value: DERElement, limit: Int = .max) -> String {
        let contents = value.contents.prefix(limit).map { bytes[$0] }
        switch value.tag {
        case _ where isUTF8(value.tag): return String(decoding: contents, as: UTF8.self)
        case DERTag.teletexString:
            // T.61 in name, Latin-1 in practice.
            return String(String.UnicodeScalarView(contents.map { Unicode.Scalar($0) }))
        case DERTag.bmpString where contents.count % 2 == 0:
            let units = stride(from: 0, to: contents.count, by: 2).map { start in
                UInt16(contents[start]) << 8 | UInt16(contents[start + 1])
            }
            return String(decoding: units, as: UTF16.self)
        case DERTag.universalString where contents.count % 4 == 0:
            let units = stride(from: 0, to: contents.count, by: 4).map { start in
                contents[start..<start + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            }
            return String(decoding: units, as: UTF32.self)
        default:
            return "#" + value.whole.prefix(limit).map { String(hexadecimal(bytes[$0]).dropFirst(2)) }.joined()
        }
    }
}

/// A name in the form in which two spellings of one name are equal: string types unified, ASCII capitals lowered,
/// spaces trimmed and collapsed (RFC 5280, section 7.1, with the prose rules of RFC 4518 left out).
///
/// It finds candidates for an issuer. Whether one did issue, OpenSSL decides with the same rules.
struct CanonicalName: Sendable {
    private let bytes: [UInt8]
    /// FNV-1a over the bytes: a dictionary would otherwise hash them one by one.
    private let hash: UInt64

    /// A name that was walked before, when its certificate was parsed.
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

    /// The relative names of a DER Name in canonical form, outermost first.
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
        // A tag of its own keeps a folded string apart from raw DER.
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
