import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlLibC

/// The files of a git repository as they were at its tags.
///
/// Only plumbing commands that read objects are used: `for-each-ref`, `rev-parse`, `ls-tree`, and one `cat-file
/// --batch` for all files. No hook, filter, pager, textconv or file system monitor is run, regardless of the
/// repository's configuration. Objects missing in a partial clone aren't fetched, since that would run programs that
/// the configuration names.
final class TaggedFiles {
    private let program: String
    private let directory: String
    private let environment: [String]
    private var reader: ChildProcess?
    /// The number of bytes that may still be read from all files together. The initial value is enough for a few
    /// thousand policies.
    private var bytesLeft = 256 << 20

    /// The maximum size of a file, the same as that of a policy.
    static let maximumSize = 8 << 20
    private static let patience = Duration.seconds(60)

    struct Tag: Hashable {
        /// The name without `refs/tags/`.
        let name: String
        /// The object that the tag points to, in hexadecimal digits.
        let object: String
    }

    /// Opens the repository that contains `directory`.
    init(directory: String, variables: [String: String]) throws(TaggedFilesError) {
        guard let program = programPath("git", in: variables["PATH"] ?? "/usr/bin:/bin") else { throw .noGit }
        self.program = program
        self.directory = directory
        // The user's configuration may mark a repository as trusted. All other environment variables of git say where
        // to look or what to run, so they aren't passed on.
        environment =
            ["HOME", "XDG_CONFIG_HOME", "PATH"].compactMap { name in variables[name].map { "\(name)=\($0)" } } + [
                "LC_ALL=C", "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "GIT_NO_REPLACE_OBJECTS=1",
                "GIT_NO_LAZY_FETCH=1", "GIT_LITERAL_PATHSPECS=1",
                "GIT_ALLOW_PROTOCOL=none",
            ]
        let answer = try run("rev-parse", "--git-dir")
        guard answer.status == 0 else {
            let mark = "detected dubious ownership in repository at '"
            guard let start = answer.errorOutput.firstRange(of: mark)?.upperBound else {
                throw .noRepository(directory: directory, answer.errorOutput)
            }
            throw .foreignOwner(directory: String(answer.errorOutput[start...].prefix { $0 != "'" }))
        }
    }

    /// Returns the tags that match a pattern, lower versions first.
    func tags(matching glob: String) throws(TaggedFilesError) -> [Tag] {
        let answer = try run(
            "for-each-ref", "--sort=version:refname", "--format=%(objectname)%00%(refname)", "--", "refs/tags/")
        guard answer.status == 0 else { throw .failed(answer.errorOutput) }
        var all: [Tag] = []
        var hasAny = false
        for line in answer.output.split(separator: UInt8(ascii: "\n")) {
            let parts = line.split(separator: 0, maxSplits: 1)
            guard parts.count == 2 else { continue }
            // A name that isn't UTF-8 would be printed as a different one, and skipping its release would hide it.
            let name = String(decoding: parts[1], as: UTF8.self)
            hasAny = true
            let short = String(name.dropFirst("refs/tags/".count))
            if PinctlCommands.matches(short, glob: glob) {
                guard name.utf8.elementsEqual(parts[1]) else { throw .foreignName(short) }
                all.append(Tag(name: short, object: String(decoding: parts[0], as: UTF8.self)))
            }
        }
        guard all.isEmpty else { return all }
        let shallow = try run("rev-parse", "--is-shallow-repository")
        throw .noTag(
            glob: glob, hasTags: hasAny,
            isShallow: shallow.output.starts(with: Array("true".utf8)))
    }

    /// Returns a file as it was at a tag. The path is relative to the top of the tree.
    func contents(_ written: String, at tag: Tag, limit: Int) throws(InputFileError) -> [UInt8] {
        // git treats `.` and `..` as names, and at the start of a path as relative to its own directory.
        guard let path = PolicyDirectory.resolvingDots(in: written) else {
            let reason = "it leads out of the repository: name a file inside, from its top"
            throw InputFileError(path: written, reason: .unavailable(reason))
        }
        guard !path.utf8.contains(UInt8(ascii: "\n")), !path.utf8.contains(0), !path.isEmpty else {
            throw InputFileError(path: path, reason: Self.noSuchFile)
        }
        do throws(TaggedFilesError) {
            return try object("\(tag.object):\(path)", limit: min(limit, Self.maximumSize))
        } catch {
            switch error {
            case .missing: throw InputFileError(path: path, reason: absence(of: path, at: tag))
            case .directory: throw InputFileError(path: path, reason: .directory)
            case .tooLarge(let limit): throw InputFileError(path: path, reason: .tooLarge(limit: limit))
            default:
                // git exits when it would have to fetch an object.
                reader = nil
                let absence = absence(of: path, at: tag)
                throw InputFileError(
                    path: path, reason: absence == Self.noSuchFile ? .unavailable(error.description) : absence)
            }
        }
    }

