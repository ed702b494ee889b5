import CertificatePinning
import PinctlBasics

/// The named strings and collections of a program: `const val HOST = "…"`, `static final String[] PINS = {"…"};`.
///
/// A name has a value if every declaration that it could mean has the same one: those in the scopes around it, in the
/// supertypes of its class, and those that imports and the package make visible. A parameter, a variable that is set
/// twice, or a computed value has none.
struct SourceConstants {
    /// A position in a file, at which a name is used.
    struct Place {
        let file: Int
        let position: SourcePosition

        /// A position in the file that is read.
        init(_ position: SourcePosition) { self.init(0, position) }

        init(_ file: Int, _ position: SourcePosition) { (self.file, self.position) = (file, position) }
    }

    /// A declaration, or an assignment to one.
    struct Reference: Hashable {
        let file: Int
        let index: Int
    }

    /// A name that is looked for in a scope of a file.
    struct Lookup: Hashable {
        let file: Int
        let scope: Int
        let path: ArraySlice<String>
    }

    /// The file that is read, followed by those of its project that were needed.
    var files: [SourceDeclarations]
    let project: SourceProject?
    let bytes: [UInt8]
    /// The words that were looked for in the project.
    var words: Set<String> = []
    var lookups: [Lookup: [Reference]] = [:]
    private var values: [Reference: Result<KnownValue, UnresolvedName>] = [:]
    private var isBeingResolved: Set<Reference> = []
    /// The paths of the other files whose constants were used.
    private(set) var otherFiles: Set<String> = []
    /// The names of the loops around an expression, with the elements whose turn it is.
    private var bound: [String: (value: KnownValue, loop: SourcePosition)] = [:]
    /// The number of names that were looked up. Constants of constants can multiply.
    private var resolutions = 0
    private static let mostResolutions = 200_000

    /// The maximum length of a resolved text in bytes.
    private static let longestText = OkHttpPin.longestText
    /// The maximum number of elements of a collection.
    private static let mostElements = 10_000
    /// The maximum depth of constants that refer to other constants.
    private static let deepestNesting = 64
    /// The maximum number of declarations of a name in a file, of imports, and of supertypes of a class.
    static let mostDeclarations = 200
    static let mostImports = 1_000
    static let mostSupertypes = 64

    /// Creates the constants of a file with these contents.
    init(_ lexer: SourceLexer, _ bytes: [UInt8], path: String, project: SourceProject? = nil) {
        files = [SourceDeclarations(lexer, path: path)]
        self.bytes = bytes
        self.project = project
    }

    /// Returns the bytes of the values in the file that is read. An object that isn't known may be anything.
    mutating func valueRanges() -> [Range<Int>] {
        files[0].valued.compactMap { index in
            let definition = files[0].definitions[index]
            // mutant okhttp-object: false for 1 by OkHttpTests/unreadUses
            if definition.value?.holdsObject ?? false, (try? value(of: Reference(file: 0, index: index)).get()) == nil {
                return nil
            }
            return definition.range
        }
    }

    /// The index of the innermost scope in the file that is read.
    func scope(at position: SourcePosition) -> Int { files[0].scopes(at: position).first ?? 0 }

    /// Whether a name, with those of the types before it, is set to a pin or to a collection with one.
    mutating func holdsPin(_ path: ArraySlice<String>, at place: Place) -> Bool {
        guard let last = path.last,
            files.contains(where: { $0.declared[last] != nil }) || project?.pinNames.contains(last) ?? false,
            let value = try? value(of: path.joined(separator: "."), at: place).get()
        else { return false }
        return value.allTexts.contains { OkHttpPin.pin($0) != nil }
    }

    /// Returns the pins in the value of the name whose definition is at an offset, or `nil` if it has no known value.
    mutating func pins(definedAt offset: Int) -> [String]? {
        func range(_ index: Int) -> Range<Int> { files[0].definitions[index].range ?? 0..<0 }
        let place = files[0].valued.firstIndex(notBefore: { range($0).lowerBound <= offset }) - 1
        let index = place < 0 ? nil : files[0].valued[place]
        guard let index, range(index).contains(offset),
            let value = try? value(of: Reference(file: 0, index: index)).get()
        else { return nil }
        // A prefix alone isn't a pin.
        return value.allTexts.filter { OkHttpPin.pin($0)?.value.isEmpty == false }
    }

    // MARK: Values

