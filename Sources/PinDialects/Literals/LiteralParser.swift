import CertificatePinning
import PinctlBasics

/// A parser of the literals that JSON, JavaScript, TypeScript, Dart, Swift and Objective-C have in common.
///
/// Anything else becomes an expression, which is skipped up to the next comma or bracket.
struct LiteralParser {
    private(set) var cursor: TextCursor
    /// The remaining number of words and signs to skip in expressions. A text in which nothing is a literal is tried
    /// again at each bracket.
    var budget: Int

    private static let deepestNesting = 64

    /// Whether a comment can contain another one.
    private let nestsComments: Bool

    init(_ cursor: TextCursor, budget: Int, nestsComments: Bool) {
        self.nestsComments = nestsComments
        self.cursor = cursor
        self.budget = budget
    }

    private static func opens(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "{") || byte == UInt8(ascii: "[") || byte == UInt8(ascii: "(")
    }

    private static func closes(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: "}") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: ")")
    }

    // MARK: Blanks

    /// Skips white space, comments, and lines of a preprocessor.
    mutating func skipBlanks() {
        var startsLine = cursor.index == 0
        while true {
            if cursor.takeSpace() { startsLine = true }
            guard cursor.byte == UInt8(ascii: "/") || startsLine else { return }
            if cursor.stands("//") || startsLine && cursor.byte == UInt8(ascii: "#") {
                _ = cursor.take { !$0.isLineEnd }
            } else if cursor.take("/*") {
                _ = cursor.skipComment(nests: nestsComments)
            } else {
                return
            }
        }
    }

    /// Returns the texts of all comments, without the signs that start and end them.
    static func comments(in bytes: [UInt8]) -> [String] {
        var parser = LiteralParser(TextCursor(bytes), budget: 16 * bytes.count, nestsComments: false)
        var comments: [String] = []
        while let byte = parser.cursor.byte {
            let start = parser.cursor.index
            if parser.cursor.take("//") {
                _ = parser.cursor.take { !$0.isLineEnd }
                comments.append(String(parser.cursor.text(from: start).dropFirst(2)))
            } else if parser.cursor.take("/*") {
                _ = parser.cursor.skipComment(nests: false)
                comments.append(String(parser.cursor.text(from: start).dropFirst(2).dropLast(2)))
            } else {
                var copy = parser
                if byte.isQuote, copy.string() != nil { parser = copy } else { parser.step() }
            }
        }
        return comments
    }

    /// Consumes a sign after white space, if it is next.
    mutating func take(_ sign: Unicode.Scalar) -> Bool {
        skipBlanks()
        guard cursor.byte == UInt8(ascii: sign) else { return false }
        cursor.step()
        return true
    }

    mutating func step() { cursor.step() }

    /// Skips bytes while they satisfy the predicate.
    mutating func skip(while isSkipped: (UInt8) -> Bool) { _ = cursor.take(while: isSkipped) }

    // MARK: Values

    /// The part of an expression that is skipped behind an equals sign. In a text that isn't a program, such an
    /// expression can have no end.
    static let longestAssignment = 4_096

    /// Parses a value with everything up to the next comma, closing bracket or statement, or a part of it.
    mutating func value(depth: Int = 0, within length: Int = .max) -> SourceLiteral {
        skipBlanks()
        let start = cursor
        let kind = primary(depth: depth)
        let end = cursor.index
        skipSuffix()
        guard let kind, endsValue() else {
            cursor = start
            skipExpression(until: length == .max ? .max : start.index + length)
            let expression = SourceLiteral.Expression(start: start, end: cursor.index)
            return SourceLiteral(
                kind: .expression(expression), position: start.position, range: start.index..<cursor.index)
        }
        return SourceLiteral(kind: kind, position: start.position, range: start.index..<end)
    }

    private mutating func primary(depth: Int) -> SourceLiteral.Kind? {
        guard let byte = cursor.byte else { return nil }
        // Objective-C: @{}, @[], @"" and @YES.
        if byte == UInt8(ascii: "@") { cursor.step() }
        switch cursor.byte {
        case UInt8(ascii: "{"), UInt8(ascii: "["): return container(depth: depth)
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"): return string()
        case UInt8(ascii: "<"):
            // The type of a list's elements in Dart.
            skipTypeArguments()
            return cursor.byte == UInt8(ascii: "[") || cursor.byte == UInt8(ascii: "{") ? container(depth: depth) : nil
        case let byte? where byte.isWordByte || "-.$".utf8.contains(byte): return named(depth: depth)
        default: return nil
        }
    }

    /// Functions that return their argument, or a collection with its elements.
    private static let transparent: Set = [
        "Object.freeze", "JSON.stringify", "Set", "Array.from", "jsonEncode", "json.encode", "Object.seal",
    ]

    private mutating func named(depth: Int) -> SourceLiteral.Kind? {
        let word = name()
        // `new Set([…])`, and Dart's `const [ … ]`.
        if ["new", "const", "await"].contains(word) {
            skipBlanks()
            return depth < Self.deepestNesting ? primary(depth: depth + 1) : nil
        }
        skipTypeArguments()
        guard cursor.byte == UInt8(ascii: "(") else { return .word(word) }
        // A call with named arguments, such as `Pins(host: "…", hashes: […])`.
        guard Self.transparent.contains(word) else { return container(depth: depth) }
        cursor.step()
        let argument = value(depth: depth + 1)
        while take(",") { _ = value(depth: depth + 1) }
        return take(")") ? argument.kind : nil
    }

    /// Skips `<String>` before a bracket.
    private mutating func skipTypeArguments() {
        var copy = self
        guard copy.take("<") else { return }
        _ = copy.cursor.take { $0 != UInt8(ascii: ">") && !$0.isLineEnd }
        while copy.take(">") {}
        guard let byte = copy.cursor.byte, Self.opens(byte) else { return }
        self = copy
    }

    /// Parses a name with dots, or a number.
    mutating func name() -> String {
        let sign = cursor.byte == UInt8(ascii: "-") ? "-" : ""
        if !sign.isEmpty { cursor.step() }
        return sign
            + String(
                decoding: cursor.take { $0.isWordByte || $0 == UInt8(ascii: ".") || $0 == UInt8(ascii: "$") },
                as: UTF8.self)
    }

    /// Skips what may follow a literal without a change of its value: `as const`, `satisfies Pins`.
    private mutating func skipSuffix() {
        var copy = self
        copy.skipBlanks()
        guard let byte = copy.cursor.byte, byte.isWordByte, ["as", "satisfies"].contains(copy.name()) else { return }
        self = copy
        _ = cursor.take { !$0.isLineEnd && !",;)}".utf8.contains($0) }
    }

    /// Whether nothing more belongs to a value: a comma, a bracket, a semicolon, or another statement is next.
    private mutating func endsValue() -> Bool {
        let line = cursor.position.line
        var copy = self
        copy.skipBlanks()
        guard let byte = copy.cursor.byte else { return true }
        if ",;)]}".utf8.contains(byte) { return true }
        return copy.cursor.position.line > line && !".?+([".utf8.contains(byte)
    }

    /// Whether what was read is set or changed: `= value`, `.push(…)`, `.length = 0`.
    func changesValue() -> Bool {
        var copy = self
        copy.skipBlanks()
        if copy.cursor.byte == UInt8(ascii: "=") {
            copy.step()
            return copy.cursor.byte.map { !"=>".utf8.contains($0) } ?? false
        }
        guard copy.cursor.byte == UInt8(ascii: ".") else { return false }
        copy.step()
        return Self.changes.contains(copy.name())
    }

    /// Whether a function that doesn't only read follows a literal, so that the program uses something else:
    /// `{ … }.filter(…)`, or in Dart `{ … }..remove(…)`.
    func isDerived() -> Bool {
        var copy = self
        copy.skipBlanks()
        if copy.cursor.byte == UInt8(ascii: "?") { copy.step() }
        guard copy.cursor.byte == UInt8(ascii: ".") else { return false }
        copy.step()
        let name = copy.cursor.byte == UInt8(ascii: ".") ? "" : String(copy.name().prefix { $0 != "." })
        return !Self.readers.contains(name)
    }

    /// Functions and properties of a collection that only read it.
    private static let readers: Set = [
        "includes", "indexOf", "contains", "containsKey", "containsValue", "forEach", "length", "count", "has", "get",
        "keys", "values", "entries", "some", "every", "find", "any", "isEmpty", "isNotEmpty", "join",
    ]

    /// Functions and properties that change a collection.
    static let changes: Set = [
        "push", "unshift", "splice", "pop", "shift", "length", "fill", "add", "addAll", "append", "insert", "remove",
        "removeAll", "clear", "merge", "update", "updateValue", "putAll", "putIfAbsent", "addEntries", "removeValue",
        "removeWhere",
    ]

    /// Skips an expression, with its brackets and strings, up to an offset.
    private mutating func skipExpression(until end: Int) {
        var depth = 0
        while budget > 0, cursor.index < end {
            skipBlanks()
            budget -= 1
            guard let byte = cursor.byte else { return }
            if Self.opens(byte) {
                depth += 1
            } else if Self.closes(byte) {
                guard depth > 0 else { return }
                depth -= 1
            } else if depth == 0, byte == UInt8(ascii: ",") || byte == UInt8(ascii: ";") {
                return
            }
            if byte.isQuote {
                var copy = self
                if copy.string() != nil {
                    self = copy
                    continue
                }
            }
            cursor.step()
            if byte.isWordByte { _ = cursor.take(while: \.isWordByte) }
        }
    }
}