    /// A file, link or submodule at a tag.
    struct Entry {
        let path: String
        /// The object with its contents, in hexadecimal digits.
        let object: String
        let isLink: Bool
        let isSubmodule: Bool
    }

    /// Returns all entries of the tree at a tag.
    func entries(at tag: Tag) throws(TaggedFilesError) -> [Entry] {
        let answer = try run("ls-tree", "-r", "--full-tree", "-z", tag.object)
        guard answer.status == 0 else { throw .failed(answer.errorOutput) }
        return answer.output.split(separator: 0).compactMap { line in
            // The format is MODE TYPE OBJECT, a tab, and the path.
            let parts = line.split(separator: UInt8(ascii: "\t"), maxSplits: 1)
            let words = parts[0].split(separator: UInt8(ascii: " ")).map { String(decoding: $0, as: UTF8.self) }
            guard parts.count == 2, words.count == 3 else { return nil }
            return Entry(
                path: String(decoding: parts[1], as: UTF8.self), object: words[2], isLink: words[0] == "120000",
                isSubmodule: words[0] == "160000")
        }
    }

    /// Returns the contents of a file by its object.
    func contents(of entry: Entry) throws(TaggedFilesError) -> [UInt8] {
        try object(entry.object, limit: Self.maximumSize)
    }

    /// Returns the paths of the files in the work tree below the directory, without those that git ignores. A
    /// submodule is one path. `limit` is the maximum length of the list in bytes.
    func workTreePaths(limit: Int) throws(TaggedFilesError) -> [String] {
        let answer = try run("ls-files", "-z", "--cached", "--others", "--exclude-standard", limit: limit)
        guard answer.status == 0 else { throw .failed(answer.errorOutput) }
        return answer.output.split(separator: 0).map { String(decoding: $0, as: UTF8.self) }
    }

    /// Returns whether a part of a path is a link or a submodule, so that the paths of a tag don't include it.
    func isUnlisted(_ path: String, in paths: [String]) -> Bool {
        let parts = path.split(separator: "/")
        return (1..<max(1, parts.count)).contains { paths.contains(parts[..<$0].joined(separator: "/")) }
    }

    /// Returns a file as it was at a tag, or `nil` if there is none that can be read.
    func contentsIfPresent(_ written: String, at tag: Tag) -> [UInt8]? {
        guard let path = PolicyDirectory.resolvingDots(in: written), !path.isEmpty,
            !path.utf8.contains(UInt8(ascii: "\n")), !path.utf8.contains(0)
        else { return nil }
        return try? object("\(tag.object):\(path)", limit: Self.maximumSize)
    }

    /// Returns why git has no such file. The tree may list it without its contents, or the trees themselves may be
    /// missing.
    private func absence(of path: String, at tag: Tag) -> InputFileError.Reason {
        do throws(TaggedFilesError) {
            let answer = try run("ls-tree", "--full-tree", tag.object, "--", path)
            guard answer.status == 0 else {
                return .unavailable(TaggedFilesError.failed(answer.errorOutput).description)
            }
            guard answer.output.isEmpty else {
                return .unavailable(
                    "git has its name and not its contents: fetch a partial clone whole with git fetch --refetch "
                        + "--no-filter, or look for damage with git fsck")
            }
            return try elsewhere(path, at: tag).map { .unavailable($0) } ?? Self.noSuchFile
        } catch {
            return .unavailable(error.description)
        }
    }

    /// Returns a description of the first part of a path that is a symbolic link or a submodule, or `nil` if there is
    /// none.
    private func elsewhere(_ path: String, at tag: Tag) throws(TaggedFilesError) -> String? {
        let parts = path.split(separator: "/").map(String.init)
        for count in 1..<max(1, parts.count) {
            let directory = parts[..<count].joined(separator: "/")
            let entry = try run("ls-tree", "--full-tree", tag.object, "--", directory).output
            if entry.starts(with: Array("120000 ".utf8)) {
                return "\(directory) is a symbolic link at this tag: name the path that it leads to"
            }
            if entry.starts(with: Array("160000 ".utf8)) {
                return "\(directory) is a submodule: name its repository with --repository"
            }
        }
        return nil
    }

