import CertificatePinning
import PinDialects
import PinctlBasics

/// The projects of programs, in whose other files a program's constants and certificates are looked for.
///
/// The project of a file is the closest directory above it with Gradle's settings or a repository of git, or otherwise
/// the directory that the user has given. A file outside of both has no project.
final class SourceProjects: Sendable {
    private let directories: [String]
    private let variables: [String: String]
    private let projects = Locked<[String: SourceProject]>([:])

    /// The size of a file with a certificate, in bytes.
    private static let largestCertificate = 1 << 20
    /// The number of directories above a file that are looked at.
    private static let depth = 40

    /// Creates the projects of files, some of which are in directories among the operands.
    init(_ operands: [String], variables: [String: String]) {
        directories = operands.filter { FileKind($0) == .directory }
        self.variables = variables
    }

    /// Returns the project of a file. Its files are read when the first name is looked for in it.
    func project(of path: String) -> SourceProject? {
        guard path != "-" else { return nil }
        let given = directories.first { $0 == "." || path.hasPrefix($0.hasSuffix("/") ? $0 : $0 + "/") }
        guard let root = Self.directories(above: path).first(where: Self.isRoot) ?? given else { return nil }
        let variables = variables
        return projects.withLock { projects in
            if let known = projects[root] { return known }
            let project = SourceProject { Self.contents(of: root, $0, variables) }
            projects[root] = project
            return project
        }
    }

    private static func isRoot(_ directory: String) -> Bool {
        (rootFiles + [".git"]).contains { FileKind("\(directory)/\($0)") != .missing }
    }

    /// The files in the top directory of a project.
    static let rootFiles = ["settings.gradle", "settings.gradle.kts"]

    /// Returns the directories above a path, the closest first. Above `.` is `..`.
    static func directories(above path: String) -> [String] {
        var directories: [String] = []
        var directory = path
        while directories.count < depth, directory != "/" {
            let last = directory.split(separator: "/").last.map(String.init)
            if directory == "." {
                directory = ".."
            } else if last == ".." {
                directory += "/.."
            } else if let slash = directory.lastIndex(of: "/") {
                directory = slash == directory.startIndex ? "/" : String(directory[..<slash])
            } else {
                directory = "."
            }
            directories.append(directory)
        }
        return directories
    }

    private static func contents(
        of root: String, _ kind: SourceProject.Kind, _ variables: [String: String]
    ) -> SourceProject.Contents {
        let tree = SourceTree(root, variables: variables)
        var contents = SourceProject.Contents()
        for problem in tree.problems { contents.add(problem: "\(problem.path) \(problem.reason)") }
        var buffer = FileBuffer()
        for path in tree.paths where SourceProject.contains(tree.name(of: path), kind) {
            do throws(InputFileError) {
                guard kind == .program else {
                    contents.add(try InputFile.contents(ofFile: path, limit: Self.largestCertificate), path: path)
                    continue
                }
                switch try SearchedFile(path, &buffer) {
                case .text(let size): contents.add(buffer.contents(size), path: path)
                // mutant okhttp-too-large: () for `contents…MiB")` by PinctlTests.SourceProjectsTests/unread
                case .tooLarge: contents.add(problem: "\(path) is larger than 8 MiB")
                case .binary, .absent: break
                }
            } catch {
                // A file that can't be read may have another value.
                contents.add(problem: "\(path): \(error)")
            }
        }
        return contents
    }
}

/// The pins that programs refer to as constants of other files. Their places aren't places of their own, since the
/// hosts are in the programs.
struct PinConstants {
    private var files: [[UInt8]: Set<String>] = [:]
    /// The files that have any of them.
    private var allFiles: Set<String> = []
    /// The positions of constants that nothing uses.
    private var unused: Set<PolicyLocation> = []

    /// Adds the constants that a program refers to, and those of a file that nothing uses.
    mutating func add(_ search: PinSearch) {
        unused.formUnion(search.unusedConstants)
        guard !search.constantFiles.isEmpty else { return }
        allFiles.formUnion(search.constantFiles)
        for pin in search.sightings where pin.dialect?.hasConstants ?? false {
            files[pin.pin.value, default: []].formUnion(search.constantFiles)
        }
    }

    /// Whether a pin that no dialect reads is such a constant.
    func contains(_ sighting: PinSighting) -> Bool {
        guard sighting.dialect == nil, let files = files[sighting.pin.value] else { return false }
        return Self.contains(sighting.location.path, files)
    }

    /// Returns the pins without the values of constants, whose positions those of the programs get.
    func resolved(_ sightings: [PinSighting]) -> [PinSighting] {
        let values = Dictionary(grouping: sightings.filter(contains), by: \.pin.value)
        return sightings.compactMap { sighting in
            guard !contains(sighting) else { return nil }
            guard sighting.isOfConstant, let value = values[sighting.pin.value]?.first else { return sighting }
            var sighting = sighting
            // mutant find-constant-place: nil for `value.location` by PinctlTests.SourceProjectsTests/places
            sighting.value = value.location
            return sighting
        }
    }

    /// Returns a pin with its standing. A constant beside those that a program uses isn't in force if nothing uses it.
    func marked(_ sighting: PinSighting) -> PinSighting {
        guard sighting.dialect == nil, sighting.isInForce, unused.contains(sighting.location),
            Self.contains(sighting.location.path, allFiles)
        else { return sighting }
        var sighting = sighting
        sighting.standing = .unused
        return sighting
    }

    private static func contains(_ path: String, _ files: Set<String>) -> Bool {
        // The path of a project above the working directory begins with ../ and the names of directories.
        files.contains { $0 == path || $0.hasPrefix("../") && $0.hasSuffix("/" + path) }
    }
}

extension Arguments {
    /// Returns the projects of programs among the operands.
    func sourceProjects(in environment: CommandEnvironment) -> SourceProjects {
        SourceProjects(operands, variables: environment.variables())
    }
}
