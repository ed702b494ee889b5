/// A start position in a text. Lines and columns count from 1, columns in characters (Unicode scalars).
package struct SourcePosition: Sendable, Hashable {
    package var line: Int32
    package var column: Int32

    package init(line: Int32, column: Int32) {
        self.line = line
        self.column = column
    }
}

extension SourcePosition: Comparable {
    package static func < (left: SourcePosition, right: SourcePosition) -> Bool {
        (left.line, left.column) < (right.line, right.column)
    }
}

/// A JSON value with its position in the text.
package struct JSONValue: Sendable {
    package enum Kind: Sendable {
        /// The members in the order of the text, including duplicates.
        case object([Member])
        case array([JSONValue])
        case string(String)
        /// The number as written (RFC 8259, section 6), without rounding.
        case number(String)
        case bool(Bool)
        case null
    }

    package struct Member: Sendable {
        package let key: String
        package let keyPosition: SourcePosition
        package let value: JSONValue
    }

    package let kind: Kind
    package let position: SourcePosition
}

extension JSONValue {
    package var members: [Member]? {
        if case .object(let members) = kind { members } else { nil }
    }

    package var elements: [JSONValue]? {
        if case .array(let elements) = kind { elements } else { nil }
    }

    package var string: String? {
        if case .string(let string) = kind { string } else { nil }
    }

    package var bool: Bool? {
        if case .bool(let bool) = kind { bool } else { nil }
    }

    /// The number, if it is written as an integer and fits into `Int`.
    package var integer: Int? {
        if case .number(let text) = kind { Int(text) } else { nil }
    }

    /// Returns the member with this key. If there are duplicates, returns the first one.
    package subscript(key: String) -> JSONValue? {
        members?.first { $0.key == key }?.value
    }

    /// The name that messages use for this kind of value.
    package var kindName: String {
        switch kind {
        case .object: "an object"
        case .array: "an array"
        case .string: "a string"
        case .number: "a number"
        case .bool(let bool): "\(bool)"
        case .null: "null"
        }
    }
}
