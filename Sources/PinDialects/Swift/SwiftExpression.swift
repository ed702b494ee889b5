import CertificatePinning
import PinctlBasics

/// An expression in the Swift source that ``SwiftWriter`` writes, with its position.
struct SwiftExpression {
    indirect enum Kind {
        case string(String)
        case number(Int)
        case bool(Bool)
        /// `.name`
        case member(String)
        case array([SwiftExpression])
        /// `Name(label: value, …)`, `Name.member()` or `.name(…)`. A value without a label has an empty one.
        case call(String, [(label: String, value: SwiftExpression)])
    }

    let kind: Kind
    let position: SourcePosition
}

/// A reader of the tokens and expressions that ``SwiftWriter`` writes. Any other Swift is an error.
struct SwiftTokens {
    private var cursor: TextCursor
    private let path: String

    /// The maximum nesting depth of expressions. The writer needs six levels.
    private static let maximumDepth = 16

    init(_ bytes: [UInt8], path: String) throws(PolicyFileError) {
        cursor = try TextCursor(checking: bytes, path: path)
        self.path = path
    }

    /// Returns the error that the text isn't as it was written.
    func unexpected(at position: SourcePosition? = nil) -> PolicyFileError {
        PolicyFileError(problems: [
            PolicyProblem(
                location: PolicyLocation(path: path, position ?? cursor.position),
                message: "this isn't Swift as pinctl export writes it: read the policy that it was generated from, or "
                    + "export it again")
        ])
    }

    var isAtEnd: Bool { cursor.byte == nil }

    var position: SourcePosition { cursor.position }

    /// Skips white space and comments to the end of a line.
    mutating func skipBlanks() {
        while let byte = cursor.byte {
            if byte.isBlank || byte.isLineEnd {
                cursor.step()
            } else if cursor.stands("//") {
                _ = cursor.take { !$0.isLineEnd }
            } else {
                return
            }
        }
    }

    /// Consumes a sign if it comes next.
    mutating func take(_ sign: StaticString) -> Bool {
        skipBlanks()
        return cursor.take(sign)
    }

    mutating func expect(_ sign: StaticString) throws(PolicyFileError) {
        guard take(sign) else { throw unexpected() }
    }

    /// Consumes these words, with white space between them.
    mutating func expect(words: String) throws(PolicyFileError) {
        for expected in words.split(separator: " ") {
            skipBlanks()
            let start = cursor.position
            guard word() == expected else { throw unexpected(at: start) }
        }
    }

    private mutating func word() -> String { String(decoding: cursor.take(while: \.isWordByte), as: UTF8.self) }

    /// Reads a word, which may be empty.
    mutating func nextWord() -> String {
        skipBlanks()
        return word()
    }

    mutating func expression(depth: Int = 0) throws(PolicyFileError) -> SwiftExpression {
        skipBlanks()
        let position = cursor.position
        guard depth < Self.maximumDepth, let byte = cursor.byte else { throw unexpected() }
        let kind: SwiftExpression.Kind
        if byte == UInt8(ascii: "\"") {
            kind = .string(try string())
        } else if byte.isDigit {
            guard let number = Int(word()) else { throw unexpected(at: position) }
            kind = .number(number)
        } else if cursor.take(".") {
            let name = word()
            kind = cursor.take("(") ? .call("." + name, try list(until: ")", depth)) : .member(name)
        } else if cursor.take("[") {
            kind = .array(try list(until: "]", depth).map(\.value))
        } else {
            kind = try named(depth, at: position)
        }
        return SwiftExpression(kind: kind, position: position)
    }

    /// Reads `true`, `false`, or the call of a type or of a type's function.
    private mutating func named(
        _ depth: Int, at position: SourcePosition
    ) throws(PolicyFileError) -> SwiftExpression.Kind {
        var name = word()
        if name == "true" || name == "false" { return .bool(name == "true") }
        if cursor.take(".") { name += "." + word() }
        guard cursor.take("(") else { throw unexpected(at: position) }
        return .call(name, try list(until: ")", depth))
    }

    /// Reads the elements of a list, each with a label if it has one. The last may be followed by a comma.
    mutating func list(
        until end: StaticString, _ depth: Int
    ) throws(PolicyFileError) -> [(label: String, value: SwiftExpression)] {
        var list: [(label: String, value: SwiftExpression)] = []
        while !take(end) {
            if !list.isEmpty {
                try expect(",")
                if take(end) { break }
            }
            list.append((label(), try expression(depth: depth + 1)))
        }
        return list
    }

    /// Consumes a label and its colon, if they come next.
    private mutating func label() -> String {
        skipBlanks()
        var copy = self
        let name = copy.word()
        guard !name.isEmpty, copy.cursor.take(":") else { return "" }
        self = copy
        return name
    }

    /// Reads a string literal with the escape sequences that the writer needs.
    private mutating func string() throws(PolicyFileError) -> String {
        let start = cursor.position
        cursor.step()
        var text: [UInt8] = []
        while let byte = cursor.byte, !byte.isLineEnd {
            cursor.step()
            switch byte {
            case UInt8(ascii: "\""):
                // Three quotes start another kind of literal.
                guard !text.isEmpty || cursor.byte != UInt8(ascii: "\"") else { throw unexpected(at: start) }
                return String(decoding: text, as: UTF8.self)
            case UInt8(ascii: "\\"): text += try escape().utf8
            default: text.append(byte)
            }
        }
        throw unexpected(at: start)
    }

    private mutating func escape() throws(PolicyFileError) -> String {
        let start = cursor.position
        if cursor.take("\\") { return "\\" }
        if cursor.take("\"") { return "\"" }
        guard cursor.take("u{") else { throw unexpected(at: start) }
        let digits = String(decoding: cursor.take { Hexadecimal.value(of: $0) != nil }, as: UTF8.self)
        guard cursor.take("}"), let code = UInt32(digits, radix: 16), let scalar = Unicode.Scalar(code) else {
            throw unexpected(at: start)
        }
        return String(scalar)
    }
}
