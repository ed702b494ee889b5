import CertificatePinning
import PinctlBasics

/// A word, string or sign in a Kotlin or Java program.
struct SourceToken {
    enum Kind: Equatable {
        /// A name, a keyword or a number.
        case word(String)
        case string([SourcePart])
        case sign(UInt8)
    }

    let kind: Kind
    let position: SourcePosition
    /// Whether the token is the first on its line.
    let startsLine: Bool
    /// The bytes of the token.
    let range: Range<Int>
    /// The comment before the token that begins on the line of the token before it.
    let sideComment: Range<Int>?

    func isSign(_ sign: Unicode.Scalar) -> Bool { kind == .sign(UInt8(ascii: sign)) }

    var word: String? { if case .word(let word) = kind { word } else { nil } }
}

/// A part of a text that a program puts together.
enum SourcePart: Equatable, Sendable {
    case literal(String)
    /// A constant, such as `HOST` or `Hosts.API`.
    case name(String)
    /// An expression whose value is known only when the program runs.
    case computed(String)
}

/// A lexer for the tokens that Kotlin and Java have in common.
///
/// Comments are skipped. Text that isn't a program is split into tokens too.
struct SourceLexer {
    private var cursor: TextCursor
    private var startsLine = true
    /// The comments between the last token and the one before it, or the end of the text.
    private(set) var comments: [Range<Int>] = []
    private var sideComment: Range<Int>?
    /// The positions of strings without an end.
    private(set) var openStrings: [SourcePosition] = []

    /// Whether a comment can contain another one, as in Kotlin, but not in Java.
    private let nestsComments: Bool
    /// Whether strings can be in single quotation marks, as in Gradle's Groovy.
    private let isGroovy: Bool

    init(_ cursor: TextCursor, path: String) {
        self.cursor = cursor
        // mutant okhttp-nested: true by OkHttpTests/comments
        nestsComments = !path.lowercased().hasSuffix(".java") && !path.hasSuffix(".gradle")
        isGroovy = path.hasSuffix(".gradle")
    }

    mutating func next() -> SourceToken? {
        skipBlanks()
        guard let byte = cursor.byte else { return nil }
        let position = cursor.position
        let start = cursor.index
        let kind: SourceToken.Kind
        if byte == UInt8(ascii: "\"") || isGroovy && byte == UInt8(ascii: "'") {
            kind = .string(string(byte))
        } else if byte.isWordByte {
            kind = .word(String(decoding: cursor.take(while: \.isWordByte), as: UTF8.self))
        } else {
            if byte == UInt8(ascii: "'") { skipCharacter() } else { cursor.step() }
            kind = .sign(byte)
        }
        defer { startsLine = false }
        return SourceToken(
            kind: kind, position: position, startsLine: startsLine, range: start..<cursor.index,
            sideComment: sideComment)
    }

    /// Returns the texts of all comments in a program.
    static func comments(in bytes: [UInt8]) -> [String] {
        var lexer = SourceLexer(TextCursor(bytes), path: "")
        var texts: [String] = []
        var isAtEnd = false
        while !isAtEnd {
            isAtEnd = lexer.next() == nil
            texts += lexer.comments.map { lexer.text(ofComment: $0) }
        }
        return texts
    }

    /// Returns a part of the program.
    func text(in range: Range<Int>) -> String { cursor.text(in: range) }

    /// Returns the text of a comment without the signs that start and end it.
    func text(ofComment range: Range<Int>) -> String {
        let text = cursor.text(in: range)
        return text.hasPrefix("/*") ? String(text.dropFirst(2).dropLast(2)) : String(text.dropFirst(2))
    }

    /// Returns the next token without consuming it.
    func peek() -> SourceToken? {
        var copy = self
        return copy.next()
    }

    /// Consumes the members behind a word, and returns all names: `Pins`, `A` for `Pins.A`.
    mutating func takePath(from word: String) -> [String] {
        var path = [word]
        while peek()?.isSign(".") == true {
            var copy = self
            _ = copy.next()
            guard let member = copy.next()?.word else { break }
            path.append(member)
            self = copy
        }
        return path
    }

    /// Consumes the path behind `import` or `package` on its line, without a star or another name at its end.
    mutating func takeImport() -> [String]? {
        if peek()?.word == "static" { _ = next() }
        guard let first = peek(), !first.startsLine, let word = first.word else { return nil }
        _ = next()
        return takePath(from: word)
    }

