import PinctlBasics

/// The fields of `BuildConfig` that a Gradle file sets: `buildConfigField("String", "PIN", "\"sha256/…\"")`.
struct GradleFields {
    /// The fields, or `nil` for a file without any.
    let declarations: SourceDeclarations?
    /// The name that stands for every field, because a script computes the name.
    static let unknown = "*"

    init(_ lexer: SourceLexer, path: String) {
        var lexer = lexer
        var fields: [(name: String, value: SourceValue?, position: SourcePosition)] = []
        var package = ""
        while let token = lexer.next() {
            if token.word == "namespace" {
                var copy = lexer
                if copy.peek()?.isSign("=") == true { _ = copy.next() }
                package = SourceValue(&copy)?.literal ?? package
            }
            guard let word = token.word, word.hasPrefix("buildConfigField") else { continue }
            var copy = lexer
            let field = word == "buildConfigField" ? Self.field(&copy) : nil
            fields.append((field?.name ?? Self.unknown, field?.value, token.position))
        }
        declarations = fields.isEmpty ? nil : SourceDeclarations(gradleFields: fields, package: package, path: path)
    }

    /// Parses the type, the name and the value of a field, of which a plugin for other builds leaves out the type.
    /// Returns `nil` if they aren't known.
    private static func field(_ lexer: inout SourceLexer) -> (name: String, value: SourceValue?)? {
        SourceValue.skipTypeArguments(&lexer)
        let isCall = lexer.peek()?.isSign("(") == true
        if isCall { _ = lexer.next() }
        var arguments: [SourceValue?] = []
        while arguments.count < 4 {
            lexer.skipLabel()
            arguments.append(argument(&lexer, isCall: isCall))
            guard lexer.peek()?.isSign(",") == true else { break }
            _ = lexer.next()
        }
        guard 2...3 ~= arguments.count, let name = arguments[arguments.count - 2]?.literal else { return nil }
        // mutant okhttp-untyped-field: false by SourceProjectTests/found
        if arguments.count == 2 { return (name, arguments[1].flatMap { $0.isLiteral ? $0 : nil }) }
        let isText = arguments[0]?.literal.map(types.contains) ?? false
        // mutant okhttp-field: arguments[2]?.literal by SourceProjectTests/unknown
        let source = isText ? arguments[2]?.literal : nil
        return (name, source.flatMap(value))
    }

    /// Parses an argument up to the sign behind it. Returns `nil` for one that isn't a literal or a name.
    private static func argument(_ lexer: inout SourceLexer, isCall: Bool) -> SourceValue? {
        func ends(_ token: SourceToken) -> Bool {
            [")", "]", "}", ",", ";"].contains(where: token.isSign) || !isCall && token.startsLine
        }
        var copy = lexer
        if let value = SourceValue(&copy), copy.peek().map(ends) ?? true {
            lexer = copy
            return value
        }
        var depth = 0
        while let token = lexer.peek(), depth > 0 || !ends(token) {
            depth += ["(", "[", "{"].contains(where: token.isSign) ? 1 : 0
            depth -= [")", "]", "}"].contains(where: token.isSign) ? 1 : 0
            _ = lexer.next()
        }
        return nil
    }

    private static let types: Set = ["String", "java.lang.String", "String[]"]

    /// Parses the value of a field, which is an expression of Java.
    private static func value(_ source: String) -> SourceValue? {
        var lexer = SourceLexer(TextCursor(Array(source.utf8)), path: "BuildConfig.java")
        guard let value = SourceValue(&lexer), lexer.next() == nil, value.isLiteral else { return nil }
        return value
    }
}

extension SourceValue {
    /// Whether no part of it is a name or an expression.
    fileprivate var isLiteral: Bool {
        switch self {
        case .text(let parts): parts.allSatisfy { if case .literal = $0 { true } else { false } }
        case .list(let values): values.allSatisfy(\.isLiteral)
        case .pair(let first, let second): first.isLiteral && second.isLiteral
        case .object: false
        }
    }

    /// The text of a single literal.
    fileprivate var literal: String? {
        guard let parts, parts.count <= 1 else { return nil }
        guard let part = parts.first else { return "" }
        if case .literal(let text) = part { return text }
        return nil
    }
}