// MARK: - Containers

extension LiteralParser {
    /// Parses an object or a list at its opening bracket. Returns `nil`, with the cursor behind the bracket, for what
    /// isn't one, such as a block of statements.
    mutating func container(depth: Int) -> SourceLiteral.Kind? {
        guard let opener = cursor.byte else { return nil }
        cursor.step()
        let start = cursor.index
        guard depth < Self.deepestNesting, budget > 0 else { return nil }
        budget -= 1
        let closer: Unicode.Scalar =
            opener == UInt8(ascii: "{") ? "}" : opener == UInt8(ascii: "[") ? "]" : ")"
        if take(closer) { return closer == "}" ? .object([]) : closer == "]" ? list([], from: start) : nil }
        // Swift's empty dictionary.
        if opener == UInt8(ascii: "["), take(":") { return take("]") ? .object([]) : nil }
        var copy = self
        if let members = copy.members(until: closer, inBrackets: opener == UInt8(ascii: "["), depth: depth) {
            self = copy
            return .object(members)
        }
        budget = copy.budget
        guard opener == UInt8(ascii: "[") else { return nil }
        var elements: [SourceLiteral] = []
        repeat {
            if take("]") { return list(elements, from: start) }
            // A spread stays an expression unless it is a constant.
            if cursor.stands("...") { for _ in 0..<3 { cursor.step() } }
            elements.append(value(depth: depth + 1))
        } while take(",")
        return take("]") ? list(elements, from: start) : nil
    }

