import CertificatePinning
import PinctlBasics

/// The named strings and collections of a program: `const val HOST = "…"`, `static final String[] PINS = {"…"};`.
///
/// A name that may mean anything else somewhere in the file has no value here: a parameter, a variable that is set
/// twice, or a computed value.
struct SourceConstants {
    /// The expression after each name's equals sign, or `nil` for a name with several meanings.
    private var expressions: [String: SourceValue?] = [:]
    /// The classes and objects of this file, whose names may qualify a constant.
    private var types: Set<String> = ["this"]
    /// The names of collections that could be changed somewhere, so that they aren't what they were set to.
    private let changeable: Set<String>
    /// The values that were parsed, with the names that they belong to.
    private(set) var definitions: [(name: String, range: Range<Int>)] = []
    /// The names that are set somewhere, which a loop with the same name may or may not hide.
    private var assigned: Set<String> = []
    private var values: [String: KnownValue] = [:]
    private var isBeingResolved: Set<String> = []
    /// The names of the loops around an expression, with the elements whose turn it is.
    private var bound: [String: KnownValue] = [:]
    /// The number of names that were looked up. Constants of constants can multiply.
    private var resolutions = 0
    private static let mostResolutions = 200_000

    /// The maximum length of a resolved text in bytes.
    private static let longestText = OkHttpPin.longestText
    /// The maximum number of elements of a collection.
    private static let mostElements = 10_000
    /// The maximum depth of constants that refer to other constants.
    private static let deepestNesting = 64

    init(_ lexer: SourceLexer) {
        changeable = CollectionUses(lexer).changeable
        var lexer = lexer
        var last: SourceToken?
        var openers: [Bool] = []
        /// Whether names are declared in parentheses, whose values are the parts of another one.
        var isDestructuring = false
        while let token = lexer.next() {
            let isInParentheses = openers.last ?? false
            // mutant okhttp-destructured: false for `token.isSign("(")` by OkHttpTests/unknownNames
            if token.isSign("("), ["val", "var"].contains(last?.word) { isDestructuring = true }
            if token.isSign(")") { isDestructuring = false }
            if let word = token.word {
                if isDestructuring { define(word, nil) }
                take(word, behind: last?.word, isInParentheses, lexer)
            }
            if token.isSign("(") || token.isSign("{") { openers.append(token.isSign("(")) }
            if token.isSign(")") || token.isSign("}") { _ = openers.popLast() }
            last = token
        }
    }

    private mutating func take(
        _ word: String, behind previous: String?, _ isInParentheses: Bool, _ lexer: SourceLexer
    ) {
        if let previous, ["class", "object", "interface"].contains(previous) { types.insert(word) }
        var lexer = lexer
        guard var token = lexer.next() else { return }
        var (isTyped, isParameter) = (previous == "String", false)
        // A property without a value here, such as `lateinit var host: String` and `val host by settings`.
        // mutant okhttp-unset: false by OkHttpTests/unknownNames
        let isDeclared = ["val", "var"].contains(previous)
        if token.isSign(":") {
            guard let type = lexer.takeType(), let next = lexer.next() else { return }
            guard Self.types.contains(type) else {
                if isDeclared, !next.isSign("=") { define(word, nil) }
                return
            }
            token = next
            isTyped = true
            isParameter = isInParentheses
        }
        if token.isSign("=") {
            guard lexer.peek()?.isSign("=") != true else { return }
            assigned.insert(word)
            let begin = lexer.peek()?.range.lowerBound ?? .max
            // A caller can give another value than the default of a parameter.
            // mutant okhttp-default: false for `isParameter` by OkHttpTests/unknownCollections
            let value = isParameter ? nil : expression(&lexer)
            define(word, value)
            // The expression begins before the next token.
            let end = max(begin, lexer.peek()?.range.lowerBound ?? .max)
            if value != nil { definitions.append((word, begin..<end)) }
        } else if token.isSign("-"), lexer.peek()?.isSign(">") == true {
            define(word, nil)
        } else if token.isSign("+"), lexer.peek()?.isSign("=") == true {
            define(word, nil)
        } else if token.word == "in" || isTyped && (token.isSign(",") || token.isSign(")")) {
            define(word, nil)
        } else if isDeclared {
            define(word, nil)
        }
    }