    private mutating func skipBlanks() {
        (comments, sideComment) = ([], nil)
        while true {
            if cursor.takeSpace() { startsLine = true }
            guard cursor.stands("//") || cursor.stands("/*") else { return }
            let (start, isAtSide) = (cursor.index, !startsLine)
            if cursor.take("/*") {
                if cursor.skipComment(nests: nestsComments) { startsLine = true }
            } else {
                _ = cursor.take { !$0.isLineEnd }
            }
            comments.append(start..<cursor.index)
            if isAtSide { sideComment = comments.last }
        }
    }

    /// Skips a character literal, so that `'"'` doesn't start a string. A lone apostrophe is skipped too.
    private mutating func skipCharacter() {
        cursor.step()
        if cursor.byte == UInt8(ascii: "\\") { cursor.step() }
        guard let byte = cursor.byte, !byte.isLineEnd, cursor.peek() == UInt8(ascii: "'") else { return }
        cursor.step()
        cursor.step()
    }
}

// MARK: - Strings

extension SourceLexer {
    private mutating func string(_ quote: UInt8) -> [SourcePart] {
        let start = cursor.position
        let isRaw = cursor.take("\"\"\"")
        if !isRaw { cursor.step() }
        var parts: [SourcePart] = []
        var text: [UInt8] = []
        func flush() {
            if !text.isEmpty { parts.append(.literal(String(decoding: text, as: UTF8.self))) }
            text = []
        }
        while let byte = cursor.byte, isRaw || !byte.isLineEnd {
            if isRaw ? cursor.stands("\"\"\"") : byte == quote {
                for _ in 0..<(isRaw ? 3 : 1) { cursor.step() }
                flush()
                return parts
            }
            if byte == UInt8(ascii: "$"), quote != UInt8(ascii: "'"), let part = template() {
                flush()
                parts.append(part)
            } else if byte == UInt8(ascii: "\\"), !isRaw {
                cursor.step()
                escape(into: &text)
            } else {
                text.append(byte)
                cursor.step()
            }
        }
        openStrings.append(start)
        return [.computed("an unterminated string")]
    }

    /// Parses Kotlin's `$name` or `${expression}`. Returns `nil` for a lone dollar sign.
    private mutating func template() -> SourcePart? {
        guard let next = cursor.peek() else { return nil }
        let start = cursor.index
        if next == UInt8(ascii: "{") {
            cursor.step()
            cursor.step()
            let isSimple: (UInt8) -> Bool = { $0.isWordByte || $0 == UInt8(ascii: ".") }
            let name = String(decoding: cursor.take(while: isSimple), as: UTF8.self)
            if cursor.byte == UInt8(ascii: "}") {
                cursor.step()
                return .name(name)
            }
            _ = cursor.take { $0 != UInt8(ascii: "}") && !$0.isLineEnd }
            if cursor.byte == UInt8(ascii: "}") { cursor.step() }
            return .computed(cursor.text(from: start))
        }
        guard next.isWordByte, !next.isDigit else { return nil }
        cursor.step()
        return .name(String(decoding: cursor.take(while: \.isWordByte), as: UTF8.self))
    }

    /// Parses the escape sequence after a backslash and appends its character.
    private mutating func escape(into text: inout [UInt8]) {
        guard let byte = cursor.byte, !byte.isLineEnd else { return }
        cursor.step()
        switch byte {
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "s"): text.append(0x20)
        case UInt8(ascii: "u"):
            _ = cursor.take { $0 == UInt8(ascii: "u") }
            append(number(radix: 16, digits: 4), to: &text)
        case UInt8(ascii: "0")...UInt8(ascii: "7"):
            append(number(radix: 8, digits: 2, start: UInt32(byte - UInt8(ascii: "0"))), to: &text)
        default: text.append(byte)
        }
    }

    private mutating func number(radix: UInt32, digits: Int, start: UInt32 = 0) -> UInt32 {
        var number = start
        for _ in 0..<digits {
            guard let value = cursor.byte.flatMap(Hexadecimal.value), value < radix else { break }
            number = number * radix + UInt32(value)
            cursor.step()
        }
        return number
    }

    private func append(_ value: UInt32, to text: inout [UInt8]) {
        text += String(Unicode.Scalar(value) ?? "\u{FFFD}").utf8
    }
}
