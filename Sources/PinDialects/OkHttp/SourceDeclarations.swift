import PinctlBasics

/// The declarations of a Kotlin or Java file: its package, its imports, and the strings and collections that it names,
/// each with the class or block around it.
struct SourceDeclarations: Sendable {
    /// An import of a name, or of all names in a package or class.
    struct Import {
        /// The path without the star.
        let path: [String]
        /// The name in this file, or `nil` for all names.
        let name: String?
    }

    /// The braces of a class, a function or another block. The first one is the file.
    struct Scope {
        /// The kind of a scope by what its names can be qualified with.
        enum Kind: Equatable {
            case file
            case type(String)
            case companion(String?)
            case block
        }

        let kind: Kind
        let parent: Int?
        let start: SourcePosition
        var end: SourcePosition?
        /// The types whose members are visible too: the supertypes of a class, and the receivers of a block.
        var relatives: [String] = []
        /// Whether a subclass can override the properties.
        var isOpen = false
        var isInterface = false
    }

    /// A place where a name is declared or set.
    struct Definition {
        let name: String
        /// The value, or `nil` if it isn't a string or a collection that is known from the text.
        let value: SourceValue?
        /// The index of the scope.
        let scope: Int
        let position: SourcePosition
        /// The bytes of the value.
        let range: Range<Int>?
        /// The class of a property that is a parameter of its constructor.
        let owner: String?
        /// Whether it can't be set again: `val` or `final`.
        let isFixed: Bool
        /// Whether only this file can refer to it.
        let isPrivate: Bool
        /// Whether it is a parameter of a function or constructor, which callers give a value.
        var isParameter = false
    }

    let path: String
    private(set) var package: [String] = []
    private(set) var imports: [Import] = []
    private(set) var scopes: [Scope] = [
        Scope(kind: .file, parent: nil, start: SourcePosition(line: 0, column: 0))
    ]
    private(set) var definitions: [Definition] = []
    /// The indices of the declarations of each name.
    private(set) var declared: [String: [Int]] = [:]
    /// The indices of the assignments to each name, which may be to a variable that is declared elsewhere.
    private(set) var assigned: [String: [Int]] = [:]
    /// The indices of the definitions with a value in this file.
    private(set) var valued: [Int] = []
    /// The names that are given a value somewhere, which a loop with the same name may or may not hide.
    private(set) var setNames: Set<String> = []
    /// The names of the supertypes of each class.
    var supertypes: [String: Set<String>] = [:]
    /// The names of collections that could be changed somewhere, so that they aren't what they were set to.
    private(set) var changeable: Set<String> = []
    /// The parameters of the constructors of data classes and records, or `nil` for a class that isn't known.
    var dataClasses: [String: DataClass?] = [:]
    /// Whether the names are the fields of `BuildConfig` that a Gradle file sets.
    let isGradle: Bool

    /// The scopes of classes by the position of their opening brace.
    var bodies: [SourcePosition: Scope] = [:]
    /// The classes by the position of the parenthesis of their constructor's parameters.
    var constructors: [SourcePosition: String] = [:]
    /// The function that this file declares under the name of one that makes a collection, if any.
    private(set) var ownCollection: String?
    /// The type of an extension function whose body is next, since its members are visible there.
    private var functionReceiver: [String]?
    /// The class whose constructor's parameters are read.
    private var owner: String?
    private static let mostParameters = 32
    /// Whether the current token is behind `val`.
    private var isValue = false
    /// The modifiers before the current token.
    var modifiers: Set<String> = []
    var scope = 0
    /// The number of scopes around the current token, without those that are nested too deeply.
    private var depth = 0
    private static let deepestNesting = 100

    /// An open bracket.
    private struct Bracket {
        let isParenthesis: Bool
        /// Whether the names in the parentheses of `with` are receivers.
        var isReceiver = false
        /// The class whose constructor has its parameters in the parentheses.
        var owner: String?
        /// The first names in the parentheses.
        var words: [SourceToken] = []
        /// The scope that continues after the brace.
        var outer: Int?
    }

