import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

/// Where releases are read from: `git:TAGGLOB:PATH`, a file, a folder of files.
struct ReleaseReader {
    /// The folder in which git looks for its repository.
    let repository: String
    let variables: [String: String]
    /// For dialects that name none.
    let host: String?
    /// Which policy counts of a file that holds several; nil for each of them.
    let dialect: PinDialect?
    private var files: TaggedFiles?
    private(set) var releases: [Release] = []
    /// Releases at tags by the bytes of their file, as far as those are all there is to them.
    private var releasesByBytes: [[UInt8]: Range<Int>] = [:]
    /// What could not be read, for reports.
    private(set) var unread: [ReportEntry] = []

    init(repository: String, variables: [String: String], host: String?, dialect: PinDialect?) {
        self.repository = repository
        self.variables = variables
        self.host = host
        self.dialect = dialect
    }

    /// Reads a source; what cannot be read is told, and counts as bad input.
    mutating func read(_ source: String, _ console: inout Console) {
        do throws(UsageError) {
            if source.hasPrefix("git:") {
                try readTags(source, &console)
            } else if Self.isFolder(source) {
                try readFolder(source, &console)
            } else {
                try append(source, source, try DialectInput.contents(source), in: nil)
            }
        } catch {
            for message in error.messages { complain(message, source, &console) }
        }
    }

    /// Tells what cannot be read.
    private mutating func complain(_ message: String, _ source: String, _ console: inout Console) {
        let members: [(String, JSON)] = [("source", .string(source))]
        console.problem(message, .badInput, members: members)
        unread.append(ReportEntry(problem: message, members))
    }

    /// Adds the policy of the work tree.
    mutating func append(current file: PolicyFile) {
        releases.append(Release(name: file.path, pins: .policy(file.policy), isCurrent: true))
    }

    private mutating func readTags(_ source: String, _ console: inout Console) throws(UsageError) {
        let parts = source.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, !parts[1].isEmpty, !parts[2].isEmpty else {
            throw .unusable(["\(source): write git:TAGGLOB:PATH, git:v5.*:pins/pins.jsonc for example"])
        }
        let path = parts[2]
        let files: TaggedFiles
        let tags: [TaggedFiles.Tag]
        do throws(TaggedFilesError) {
            if let open = self.files {
                files = open
            } else {
                files = try TaggedFiles(folder: repository, variables: variables)
            }
            self.files = files
            tags = try files.tags(matching: parts[1])
        } catch {
            throw .unusable(["\(source): \(error)"])
        }
        var absent: [String] = []
        // Where rules stand is told with the path.
        releasesByBytes = [:]
        for tag in tags {
            let bytes: [UInt8]
            do throws(InputFileError) {
                bytes = try files.contents(path, at: tag, limit: TaggedFiles.maximumSize)
            } catch {
                if error.isNoSuchFile {
                    absent.append(tag.name)
                } else {
                    complain("\(tag.name): \(path): \(error)", source, &console)
                }
                continue
            }
            let taken = releases.contains { $0.source == tag.name }
            do throws(UsageError) {
                let name = taken ? "\(tag.name):\(path)" : tag.name
                if let known = releasesByBytes[bytes] {
                    for place in known {
                        let other = releases[place]
                        releases.append(
                            Release(
                                name: name + other.name.dropFirst(other.source.count), of: name, equal: other, at: place
                            ))
                    }
                    continue
                }
                let first = releases.count
                var isAlone = true
                let folder = PolicyFolder(kept: { name, limit throws(InputFileError) in
                    isAlone = false
                    return try files.contents(name, at: tag, limit: limit)
                })
                try append(name, path, bytes, in: folder)
                if isAlone { releasesByBytes[bytes] = first..<releases.count }
            } catch {
                for message in error.messages { complain("\(tag.name): \(message)", source, &console) }
            }
        }
        guard absent.count < tags.count else {
            throw .unusable(["\(source): \(path) is at none of the \(tags.count) tags that match: check the path"])
        }
        if !absent.isEmpty {
            let shown = absent.prefix(5).joined(separator: ", ") + (absent.count > 5 ? ", …" : "")
            console.note(
                "note: \(path) is not at \(absent.count) of \(tags.count) tags, which are passed over: \(shown)")
        }
    }

    private mutating func readFolder(_ folder: String, _ console: inout Console) throws(UsageError) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw .unusable(["\(folder): cannot be listed: check who may read it"])
        }
        var count = 0
        for name in names.sorted() {
            let path = folder + (folder.hasSuffix("/") ? "" : "/") + name
            guard !Self.isFolder(path) else {
                console.note("note: \(path) is a folder, and not looked into: name it")
                continue
            }
            let bytes = try DialectInput.contents(path)
            guard let dialect = PinDialect.recognized(in: bytes), dialect != .swift,
                dialect != .policy || String(decoding: bytes, as: UTF8.self).contains("\"domains\"")
            else {
                console.note("note: \(path) is in no dialect that is recognized, and passed over")
                continue
            }
            try append(path, path, bytes, in: nil)
            count += 1
        }
        guard count > 0 else { throw .unusable(["\(folder): no file in it is in a dialect that is recognized"]) }
    }

    /// Adds a release, or one for each policy of its file; the files that a policy names are read from `folder`.
    private mutating func append(
        _ name: String, _ path: String, _ bytes: [UInt8], in folder: PolicyFolder?
    ) throws(UsageError) {
        var dialects = PinDialect.allRecognized(in: bytes)
        if let dialect, dialects.isEmpty || dialects.contains(dialect) { dialects = [dialect] }
        guard !dialects.isEmpty else {
            throw .unusable(["\(path): no dialect is recognized: see pinctl help dialects"])
        }
        do throws(PolicyFileError) {
            guard dialects == [.policy] else {
                var read: [Release] = []
                for dialect in dialects {
                    let reading = try dialect.read(bytes, path: path, host: host)
                    let title = dialect.title(ofPolicyIn: name, among: dialects)
                    read.append(Release(name: title, of: name, pins: .dialect(dialect, reading.policy)))
                }
                releases += read
                return
            }
            let file =
                if let folder {
                    try PolicyFile(bytes: bytes, path: path, in: folder)
                } else {
                    try PolicyFile(bytes: bytes, path: path)
                }
            releases.append(Release(name: name, pins: .policy(file.policy)))
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
    }

    /// Notes how many users have each release.
    mutating func assign(_ shares: [(name: String, share: Double)]) throws(UsageError) {
        for (name, share) in shares {
            let places = releases.indices.filter { releases[$0].source == name }
            guard !places.isEmpty else {
                throw .unknownChoice(.share, name, known: releases.prefix(50).map(\.source))
            }
            for place in places { releases[place].share = share }
        }
        // Of shares with decimals the sum is not exact.
        let sum = releases.share
        guard sum < 100.005 else {
            throw .invalidValue(
                .share, reason: "the shares add up to over 100 %: give each release the part of all users that has it")
        }
    }
}