    /// Returns the value, or the part of it that has none.
    mutating func value(_ value: SourceValue, at place: Place) -> Result<KnownValue, UnresolvedName> {
        if let name = files[place.file].ownCollection, value.parts == nil {
            return .failure(UnresolvedName(name, .varies))
        }
        switch value {
        case .text(let parts): return self.value(parts, at: place)
        case .list(let values):
            var known: [KnownValue] = []
            for value in values {
                switch self.value(value, at: place) {
                case .success(let found): known.append(found)
                case .failure(let unresolved): return .failure(unresolved)
                }
            }
            return collection(known)
        case .pair(let first, let second):
            switch (self.value(first, at: place), self.value(second, at: place)) {
            case (.success(let first), .success(let second)): return .success(.pair(first, second))
            case (.failure(let unresolved), _), (_, .failure(let unresolved)): return .failure(unresolved)
            }
        case .object(let type, let arguments): return object(type, arguments, at: place)
        }
    }

    /// Returns an object of a data class or record, with an argument for each of its properties, or the result of
    /// a known function.
    private mutating func object(
        _ type: String, _ arguments: [SourceArgument], at place: Place
    ) -> Result<KnownValue, UnresolvedName> {
        let file = files[place.file]
        if let function = KnownFunction(type) {
            guard file.isOfLibrary(type), arguments.count == 1 else { return .failure(UnresolvedName(type)) }
            return value(arguments[0].value, at: place).flatMap { argument in
                function.result(of: argument).map { .success($0) }
                    ?? .failure(UnresolvedName(String(type.drop { $0 == "." })))
            }
        }
        guard let names = properties(of: type, at: place), names.count == arguments.count else {
            return .failure(UnresolvedName(type))
        }
        var values: [String: KnownValue] = [:]
        for (index, argument) in arguments.enumerated() {
            switch value(argument.value, at: place) {
            // A name that isn't one of the properties leaves another one without a value.
            case .success(let value): values[argument.label ?? names[index]] = value
            case .failure(let unresolved): return .failure(unresolved)
            }
        }
        var properties: [KnownProperty] = []
        for name in names {
            guard let value = values[name] else { return .failure(UnresolvedName(type)) }
            properties.append(KnownProperty(name: name, value: value))
        }
        return .success(.object(properties))
    }

    /// Calls `body` with the names of loops set to each of their elements in turn.
    mutating func forEach(
        _ loops: ArraySlice<SourceLoop>, at place: Place, _ body: (inout SourceConstants) -> Void
    ) -> UnresolvedName? {
        guard let loop = loops.first else {
            body(&self)
            return nil
        }
        let elements: [KnownValue]
        switch value(loop.source, at: place) {
        case .success(let value): elements = value.elements
        case .failure(let unresolved): return unresolved
        }
        // mutant okhttp-shadow: {} by OkHttpTests/unknownCollections
        if let name = loop.names.first(where: files[0].setNames.contains) { return UnresolvedName(name, .varies) }
        guard !elements.isEmpty else { return UnresolvedName("an empty collection") }
        for element in elements {
            resolutions += 1
            // mutant okhttp-resolutions: true by OkHttpTests/multipliedCollections
            guard resolutions < Self.mostResolutions else {
                return UnresolvedName(loop.names.joined(separator: ", "))
            }
            let outer = bound
            defer { bound = outer }
            if loop.names.count == 1 {
                bound[loop.names[0]] = (element, loop.position)
            } else if let (first, second) = element.pair {
                bound[loop.names[0]] = (first, loop.position)
                bound[loop.names[1]] = (second, loop.position)
            } else {
                return UnresolvedName(loop.names.joined(separator: ", "))
            }
            if let unresolved = forEach(loops.dropFirst(), at: place, body) { return unresolved }
        }
        return nil
    }

