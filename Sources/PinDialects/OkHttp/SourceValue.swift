import PinctlBasics

/// A value that a Kotlin or Java program contains: a text, a collection, or a pair of values.
indirect enum SourceValue: Equatable, Sendable {
    /// Strings and names joined by plus signs. A name can be that of a collection.
    case text([SourcePart])
    case list([SourceValue])
    /// A key and its value, such as `"api.test" to PINS` or `Map.entry("api.test", PINS)`.
    case pair(SourceValue, SourceValue)
    /// An object with the arguments of its constructor and their labels, such as `Pin("api.test", hash = HASH)`, or the
    /// result of a known function.
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

    /// The names of the elements of a collection or pair, which may be collections themselves.
    var heldNames: [String] {
        func names(_ value: SourceValue) -> [String] {
            guard let parts = value.parts else { return value.heldNames }
            return parts.compactMap { if case .name(let name) = $0 { name } else { nil } }
        }
        return switch self {
        case .text, .object: []
        case .list(let values): values.flatMap(names)
        case .pair(let first, let second): names(first) + names(second)
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
    /// The literal, the name or the expression.
    var text: String {
        switch self {
        case .literal(let text), .name(let text), .computed(let text): text
        }
    }

    /// Whether it is a literal with the prefix of a pin.
    var isPin: Bool {
        guard case .literal(let text) = self else { return false }
        return text.hasPrefix("sha256/") || text.hasPrefix("sha1/")
    }
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
    static let transparent: Set = [
        "toTypedArray", "toList", "toSet", "asList", "toMutableList", "toMutableSet", "asIterable", "entries",
        "entrySet",
    ]
    /// Functions without arguments that return a part of a pair.
    private static let getters: Set = ["getKey", "getValue", "component1", "component2", "getFirst", "getSecond"]
    /// Functions that repeat their block for each element.
    static let loops: Set = ["forEach", "onEach"]

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
    static func primary(_ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        guard var value = atom(&lexer, depth) else { return nil }
        while let member = KnownFunction.member(&lexer) {
            value = .object(member, [SourceArgument(label: nil, value: value)])
        }
        return value
    }

    private static func atom(_ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
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
            if name == "byte" { return KnownFunction.bytes(&lexer, until: "}") }
            return list(&lexer, until: "}", depth)
        }
        guard open.isSign("("), let value = list(&lexer, until: ")", depth) else { return nil }
        if pairs.contains(name) { return value.asPair }
        if ["ArrayList", "HashSet", "LinkedHashSet", "TreeSet", "LinkedList"].contains(name) {
            return transparentSuffix(value, &lexer)
        }
        guard case .list(let values) = value else { return nil }
        return .object(KnownFunction.simple(name), values.map { SourceArgument(label: nil, value: $0) })
    }

    private static func named(_ lexer: inout SourceLexer, _ depth: Int) -> SourceValue? {
        guard var name = path(&lexer) else { return nil }
        if isCollection(name) {
            skipTypeArguments(&lexer)
            guard lexer.next()?.isSign("(") == true, let value = list(&lexer, until: ")", depth) else { return nil }
            if pairs.contains(name) { return value.asPair }
            return transparentSuffix(maps.contains(name) ? value.asPairs : value, &lexer)
        }
        if name == "byteArrayOf", lexer.next()?.isSign("(") == true { return KnownFunction.bytes(&lexer, until: ")") }
        if let value = KnownFunction.call(of: name, &lexer, depth) { return value }
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
        guard copy.next()?.isSign("(") == true else { return false }
        // `toArray(new String[0])` and `toArray(String[]::new)`.
        while last == "toArray", let token = copy.peek(), !token.isSign(")") {
            guard token.word != nil || token.isSign("[") || token.isSign("]") || token.isSign(":") else { return false }
            _ = copy.next()
        }
        guard copy.next()?.isSign(")") == true else { return false }
        lexer = copy
        if last == "toArray" || transparent.contains(last) {
            name = String(name[..<dot])
        } else if !getters.contains(last) {
            // A record has functions for its properties.
            name += "()"
        }
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
            let isMember = KnownFunction.isMember(copy)
            guard let word = copy.next()?.word, !loops.contains(word), !isMember else { break }
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

extension SourceLexer {
    /// Skips the label of a Kotlin argument, such as `pattern =`.
    mutating func skipLabel() {
        var copy = self
        guard copy.next()?.word != nil, copy.next()?.isSign("=") == true else { return }
        self = copy
    }

    /// The text of the next expression, up to the comma or bracket behind it, with one space in place of each white
    /// space.
    var expression: String {
        var copy = self
        var depth = 0
        var range: Range<Int>?
        while let token = copy.next(), (range?.count ?? 0) < OkHttpPin.longestText {
            let isEnd = [")", "]", "}"].contains(where: token.isSign)
            if depth == 0, isEnd || token.isSign(",") || token.isSign(";") { break }
            depth += isEnd ? -1 : ["(", "[", "{"].contains(where: token.isSign) ? 1 : 0
            range = (range?.lowerBound ?? token.range.lowerBound)..<token.range.upperBound
        }
        return range.map { text(in: $0).split(whereSeparator: \.isWhitespace).joined(separator: " ") } ?? ""
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
