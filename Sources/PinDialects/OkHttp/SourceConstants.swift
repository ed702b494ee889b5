import CertificatePinning
import PinctlBasics

/// The named strings of a program: `const val HOST = "…"`, `static final String HOST = "…";`.
///
/// A name that may mean anything else somewhere in the file has no value here: a parameter, a variable that is set
/// twice, or a computed value.
struct SourceConstants {
    /// The expression after each name's equals sign, or `nil` for a name with several meanings.
    private var expressions: [String: [SourcePart]?] = [:]
    /// The classes and objects of this file, whose names may qualify a constant.
    private var types: Set<String> = ["this"]
    private var values: [String: String] = [:]
    private var isBeingResolved: Set<String> = []

    /// The maximum length of a resolved text in bytes.
    private static let longestText = OkHttpPin.longestText
    /// The maximum depth of constants that refer to other constants.
    private static let deepestNesting = 64

    init(_ lexer: SourceLexer) {
        var lexer = lexer
        var previous: SourceToken?
        while let token = lexer.next() {
            if let word = token.word { take(word, behind: previous?.word, lexer) }
            previous = token
        }
    }

    private mutating func take(_ word: String, behind previous: String?, _ lexer: SourceLexer) {
        if let previous, ["class", "object", "interface"].contains(previous) { types.insert(word) }
        var lexer = lexer
        guard var token = lexer.next() else { return }
        var isTyped = previous == "String"
        if token.isSign(":") {
            guard lexer.next()?.word == "String", let next = lexer.next() else { return }
            token = next
            isTyped = true
        }
        if token.isSign("=") {
            if lexer.peek()?.isSign("=") != true { define(word, expression(&lexer)) }
        } else if token.isSign("-"), lexer.peek()?.isSign(">") == true {
            define(word, nil)
        } else if token.isSign("+"), lexer.peek()?.isSign("=") == true {
            define(word, nil)
        } else if token.word == "in" || isTyped && (token.isSign(",") || token.isSign(")")) {
            define(word, nil)
        }
    }

    private mutating func define(_ name: String, _ expression: [SourcePart]?) {
        let isSame = expressions[name].map { $0 == expression } ?? true
        expressions.updateValue(isSame ? expression : nil, forKey: name)
    }

    /// Parses strings and names joined by plus signs up to the end of the statement. Returns `nil` for anything else.
    private func expression(_ lexer: inout SourceLexer) -> [SourcePart]? {
        guard let parts = SourceExpression(&lexer)?.parts else { return nil }
        guard let next = lexer.peek() else { return parts }
        if case .sign(let sign) = next.kind {
            return ";),}@".utf8.contains(sign) || next.startsLine && !".?".utf8.contains(sign) ? parts : nil
        }
        return next.startsLine ? parts : nil
    }

    /// Returns the text that the parts add up to, or the part that has no value.
    mutating func text(_ parts: [SourcePart]) -> Result<String, UnresolvedName> {
        var text = ""
        for part in parts {
            switch part {
            case .literal(let literal): text += literal
            case .computed(let expression): return .failure(UnresolvedName(name: expression, isAmbiguous: false))
            case .name(let name):
                switch value(of: name) {
                case .success(let value): text += value
                case .failure(let failure): return .failure(failure)
                }
            }
            guard text.utf8.count <= Self.longestText else {
                return .failure(UnresolvedName(name: String(text.prefix(80)), isAmbiguous: false))
            }
        }
        return .success(text)
    }

    private mutating func value(of name: String) -> Result<String, UnresolvedName> {
        if let value = values[name] { return .success(value) }
        let components = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let isOfThisFile = components.count < 2 || types.contains(components[components.count - 2])
        guard isOfThisFile, let last = components.last, let expression = expressions[last] else {
            return .failure(UnresolvedName(name: name, isAmbiguous: false))
        }
        guard let expression, isBeingResolved.count < Self.deepestNesting, isBeingResolved.insert(last).inserted else {
            return .failure(UnresolvedName(name: name, isAmbiguous: true))
        }
        defer { isBeingResolved.remove(last) }
        let result = text(expression)
        switch result {
        case .success(let value): values[name] = value
        // The name may be looked up again, and has no value then either.
        case .failure: expressions.updateValue(nil, forKey: last)
        }
        return result
    }
}

/// A name or expression whose value can't be determined from the text of the program.
struct UnresolvedName: Error {
    let name: String
    /// Whether the name is set, but not to a single string.
    let isAmbiguous: Bool
}

/// An expression of strings and names joined by plus signs.
struct SourceExpression {
    let parts: [SourcePart]
    let position: SourcePosition

    /// Parses an expression without checking what follows it. Returns `nil` if there is anything else.
    init?(_ lexer: inout SourceLexer) {
        guard let start = lexer.peek()?.position else { return nil }
        position = start
        var parts: [SourcePart] = []
        repeat {
            guard let token = lexer.next() else { return nil }
            switch token.kind {
            case .string(let string): parts += string
            case .word(var name):
                while lexer.peek()?.isSign(".") == true {
                    var copy = lexer
                    _ = copy.next()
                    guard let word = copy.next()?.word else { break }
                    name += "." + word
                    lexer = copy
                }
                parts.append(.name(name))
            case .sign: return nil
            }
        } while Self.takePlus(&lexer)
        self.parts = parts
    }

    private static func takePlus(_ lexer: inout SourceLexer) -> Bool {
        var copy = lexer
        guard copy.next()?.isSign("+") == true, copy.peek()?.isSign("=") != true else { return false }
        lexer = copy
        return true
    }
}
