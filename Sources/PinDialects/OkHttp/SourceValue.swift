import PinctlBasics

/// A value that a Kotlin or Java program contains: a text, a collection, or a pair of values.
indirect enum SourceValue: Equatable, Sendable {
    /// Strings and names joined by plus signs. A name can be that of a collection.
    case text([SourcePart])
    case list([SourceValue])
    /// A key and its value, such as `"api.test" to PINS` or `Map.entry("api.test", PINS)`.
    case pair(SourceValue, SourceValue)
    /// An object with the arguments of its constructor and their labels, such as `Pin("api.test", hash = HASH)`.
    case object(String, [SourceArgument])

    /// The parts of a text.
    var parts: [SourcePart]? { if case .text(let parts) = self { parts } else { nil } }

    /// Whether it is the text of a pin, or has one.
    var holdsPin: Bool {
        switch self {
        case .text(let parts): parts.first?.isPin ?? false
        case .list(let values): values.contains(where: \.holdsPin)
        case .pair(_, let value): value.holdsPin
        case .object: false
        }
    }

    /// Whether it is an object, or has one.
    var holdsObject: Bool {
        switch self {
        case .text: false
        case .list(let values): values.contains(where: \.holdsObject)
        case .pair(let first, let second): first.holdsObject || second.holdsObject
        case .object: true
        }
    }
}

/// An argument of a constructor.
struct SourceArgument: Equatable, Sendable {
    let label: String?
    let value: SourceValue
}

extension SourcePart {
    /// Whether it is a literal with the prefix of a pin.
    var isPin: Bool {
        guard case .literal(let text) = self else { return false }
        return text.hasPrefix("sha256/") || text.hasPrefix("sha1/")
    }
}

/// The elements of a collection, in which a part of a program is repeated for each.
struct SourceLoop {
    /// The name of an element, or the names of the key and the value of a pair.
    let names: [String]
    let source: SourceValue
    let position: SourcePosition
}

// MARK: - Parsing

extension SourceValue {
    private static let deepestNesting = 16
    private static let lists: Set = [
        "listOf", "setOf", "arrayOf", "mutableListOf", "mutableSetOf", "arrayListOf", "hashSetOf", "linkedSetOf",
        "mapOf", "mutableMapOf", "hashMapOf", "linkedMapOf", "Arrays.asList", "List.of", "Set.of", "Map.ofEntries",
        "Collections.singletonList", "Collections.singleton", "ImmutableList.of", "ImmutableSet.of",
    ]
    private static let maps: Set = ["Map.of", "ImmutableMap.of", "Collections.singletonMap"]
    private static let pairs: Set = ["Pair", "Pair.create", "Map.entry"]
    /// Functions and properties of a collection that return its elements.
    fileprivate static let transparent: Set = [
        "toTypedArray", "toList", "toSet", "asList", "toMutableList", "toMutableSet", "asIterable", "entries",
        "entrySet",
    ]
    /// Functions without arguments that return a part of a pair.
    private static let getters: Set = ["getKey", "getValue", "component1", "component2", "getFirst", "getSecond"]
    /// Functions that repeat their block for each element.
    private static let loops: Set = ["forEach", "onEach"]

    /// Whether a function returns a collection or a pair of its arguments.
    static func isCollection(_ function: String) -> Bool {
        lists.contains(function) || maps.contains(function) || pairs.contains(function)
    }

    /// Parses a value without checking what follows it. Returns `nil` for anything else.
    init?(_ lexer: inout SourceLexer, depth: Int = 0) {
        guard depth < Self.deepestNesting, var value = Self.primary(&lexer, depth) else { return nil }
        while true {
            var copy = lexer
            guard let next = copy.next() else { break }
            if next.word == "to", let second = SourceValue(&copy, depth: depth + 1) {
                value = .pair(value, second)
            } else if next.isSign("+"), copy.peek()?.isSign("=") != true,
                let second = Self.primary(&copy, depth + 1)
            {
                value = value.joined(with: second)
            } else {
                break
            }
            lexer = copy
        }
        self = value
    }

    private func joined(with other: SourceValue) -> SourceValue {
        if case .text(let parts) = self, case .text(let others) = other { return .text(parts + others) }
        return .list([self, other])
    }

    /// Parses a value that isn't joined with another one.
    fileprivate static func primary(_ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        guard let token = lexer.peek() else { return nil }
        switch token.kind {
        case .string(let parts):
            _ = lexer.next()
            return .text(parts)
        case .sign(UInt8(ascii: "{")):
            _ = lexer.next()
            return list(&lexer, until: "}", depth)
        case .sign: return nil
        case .word("new"):
            _ = lexer.next()
            return created(&lexer, depth)
        case .word: return named(&lexer, depth)
        }
    }