    /// Returns a list whose closing bracket was read last.
    private func list(_ elements: [SourceLiteral], from start: Int) -> SourceLiteral.Kind {
        .list(elements, inside: start..<cursor.index - 1)
    }

    private mutating func members(
        until closer: Unicode.Scalar, inBrackets: Bool, depth: Int
    ) -> [SourceLiteral.Member]? {
        var members: [SourceLiteral.Member] = []
        repeat {
            if take(closer) { return members }
            skipBlanks()
            let (position, start) = (cursor.position, cursor.index)
            if !inBrackets, cursor.stands("...") {
                for _ in 0..<3 { cursor.step() }
                let value = value(depth: depth + 1)
                members.append(
                    .init(
                        key: "...", isComputed: true, keyRange: start..<start + 3, position: position, value: value))
                continue
            }
            guard let (key, isComputed) = key(inBrackets: inBrackets, depth: depth) else { return nil }
            let range = start..<cursor.index
            if take(":") {
                let value = value(depth: depth + 1)
                members.append(
                    .init(key: key, isComputed: isComputed, keyRange: range, position: position, value: value))
            } else if !inBrackets, closer == "}", !isComputed, cursor.byte.map(",}".utf8.contains) ?? false,
                !members.isEmpty
            {
                // `{ pins }` is short for `{ pins: pins }`.
                members.append(
                    .init(
                        key: key, isComputed: false, keyRange: range, position: position,
                        value: SourceLiteral(
                            kind: .word(key), position: position, range: start..<start + key.utf8.count)))
            } else {
                return nil
            }
        } while take(",")
        return take(closer) ? members : nil
    }

