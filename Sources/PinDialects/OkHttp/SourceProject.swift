import PinctlBasics

/// The programs and Gradle files of a project, which can declare the constants of each other, and the certificates of
/// an app's bundle.
///
/// The files are read when a name is looked for that a program doesn't declare itself. Of files that don't contain the
/// name, nothing else is read.
package final class SourceProject: Sendable {
    /// The files of a project.
    package struct Contents: Sendable {
        /// The files with their paths in messages and their contents, in order.
        var files: [(path: String, bytes: [UInt8])] = []
        /// The reason why files are missing, if any.
        package private(set) var problem: String?
        private var size = 0

        /// The limits on a project, several times the size of large apps.
        private static let mostFiles = 20_000
        private static let mostBytes = 64 << 20

        package init() {}

        /// Adds a file, unless the project is too large.
        package mutating func add(_ bytes: [UInt8], path: String) {
            size += bytes.count
            // mutant okhttp-project: true for 2 by SourceProjectTests/limits
            guard files.count < Self.mostFiles, size <= Self.mostBytes else {
                problem = problem ?? "it has over \(Self.mostFiles) programs, or \(Self.mostBytes >> 20) MiB of them"
                return
            }
            files.append((path, bytes))
        }

        /// Adds a file that can't be read.
        package mutating func add(problem: String) { self.problem = self.problem ?? problem }
    }

    private struct State: Sendable {
        var contents: Contents?
        var certificates: Contents?
        var declarations: [Int: [SourceDeclarations]] = [:]
        var indices: [String: [Int]] = [:]
        var pinNames: Set<String>?
        /// The files without their comments.
        var texts: [Int: [UInt8]] = [:]
    }

    /// The kinds of files that are read on their own.
    package enum Kind: Sendable {
        /// Programs and Gradle files.
        case program
        /// Files that an app's bundle may have as certificates.
        case certificate

        fileprivate var extensions: Set<String> {
            self == .program ? ["kt", "kts", "java", "gradle"] : ["cer", "crt", "der"]
        }
    }

    private let load: @Sendable (Kind) -> Contents
    private let state = Locked(State())

    /// Creates a project whose files of a kind a function reads when they are needed.
    package init(_ load: @escaping @Sendable (Kind) -> Contents) { self.load = load }

    /// Whether a file can be one of a kind in a project, judged by its name in it. Tests can have values of their own.
    package static func contains(_ name: String, _ kind: Kind = .program) -> Bool {
        kind.extensions.contains(SearchedText.fileExtension(name)) && !SearchedText.isTest(name)
            && !"/\(name)".contains("/build/generated/")
    }

    /// The files that an app's bundle may have as certificates.
    var certificates: Contents {
        state.withLock { state in
            // mutant project-certificates: load(.program) by PinctlTests.SourceProjectsTests/certificates
            let contents = state.certificates ?? load(.certificate)
            state.certificates = contents
            return contents
        }
    }

    /// The reason why declarations may be missing, if any.
    var problem: String? { state.withLock { contents(&$0).problem } }

    /// The names that are set to a text with a pin, or to a collection with one.
    var pinNames: Set<String> {
        state.withLock { state in
            if let names = state.pinNames { return names }
            var names: Set<String> = []
            for word in ["sha256/", "sha1/"] {
                for definition in files(with: word, &state).flatMap(\.definitions)
                where definition.value?.holdsPin ?? false { names.insert(definition.name) }
            }
            state.pinNames = names
            return names
        }
    }

    /// Returns the declarations of the files that contain a word, in order. A file with the contents `bytes` is left
    /// out.
    func files(with word: String, besides bytes: [UInt8]) -> [SourceDeclarations] {
        state.withLock { state in
            let contents = contents(&state)
            return indices(of: word, &state).filter { contents.files[$0].bytes != bytes }.flatMap {
                declarations(at: $0, &state)
            }
        }
    }

    /// Returns the bytes of the values with a pin in a file whose names no program of the project mentions, except in
    /// a comment. Returns nothing if a part of the project isn't known.
    func unusedPins(in bytes: [UInt8]) -> [Range<Int>] {
        state.withLock { state in
            guard contents(&state).problem == nil,
                let file = contents(&state).files.firstIndex(where: { $0.bytes == bytes })
            else { return [] }
            return declarations(at: file, &state).flatMap(\.definitions).compactMap { definition in
                guard let range = definition.range, definition.value?.holdsPin ?? false else { return nil }
                return isUsed(definition.name, &state) ? nil : range
            }
        }
    }

    /// Whether the programs mention a name more often than they define it. Java calls a property of Kotlin `getName`.
    private func isUsed(_ name: String, _ state: inout State) -> Bool {
        let getter = "get" + name.prefix(1).uppercased() + name.dropFirst()
        var (mentions, definitions) = (0, 0)
        for index in indices(of: name, &state) {
            mentions += text(at: index, &state).count(ofWord: name)
            definitions += declarations(at: index, &state).reduce(0) { $0 + ($1.declared[name]?.count ?? 0) }
        }
        // mutant find-unused: true by PinctlTests.SourceProjectsTests/unused
        if mentions > definitions { return true }
        return indices(of: getter, &state).contains { text(at: $0, &state).count(ofWord: getter) > 0 }
    }

    /// Returns a file without its comments.
    private func text(at index: Int, _ state: inout State) -> [UInt8] {
        if let known = state.texts[index] { return known }
        let (path, bytes) = contents(&state).files[index]
        let text = SearchedText(bytes, name: path).withoutComments
        state.texts[index] = text
        return text
    }

    private func files(with word: String, _ state: inout State) -> [SourceDeclarations] {
        indices(of: word, &state).flatMap { declarations(at: $0, &state) }
    }

    private func contents(_ state: inout State) -> Contents {
        if let contents = state.contents { return contents }
        let contents = load(.program)
        state.contents = contents
        return contents
    }

    private func indices(of word: String, _ state: inout State) -> [Int] {
        if let known = state.indices[word] { return known }
        let files = contents(&state).files
        let found = files.indices.filter { files[$0].bytes.hasAny(of: [word]) }
        state.indices[word] = found
        return found
    }

    private func declarations(at index: Int, _ state: inout State) -> [SourceDeclarations] {
        if let known = state.declarations[index] { return known }
        let (path, bytes) = contents(&state).files[index]
        let lexer = SourceLexer(TextCursor(bytes), path: path)
        var found: [SourceDeclarations] = []
        if SearchedText.fileExtension(path) != "gradle" { found.append(SourceDeclarations(lexer, path: path)) }
        if let fields = GradleFields(lexer, path: path).declarations { found.append(fields) }
        state.declarations[index] = found
        return found
    }
}