    /// The types of what is read.
    private static let types: Set = [
        "String", "List", "Set", "Array", "Map", "Collection", "Iterable", "MutableList", "MutableSet", "MutableMap",
    ]
    private mutating func define(_ name: String, _ expression: SourceValue?) {
        let isSame = expressions[name].map { $0 == expression } ?? true
        expressions.updateValue(isSame ? expression : nil, forKey: name)
    }

    /// Parses a value up to the end of the statement. Returns `nil` for anything else.
    private func expression(_ lexer: inout SourceLexer) -> SourceValue? {
        guard let value = SourceValue(&lexer) else { return nil }
        guard let next = lexer.peek() else { return value }
        if case .sign(let sign) = next.kind {
            return ";),}@".utf8.contains(sign) || next.startsLine && !".?".utf8.contains(sign) ? value : nil
        }
        return next.startsLine ? value : nil
    }

    /// Whether a name, with those of the types before it, is set to a pin or to a collection with one.
    mutating func holdsPin(_ path: ArraySlice<String>) -> Bool {
        guard let last = path.last, expressions[last] != nil,
            let value = try? value(of: path.joined(separator: ".")).get()
        else { return false }
        return value.allTexts.contains { OkHttpPin.pin($0) != nil }
    }

    /// Returns the pins in the value of the name whose definition is at an offset, or `nil` if it has no known value.
    mutating func pins(definedAt offset: Int) -> [String]? {
        let index = definitions.firstIndex(notBefore: { $0.range.lowerBound <= offset }) - 1
        guard index >= 0, definitions[index].range.contains(offset),
            let value = try? value(of: definitions[index].name).get()
        else { return nil }
        return value.allTexts.filter { OkHttpPin.pin($0) != nil }
    }

    // MARK: Values

    /// Returns the value, or the part of it that has none.
    mutating func value(_ value: SourceValue) -> Result<KnownValue, UnresolvedName> {
        switch value {
        case .text(let parts): return self.value(parts)
        case .list(let values):
            var known: [KnownValue] = []
            for value in values {
                switch self.value(value) {
                case .success(let found): known.append(found)
                case .failure(let unresolved): return .failure(unresolved)
                }
            }
            return collection(known)
        case .pair(let first, let second):
            switch (self.value(first), self.value(second)) {
            case (.success(let first), .success(let second)): return .success(.pair(first, second))
            case (.failure(let unresolved), _), (_, .failure(let unresolved)): return .failure(unresolved)
            }
        }
    }

    /// Calls `body` with the names of loops set to each of their elements in turn.
    mutating func forEach(
        _ loops: ArraySlice<SourceLoop>, _ body: (inout SourceConstants) -> Void
    ) -> UnresolvedName? {
        guard let loop = loops.first else {
            body(&self)
            return nil
        }
        let elements: [KnownValue]
        switch value(loop.source) {
        case .success(let value): elements = value.elements
        case .failure(let unresolved): return unresolved
        }
        // mutant okhttp-shadow: {} by OkHttpTests/unknownCollections
        if let name = loop.names.first(where: assigned.contains) {
            return UnresolvedName(name: name, isAmbiguous: true)
        }
        guard !elements.isEmpty else { return UnresolvedName(name: "an empty collection", isAmbiguous: false) }
        for element in elements {
            resolutions += 1
            // mutant okhttp-resolutions: true by OkHttpTests/multipliedCollections
            guard resolutions < Self.mostResolutions else {
                return UnresolvedName(name: loop.names.joined(separator: ", "), isAmbiguous: false)
            }
            let outer = bound
            defer { bound = outer }
            if loop.names.count == 1 {
                bound[loop.names[0]] = element
            } else if case .pair(let first, let second) = element {
                (bound[loop.names[0]], bound[loop.names[1]]) = (first, second)
            } else {
                return UnresolvedName(name: loop.names.joined(separator: ", "), isAmbiguous: false)
            }
            if let unresolved = forEach(loops.dropFirst(), body) { return unresolved }
        }
        return nil
    }