    init(_ lexer: SourceLexer, path: String) {
        self.path = path
        isGradle = false
        let whole = lexer
        var lexer = lexer
        var brackets: [Bracket] = []
        /// The last three tokens, the last one first.
        var before: [SourceToken] = []
        /// The names in the parentheses that were closed last, if they are those of `with`.
        var receivers: [String]?
        /// Whether names are declared in parentheses, whose values are the parts of another one.
        var isDestructuring = false
        while let token = lexer.next() {
            let last = before.first
            takeModifier(token, behind: last)
            // mutant okhttp-destructured: false for `token.isSign("(")` by OkHttpTests/unknownNames
            if token.isSign("("), ["val", "var"].contains(last?.word) { isDestructuring = true }
            if token.isSign(")") { isDestructuring = false }
            if let word = token.word {
                if isDestructuring { define(word, nil, at: token) }
                if let bracket = brackets.last, bracket.isParenthesis, bracket.words.count < Self.mostParameters {
                    brackets[brackets.count - 1].words.append(token)
                }
                if word == "fun" { takeFunction(lexer) }
                if ["import", "package"].contains(word), token.startsLine || last?.isSign(";") ?? true {
                    takePath(word, &lexer)
                } else if Self.typeWords.contains(word), last?.isSign(".") != true, last?.isSign(":") != true {
                    takeType(word, isCompanion: last?.word == "companion", lexer)
                } else {
                    owner = brackets.last?.owner
                    take(token, word, behind: before, brackets.last?.isParenthesis ?? false, lexer)
                    owner = nil
                }
            }
            if token.isSign("(") {
                brackets.append(
                    Bracket(
                        isParenthesis: true, isReceiver: last?.word == "with", owner: constructors[token.position]))
            } else if token.isSign("{") {
                // Names that are nested too deeply have no value, and no scope of their own.
                brackets.append(Bracket(isParenthesis: false, outer: depth < Self.deepestNesting ? scope : nil))
                if depth < Self.deepestNesting { open(token, receivers ?? functionReceiver ?? Self.receiver(before)) }
                functionReceiver = nil
                depth += 1
            } else if token.isSign(")") || token.isSign("}"), let bracket = brackets.popLast() {
                if !bracket.isParenthesis { depth -= 1 }
                if let outer = bracket.outer {
                    scopes[scope].end = token.position
                    scope = outer
                }
                receivers = bracket.isReceiver ? bracket.words.compactMap(\.word) : nil
                takeParameters(bracket.words, lexer)
            }
            if !token.isSign(")") { receivers = nil }
            if token.isSign("="), !(brackets.last?.isParenthesis ?? false) { functionReceiver = nil }
            before = [token] + before.prefix(2)
        }
        let classes = dataClasses.keys.filter { properties(ofDataClass: $0) != nil }
        changeable =
            CollectionUses(
                whole, classes: Set(classes), properties: Set(classes.flatMap { properties(ofDataClass: $0) ?? [] })
            ).changeable
        // A collection in another one can be changed through that one.
        var isComplete = false
        while !isComplete {
            let held = definitions.filter { changeable.contains($0.name) }.flatMap { $0.value?.heldNames ?? [] }
            // mutant okhttp-held: true by OkHttpTests/unknownCollections
            isComplete = changeable.isSuperset(of: held)
            changeable.formUnion(held)
        }
    }

    /// Creates the declarations of the fields of `BuildConfig` that a Gradle file sets. `package` is its `namespace`.
    init(
        gradleFields fields: [(name: String, value: SourceValue?, position: SourcePosition)], package: String,
        path: String
    ) {
        self.path = path
        self.package = package.split(separator: ".").map(String.init)
        isGradle = true
        for (name, value, position) in fields {
            declared[name, default: []].append(definitions.count)
            definitions.append(
                Definition(
                    name: name, value: value, scope: 0, position: position, range: nil, owner: nil, isFixed: true,
                    isPrivate: false))
        }
    }

    // MARK: Scopes

    private mutating func open(_ token: SourceToken, _ receivers: [String]) {
        var new = bodies[token.position] ?? Scope(kind: .block, parent: scope, start: token.position)
        new = Scope(
            kind: new.kind, parent: scope, start: token.position, relatives: new.relatives + receivers,
            isOpen: new.isOpen, isInterface: new.isInterface)
        scopes.append(new)
        scope = scopes.count - 1
    }

    /// Returns the name before `.run` or `.apply`, whose members are visible in the block behind it.
    private static func receiver(_ before: [SourceToken]) -> [String] {
        guard before.count == 3, ["run", "apply"].contains(before[0].word), before[1].isSign("."),
            let receiver = before[2].word
        else { return [] }
        return [receiver]
    }

    /// Finds the type that a function extends, and a function with the name of one that makes a collection.
    private mutating func takeFunction(_ lexer: SourceLexer) {
        var lexer = lexer
        SourceValue.skipTypeArguments(&lexer)
        guard let word = lexer.next()?.word else { return }
        let path = lexer.takePath(from: word)
        // mutant okhttp-receiver: nil for `path.count > 1 ? [path[path.count - 2]] : nil` by OkHttpTests/unknownScopes
        functionReceiver = path.count > 1 ? [path[path.count - 2]] : nil
        // mutant okhttp-own: false for 2 by OkHttpTests/unknownCollections
        if path.count == 1, SourceValue.isCollection(word) { ownCollection = word }
    }

