/// One header field of a message (RFC 9110, section 5).
package struct HTTPField: Sendable, Hashable {
    package let name: String
    package let value: String
    /// Whether the value was made from bytes that are not UTF-8, each of which is one character of it.
    private let isLatin1: Bool

    package init(name: String, value: String) {
        self.name = name
        self.value = value
        isLatin1 = false
    }

    /// A field with these bytes as its value; ``bytes`` gives them back.
    package init(name: String, bytes: ArraySlice<UInt8>) {
        self.name = name
        (value, isLatin1) = Self.decode(bytes)
    }

    /// The value as it is sent, or as it came.
    package var bytes: [UInt8] {
        isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
    }

    /// The text of bytes: UTF-8 where they are that, else ISO 8859-1, which they once meant (RFC 9110, section 5.5).
    package static func text(_ bytes: [UInt8]) -> String { decode(bytes[...]).text }

    private static func decode(_ bytes: ArraySlice<UInt8>) -> (text: String, isLatin1: Bool) {
        if let text = try? UTF8Span(validating: bytes.span) { return (String(copying: text), false) }
        return (String(String.UnicodeScalarView(bytes.map { UnicodeScalar($0) })), true)
    }

    /// Whether the field has this name; ASCII capitals count as small letters, nothing else is folded.
    package func isNamed(_ name: String) -> Bool {
        HTTPGrammar.isEqual(self.name, name)
    }

    /// The members of a value that is a list (RFC 9110, section 5.6.1), as they stand between the commas.
    var members: [String] {
        guard value.utf8.contains(UInt8(ascii: ",")) else { return [value] }
        return value.utf8.split(separator: UInt8(ascii: ",")).map { member in
            String(decoding: HTTPGrammar.trimmed(Array(member)[...]), as: UTF8.self)
        }
    }

    /// A field name as a key: lower-case ASCII. `lowercased()` would map the Kelvin sign to k.
    package static func foldedName(_ name: String) -> String {
        String(decoding: name.utf8.map(HTTPGrammar.lowered), as: UTF8.self)
    }
}

extension [HTTPField] {
    /// The values of every field with this name, joined by a comma and a space (RFC 9110, section 5.3), or nil.
    package func value(named name: String) -> String? {
        var joined: String?
        for field in self where field.isNamed(name) {
            joined = joined.map { $0 + ", " + field.value } ?? field.value
        }
        return joined
    }
}
