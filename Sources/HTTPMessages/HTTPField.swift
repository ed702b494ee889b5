/// One header field of a message (RFC 9110, section 5).
package struct HTTPField: Sendable, Hashable {
    package let name: String
    package let value: String

    package init(name: String, value: String) {
        self.name = name
        self.value = value
    }

    /// Whether the field has this name; ASCII capitals count as small letters, nothing else is folded.
    package func isNamed(_ name: String) -> Bool {
        HTTPField.foldedName(self.name) == HTTPField.foldedName(name)
    }

    /// A field name as a key: lower-case ASCII. `lowercased()` would map the Kelvin sign to k.
    package static func foldedName(_ name: String) -> String {
        String(decoding: name.utf8.map { UInt8(ascii: "A")...UInt8(ascii: "Z") ~= $0 ? $0 | 0x20 : $0 }, as: UTF8.self)
    }
}

extension [HTTPField] {
    /// The values of every field with this name, joined by a comma and a space (RFC 9110, section 5.3), or nil.
    package func value(named name: String) -> String? {
        let values = filter { $0.isNamed(name) }.map(\.value)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }
}

/// The characters of HTTP's grammar (RFC 9110, section 5.6.2; RFC 5234, appendix B.1).
package enum HTTPGrammar {
    static let carriageReturn = UInt8(ascii: "\r")
    static let lineFeed = UInt8(ascii: "\n")
    static let space = UInt8(ascii: " ")
    static let tab = UInt8(ascii: "\t")

    /// `token`: methods and field names.
    package static func isToken(_ bytes: some Collection<UInt8>) -> Bool {
        !bytes.isEmpty && bytes.allSatisfy(isTokenCharacter)
    }

    package static func isTokenCharacter(_ byte: UInt8) -> Bool { tokenCharacters.contains(byte) }

    /// What a field value, a reason phrase or a chunk extension may hold: visible characters, spaces, tabs, bytes over
    /// 0x7F. CR, LF, NUL and the other control characters are not among them.
    package static func isFieldContent(_ bytes: some Collection<UInt8>) -> Bool {
        bytes.allSatisfy { $0 >= 0x20 && $0 != 0x7F || $0 == tab }
    }

    package static func isBlank(_ byte: UInt8) -> Bool { byte == space || byte == tab }

    static func isDigit(_ byte: UInt8) -> Bool { UInt8(ascii: "0")...UInt8(ascii: "9") ~= byte }

    /// `bytes` without blanks at either end.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        guard let first = bytes.firstIndex(where: { !isBlank($0) }),
            let last = bytes.lastIndex(where: { !isBlank($0) })
        else { return [] }
        return bytes[first...last]
    }

    /// A number of decimal or hexadecimal digits and nothing else, or nil; nil too when it does not fit.
    static func number(_ digits: ArraySlice<UInt8>, radix: Int) -> Int? {
        // Int(_:radix:) takes a sign, which HTTP's numbers do not have.
        guard let first = digits.first, first != UInt8(ascii: "+"), first != UInt8(ascii: "-") else { return nil }
        return Int(String(decoding: digits, as: UTF8.self), radix: radix)
    }

    private static let tokenCharacters = Set(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}
