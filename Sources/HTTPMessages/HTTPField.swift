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