    private static let noSuchFile = InputFileError.Reason.failed(operation: "read", errno: ENOENT)

    private func object(_ name: String, limit: Int) throws(TaggedFilesError) -> [UInt8] {
        let answer: Answer
        do throws(ChildProcessError) {
            answer = try ask(for: name, limit: min(limit, bytesLeft))
        } catch {
            throw .failed(error.description)
        }
        switch answer {
        case .blob(let bytes):
            bytesLeft -= bytes.count
            return bytes
        case .other: throw .directory
        case .missing: throw .missing
        case .tooLarge:
            // The contents aren't read, so the process is started again for the next file.
            reader = nil
            throw .tooLarge(limit: min(limit, bytesLeft))
        }
    }

    private enum Answer {
        case blob([UInt8])
        case other
        case missing
        case tooLarge
    }

    private func ask(for name: String, limit: Int) throws(ChildProcessError) -> Answer {
        let reader: ChildProcess
        if let running = self.reader { reader = running } else { reader = try start(["cat-file", "--batch"]) }
        self.reader = reader
        try reader.write(Array("\(name)\n".utf8))
        guard let line = try reader.line(limit: 16 << 10) else { throw .ended }
        // The format is OBJECT TYPE SIZE. A missing object is reported with the name that was asked for.
        let words = String(decoding: line, as: UTF8.self).split(separator: " ")
        guard words.count == 3, let size = Int(words[2]), size >= 0 else { return .missing }
        guard size <= limit else { return .tooLarge }
        let contents = try reader.bytes(size + 1)
        return words[1] == "blob" ? .blob(Array(contents.dropLast())) : .other
    }

    private func run(
        _ arguments: String..., limit: Int = 32 << 20
    ) throws(TaggedFilesError) -> (output: [UInt8], status: Int32, errorOutput: String) {
        do throws(ChildProcessError) {
            let process = try start(arguments)
            let (output, status) = try process.finish(limit: limit)
            return (output, status, String(decoding: process.errorOutput, as: UTF8.self))
        } catch {
            throw .failed(error.description)
        }
    }

    private func start(_ arguments: [String]) throws(ChildProcessError) -> ChildProcess {
        let settings = [
            "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat", "core.alternateRefsCommand=",
            "protocol.allow=never",
        ]
        return try ChildProcess(
            program, ["--no-pager", "-C", directory] + settings.flatMap { ["-c", $0] } + arguments,
            environment: environment, patience: Self.patience)
    }
}

/// A reason why files at tags can't be read.
enum TaggedFilesError: Error, Hashable {
    case noGit
    case noRepository(directory: String, String)
    case foreignOwner(directory: String)
    case noTag(glob: String, hasTags: Bool, isShallow: Bool)
    case foreignName(String)
    case missing
    case directory
    case tooLarge(limit: Int)
    case failed(String)
}

extension TaggedFilesError: CustomStringConvertible {
    var description: String {
        switch self {
        case .noGit: "the program git is in no directory of PATH: install it, or name files instead of tags"
        case .noRepository(let directory, let errorOutput):
            "\(directory) is in no repository that git can read (\(Self.firstLine(errorOutput))): give --repository DIR"
        case .foreignOwner(let directory):
            "\(directory) belongs to another user, and git reads it only if you trust it: run git config --global "
                + "--add safe.directory \(directory)"
        case .noTag(let glob, let hasTags, let isShallow):
            (hasTags ? "no tag matches \"\(glob)\"" : "the repository has no tags")
                + (isShallow ? ", and it is a shallow clone" : "")
                + (isShallow || !hasTags
                    ? ": fetch them with git fetch --tags, or set fetch-depth: 0 where a CI job checks out"
                    : ": see git tag --list")
        case .foreignName(let name): "the tag \(name) has a name that is not UTF-8: give it another one"
        case .missing: "no such file"
        case .directory: "is a directory"
        case .tooLarge(let limit): "larger than \(limit) bytes, the most that is read"
        case .failed(let reason): "git failed: \(Self.firstLine(reason))"
        }
    }

    private static func firstLine(_ text: String) -> String {
        let lines = text.split(separator: "\n")
        // Warnings come first but aren't the reason for the exit.
        return String(lines.first { $0.hasPrefix("fatal: ") } ?? lines.first ?? "it does not say why")
    }
}
