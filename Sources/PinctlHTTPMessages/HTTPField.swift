/// One header field of a message (RFC 9110, section 5).
package struct HTTPField: Sendable, Hashable {
    package let name: String
    package let value: String
    /// Whether the received value isn't valid UTF-8 and was decoded as ISO 8859-1, one character per byte.
    private let isLatin1: Bool

    package init(name: String, value: String) {
        self.name = name
        self.value = value
        isLatin1 = false
    }

    /// Creates a field from the bytes of its value, which ``bytes`` returns unchanged.
    package init(name: String, bytes: ArraySlice<UInt8>) {
        self.name = name
        (value, isLatin1) = Self.decode(bytes.span)
    }

    /// Creates a received field. The name must be a token.
    init(name: Span<UInt8>, value bytes: Span<UInt8>) {
        self.name = Self.decode(name).text
        (value, isLatin1) = Self.decode(bytes)
    }

    /// The value as it is sent, or as it was received.
    package var bytes: [UInt8] {
        isLatin1 ? value.unicodeScalars.map { UInt8(truncatingIfNeeded: $0.value) } : Array(value.utf8)
    }

    /// Appends ``bytes`` to `output`.
    func write(to output: inout [UInt8]) {
        if isLatin1 { output += bytes } else { output += value.utf8 }
    }

    /// Decodes bytes as UTF-8 if they are valid, otherwise as ISO 8859-1, the historical encoding (RFC 9110, section
    /// 5.5).
    package static func text(_ bytes: [UInt8]) -> String { decode(bytes.span).text }

    private static func decode(_ bytes: Span<UInt8>) -> (text: String, isLatin1: Bool) {
        if let text = try? UTF8Span(validating: bytes) { return (String(copying: text), false) }
        return (String(String.UnicodeScalarView(bytes.indices.map { UnicodeScalar(bytes[$0]) })), true)
    }

    /// Returns whether the field has this name. ASCII letters match without regard to case. Nothing else is folded.
    @inline(__always)
    package func isNamed(_ name: String) -> Bool {
        // Nearly every name has another length, which is found without a call.
        self.name.utf8.count == name.utf8.count && HTTPGrammar.isEqual(self.name, name)
    }

    /// The members of a list value (RFC 9110, section 5.6.1), without blanks around them. Empty ones are included.
    var members: [String] {
        guard value.utf8.contains(UInt8(ascii: ",")) else { return [value] }
        return value.utf8.split(separator: UInt8(ascii: ","), omittingEmptySubsequences: false).map { member in
            String(decoding: HTTPGrammar.trimmed(Array(member)[...]), as: UTF8.self)
        }
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
