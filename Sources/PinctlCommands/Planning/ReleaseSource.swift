import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// A reader of releases from `git:TAGGLOB:PATH`, a file or a directory of files.
struct ReleaseReader {
    /// The directory in which git looks for the repository.
    let repository: String
    let variables: [String: String]
    /// The host for dialects that don't name one.
    let host: String?
    /// The dialect to use in a file with several policies, or `nil` for all.
    let dialect: PinDialect?
    private var files: TaggedFiles?
    private(set) var releases: [Release] = []
    /// The releases at tags by the bytes of their files, if no other files belong to them.
    private var releasesByBytes: [[[UInt8]]: Range<Int>] = [:]
    /// The sources that couldn't be read, for reports.
    private(set) var unread: [ReportEntry] = []

    init(repository: String, variables: [String: String], host: String?, dialect: PinDialect?) {
        self.repository = repository
        self.variables = variables
        self.host = host
        self.dialect = dialect
    }

    /// Reads a source. Anything that can't be read is reported as bad input.
    mutating func read(_ source: String, _ console: inout Console) {
        do throws(UsageError) {
            if source.hasPrefix("git:") {
                try readTags(source, &console)
            } else if Self.isFolder(source) {
                try readFolder(source, &console)
            } else {
                try append(source, source, try DialectInput.contents(source), &console)
            }
        } catch {
            for message in error.messages { complain(message, source, &console) }
        }
    }

    /// Reports a source that can't be read.
    private mutating func complain(_ message: String, _ source: String, _ console: inout Console) {
        let members: [(String, JSON)] = [("source", .string(source))]
        console.problem(message, .badInput, members: members)
        unread.append(ReportEntry(problem: message, members))
    }

    /// Adds the policy of the working tree.
    mutating func append(current file: PolicyFile, _ console: inout Console) {
        var release = Release(
            name: untaken(file.path), pins: ShippedPolicy(CanonicalPolicy(file), of: .policy), isCurrent: true)
        release.bundle = file.bundle
        console.note(of: file)
        release.exports = exports(of: file, readFile, nil, &console).releases
        releases.append(release)
    }

    private func isTaken(_ name: String) -> Bool { releases.contains { $0.source == name } }

    /// Returns the name, with a number if an earlier release has the same, because rows and shares are identified by
    /// name.
    private func untaken(_ name: String) -> String {
        guard isTaken(name) else { return name }
        var number = 2
        while isTaken("\(name) (\(number))") { number += 1 }
        return "\(name) (\(number))"
    }

    private func readFile(_ path: String) throws(InputFileError) -> [UInt8] {
        try InputFile.contents(ofFile: path, limit: TaggedFiles.maximumSize)
    }

    /// Returns the files that a policy exports, and their bytes. Unreadable files are reported. A file that doesn't
    /// exist at a tag isn't part of that release.
    private mutating func exports(
        of file: PolicyFile, _ read: (String) throws(InputFileError) -> [UInt8], _ tag: String?,
        _ console: inout Console
    ) -> (releases: [Release], bytes: [[UInt8]]) {
        var exports: (releases: [Release], bytes: [[UInt8]]) = ([], [])
        let place = tag.map { "\($0): " } ?? ""
        for export in file.exports {
            do throws(UsageError) {
                let exported = try ExportedFile(export)
                // Swift is compiled into a program and can only be written.
                guard exported.dialect != .swift else { continue }
                let bytes: [UInt8]
                do throws(InputFileError) {
                    bytes = try read(exported.path)
                } catch {
                    if tag != nil, error.isNoSuchFile {
                        console.note(
                            "note: \(place)\(exported.path) is exported but doesn't exist at this tag, so it isn't judged"
                        )
                        exports.bytes.append([])
                        continue
                    }
                    throw .unusable(["\(exported.path): \(error)"])
                }
                for shipped in try ExportedPins.all(in: bytes, of: exported, for: CanonicalPolicy(file)) {
                    exports.releases.append(Release(name: shipped.path, pins: shipped.pins))
                }
                exports.bytes.append(bytes)
            } catch {
                for message in error.messages { complain(place + message, export.file, &console) }
            }
        }
        return exports
    }

    private mutating func readTags(_ source: String, _ console: inout Console) throws(UsageError) {
        let parts = source.split(separator: ":", maxSplits: 2, omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 3, !parts[1].isEmpty, !parts[2].isEmpty else {
            throw .unusable(["\(source): invalid source: write git:TAGGLOB:PATH, such as git:v5.*:pins/pins.jsonc"])
        }
        guard !parts[2].hasPrefix("/") else {
            let path = parts[2].drop { $0 == "/" }
            throw .unusable([
                "\(source): a path in git begins at the top of the repository: write \(path), without a leading slash"
            ])
        }
        guard let path = PolicyFolder.resolvingDots(in: parts[2]) else {
            throw .unusable(["\(source): \(parts[2]) is outside the repository: give the path from its top directory"])
        }
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
        // The positions of rules include the path, so releases are shared only within one source.
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
            do throws(UsageError) {
                let name = isTaken(tag.name) ? untaken("\(tag.name):\(path)") : tag.name
                if let known = releasesByBytes[[bytes]] {
                    append(equalTo: known, as: name)
                    continue
                }
                let first = releases.count
                var isAlone = true
                let folder = PolicyFolder(kept: { name, limit throws(InputFileError) in
                    isAlone = false
                    return try files.contents(name, at: tag, limit: limit)
                })
                let exported = try append(name, path, bytes, in: folder, tag: tag.name, &console) {
                    path throws(InputFileError) in
                    try files.contents(path, at: tag, limit: TaggedFiles.maximumSize)
                }
                let key = [bytes] + exported
                if isAlone, let known = releasesByBytes[key] {
                    releases.removeSubrange(first...)
                    append(equalTo: known, as: name)
                } else if isAlone {
                    releasesByBytes[key] = first..<releases.count
                }
            } catch {
                for message in error.messages { complain("\(tag.name): \(message)", source, &console) }
            }
        }
        guard absent.count < tags.count else {
            throw .unusable(["\(source): \(path) exists at none of the \(tags.count) matching tags: check the path"])
        }
        if !absent.isEmpty {
            let shown = absent.prefix(5).joined(separator: ", ") + (absent.count > 5 ? ", …" : "")
            console.note(
                "note: \(path) doesn't exist at \(absent.count) of \(tags.count) tags, which are skipped: \(shown)")
        }
    }

