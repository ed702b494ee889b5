import PinctlFoundation

/// A file to read: an operand, or a file in a directory that is an operand.
struct InputPath: Sendable {
    let path: String
    /// Whether it is an operand itself.
    var isNamed = false
    /// Whether its name, or that of a directory on the way to it, begins with a dot.
    var isHidden = false
    /// The operand in which it was found, or `nil` if it is one itself.
    var operand: String?

    /// The directory of the file, as it is in the path.
    var directory: Substring { path.lastIndex(of: "/").map { path[..<$0] } ?? "." }

    /// The name of the file in its directory.
    var name: String { path.lastIndex(of: "/").map { String(path[path.index(after: $0)...]) } ?? path }

    /// Whether the end of its name is one for certificates and keys.
    var isNamedAsKeys: Bool {
        [".pem", ".crt", ".cer", ".cert", ".der", ".p7b", ".p7c", ".p12", ".pfx", ".key", ".csr"].contains {
            path.lowercased().hasSuffix($0)
        }
    }
}

extension InputPath {
    /// The limit on nested directories.
    private static let depthLimit = 32
    /// The directories of version control, which contain no file that a server reads.
    private static let excluded: Set<String> = [".git", ".hg", ".svn"]

    /// Returns the files that an operand refers to.
    ///
    /// For a directory, these are the files in it and in the directories below it, through symbolic links too: first
    /// those of the directory, sorted by name, and hidden ones last. A hidden file that was found under a name that
    /// isn't hidden isn't repeated. Anything else than a file, and a directory that can't be listed, is returned as it
    /// is, so that reading it gives the reason.
    static func all(of operand: String) throws(InputProblem) -> [InputPath] {
        guard operand != "-", FileKind(operand) == .directory else { return [InputPath(path: operand, isNamed: true)] }
        guard let names = names(in: operand) else {
            throw InputProblem(reason: "this directory cannot be listed: check its permissions")
        }
        guard !names.isEmpty else { throw InputProblem(reason: "is an empty directory: name one with files") }
        var paths: [InputPath] = []
        var known = Set([FileIdentity(operand)].compactMap(\.self))
        add(names, of: operand, isHidden: false, depth: 0, &paths, &known)
        guard !paths.isEmpty else { throw InputProblem(reason: "has no files in its directories: name one with files") }
        for index in paths.indices { paths[index].operand = operand }
        return paths
    }

    /// Returns the other files in the directory of a file whose names are those of certificates or keys.
    static func beside(_ file: InputPath) -> [InputPath] {
        let directory = file.directory
        return (names(in: String(directory)) ?? []).filter { !$0.hasPrefix(".") && $0 != file.name }
            .map { InputPath(path: file.path.contains("/") ? "\(directory)/\($0)" : $0) }
            .filter { ($0.isNamedAsKeys || KeyFileName.isOfKey($0.name)) && FileKind($0.path) == .file }
    }

    private static func names(in directory: String) -> [String]? {
        (try? FileManager.default.contentsOfDirectory(atPath: directory))?.filter { !excluded.contains($0) }.sorted()
    }

    private static func add(
        _ names: [String], of directory: String, isHidden: Bool, depth: Int, _ paths: inout [InputPath],
        _ known: inout Set<FileIdentity>
    ) {
        var directories: [InputPath] = []
        for name in names.filter({ !$0.hasPrefix(".") }) + names.filter({ $0.hasPrefix(".") }) {
            let file = InputPath(
                path: (directory.hasSuffix("/") ? directory : directory + "/") + name,
                isHidden: isHidden || name.hasPrefix("."))
            let identity = FileIdentity(file.path)
            if FileKind(file.path) == .directory {
                // A link may lead to a directory that is being read.
                if identity.map({ known.insert($0).inserted }) ?? true { directories.append(file) }
            } else if !file.isHidden {
                if let identity { known.insert(identity) }
                paths.append(file)
                // mutant files-hidden-once: known.insert($0).inserted for `!known.contains($0)` by
                //   FilesInUseTests/certbotVersions
            } else if identity.map({ !known.contains($0) }) ?? true {
                paths.append(file)
            }
        }
        for inner in directories {
            guard depth < depthLimit, let names = self.names(in: inner.path) else {
                paths.append(inner)
                continue
            }
            add(names, of: inner.path, isHidden: inner.isHidden, depth: depth + 1, &paths, &known)
        }
    }
}
