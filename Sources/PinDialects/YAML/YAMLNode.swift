package import PinctlBasics

/// A value of a YAML text, with its place in the text.
package struct YAMLNode: Sendable {
    package enum Kind: Sendable {
        /// Nothing, where a value could be.
        case null
        /// A text on one line. Without quotes, it may be a number, a Boolean or null to other readers.
        case scalar(String, isQuoted: Bool)
        /// A text over several lines as it is written, with its header (`|` or `>`) and indentation.
        case block(String)
        case sequence([YAMLNode])
        /// The members in the order of the text. Each key appears once.
        case mapping([Member])
    }

    package struct Member: Sendable {
        package let key: String
        /// The bytes of the key, with its quotes.
        let keyRange: Range<Int>
        let position: SourcePosition
        package let value: YAMLNode
    }

    package let kind: Kind
    package let position: SourcePosition
    /// The bytes of the value, without a comment after it.
    package let range: Range<Int>
    /// Whether a sequence or mapping is written in brackets or braces.
    var isFlow = false
}

extension YAMLNode {
    var members: [Member]? {
        if case .mapping(let members) = kind { members } else { nil }
    }

    var elements: [YAMLNode]? {
        if case .sequence(let elements) = kind { elements } else { nil }
    }

    /// The text of a scalar, quoted or not.
    var text: String? {
        if case .scalar(let text, _) = kind { text } else { nil }
    }

    /// Whether it is a mapping, or a list of mappings, that isn't written in braces or brackets, and whose keys have no
    /// signs of a program, as in `const pins = on ? {} : { … }`.
    var isBlock: Bool {
        guard !isFlow else { return false }
        let mappings = [members ?? []] + (elements ?? []).map { $0.members ?? [] }
        let keys = mappings.flatMap(\.self).map(\.key)
        return !keys.isEmpty && keys.allSatisfy { key in !key.contains { " =?(){}[]".contains($0) } }
    }

    /// Whether it is the key whose value's members belong to the mapping around it.
    var isMergeKey: Bool { if case .scalar("<<", isQuoted: false) = kind { true } else { false } }

    /// Returns the value of the first of these keys that the mapping has.
    subscript(keys: String...) -> YAMLNode? {
        members?.first { keys.contains($0.key) }?.value
    }

    /// The name that messages use for this kind of value.
    var kindName: String {
        switch kind {
        case .null: "nothing"
        case .scalar: "a text"
        case .block: "a text over several lines"
        case .sequence: "a list"
        case .mapping: "a mapping"
        }
    }
}
