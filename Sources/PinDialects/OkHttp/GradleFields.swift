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

    /// Parses the type, the name and the value of a field. Returns `nil` if they aren't known.
    private static func field(_ lexer: inout SourceLexer) -> (name: String, value: SourceValue?)? {
        if lexer.peek()?.isSign("(") == true { _ = lexer.next() }
        var texts: [String?] = []
        while texts.count < 3 {
            lexer.skipLabel()
            guard let value = SourceValue(&lexer) else { return texts.count == 2 ? (texts[1] ?? unknown, nil) : nil }
            texts.append(value.literal)
            let next = lexer.peek()
            if texts.count < 3 {
                guard let next, next.isSign(",") else { return nil }
                _ = lexer.next()
            } else if let next, !next.isSign(")"), !next.startsLine, !next.isSign(";"), !next.isSign("}") {
                texts[2] = nil
            }
        }
        guard let name = texts[1] else { return nil }
        // mutant okhttp-field: texts[2] for `texts[0].map(types.contains) ?? false ? texts[2] : nil` by
        //   SourceProjectTests/unknown
        let source = texts[0].map(types.contains) ?? false ? texts[2] : nil
        return (name, source.flatMap(value))
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