    /// Parses what is behind `new`: `String[] { … }`, or a collection or pair with its arguments.
    private static func created(_ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        guard let name = path(&lexer) else { return nil }
        skipTypeArguments(&lexer)
        guard let open = lexer.next() else { return nil }
        if open.isSign("[") {
            guard lexer.next()?.isSign("]") == true, lexer.next()?.isSign("{") == true else { return nil }
            return list(&lexer, until: "}", depth)
        }
        guard open.isSign("("), let value = list(&lexer, until: ")", depth) else { return nil }
        if pairs.contains(name) { return value.asPair }
        guard ["ArrayList", "HashSet", "LinkedHashSet", "TreeSet", "LinkedList"].contains(name) else { return nil }
        return transparentSuffix(value, &lexer)
    }

    private static func named(_ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        guard var name = path(&lexer) else { return nil }
        if isCollection(name) {
            skipTypeArguments(&lexer)
            guard lexer.next()?.isSign("(") == true, let value = list(&lexer, until: ")", depth) else { return nil }
            if pairs.contains(name) { return value.asPair }
            return transparentSuffix(maps.contains(name) ? value.asPairs : value, &lexer)
        }
        let type = name.split(separator: ".").last
        if lexer.peek()?.isSign("(") == true, type?.utf8.first.map({ (0x41...0x5A).contains($0) }) ?? false {
            return object(name, &lexer, depth)
        }
        while takeCall(of: &name, &lexer) {
            guard lexer.peek()?.isSign(".") == true else { break }
            var copy = lexer
            _ = copy.next()
            guard let more = path(&copy) else { break }
            name += "." + more
            lexer = copy
        }
        return .text([.name(name)])
    }

    /// Parses the arguments of a constructor.
    private static func object(_ name: String, _ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        _ = lexer.next()
        var arguments: [SourceArgument] = []
        while let token = lexer.peek() {
            if token.isSign(")") {
                _ = lexer.next()
                return .object(name, arguments)
            }
            let end = token.range
            lexer.skipLabel()
            let label = lexer.peek()?.range == end ? nil : token.word
            guard let value = SourceValue(&lexer, depth: depth + 1), let next = lexer.peek() else { return nil }
            arguments.append(SourceArgument(label: label, value: value))
            if next.isSign(",") { _ = lexer.next() } else if !next.isSign(")") { return nil }
        }
        return nil
    }

    /// Parses the brackets of a call that returns the elements of a collection, or a part of a pair. The name of the
    /// first kind is removed, as in `PINS.toTypedArray()`. Returns false if it is another one.
    private static func takeCall(of name: inout String, _ lexer: inout SourceLexer) -> Bool {
        guard let dot = name.lastIndex(of: ".") else { return false }
        let last = String(name[name.index(after: dot)...])
        var copy = lexer
        skipTypeArguments(&copy)
        guard transparent.contains(last) || getters.contains(last) || last == "toArray",
            copy.next()?.isSign("(") == true
        else { return false }
        // `toArray(new String[0])` and `toArray(String[]::new)`.
        while last == "toArray", let token = copy.peek(), !token.isSign(")") {
            guard token.word != nil || token.isSign("[") || token.isSign("]") || token.isSign(":") else { return false }
            _ = copy.next()
        }
        guard copy.next()?.isSign(")") == true else { return false }
        lexer = copy
        if !getters.contains(last) { name = String(name[..<dot]) }
        return true
    }

    /// Skips calls such as `.toTypedArray()` after a collection.
    private static func transparentSuffix(_ value: SourceValue?, _ lexer: inout SourceLexer) -> SourceValue? {
        var copy = lexer
        while copy.next()?.isSign(".") == true, let word = copy.next()?.word, transparent.contains(word),
            copy.next()?.isSign("(") == true, copy.next()?.isSign(")") == true
        {
            lexer = copy
        }
        return value
    }

    /// Parses values up to a closing bracket, whose opening one was read.
    private static func list(
        _ lexer: inout SourceLexer, until closer: Unicode.Scalar, _ depth: Int
    ) -> SourceValue? {
        var values: [SourceValue] = []
        while let token = lexer.peek() {
            if token.isSign(closer) {
                _ = lexer.next()
                return .list(values)
            }
            // A spread collection is one of the values, and its elements are found there.
            if token.isSign("*") { _ = lexer.next() }
            guard let value = SourceValue(&lexer, depth: depth + 1), let end = lexer.peek() else { return nil }
            values.append(value)
            if end.isSign(",") { _ = lexer.next() } else if !end.isSign(closer) { return nil }
        }
        return nil
    }

