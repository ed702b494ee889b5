import CertificatePinning
import PinctlBasics

extension SourceConstants {
    /// Returns the declarations that a name can mean at a place. There are none if an import names another one that
    /// isn't known.
    mutating func references(_ path: ArraySlice<String>, at place: Place) -> [Reference] {
        let scopes = files[place.file].scopes(at: place.position)
        let lookup = Lookup(file: place.file, scope: scopes.first ?? 0, path: path)
        if let known = lookups[lookup] { return known }
        let found = references(path, in: scopes, at: place)
        lookups[lookup] = found
        return found
    }

    private mutating func references(
        _ path: ArraySlice<String>, in scopes: [Int], at place: Place
    ) -> [Reference] {
        var path = path
        if path.first == "this" { path = path.dropFirst() }
        guard let first = path.first, let last = path.last else { return [] }
        let file = files[place.file]
        guard file.declared[last]?.count ?? 0 <= Self.mostDeclarations, file.imports.count <= Self.mostImports else {
            return []
        }
        var found = Set(
            (file.declared[last] ?? []).map { Reference(file: place.file, index: $0) }.filter {
                let definition = definition($0)
                return path.count > 1
                    ? file.isNamed(path, definition, isWhole: false)
                    : file.isVisible(definition, in: scopes)
            })
        if path.count == 1 { found.formUnion(relatives(last, in: scopes, of: place.file, besides: found)) }
        // A name that is declared in the scope of a use hides the names of other files.
        for entry in file.imports where entry.name == first {
            let imported = named(entry.path + path.dropFirst(), from: place.file)
            // mutant okhttp-import: {} by OkHttpTests/unknownScopes
            if imported.isEmpty { return [] }
            found.formUnion(imported)
        }
        if path.count == 2, first == "BuildConfig", file.imports.contains(where: { $0.name == first }) {
            return found.sorted { ($0.file, $0.index) < ($1.file, $1.index) }
        }
        let packages = [file.package] + file.imports.filter { $0.name == nil }.map(\.path)
        for package in packages { found.formUnion(named(package + path, from: place.file)) }
        if path.count > 1 { found.formUnion(named(Array(path), from: place.file)) }
        // Each assignment in these files may be to this variable.
        for reference in found where !definition(reference).isFixed {
            found.formUnion(
                (files[reference.file].assigned[last] ?? []).map { Reference(file: reference.file, index: $0) })
        }
        return found.sorted { ($0.file, $0.index) < ($1.file, $1.index) }
    }

    /// Returns the declarations with a qualified name, in all files of the project.
    private mutating func named(_ path: [String], from file: Int) -> Set<Reference> {
        guard let last = path.last else { return [] }
        load(last)
        let isField = path.dropLast().last == "BuildConfig"
        if isField { load("buildConfigField") }
        var found = isField ? fields(last, ofPackage: path.dropLast(2), from: file) : []
        for index in files.indices where !files[index].isGradle {
            for entry in files[index].declared[last] ?? [] {
                let definition = files[index].definitions[entry]
                guard index == file || !definition.isPrivate, files[index].isNamed(path, definition, isWhole: true)
                else { continue }
                found.insert(Reference(file: index, index: entry))
            }
        }
        return found
    }

    /// Returns the declarations of a field of `BuildConfig` in Gradle files: those of the module with the package, or
    /// otherwise those of the module with the file, if the package may be its own.
    private func fields(_ name: String, ofPackage package: ArraySlice<String>, from file: Int) -> Set<Reference> {
        let all = files.indices.filter { files[$0].isGradle }
        let named = all.filter { !package.isEmpty && files[$0].package == Array(package) }
        let isOwn =
            files[file].package.starts(with: package) && all.contains { files[$0].isModule(of: files[file].path) }
        let chosen = all.filter { index in
            guard files[index].isModule else { return true }
            // mutant okhttp-module: true by SourceProjectTests/found
            return named.isEmpty ? !isOwn || files[index].isModule(of: files[file].path) : named.contains(index)
        }
        return Set(
            chosen.flatMap { index in
                ((files[index].declared[name] ?? []) + (files[index].declared[GradleFields.unknown] ?? [])).map {
                    Reference(file: index, index: $0)
                }
            })
    }

    /// Returns the properties of a data class that is visible at a place, in the order of its constructor.
    mutating func properties(of type: String, at place: Place) -> [String]? {
        let file = files[place.file]
        if let names = file.properties(ofDataClass: type, in: file.scopes(at: place.position)) { return names }
        let path = type.split(separator: ".").map(String.init)
        // A type that this file declares hides others.
        guard let first = path.first, let last = path.last, file.supertypes[first] == nil else { return nil }
        load(last)
        var paths = file.imports.filter { $0.name == first }.map { $0.path + path.dropFirst() }
        if paths.isEmpty {
            let packages = [file.package] + file.imports.filter { $0.name == nil }.map(\.path)
            paths = packages.map { $0 + path } + [path]
        }
        let found = paths.flatMap { path in files.compactMap { $0.properties(ofDataClassNamed: path) } }
        // A class of another kind, which hides those of imports with a star.
        let isOther = files.contains { file in
            file.supertypes[last] != nil && paths.contains { $0.dropLast().elementsEqual(file.package) }
                && !paths.contains { file.properties(ofDataClassNamed: $0) != nil }
        }
        // mutant okhttp-classes: true for 2 by SourceProjectTests/unknown
        guard let names = found.first, found.allSatisfy({ $0 == names }), !isOther else { return nil }
        return names
    }

    /// Returns the declarations of a name in the supertypes of the classes around a place, and in the receivers of its
    /// blocks.
    private mutating func relatives(
        _ name: String, in scopes: [Int], of own: Int, besides known: Set<Reference>
    ) -> Set<Reference> {
        var names: [String] = []
        for scope in scopes where !known.contains(where: { definition($0).scope == scope }) {
            names += files[own].scopes[scope].relatives
        }
        guard !names.isEmpty else { return [] }
        load(name)
        var (types, index): ([String], Int) = ([], 0)
        for name in names where !types.contains(name) { types.append(name) }
        while index < types.count, index < Self.mostSupertypes {
            let type = types[index]
            index += 1
            load(type)
            for file in files { types += (file.supertypes[type] ?? []).filter { !types.contains($0) } }
        }
        var found: Set<Reference> = []
        for file in files.indices {
            for entry in files[file].declared[name] ?? [] {
                let definition = files[file].definitions[entry]
                guard file == own || !definition.isPrivate, let type = files[file].type(of: definition) else {
                    continue
                }
                // mutant okhttp-relative: false by OkHttpTests/unknownScopes
                guard types.contains(type) else { continue }
                found.insert(Reference(file: file, index: entry))
            }
        }
        return found
    }

    /// Adds the files of the project that contain a word.
    private mutating func load(_ word: String) {
        // mutant okhttp-partial: true for 2 by SourceProjectTests/limits
        guard let project, project.problem == nil, words.insert(word).inserted else { return }
        for file in project.files(with: word, besides: bytes)
        where !files.contains(where: { $0.path == file.path && $0.isGradle == file.isGradle }) {
            files.append(file)
        }
    }
}
