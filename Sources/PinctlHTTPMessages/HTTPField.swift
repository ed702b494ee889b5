/// One header field of a message (RFC 9110, section 5).
///
/// It has bytes, which are decoded when they are read. Most received fields are only compared with names.
package struct HTTPField: Sendable {
    /// The bytes of this field, or those of the whole head that it was received in.
    private let text: [UInt8]
    private let nameRange: Range<Int>
    private let valueRange: Range<Int>

    package init(name: String, value: String) {
        self.init(name: name, bytes: Array(value.utf8)[...])
    }

    /// Creates a field from the bytes of its value, which ``bytes`` returns unchanged.
    package init(name: String, bytes: ArraySlice<UInt8>) {
        text = Array(name.utf8) + bytes
        nameRange = 0..<name.utf8.count
        valueRange = nameRange.upperBound..<text.count
    }

    /// Creates a field from parts of a received head. The name must be a token.
    init(in head: [UInt8], name: Range<Int>, value: Range<Int>) {
        text = head
        nameRange = name
        valueRange = value
    }

    var nameBytes: ArraySlice<UInt8> { text[nameRange] }
    var valueBytes: ArraySlice<UInt8> { text[valueRange] }

    package var name: String { String(decoding: nameBytes, as: UTF8.self) }

    /// The value. If it isn't valid UTF-8, it is decoded as ISO 8859-1, one character per byte.
    package var value: String { Self.decode(text.span.extracting(valueRange)) }

    /// The value as it is sent, or as it was received.
    package var bytes: [UInt8] { Array(valueBytes) }

    /// Decodes bytes as UTF-8 if they are valid, otherwise as ISO 8859-1, the historical encoding (RFC 9110, section
    /// 5.5).
    package static func text(_ bytes: [UInt8]) -> String { decode(bytes.span) }

    private static func decode(_ bytes: Span<UInt8>) -> String {
        if let text = try? UTF8Span(validating: bytes) { return String(copying: text) }
        return String(String.UnicodeScalarView(bytes.indices.map { UnicodeScalar(bytes[$0]) }))
    }

    /// Returns whether the field has this name. ASCII letters match without regard to case. Nothing else is folded.
    package func isNamed(_ name: String) -> Bool {
        // Nearly every name has another length.
        nameRange.count == name.utf8.count && HTTPGrammar.isEqual(nameBytes, name)
    }

    /// The members of a list value (RFC 9110, section 5.6.1), without blanks around them. Empty ones are included.
    var members: [ArraySlice<UInt8>] {
        let value = valueBytes
        guard value.contains(UInt8(ascii: ",")) else { return [value] }
        return value.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map(HTTPGrammar.trimmed)
    }

    /// The name as FoundationNetworking spells it in `allHeaderFields`: `WWW-Authenticate`, a name with the prefix `X-`
    /// unchanged, and any other with the first letter of each word in upper case.
    package var canonicalName: String {
        let key = Self.foldedName(name)
        if key.hasPrefix("x-") { return name }
        if key == "www-authenticate" { return "WWW-Authenticate" }
        var isWord = false
        let letters = UInt8(ascii: "a")...UInt8(ascii: "z")
        return String(
            decoding: key.utf8.map { byte in
                defer { isWord = letters ~= byte || byte == UInt8(ascii: "'") }
                return letters ~= byte && !isWord ? byte & ~0x20 : byte
            }, as: UTF8.self)
    }

    /// Returns a field name as a lower-case ASCII key. `lowercased()` would also map the Kelvin sign to k.
    package static func foldedName(_ name: String) -> String {
        String(decoding: name.utf8.map(HTTPGrammar.lowered), as: UTF8.self)
    }
}

extension HTTPField: Hashable {
    package static func == (left: HTTPField, right: HTTPField) -> Bool {
        left.nameBytes == right.nameBytes && left.valueBytes == right.valueBytes
    }

    package func hash(into hasher: inout Hasher) {
        hasher.combine(nameBytes)
        hasher.combine(valueBytes)
    }
}

extension [HTTPField] {
    /// Returns the values of all fields with this name, joined by a comma and a space (RFC 9110, section 5.3), or nil.
    package func value(named name: String) -> String? {
        var joined: String?
        for field in self where field.isNamed(name) {
            joined = joined.map { $0 + ", " + field.value } ?? field.value
        }
        return joined
    }
}
