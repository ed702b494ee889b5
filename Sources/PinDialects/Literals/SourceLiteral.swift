import PinctlBasics

/// A value that a program or a document has as a literal: JSON, an object of JavaScript, a dictionary of Swift or
/// Objective-C, or a call with named arguments.
struct SourceLiteral {
    enum Kind {
        /// Members in the order of the text. The same key may appear several times.
        case object([Member])
        /// `inside` is the range of the bytes between the brackets, or of the whole list in YAML.
        case list([SourceLiteral], inside: Range<Int>)
        case text(String)
        /// A number, `true`, or the name of a constant, such as `Pins.api`.
        case word(String)
        /// Anything that has no value until the program runs.
        case expression(Expression)
    }

    struct Member {
        /// The key, or the beginning of the expression for it.
        let key: String
        /// Whether the key is a constant or an expression in brackets, so that the text isn't the key itself.
        let isComputed: Bool
        /// The bytes of the key, with its quotes.
        let keyRange: Range<Int>
        let position: SourcePosition
        let value: SourceLiteral

        /// The bytes of the key and the value.
        var range: Range<Int> { keyRange.lowerBound..<max(keyRange.upperBound, value.range.upperBound) }
    }

    /// A part of a program, in which other literals may be.
    struct Expression {
        let start: TextCursor
        let end: Int

        /// Its beginning, on one line.
        var text: String {
            start.text(in: start.index..<min(end, start.index + 400)).prefix(80).split(whereSeparator: \.isWhitespace)
                .joined(separator: " ")
        }

        /// Whether it begins with a text in quotes that isn't closed on its line.
        var isOpenText: Bool {
            let line = start.text(in: start.index..<min(end, start.index + 400)).prefix { !$0.isNewline }
            guard let quote = line.first, "\"'".contains(quote) else { return false }
            return !line.dropFirst().contains(quote)
        }
    }

    let kind: Kind
    let position: SourcePosition
    /// The bytes of the literal.
    let range: Range<Int>

    /// The expressions in this literal.
    var expressions: [Expression] {
        switch kind {
        case .object(let members): members.flatMap(\.value.expressions)
        case .list(let elements, _): elements.flatMap(\.expressions)
        case .expression(let expression): [expression]
        case .text, .word: []
        }
    }

    var members: [Member]? { if case .object(let members) = kind { members } else { nil } }
    var text: String? { if case .text(let text) = kind { text } else { nil } }

    var word: String? { if case .word(let word) = kind { word } else { nil } }
    /// The text in brackets, if nothing else is in them.
    var onlyText: String? { if case .list(let list, _) = kind, list.count == 1 { list[0].text } else { nil } }

    /// The value of a Boolean in any of the languages.
    var bool: Bool? {
        guard case .word(let word) = kind else { return nil }
        return ["true", "YES", "True"].contains(word) ? true : ["false", "NO", "False"].contains(word) ? false : nil
    }
}

extension SourceLiteral {
    /// Creates a literal of a value in YAML.
    init(_ node: YAMLNode) {
        position = node.position
        range = node.range
        switch node.kind {
        case .null: kind = .word("null")
        case .scalar(let text, let isQuoted):
            kind = !isQuoted && ["true", "false", "null", "~"].contains(text) ? .word(text) : .text(text)
        case .block(let text): kind = .text(text)
        case .sequence(let elements): kind = .list(elements.map(SourceLiteral.init), inside: node.range)
        case .mapping(let members):
            kind = .object(
                members.map {
                    Member(
                        key: $0.key, isComputed: false, keyRange: $0.keyRange, position: $0.position,
                        value: SourceLiteral($0.value))
                })
        }
    }
}