    /// Declares the names in parentheses before the arrow of a lambda, `{ (host, pin) -> … }`, or in the header of a
    /// loop.
    private mutating func takeParameters(_ words: [SourceToken], _ lexer: SourceLexer) {
        var lexer = lexer
        // mutant okhttp-loop: false for `lexer.peek()?.word == "in"` by OkHttpTests/unknownScopes
        if lexer.peek()?.word == "in" {
            // The header of a loop.
        } else {
            // mutant okhttp-parameters: false for 1 by OkHttpTests/unknownScopes
            guard lexer.next()?.isSign("-") == true, lexer.next()?.isSign(">") == true else { return }
        }
        for token in words { define(token.word ?? "", nil, at: token) }
    }

    /// Parses the path behind `package` or `import`.
    private mutating func takePath(_ keyword: String, _ lexer: inout SourceLexer) {
        guard let path = lexer.takeImport() else { return }
        if keyword == "package" {
            package = path
            return
        }
        var copy = lexer
        if copy.next()?.isSign(".") == true, copy.next()?.isSign("*") == true {
            imports.append(Import(path: path, name: nil))
            lexer = copy
            return
        }
        var name = path.last
        if lexer.peek()?.word == "as", lexer.peek()?.startsLine == false {
            _ = lexer.next()
            name = lexer.next()?.word ?? name
        }
        imports.append(Import(path: path, name: name))
    }

    // MARK: Definitions

    private static let modifierWords: Set = [
        "public", "private", "protected", "internal", "open", "abstract", "sealed", "final", "override", "static",
        "const", "lateinit", "actual", "expect", "companion", "data", "enum", "volatile", "transient",
    ]

    private mutating func takeModifier(_ token: SourceToken, behind last: SourceToken?) {
        let isAfterModifier = last?.word.map(Self.modifierWords.contains) ?? false
        if token.startsLine && !isAfterModifier || [";", "{", "}", "="].contains(where: token.isSign) {
            modifiers = []
        }
        if let word = token.word, Self.modifierWords.contains(word) { modifiers.insert(word) }
    }

    /// Words that can be before a name without being its type.
    private static let keywords: Set = [
        "val", "var", "else", "return", "do", "in", "is", "as", "to", "case", "throw", "new", "when", "if", "while",
        "and", "or", "by", "try", "finally", "yield", "await", "import", "package", "instanceof", "until", "step",
        "fun", "goto", "assert",
    ]

    /// Whether the tokens before a name end with a type of Java, such as `String`, `String[]` or `List<String>`.
    private static func endsType(_ before: [SourceToken]) -> Bool {
        guard let last = before.first else { return false }
        if let word = last.word { return !keywords.contains(word) && !(word.utf8.first?.isDigit ?? true) }
        if last.isSign(".") { return before.count > 1 && before[1].isSign(".") }
        // The arrow of a lambda or a case ends no type.
        return last.isSign("]") || last.isSign(">") && before.count > 1 && !before[1].isSign("-")
    }

