/// The character rules of HTTP's grammar (RFC 9110, section 5.6.2; RFC 5234, appendix B.1).
package enum HTTPGrammar {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    /// Returns whether the bytes are a `token`, the grammar of methods and field names.
    static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenCharacter)
    }

    /// Returns whether the byte is a letter, a digit or one of ``!#$%&'*+-.^_`|~``. Two words hold one bit for each
    /// byte.
    package static func isTokenCharacter(_ byte: UInt8) -> Bool {
        let bits: UInt64 =
            switch byte {
            case 0..<0x40: 0x03FF_6CFA_0000_0000
            case 0x40..<0x80: 0x57FF_FFFF_C7FF_FFFE
            default: 0
            }
        return (bits &>> UInt64(byte & 0x3F)) & 1 == 1
    }

    /// Returns whether the bytes may appear in a field value, a reason phrase or a chunk extension. Visible characters,
    /// spaces, tabs and bytes over 0x7F may. CR, LF, NUL and the other control characters may not.
    package static func isFieldContent(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy(isFieldContent)
    }

    static func isFieldContent(_ byte: UInt8) -> Bool { byte >= 0x20 && byte != 0x7F || byte == tab }

    package static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    /// Returns the byte with ASCII capitals mapped to lower case.
    static func lowered(_ byte: UInt8) -> UInt8 { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= byte ? byte | 0x20 : byte }

    /// Returns whether two strings are equal, ignoring the case of ASCII letters.
    static func isEqual(_ left: String, _ right: String) -> Bool { isEqual(left.utf8.span, right.utf8.span) }

    /// Returns whether bytes are those of a text, ignoring the case of ASCII letters.
    static func isEqual(_ left: ArraySlice<UInt8>, _ right: String) -> Bool { isEqual(left.span, right.utf8.span) }

    private static func isEqual(_ left: Span<UInt8>, _ right: Span<UInt8>) -> Bool {
        guard left.count == right.count else { return false }
        // Nearly every letter has the same case.
        for index in left.indices where left[index] != right[index] {
            guard lowered(left[index]) == lowered(right[index]) else { return false }
        }
        return true
    }

    /// Returns `bytes` without blanks at either end.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return bytes[first...last]
    }

    /// Parses a number that consists only of decimal or hexadecimal digits. Returns nil for anything else, or on
    /// overflow.
    package static func number(_ digits: some Collection<UInt8>, radix: Int) -> Int? {
        // Int(_:radix:) accepts a sign, which HTTP's numbers don't have.
        // mutant length-number: true for 2 by HTTPResponseParserTests
        guard let first = digits.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: radix)
    }
}