    /// Parses a key: a string, a name, or an expression in brackets. In a dictionary in brackets, a name is a constant.
    private mutating func key(inBrackets: Bool, depth: Int) -> (String, Bool)? {
        if cursor.byte == UInt8(ascii: "@") { cursor.step() }
        guard let byte = cursor.byte else { return nil }
        if byte.isQuote {
            guard case .text(let text)? = string() else { return nil }
            return (text, false)
        }
        if byte == UInt8(ascii: "["), !inBrackets {
            cursor.step()
            let (start, name) = (cursor.index, value(depth: depth + 1))
            let text = cursor.text(from: start)
            guard take("]") else { return nil }
            if case .text(let text) = name.kind { return (text, false) }
            return (text, true)
        }
        guard byte.isWordByte || byte == UInt8(ascii: "$") || byte == UInt8(ascii: ".") else { return nil }
        let name = name()
        // A name with a dot is a constant of another object, as in Dart.
        return (name, inBrackets || name.contains("."))
    }
}

// MARK: - Strings

extension LiteralParser {
    /// Parses a string, and those that a plus sign or nothing but white space joins to it. Returns `nil` for one that
    /// contains an expression, or has no end.
    mutating func string() -> SourceLiteral.Kind? {
        guard var text = stringPart() else { return nil }
        while true {
            var copy = self
            let isJoined = copy.take("+")
            copy.skipBlanks()
            if copy.cursor.byte == UInt8(ascii: "@") { copy.cursor.step() }
            guard let byte = copy.cursor.byte, byte.isQuote else {
                return isJoined ? nil : .text(text)
            }
            guard let next = copy.stringPart() else { return nil }
            text += next
            self = copy
        }
    }

    private mutating func stringPart() -> String? {
        guard let quote = cursor.byte else { return nil }
        let isLong = quote == UInt8(ascii: "\"") && cursor.stands("\"\"\"")
        for _ in 0..<(isLong ? 3 : 1) { cursor.step() }
        var text: [UInt8] = []
        var isComputed = false
        while let byte = cursor.byte {
            if isLong ? cursor.stands("\"\"\"") : byte == quote {
                for _ in 0..<(isLong ? 3 : 1) { cursor.step() }
                return isComputed ? nil : String(decoding: text, as: UTF8.self)
            }
            if byte.isLineEnd, !isLong, quote != UInt8(ascii: "`") { return nil }
            cursor.step()
            if byte == UInt8(ascii: "$"), cursor.byte == UInt8(ascii: "{") { isComputed = true }
            guard byte == UInt8(ascii: "\\"), let escaped = cursor.byte else {
                text.append(byte)
                continue
            }
            cursor.step()
            switch escaped {
            case UInt8(ascii: "n"): text.append(0x0A)
            case UInt8(ascii: "t"): text.append(0x09)
            case UInt8(ascii: "r"): text.append(0x0D)
            case UInt8(ascii: "u"), UInt8(ascii: "x"):
                let digits = cursor.take { $0 == UInt8(ascii: "{") }.isEmpty ? escaped == UInt8(ascii: "u") ? 4 : 2 : 6
                var value: UInt32 = 0
                for _ in 0..<digits {
                    guard let digit = cursor.byte.flatMap(Hexadecimal.value) else { break }
                    value = value << 4 | UInt32(digit)
                    cursor.step()
                }
                if cursor.byte == UInt8(ascii: "}"), digits == 6 { cursor.step() }
                text += String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8
            case UInt8(ascii: "("): isComputed = true
            case UInt8(ascii: "\n"): break
            default: text.append(escaped)
            }
        }
        return nil
    }
}
