import PinDialects
import PinctlBasics

/// The files of a source tree that are searched.
///
/// In a work tree of git, these are the files that git tracks or would add. Elsewhere they are all files. Links aren't
/// followed, since they may lead out of the tree, and files that they lead to in the tree are searched anyway.
struct SourceTree {
    /// The paths of the files, with the operand at their start, in order.
    private(set) var paths: [String] = []

    /// Returns the name of a file in the tree, which says what it is for.
    func name(of path: String) -> String {
        guard let root else { return path.split(separator: "/").last.map(String.init) ?? path }
        return String(path.utf8.dropFirst(root == "." ? 0 : root.utf8.count + (root.hasSuffix("/") ? 0 : 1))) ?? path
    }

    /// The directory, or `nil` for a file alone.
    private let root: String?
    /// The number of links that weren't followed.
    private(set) var linkCount = 0
    /// The parts of the tree that can't be searched, with the reasons.
    private(set) var problems: [(path: String, reason: String)] = []
    /// Remarks on how the tree was listed.
    private(set) var notes: [String] = []

    private let variables: [String: String]
    /// The directories that were found to be none of links, so that files in them are in the tree.
    private var directories: [String: Bool] = [:]

    /// The limits on a tree: far more than any repository has.
    private static let maximumFiles = 1_000_000
    private static let maximumDepth = 100
    private static let maximumModules = 10
    private static let maximumList = 256 << 20
    /// The directories of version control, which contain no file that anyone wrote.
    private static let excluded: Set<String> = [".git", ".hg", ".svn"]

    /// Lists the files of a directory, or a file alone.
    init(_ operand: String, variables: [String: String]) {
        self.variables = variables
        root = FileKind(operand) == .directory ? operand : nil
        guard root != nil else {
            paths = [operand]
            return
        }
        list(operand, isModule: 0)
        // What was walked through is in order already, unlike what git lists.
        paths.sort()
    }

    /// Returns the path of a file in a directory. The working directory isn't named.
    static func path(_ name: String, in directory: String) -> String {
        directory == "." ? name : directory.hasSuffix("/") ? directory + name : "\(directory)/\(name)"
    }

    private mutating func list(_ directory: String, isModule depth: Int) {
        do throws(TaggedFilesError) {
            let names = try TaggedFiles(directory: directory, variables: variables)
                .workTreePaths(limit: Self.maximumList)
            // Git lists nothing in a directory that it ignores.
            if !names.isEmpty { return add(names, of: directory, depth) }
        } catch {
            switch error {
            case .foreignOwner: notes.append("\(error); files that git ignores are searched too")
            case .noGit where FileKind(Self.path(".git", in: directory)) != .missing:
                notes.append("\(error); files that git ignores are searched too")
            default: break
            }
        }
        walk(directory, depth: 0)
    }

    /// Adds the files that git lists in a directory.
    private mutating func add(_ names: [String], of directory: String, _ depth: Int) {
        var last = ""
        // A file with a conflict is listed several times.
        for name in names where name != last {
            last = name
            guard name != "./" else {
                problems.append((directory, "is a submodule without files: run git submodule update --init"))
                continue
            }
            guard isInside(name, of: directory) else {
                linkCount += 1
                continue
            }
            let path = Self.path(name, in: directory)
            guard !name.hasSuffix("/"), DirectoryEntry.Kind(path) != .directory else {
                let module = name.hasSuffix("/") ? String(path.dropLast()) : path
                if depth < Self.maximumModules {
                    list(module, isModule: depth + 1)
                } else {
                    problems.append((module, "is nested too deeply in other repositories: search it by itself"))
                }
                continue
            }
            add(path, DirectoryEntry.Kind(path))
        }
    }

    /// Returns whether no directory on the way to a file is a link.
    private mutating func isInside(_ name: String, of directory: String) -> Bool {
        let parts = name.split(separator: "/").dropLast()
        guard !name.hasPrefix("/"), !parts.contains("..") else { return false }
        var path = directory
        for part in parts {
            path = Self.path(String(part), in: path)
            let isReal = directories[path] ?? (DirectoryEntry.Kind(path) != .link)
            directories[path] = isReal
            // mutant find-inside: false by FindTests
            if !isReal { return false }
        }
        return true
    }

    private mutating func walk(_ directory: String, depth: Int) {
        guard depth < Self.maximumDepth else {
            problems.append((directory, "is nested too deeply: search it by itself"))
            return
        }
        guard let entries = DirectoryEntry.all(in: directory) else {
            problems.append((directory, "can't be listed: check its permissions"))
            return
        }
        let places = entries.lazy.filter { !$0.name.hasPrefix(".") || !Self.excluded.contains($0.name) }.map { entry in
            let path = Self.path(entry.name, in: directory)
            let kind = entry.kind ?? DirectoryEntry.Kind(path)
            // The files of a directory follow those whose names go on with a byte before the slash.
            return (path: path, kind: kind, order: kind == .directory ? path + "/" : path)
        }
        for (path, kind, _) in places.sorted(by: { $0.order < $1.order }) {
            if kind == .directory { walk(path, depth: depth + 1) } else { add(path, kind) }
            guard paths.count < Self.maximumFiles else { return }
        }
    }

    private mutating func add(_ path: String, _ kind: DirectoryEntry.Kind?) {
        // A device or a pipe may have effects when it is opened.
        if kind == .special { return }
        guard kind != .link else {
            linkCount += 1
            // mutant find-dangling: false for 1 by FindTests
            if FileKind(path) == .missing, PinSearch.expectsPins(inFileNamed: path) {
                problems.append((path, "is a link to a file that doesn't exist: restore it or remove the link"))
            }
            return
        }
        if paths.count == Self.maximumFiles - 1 {
            problems.append((path, "is one of more than \(grouped(Self.maximumFiles)) files: search fewer directories"))
        }
        if paths.count < Self.maximumFiles { paths.append(path) }
    }
}