    /// Parses a name with dots, up to a function that repeats its block.
    private static func path(_ lexer: inout SourceLexer) -> String? {
        guard var name = lexer.next()?.word else { return nil }
        while lexer.peek()?.isSign(".") == true {
            var copy = lexer
            _ = copy.next()
            guard let word = copy.next()?.word, !loops.contains(word) else { break }
            name += "." + word
            lexer = copy
        }
        return name
    }

    /// Skips `<String, List<String>>`.
    static func skipTypeArguments(_ lexer: inout SourceLexer) {
        guard lexer.peek()?.isSign("<") == true else { return }
        var copy = lexer
        var depth = 0
        for _ in 0..<64 {
            guard let token = copy.next() else { return }
            if token.isSign("<") { depth += 1 }
            if token.isSign(">") { depth -= 1 }
            guard depth > 0 else {
                lexer = copy
                return
            }
            guard token.word != nil || "<>,.?*[]".unicodeScalars.contains(where: token.isSign) else { return }
        }
    }

    private var asPair: SourceValue? {
        guard case .list(let values) = self, values.count == 2 else { return nil }
        return .pair(values[0], values[1])
    }

    /// The keys and values of a list in which they take turns.
    private var asPairs: SourceValue? {
        guard case .list(let values) = self, values.count.isMultiple(of: 2) else { return nil }
        return .list(stride(from: 0, to: values.count, by: 2).map { .pair(values[$0], values[$0 + 1]) })
    }
}

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

// MARK: - Values

/// The value of an expression when the program runs.
indirect enum KnownValue: Equatable {
    case text(String)
    /// A collection of texts and pairs.
    case list([KnownValue])
    case pair(KnownValue, KnownValue)
    /// An object of a data class with its properties, in the order of its constructor.
    case object([KnownProperty])

    /// The texts of a text or a list.
    var texts: [String]? {
        let texts = elements.compactMap { if case .text(let text) = $0 { text } else { nil } }
        return texts.count == elements.count ? texts : nil
    }

    /// The texts in this value, at any depth.
    var allTexts: [String] {
        switch self {
        case .text(let text): [text]
        case .list(let values): values.flatMap(\.allTexts)
        case .pair(let first, let second): first.allTexts + second.allTexts
        case .object(let properties): properties.flatMap(\.value.allTexts)
        }
    }

    /// The first two parts, as for the names of a loop in parentheses.
    var pair: (KnownValue, KnownValue)? {
        switch self {
        case .pair(let first, let second): (first, second)
        case .object(let properties) where properties.count > 1: (properties[0].value, properties[1].value)
        default: nil
        }
    }

    /// The elements that a loop takes in turn.
    var elements: [KnownValue] { if case .list(let values) = self { values } else { [self] } }

    /// Returns the part of a part, and so on.
    func part(_ names: ArraySlice<String>) -> KnownValue? {
        names.reduce(self as KnownValue?) { $0?.part($1) }
    }

    /// Returns the part of a pair by the name of a property or function, or the value itself.
    func part(_ name: String) -> KnownValue? {
        if case .object(let properties) = self { return properties.first { $0.name == name }?.value }
        guard case .pair(let first, let second) = self else {
            return SourceValue.transparent.contains(name) ? self : nil
        }
        return switch name {
        case "key", "first", "getKey", "getFirst", "component1": first
        case "value", "second", "getValue", "getSecond", "component2": second
        default: nil
        }
    }
}

/// A property of an object.
struct KnownProperty: Equatable {
    let name: String
    let value: KnownValue
}

extension SourceLexer {
    /// Skips the label of a Kotlin argument, such as `pattern =`.
    mutating func skipLabel() {
        var copy = self
        guard copy.next()?.word != nil, copy.next()?.isSign("=") == true else { return }
        self = copy
    }

    /// Skips parentheses with everything in them.
    mutating func skipParentheses() {
        var depth = 0
        repeat {
            guard let token = next() else { return }
            if token.isSign("(") { depth += 1 }
            if token.isSign(")") { depth -= 1 }
        } while depth > 0
    }

    /// Skips the type of a variable, such as `Map<String, List<String>>?` or `String[]`. Returns its first word.
    mutating func takeType() -> String? {
        guard let word = peek()?.word else { return nil }
        _ = next()
        SourceValue.skipTypeArguments(&self)
        while let token = peek(), token.isSign("?") || token.isSign("[") || token.isSign("]") { _ = next() }
        return word
    }
}