    /// Whether a text in JSON is a policy with rules, or a signed bundle of one.
    private static func hasRules(_ bytes: [UInt8]) -> Bool {
        PolicyBundle.isRecognized(in: bytes) || bytes.firstRange(of: Array("\"domains\"".utf8)) != nil
    }

    private mutating func readFolder(_ folder: String, _ console: inout Console) throws(UsageError) {
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw .unusable(["\(folder): can't be listed: check its permissions"])
        }
        var count = 0
        for name in names.sorted() {
            let path = folder + (folder.hasSuffix("/") ? "" : "/") + name
            guard !Self.isFolder(path) else {
                console.note("note: \(path) is a directory, and directories in a directory are skipped: name it")
                continue
            }
            let bytes = try DialectInput.contents(path)
            let dialect = PinDialect.recognized(in: bytes)
            guard let dialect, dialect != .swift, dialect != .policy || Self.hasRules(bytes) else {
                // A policy that was written by half has no rules either.
                if dialect == .policy || name.hasSuffix(".json") || name.hasSuffix(".jsonc"),
                    let problem = JSONCReader.read(bytes, dialect: .jsonc).problems.first
                {
                    complain("\(path): isn't a policy: \(problem.message)", folder, &console)
                    continue
                }
                console.note("note: \(path) is skipped, because no dialect is recognized")
                continue
            }
            count += 1
            do throws(UsageError) {
                try append(path, path, bytes, &console)
            } catch {
                for message in error.messages { complain(message, folder, &console) }
            }
        }
        guard count > 0 else {
            throw .unusable(["\(folder): none of its files is in a recognized dialect: name files with pins"])
        }
    }

    /// Adds the releases at these indices again, from another source.
    private mutating func append(equalTo known: Range<Int>, as source: String) {
        for place in known {
            let other = releases[place]
            releases.append(
                Release(
                    name: source + other.name.dropFirst(other.source.count), of: source, equal: other, at: place))
        }
    }

    /// Adds a release of the working tree.
    private mutating func append(
        _ name: String, _ path: String, _ bytes: [UInt8], _ console: inout Console
    ) throws(UsageError) {
        _ = try append(name, path, bytes, in: nil, tag: nil, &console, readFile)
    }

    /// Adds a release, or one for each policy in its file.
    ///
    /// Files that a policy refers to are read from `folder`, and exported files with `read`. Returns the bytes of the
    /// exported files.
    private mutating func append(
        _ title: String, _ path: String, _ bytes: [UInt8], in folder: PolicyFolder?, tag: String?,
        _ console: inout Console, _ read: (String) throws(InputFileError) -> [UInt8]
    ) throws(UsageError) -> [[UInt8]] {
        let name = untaken(title)
        var dialects = PinDialect.allRecognized(in: bytes)
        if let dialect, dialects.isEmpty || dialects.contains(dialect) { dialects = [dialect] }
        guard !dialects.isEmpty else {
            throw .unusable(["\(path): no dialect is recognized: see pinctl help dialects"])
        }
        guard dialects == [.policy] else {
            var read: [Release] = []
            for dialect in dialects {
                let reading = try DialectInput(path, bytes, dialect, host: host).reading
                // Combining the alternatives of a program into one rule would accept keys that each of them rejects.
                if let obstacle = reading.obstacle { throw .unusable(["\(obstacle)"]) }
                let title = dialect.title(ofPolicyIn: name, among: dialects)
                read.append(Release(name: title, of: name, pins: ShippedPolicy(reading.policy, of: dialect)))
            }
            releases += read
            return []
        }
        do throws(PolicyFileError) {
            let file =
                if let folder {
                    try PolicyFile.reading(bytes, path: path, in: folder)
                } else {
                    try PolicyFile.reading(bytes, path: path)
                }
            console.note(of: file)
            let exports = exports(of: file, read, tag, &console)
            var release = Release(name: name, pins: ShippedPolicy(CanonicalPolicy(file), of: .policy))
            release.bundle = file.bundle
            release.exports = exports.releases
            releases.append(release)
            return exports.bytes
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    private static func isFolder(_ path: String) -> Bool {
        var isFolder = false
        return FileManager.default.fileExists(atPath: path, isDirectory: &isFolder) && isFolder
    }

    /// Sets the share of users of each release.
    mutating func assign(_ shares: [(name: String, share: Double)]) throws(UsageError) {
        for (name, share) in shares {
            let places = releases.indices.filter { releases[$0].source == name }
            guard !places.isEmpty else {
                throw .unknownChoice(.share, name, known: releases.prefix(50).map(\.source))
            }
            for place in places { releases[place].share = share }
        }
        // The sum of shares with decimals isn't exact.
        let sum = releases.share
        guard sum < 100.005 else {
            throw .invalidValue(
                .share,
                reason: "the shares add up to over 100 %: give each release the percentage of all users that have it")
        }
    }
}