    /// Returns what the parts add up to: a text, or for names of collections the elements of all.
    private mutating func value(_ parts: [SourcePart], at place: Place) -> Result<KnownValue, UnresolvedName> {
        var (text, values) = ("", [KnownValue]())
        for part in parts {
            switch part {
            case .literal(let literal):
                text += literal
                values.append(.text(literal))
            case .computed(let expression):
                return .failure(UnresolvedName(expression))
            case .name(let name):
                switch value(of: name, at: place) {
                case .success(let value):
                    if case .text(let more) = value { text += more }
                    values.append(value)
                case .failure(let failure): return .failure(failure)
                }
            }
            guard text.utf8.count <= Self.longestText else {
                return .failure(UnresolvedName(String(text.prefix(80))))
            }
        }
        let isText = values.allSatisfy { if case .text = $0 { true } else { false } }
        guard !isText else { return .success(.text(text)) }
        if values.count > 1, let index = values.firstIndex(where: \.isScalar) {
            return .failure(UnresolvedName(parts[index].text))
        }
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
                return .failure(UnresolvedName(key, .varies))
            }
            elements += value.elements
            // mutant okhttp-elements: true by OkHttpTests/multipliedCollections
            guard elements.count <= Self.mostElements else {
                return .failure(UnresolvedName("a collection of over \(Self.mostElements)"))
            }
        }
        return .success(.list(elements))
    }

    /// Returns a value, unless it is a collection that could have been changed under its name in the file that is read
    /// or in one of some others.
    private func checked(
        _ value: KnownValue, of name: String, in others: [Int] = []
    ) -> Result<KnownValue, UnresolvedName> {
        // mutant okhttp-changed: false for 2 by OkHttpTests/unknownCollections
        guard value.canChange, ([0] + others).contains(where: { files[$0].changeable.contains(name) }) else {
            return .success(value)
        }
        return .failure(UnresolvedName(name, .varies))
    }

    // MARK: Names

    /// Returns the value of a name, or of a part of it such as `PINS.entries`.
    private mutating func value(of name: String, at place: Place) -> Result<KnownValue, UnresolvedName> {
        resolutions += 1
        guard resolutions < Self.mostResolutions else { return .failure(UnresolvedName(name)) }
        if let literal = KnownValue(literal: name) { return .success(literal) }
        let components = name.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        if let first = components.first, let (value, _) = bound[first] {
            guard let part = value.part(components.dropFirst()) else { return .failure(UnresolvedName(name)) }
            return checked(part, of: first)
        }
        for length in stride(from: components.count, to: 0, by: -1) {
            switch value(of: components[..<length], at: place) {
            case .success(nil): continue
            case .success(let value?):
                guard let part = value.part(components[length...]) else { return .failure(UnresolvedName(name)) }
                return length < components.count ? checked(part, of: components[length - 1]) : .success(part)
            case .failure(let unresolved): return .failure(unresolved)
            }
        }
        return .failure(UnresolvedName(name, project == nil ? .unset : .unsetInProject(project?.problem)))
    }

    /// Returns the value that all declarations have that a name can mean, or `nil` if there are none.
    private mutating func value(
        of path: ArraySlice<String>, at place: Place
    ) -> Result<KnownValue?, UnresolvedName> {
        let references = references(path, at: place)
        guard let last = path.last, !references.isEmpty else { return .success(nil) }
        let name = path.joined(separator: ".")
        // mutant okhttp-parameter-name: nil for `parameter(among: references, at: place)` by OkHttpTests/parameters
        if let parameter = parameter(among: references, at: place) {
            return .failure(UnresolvedName(name, .parameter, at: [parameter]))
        }
        let places = references.map { PolicyLocation(path: files[$0.file].path, definition($0).position) }
        var found: KnownValue?
        for reference in references {
            // The program can set a variable of another file anywhere.
            // mutant okhttp-variable: true for 2 by SourceProjectTests/unknown
            guard definition(reference).value != nil, reference.file == 0 || definition(reference).isFixed else {
                return .failure(UnresolvedName(name, .varies, at: places))
            }
            switch value(of: reference, from: place) {
            case .success(let value):
                // mutant okhttp-scope: false for 2 by OkHttpTests/unknownScopes
                if let found, found != value { return .failure(UnresolvedName(name, .varies, at: places)) }
                found = value
            case .failure(let unresolved): return .failure(unresolved)
            }
        }
        guard let found else { return .success(nil) }
        let isShared = references.contains { $0.file > 0 }
        return checked(found, of: last, in: isShared ? Array(files.indices) : []).map { $0 }
    }

    /// Returns the position of the closest parameter above a place, if a name can only be one of a function.
    private func parameter(among references: [Reference], at place: Place) -> PolicyLocation? {
        guard references.allSatisfy({ definition($0).isParameter && $0.file == place.file }) else { return nil }
        let positions = references.map { definition($0).position }
        let closest = positions.filter { $0 < place.position }.max() ?? positions.min()
        return closest.map { PolicyLocation(path: files[place.file].path, $0) }
    }

    func definition(_ reference: Reference) -> SourceDeclarations.Definition {
        files[reference.file].definitions[reference.index]
    }

    /// Returns the value that is given where a name is declared. `place` is where it is used.
    private mutating func value(
        of reference: Reference, from place: Place? = nil
    ) -> Result<KnownValue, UnresolvedName> {
        if reference.file > 0 { otherFiles.insert(files[reference.file].path) }
        if let known = values[reference] { return known }
        let definition = definition(reference)
        guard let expression = definition.value, isBeingResolved.count < Self.deepestNesting,
            isBeingResolved.insert(reference).inserted
        else {
            return .failure(UnresolvedName(definition.name, .varies))
        }
        let outer = bound
        defer {
            isBeingResolved.remove(reference)
            bound = outer
        }
        // A loop has names only for what is declared in it, which is between its begin and the call.
        // mutant okhttp-bound: $0.key != "" for `$0.value.loop < definition.position` by OkHttpTests/unknownScopes
        bound = bound.filter { $0.value.loop < definition.position }
        if reference.file > 0 || place.map({ $0.position < definition.position }) ?? true { bound = [:] }
        let isInLoop = !bound.isEmpty
        let result = value(expression, at: Place(reference.file, definition.position))
        if !isInLoop { values[reference] = result }
        return result
    }
}
