import PinctlBasics

extension SourceDeclarations {
    /// Whether a declaration can be named without a qualifier in the innermost one of some scopes.
    func isVisible(_ definition: Definition, in scopes: [Int]) -> Bool {
        let scope = self.scopes[definition.scope]
        if case .companion = scope.kind, let parent = scope.parent, scopes.contains(parent) { return true }
        return scopes.contains(definition.scope)
    }

    /// Returns the scopes around a position, the innermost first.
    func scopes(at position: SourcePosition) -> [Int] {
        // Scopes are in the order of their beginnings, and nested.
        var index: Int? = max(0, scopes.firstIndex(notBefore: { $0.start <= position }) - 1)
        var chain: [Int] = []
        while let scope = index {
            if scopes[scope].end.map({ position < $0 }) ?? true { chain.append(scope) }
            index = scopes[scope].parent
        }
        return chain
    }

    /// Whether a declaration has a qualified name, such as `com.example.Config.HOST`, or the end of one if `isWhole` is
    /// false. A name in a block has none.
    func isNamed(_ path: some Collection<String>, _ definition: Definition, isWhole: Bool) -> Bool {
        isNamed(ArraySlice(path.dropLast()), scope: definition.scope, isWhole)
    }

    func isNamed(_ path: ArraySlice<String>, scope: Int, _ isWhole: Bool) -> Bool {
        let outer = scopes[scope].parent ?? 0
        switch scopes[scope].kind {
        case .block: return false
        case .file: return isWhole ? Array(path) == package : path.isEmpty
        case .companion(let name):
            // The name of a companion is optional.
            if let last = path.last, last == name ?? "Companion", isNamed(path.dropLast(), scope: outer, isWhole) {
                return true
            }
            return isNamed(path, scope: outer, isWhole)
        case .type(let name):
            if path.isEmpty { return !isWhole }
            return path.last == name && (isNamed(path.dropLast(), scope: outer, isWhole) || !isWhole && path.count == 1)
        }
    }

    /// Whether the type of a function is that of a library, and neither declared in this file nor imported from
    /// elsewhere.
    func isOfLibrary(_ function: String) -> Bool {
        let type = String(function.prefix { $0 != "." })
        // mutant cronet-library: false for `supertypes[type] != nil` by CronetTests/unread
        if supertypes[type] != nil { return false }
        return imports.allSatisfy { entry in
            entry.name != type
                || Self.libraries.contains { entry.path.starts(with: $0.split(separator: ".").map(String.init)) }
        }
    }

    /// The packages with the functions that are known.
    private static let libraries = [
        "android", "java", "kotlin", "okio", "com.google.common", "org.apache.commons", "org.bouncycastle",
    ]

    /// Whether it is the Gradle file of a module, whose fields other modules don't have.
    var isModule: Bool { path.split(separator: "/").dropFirst().last?.hasPrefix("build.gradle") ?? false }

    /// Whether it is the Gradle file of the module with a file.
    func isModule(of file: String) -> Bool {
        guard isModule, let slash = path.lastIndex(of: "/") else { return false }
        return file.hasPrefix(path[...slash])
    }

    /// The name of the class around a declaration, if it is a member of one.
    func type(of definition: Definition) -> String? {
        if let owner = definition.owner { return owner }
        var scope = definition.scope
        if case .companion = scopes[scope].kind { scope = scopes[scope].parent ?? 0 }
        if case .type(let name) = scopes[scope].kind { return name }
        return nil
    }
}
