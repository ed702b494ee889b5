import PinctlBasics

/// The elements of a collection, in which a part of a program is repeated for each.
struct SourceLoop {
    /// The name of an element, or the names of the key and the value of a pair.
    let names: [String]
    let source: SourceValue
    let position: SourcePosition
}

// MARK: - Parsing

extension SourceLoop {
    /// A loop or block that isn't understood, so that the calls in it have no known arguments.
    init(unknownAt position: SourcePosition) {
        (names, source) = ([], .text([.computed("the block around this call")]))
        self.position = position
    }

    /// Parses the header of a loop behind `for`: `(pin in PINS)`, `((host, pins) in MAP)` or `(String pin : PINS)`.
    init?(headerIn lexer: inout SourceLexer) {
        var copy = lexer
        guard let open = copy.next(), open.isSign("(") else { return nil }
        var words: [String] = []
        var (isKotlin, mayBeJava) = (false, false)
        var ends = copy
        for _ in 0..<64 {
            guard let token = copy.next(), !token.isSign(";") else { return nil }
            if token.word == "in" {
                isKotlin = true
                ends = copy
                break
            }
            if let word = token.word, !mayBeJava { words.append(word) }
            if token.isSign(":"), !mayBeJava {
                mayBeJava = true
                ends = copy
            }
            // The end of Java's header.
            if token.isSign(")"), mayBeJava { break }
        }
        guard isKotlin || mayBeJava, let source = SourceValue(&ends), ends.next()?.isSign(")") == true else {
            return nil
        }
        // The type of a variable is before it in Java, and behind a colon in Kotlin.
        let names = isKotlin ? words : words.suffix(1)
        guard (1...2).contains(names.count) else { return nil }
        (self.names, self.source, position) = (names, source, open.position)
        lexer = ends
    }

    /// Parses a collection and the call that repeats a block for its elements, up to the bracket of the block:
    /// `PINS.forEach { … }`, `MAP.forEach { (host, pins) -> … }`, or `PINS.forEach(pin -> …)`.
    init?(callIn lexer: inout SourceLexer) {
        var copy = lexer
        guard let start = copy.peek()?.position, let source = SourceValue.primary(&copy, 0),
            copy.next()?.isSign(".") == true, let word = copy.next()?.word, word == "forEach" || word == "onEach",
            let open = copy.peek(), open.isSign("{") || open.isSign("(")
        else { return nil }
        lexer = copy
        _ = copy.next()
        (self.source, position, names) = (source, start, Self.parameters(copy) ?? ["it"])
    }

    /// Returns the names before the arrow of a lambda, if it has any.
    private static func parameters(_ lexer: SourceLexer) -> [String]? {
        var lexer = lexer
        var names: [String] = []
        var isType = false
        for _ in 0..<32 {
            guard let token = lexer.next() else { return nil }
            if let word = token.word {
                if !isType { names.append(word) }
            } else if token.isSign(":") {
                isType = true
            } else if token.isSign("-"), lexer.peek()?.isSign(">") == true {
                return (1...2).contains(names.count) ? names : nil
            } else if token.isSign(",") {
                isType = false
            } else if !"()<>?".unicodeScalars.contains(where: token.isSign) {
                return nil
            }
        }
        return nil
    }
}
