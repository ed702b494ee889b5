import PinctlBasics

// MARK: - Types

extension SourceDeclarations {
    /// A data class or record with the parameters of its constructor.
    struct DataClass {
        let scope: Int
        /// Whether it is a record of Java, whose properties are read with functions.
        let isRecord: Bool
        var parameters: [(name: String, isProperty: Bool)] = []
    }

    /// Returns the properties of a data class that is declared in one of some scopes, if its constructor has no other
    /// parameters.
    func properties(ofDataClass name: String, in scopes: [Int]? = nil) -> [String]? {
        // mutant okhttp-data: true for 2 by OkHttpTests/unknownScopes
        guard let found = dataClasses[name] ?? nil, found.parameters.allSatisfy(\.isProperty),
            scopes?.contains(found.scope) ?? true, !imports.contains(where: { $0.name == name })
        else { return nil }
        return found.parameters.map(\.name)
    }

    /// Returns the properties of a data class with a qualified name.
    func properties(ofDataClassNamed path: [String]) -> [String]? {
        guard let name = path.last, let found = dataClasses[name] ?? nil,
            isNamed(ArraySlice(path.dropLast()), scope: found.scope, true)
        else { return nil }
        return properties(ofDataClass: name)
    }

    static let typeWords: Set = ["class", "object", "interface", "enum", "record"]
    private static let superWords: Set = ["extends", "implements", "permits"]
    private static let headerWords: Set = [
        "extends", "implements", "permits", "constructor", "where", "private", "internal", "protected", "public",
    ]

    /// Finds the brace of a class behind its keyword, and the names of its supertypes.
    mutating func takeType(_ keyword: String, isCompanion: Bool, _ lexer: SourceLexer) {
        var lexer = lexer
        let name = lexer.peek()?.word
        guard name != nil || keyword == "object", name != "class" else { return }
        if name != nil { _ = lexer.next() }
        var relatives: [String] = []
        var (depth, hasSupertypes) = (0, false)
        var last: SourceToken?
        defer { if let name { supertypes[name, default: []].formUnion(relatives) } }
        for _ in 0..<1_000 {
            SourceValue.skipTypeArguments(&lexer)
            guard let token = lexer.next() else { return }
            // Another class begins, unless this is a reference such as `Config::class`.
            if ["class", "interface", "object"].contains(token.word), last?.isSign(":") != true,
                last?.isSign(".") != true
            {
                return
            }
            if depth == 0 {
                if token.isSign("{") {
                    let kind: Scope.Kind =
                        if isCompanion { .companion(name) } else { name.map { .type($0) } ?? .block }
                    bodies[token.position] = Scope(
                        kind: kind, parent: nil, start: token.position, relatives: relatives,
                        isOpen: keyword == "interface" || !modifiers.isDisjoint(with: ["open", "abstract", "sealed"]),
                        isInterface: keyword == "interface")
                    return
                }
                let continues =
                    [":", ",", "(", "@"].contains(where: token.isSign)
                    || token.word.map(Self.headerWords.contains) ?? false
                    || last.map { last in
                        [":", ","].contains(where: last.isSign) || last.word.map(Self.headerWords.contains) ?? false
                    } ?? false
                guard continues || !token.startsLine, ![";", "}", ")", "="].contains(where: token.isSign) else {
                    return
                }
                if token.isSign(":") || token.word.map(Self.superWords.contains) ?? false {
                    hasSupertypes = true
                } else if hasSupertypes, let word = token.word {
                    relatives.append(word)
                }
            }
            if let name, token.isSign("("), depth == 0, !hasSupertypes {
                constructors[token.position] = name
                // A second class of the name, or parentheses of an annotation.
                let isRecord = keyword == "record"
                let isKnown = dataClasses[name] == nil && (isRecord || modifiers.contains("data"))
                dataClasses.updateValue(
                    isKnown ? DataClass(scope: scope, isRecord: isRecord) : nil, forKey: name)
            }
            if token.isSign("(") { depth += 1 }
            if token.isSign(")") { depth -= 1 }
            last = token
        }
    }
}