    private mutating func take(
        _ name: SourceToken, _ word: String, behind before: [SourceToken], _ isInParentheses: Bool,
        _ lexer: SourceLexer
    ) {
        var lexer = lexer
        guard var token = lexer.next() else { return }
        let last = before.first
        let isProperty = ["val", "var"].contains(last?.word)
        let isComponent = owner.map { dataClasses[$0]??.isRecord ?? false } ?? false
        isValue = last?.word == "val" || isComponent && (last?.word == "String" || last?.isSign(">") ?? false)
        var isDeclared = isProperty || Self.endsType(before) && !name.startsLine
        var isParameter = false
        if token.isSign(":"), lexer.peek()?.isSign(":") != true {
            // A property, or a parameter of a function or a lambda, or of Java's loop, and not a part of a choice.
            let mayBeParameter =
                isInParentheses
                ? !["?", "."].contains { last?.isSign($0) ?? false }
                : ["{", ","].contains { last?.isSign($0) ?? false }
            // mutant okhttp-parameter: false for `mayBeParameter` by OkHttpTests/unknownScopes
            guard isProperty || mayBeParameter else { return }
            isParameter = isInParentheses || !isProperty
            isDeclared = true
            let begin = lexer
            // mutant okhttp-read-only: isValue by OkHttpTests/unknownScopes
            isValue = isValue && Self.readOnlyTypes.contains(lexer.takeType() ?? "")
            lexer = begin
            guard lexer.takeType() != nil, let next = lexer.next() else {
                if isProperty { setNames.insert(word) }
                return define(word, nil, at: name)
            }
            token = next
        }
        if token.isSign("=") {
            guard lexer.peek()?.isSign("=") != true else { return }
            // The label of an argument in Kotlin isn't a variable.
            if isInParentheses, !isDeclared, !path.lowercased().hasSuffix(".java") { return }
            setNames.insert(word)
            let begin = lexer.peek()?.range.lowerBound ?? .max
            // A caller can give another value than the default of a parameter.
            // mutant okhttp-default: false for `isParameter` by OkHttpTests/unknownCollections
            let value = isParameter ? nil : expression(&lexer)
            // The expression begins before the next token.
            let end = max(begin, lexer.peek()?.range.lowerBound ?? .max)
            define(
                word, value, begin..<end, at: name, isAssignment: !isDeclared, isFixed: last?.word == "val",
                isParameter: isParameter)
        } else if token.word == "by", isProperty {
            let begin = lexer.peek()?.range.lowerBound ?? .max
            let value = Self.lazyValue(&lexer)
            setNames.insert(word)
            let end = max(begin, lexer.peek()?.range.lowerBound ?? .max)
            define(word, value, begin..<end, at: name, isFixed: last?.word == "val")
        } else if token.isSign("-"), lexer.peek()?.isSign(">") == true || isParameter {
            define(word, nil, at: name)
        } else if token.isSign("+"), lexer.peek()?.isSign("=") == true {
            define(word, nil, at: name, isAssignment: true)
            // mutant okhttp-unset: false for `isProperty` by OkHttpTests/unknownNames
        } else if token.word == "in" || isParameter || isProperty {
            define(word, nil, at: name, isParameter: isParameter)
        } else if isDeclared, token.isSign(";") || isInParentheses && (token.isSign(",") || token.isSign(")")) {
            // A variable or parameter of Java.
            define(word, nil, at: name, isParameter: !token.isSign(";"))
        }
    }

    /// The types through which a collection can't be changed.
    private static let readOnlyTypes: Set = ["String", "List", "Set", "Map", "Collection", "Iterable"]

    private mutating func define(
        _ name: String, _ value: SourceValue?, _ range: Range<Int>? = nil, at token: SourceToken,
        isAssignment: Bool = false, isFixed: Bool = false, isParameter: Bool = false
    ) {
        let outer = scopes[scope]
        let isOverridable =
            !modifiers.isDisjoint(with: ["open", "abstract"])
            || outer.isOpen && modifiers.contains("override") && !modifiers.contains("final")
        // A subclass can have another value.
        // mutant okhttp-open: value by OkHttpTests/unknownScopes
        let known = isOverridable || depth > Self.deepestNesting ? nil : value
        let isFinal = isFixed || modifiers.contains("final") || outer.isInterface
        let definition = Definition(
            name: name, value: known, scope: scope, position: token.position, range: known == nil ? nil : range,
            owner: owner,
            isFixed: isFinal, isPrivate: modifiers.contains("private"), isParameter: isParameter)
        if let owner, dataClasses[owner] != nil {
            dataClasses[owner]??.parameters.append((name, isValue && !isOverridable))
        }
        if definition.range != nil { valued.append(definitions.count) }
        if isAssignment {
            assigned[name, default: []].append(definitions.count)
        } else {
            declared[name, default: []].append(definitions.count)
        }
        definitions.append(definition)
    }

    /// Parses a value up to the end of the statement. Returns `nil` for anything else.
    private func expression(_ lexer: inout SourceLexer) -> SourceValue? {
        guard let value = SourceValue(&lexer) else { return nil }
        guard let next = lexer.peek() else { return value }
        if case .sign(let sign) = next.kind {
            return ";),}@".utf8.contains(sign) || next.startsLine && !".?".utf8.contains(sign) ? value : nil
        }
        var copy = lexer
        _ = copy.next()
        // A property can have a value and a function that returns another one.
        // mutant okhttp-getter: false for 1 by OkHttpTests/unknownScopes
        if next.word == "get", copy.peek()?.isSign("(") == true { return nil }
        return next.startsLine ? value : nil
    }

    /// Parses `lazy { … }` with a value in the braces.
    private static func lazyValue(_ lexer: inout SourceLexer) -> SourceValue? {
        guard lexer.next()?.word == "lazy" else { return nil }
        if lexer.peek()?.isSign("(") == true { lexer.skipParentheses() }
        guard lexer.next()?.isSign("{") == true, let value = SourceValue(&lexer), lexer.next()?.isSign("}") == true
        else { return nil }
        return value
    }
}
