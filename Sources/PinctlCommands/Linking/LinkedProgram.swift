import PinctlBasics

/// A program or library with the libraries that the loader finds for it, and the Swift modules in all of them.
struct LinkedProgram {
    /// The files that contain the types of each module, in the order of the loader.
    private(set) var modules: [String: [String]] = [:]

    /// A library that a file needs, and the directories in which the loader looks for it first.
    private struct Wanted {
        let name: String
        let user: String
        /// The directories of `DT_RPATH`, which also count for the libraries of the library.
        let inherited: [String]
        let directories: [String]
    }

    /// The number of libraries of one program.
    private static let limit = 1_000

    /// Reads a program and its libraries. `variables` are those of the environment, as the loader reads them.
    init(_ path: String, variables: [String: String]) throws(LinkError) {
        let program = try Self.read(path)
        var wanted: [Wanted] = []
        var seen: Set<String> = []
        var next = 0
        note(program, at: path, inherited: [], variables, &wanted)
        while next < wanted.count {
            let library = wanted[next]
            next += 1
            guard seen.insert(library.name).inserted else { continue }
            guard seen.count <= Self.limit else { throw .tooMany(path) }
            let (file, place) = try Self.find(library, for: program.machine)
            note(file, at: place, inherited: library.inherited, variables, &wanted)
        }
    }

    private mutating func note(
        _ file: ELFFile, at path: String, inherited: [String], _ variables: [String: String], _ wanted: inout [Wanted]
    ) {
        for module in file.swiftModules { modules[module, default: []].append(path) }
        let origin = parentDirectory(of: absolutePath(path) ?? path)
        func expanded(_ directories: [String]) -> [String] {
            directories.map { $0.replacing("${ORIGIN}", with: origin).replacing("$ORIGIN", with: origin) }
        }
        // ld.so(8): DT_RPATH counts only without DT_RUNPATH, but also for the libraries of libraries.
        let rpath = file.runpath.isEmpty ? expanded(file.rpath) + inherited : []
        let environment = (variables["LD_LIBRARY_PATH"] ?? "").split(whereSeparator: { ":;".contains($0) })
        let directories = rpath + environment.map(String.init) + expanded(file.runpath)
        wanted += file.needed.map { Wanted(name: $0, user: path, inherited: rpath, directories: directories) }
    }

    /// Returns a library, and its path, as the loader finds it for this processor.
    private static func find(_ library: Wanted, for machine: Int) throws(LinkError) -> (ELFFile, path: String) {
        let directories = library.directories + systemDirectories
        let paths = library.name.contains("/") ? [library.name] : directories.map { "\($0)/\(library.name)" }
        for path in paths {
            guard case .file = FileKind(path) else { continue }
            let file: ELFFile
            do throws(LinkError) {
                file = try read(path)
            } catch {
                // The loader skips what is for other processors.
                guard case .unsupported = error else { throw error }
                continue
            }
            if file.machine == machine { return (file, path) }
        }
        // mutant link-missing: { return (try read(library.user), library.user) } by LinkedProgramTests/missingLibrary
        throw .missing(library.name, user: library.user)
    }

    /// The directories of the loader's configuration, and those that it always knows.
    private static let systemDirectories: [String] = {
        let included = (DirectoryEntry.all(in: "/etc/ld.so.conf.d") ?? []).map(\.name).filter { $0.hasSuffix(".conf") }
        let files = ["/etc/ld.so.conf"] + included.sorted().map { "/etc/ld.so.conf.d/\($0)" }
        let lines = files.flatMap { file in
            String(decoding: (try? InputFile.contents(ofFile: file, limit: 1 << 20)) ?? [], as: UTF8.self)
                .split(separator: "\n").map { $0.prefix { !$0.isWhitespace } }.map(String.init)
        }
        return lines.filter { $0.hasPrefix("/") } + ["/lib64", "/usr/lib64", "/lib", "/usr/lib"]
    }()

    private static func read(_ path: String) throws(LinkError) -> ELFFile {
        let bytes: [UInt8]
        do throws(InputFileError) { bytes = try InputFile.contents(ofFile: path, limit: 1 << 30) } catch {
            throw .unreadable(path, error)
        }
        do throws(ELFError) { return try ELFFile(bytes) } catch {
            if case .unsupported = error { throw .unsupported(path, error) }
            throw .damaged(path, error)
        }
    }
}

/// The reason why it isn't known what is linked into a program.
enum LinkError: Error, Sendable {
    case unreadable(String, InputFileError)
    case unsupported(String, ELFError)
    case damaged(String, ELFError)
    case missing(String, user: String)
    case tooMany(String)
}

extension LinkError: CustomStringConvertible {
    var description: String {
        switch self {
        case .unreadable(let path, let reason): "\(path): \(reason)"
        case .unsupported(let path, let reason), .damaged(let path, let reason): "\(path): \(reason)"
        case .missing(let name, let user):
            "\(name), which \(user) needs, wasn't found: check the program where it runs, or set LD_LIBRARY_PATH"
        case .tooMany(let path): "\(path): needs too many libraries: check that it is the file you mean"
        }
    }
}