    /// Returns what the parts add up to: a text, or for names of collections the elements of all.
    private mutating func value(_ parts: [SourcePart]) -> Result<KnownValue, UnresolvedName> {
        var (text, values) = ("", [KnownValue]())
        for part in parts {
            switch part {
            case .literal(let literal):
                text += literal
                values.append(.text(literal))
            case .computed(let expression):
                return .failure(UnresolvedName(name: expression, isAmbiguous: false))
            case .name(let name):
                switch value(of: name) {
                case .success(let value):
                    if case .text(let more) = value { text += more }
                    values.append(value)
                case .failure(let failure): return .failure(failure)
                }
            }
            guard text.utf8.count <= Self.longestText else {
                return .failure(UnresolvedName(name: String(text.prefix(80)), isAmbiguous: false))
            }
        }
        let isText = values.allSatisfy { if case .text = $0 { true } else { false } }
        guard !isText else { return .success(.text(text)) }
        return values.count == 1 ? .success(values[0]) : collection(values)
    }

    /// Returns a collection with the elements of all values. A collection in it is one that was spread.
    private func collection(_ values: [KnownValue]) -> Result<KnownValue, UnresolvedName> {
        var elements: [KnownValue] = []
        var keys: Set<String> = []
        for value in values {
            for case .pair(.text(let key), _) in value.elements where !keys.insert(key).inserted {
                // Of two values for a key, a map has the last one.
                // mutant okhttp-repeated: {} by OkHttpTests/unknownCollections
                return .failure(UnresolvedName(name: key, isAmbiguous: true))
            }
            elements += value.elements
            // mutant okhttp-elements: true by OkHttpTests/multipliedCollections
            guard elements.count <= Self.mostElements else {
                return .failure(UnresolvedName(name: "a collection of over \(Self.mostElements)", isAmbiguous: false))
            }
        }
        return .success(.list(elements))
    }

    /// Returns a value, unless it is a collection that could have been changed under its name.
    private func checked(_ value: KnownValue, of name: String) -> Result<KnownValue, UnresolvedName> {
        // mutant okhttp-changed: false for `changeable.contains(name)` by OkHttpTests/unknownCollections
        guard case .list = value, changeable.contains(name) else { return .success(value) }
        return .failure(UnresolvedName(name: name, isAmbiguous: true))
    }

    private mutating func value(of name: String) -> Result<KnownValue, UnresolvedName> {
        if bound.isEmpty, let value = values[name] { return .success(value) }
        let unknown = UnresolvedName(name: name, isAmbiguous: false)
        resolutions += 1
        guard resolutions < Self.mostResolutions else { return .failure(unknown) }
        var components = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        if let first = components.first, var value = bound[first] {
            for component in components.dropFirst() {
                guard let part = value.part(component) else { return .failure(unknown) }
                value = part
            }
            return checked(value, of: first)
        }
        // `PINS.entries`
        if components.count > 1, expressions[components[components.count - 1]] == nil,
            KnownValue.text("").part(components[components.count - 1]) != nil
        {
            components.removeLast()
        }
        let isOfThisFile = components.count < 2 || types.contains(components[components.count - 2])
        guard isOfThisFile, let last = components.last, let expression = expressions[last] else {
            return .failure(unknown)
        }
        guard let expression, isBeingResolved.count < Self.deepestNesting,
            isBeingResolved.insert(last).inserted
        else {
            return .failure(UnresolvedName(name: name, isAmbiguous: true))
        }
        defer { isBeingResolved.remove(last) }
        let result = value(expression).flatMap { checked($0, of: last) }
        // The value of a constant in a loop is another one for each element.
        guard bound.isEmpty else { return result }
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
