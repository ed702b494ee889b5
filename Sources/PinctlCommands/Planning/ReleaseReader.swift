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
    /// The API level that Android apps target, or `nil` to look for it in the files around a config.
    var target: AndroidTarget?
    /// The roots that the user gives for the sources that files name, such as `@raw/corp`.
    var roots: [String: TrustStore] = [:]
    /// Whether a release that can't be read is only noted.
    var allowsUnread = false
    var files: TaggedFiles?
    var releases: [Release] = []
    /// The releases at tags by the bytes of their files, if no other files belong to them.
    var releasesByBytes: [[[UInt8]]: Range<Int>] = [:]
    /// The releases and sources that couldn't be read, with their entries for reports.
    private(set) var unread: [(name: String, entry: ReportEntry)] = []
    /// The files in directories that have nothing to do with releases.
    var irrelevant: [String] = []
    /// The contents of programs at tags by their objects.
    var taggedContents: [String: [UInt8]] = [:]
    /// The projects of programs in the working tree.
    private let projects: SourceProjects
    private var workingTree: ReleaseTree {
        var tree = ReleaseTree.workingTree
        tree.project = projects.project
        return tree
    }
    /// The sources for which the user's roots were used.
    private(set) var rootedSources: Set<String> = []
    private var notes: Set<String> = []

    init(
        repository: String, variables: [String: String], host: String?, dialect: PinDialect?, sources: [String] = []
    ) {
        projects = SourceProjects(sources, variables: variables)
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
            } else if Self.isDirectory(source) {
                try readDirectory(source, &console)
            } else {
                try append(source, source, try DialectInput.contents(source), &console)
            }
        } catch {
            // A source that isn't there at all is a mistake in the command line.
            let allowed = allowsUnread
            allowsUnread = false
            report(error.messages, source, [source], &console)
            allowsUnread = allowed
        }
    }

    /// Reports releases that can't be read, which aren't judged.
    mutating func report(_ messages: [String], _ source: String, _ names: [String], _ console: inout Console) {
        for message in messages {
            let members: [(String, JSON)] = [
                ("source", .string(source)), ("releases", .array(names.map { .string($0) })),
                ("verdict", .string("unread")),
            ]
            console.problem(message, allowsUnread ? .good : .badInput, members: members)
        }
        let message = messages.joined(separator: "; ")
        for name in names where !unread.contains(where: { $0.name == name }) {
            let entry = ReportEntry(
                outcome: allowsUnread ? .warning : .badInput, subject: name,
                verdict: allowsUnread ? "unread" : Severity.badInput.rawValue, finding: message,
                json: .object([
                    ("source", .string(source)), ("release", .string(name)), ("verdict", .string("unread")),
                    ("error", .string(message)),
                ]))
            unread.append((name, entry))
        }
    }

    /// Prints a note once.
    private mutating func note(_ text: String, _ console: inout Console) {
        if notes.insert(text).inserted { console.note("note: \(text)") }
    }

    /// Adds the policy of the working tree.
    mutating func append(current file: PolicyFile, _ console: inout Console) {
        var release = Release(
            name: untaken(file.path), pins: ShippedPolicy(CanonicalPolicy(file), of: .policy), isCurrent: true)
        release.bundle = file.bundle
        console.note(of: file)
        release.exports = exports(of: file, workingTree, nil, &console).releases
        releases.append(release)
    }

    func isTaken(_ name: String) -> Bool {
        releases.contains { $0.source == name } || unread.contains { $0.name == name }
    }

    /// Returns the name, with a number if an earlier release has the same, because rows and shares are identified by
    /// name.
    func untaken(_ name: String) -> String {
        guard isTaken(name) else { return name }
        var number = 2
        while isTaken("\(name) (\(number))") { number += 1 }
        return "\(name) (\(number))"
    }

    /// Returns the files that a policy exports, and their bytes. Unreadable files are reported. A file that doesn't
    /// exist at a tag isn't part of that release.
    private mutating func exports(
        of file: PolicyFile, _ tree: ReleaseTree, _ tag: String?, _ console: inout Console
    ) -> (releases: [Release], bytes: [[UInt8]]) {
        var exports: (releases: [Release], bytes: [[UInt8]]) = ([], [])
        let place = tag.map { "\($0): " } ?? ""
        for export in file.exports {
            do throws(UsageError) {
                let exported = try ExportedFile(export)
                let bytes: [UInt8]
                do throws(InputFileError) {
                    bytes = try tree.contents(exported.path)
                } catch {
                    if tag != nil, error.isNoSuchFile {
                        console.note(
                            "note: \(place)\(exported.path) is exported but doesn't exist at this tag, so it isn't "
                                + "judged"
                        )
                        exports.bytes.append([])
                        continue
                    }
                    throw .unusable(["\(exported.path): \(error)"])
                }
                let app = exported.dialect == .android ? app(around: exported.path, bytes, tree, &console) : nil
                for shipped in try ExportedPins.all(
                    in: bytes, of: exported, for: CanonicalPolicy(file), target: app?.target,
                    project: tree.project(exported.path))
                {
                    var pins = shipped.pins
                    pins.roots = named(app?.roots ?? [:], for: pins)
                    exports.releases.append(Release(name: shipped.path, pins: pins))
                }
                exports.bytes += [bytes] + (app?.bytes ?? [])
            } catch {
                report(error.messages.map { place + $0 }, export.file, [place + export.file], &console)
            }
        }
        return exports
    }

    /// Adds the releases at these indices again, from another source.
    mutating func append(equalTo known: Range<Int>, as source: String) {
        for place in known {
            let other = releases[place]
            releases.append(
                Release(
                    name: source + other.name.dropFirst(other.source.count), of: source, equal: other, at: place))
        }
    }

    /// Adds a release of the working tree.
    mutating func append(
        _ name: String, _ path: String, _ bytes: [UInt8], _ console: inout Console
    ) throws(UsageError) {
        _ = try append(name, path, bytes, in: nil, tag: nil, &console, workingTree)
    }

    /// Adds a release, or one for each policy in its file.
    ///
    /// Files that a policy refers to are read from `directory`, and all others that belong to the release from `tree`.
    /// Returns the bytes of the others.
    mutating func append(
        _ title: String, _ path: String, _ bytes: [UInt8], in directory: PolicyDirectory?, tag: String?,
        _ console: inout Console, _ tree: ReleaseTree
    ) throws(UsageError) -> [[UInt8]] {
        let name = untaken(title)
        var dialects = PinDialect.allRecognized(in: bytes)
        if let dialect, dialects.isEmpty || dialects.contains(dialect) { dialects = [dialect] }
        guard !dialects.isEmpty else {
            throw .unusable(["\(path): no dialect is recognized: see pinctl help dialects"])
        }
        guard dialects == [.policy] else {
            var read: [Release] = []
            let app = dialects == [.android] ? app(around: path, bytes, tree, &console) : nil
            for dialect in dialects {
                let reading = try DialectInput(
                    path, bytes, dialect, host: host, target: app?.target, project: tree.project(path)
                ).reading
                // Combining the alternatives of a program into one rule would accept keys that each of them rejects.
                if let obstacle = reading.obstacle { throw .unusable(["\(obstacle)"]) }
                let title = dialect.title(ofPolicyIn: name, among: dialects)
                var pins = ShippedPolicy(reading.policy, of: dialect)
                pins.roots = named(app?.roots ?? [:], for: pins)
                read.append(Release(name: title, of: name, pins: pins))
            }
            releases += read
            guard dialects.contains(where: \.hasConstants) else { return app?.bytes ?? [] }
            // The constants of a program can be in any other file, so releases are equal if their policies are.
            // mutant plan-constants: [] by PlanTagTests/constants
            return read.map { Array("\($0.pins.policy)".utf8) }
        }
        do throws(PolicyFileError) {
            let file =
                if let directory {
                    try PolicyFile.reading(bytes, path: path, in: directory)
                } else {
                    try PolicyFile.reading(bytes, path: path)
                }
            console.note(of: file)
            let exports = exports(of: file, tree, tag, &console)
            var release = Release(name: name, pins: ShippedPolicy(CanonicalPolicy(file), of: .policy))
            release.bundle = file.bundle
            release.exports = exports.releases
            releases.append(release)
            return exports.bytes
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Returns what the files around an app's config say: the API level that it targets, the roots in its resources,
    /// and bytes that differ if these do.
    private mutating func app(
        around path: String, _ config: [UInt8], _ tree: ReleaseTree, _ console: inout Console
    ) -> (target: AndroidTarget?, roots: [String: TrustStore], bytes: [[UInt8]]) {
        let project = AndroidProject(config: path, hasDirectoriesAbove: tree.hasDirectoriesAbove, read: tree.optional)
        var target = target
        if target == nil { target = project.level(of: path) { note($0, &console) } }
        var roots: [String: TrustStore] = [:]
        var bytes = [Array("\(target?.level ?? 0)".utf8)]
        let policy = try? PinDialect.android.read(config, path: path).policy
        let sets = (policy?.rules.compactMap(\.anchors).flatMap { $0 } ?? []) + (policy?.unlistedTrust.anchors ?? [])
        for source in Set(sets.map(\.source)).sorted() {
            guard let file = project.root(source) else { continue }
            bytes.append(file.bytes)
            do throws(TrustStoreError) {
                roots[source] = try TrustStore(bytes: file.bytes, file: file.path)
            } catch {
                note("\(path): \(error)", &console)
            }
        }
        return (target, roots, bytes)
    }

    /// Returns the roots of the sources that a file names: those that the user gives, or otherwise those around the
    /// file.
    private mutating func named(_ found: [String: TrustStore], for pins: ShippedPolicy) -> [String: TrustStore] {
        guard pins.dialect != .policy else { return found }
        let sets = pins.policy.rules.compactMap(\.anchors).flatMap { $0 } + (pins.policy.unlistedTrust.anchors ?? [])
        let given = roots.filter { name, _ in name != "system" && sets.contains { $0.source == name } }
        rootedSources.formUnion(given.keys)
        return found.merging(given) { $1 }
    }

    /// Sets the share of users of each release.
    mutating func assign(_ shares: [(name: String, share: Double)]) throws(UsageError) {
        for (name, share) in shares {
            guard let users = releases.first(where: { $0.source == name || $0.tag == name })?.users else {
                throw .unknownChoice(.share, name, known: releases.prefix(50).map(\.users))
            }
            for place in releases.indices where releases[place].users == users { releases[place].share = share }
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

/// The files around a release, in the working tree or at a tag.
struct ReleaseTree {
    let contents: (String) throws(InputFileError) -> [UInt8]
    /// Returns a file, or `nil` if there is none that can be read.
    let optional: (String) -> [UInt8]?
    /// Returns the project of a program, which has the other files with its constants.
    var project: (String) -> SourceProject? = { _ in nil }
    /// Whether paths are relative to a directory of a larger tree.
    var hasDirectoriesAbove = false

    /// The files of the working tree.
    static var workingTree: ReleaseTree {
        ReleaseTree(
            contents: { path throws(InputFileError) in
                try InputFile.contents(ofFile: path, limit: TaggedFiles.maximumSize)
            }, optional: { try? InputFile.contents(ofFile: $0, limit: TaggedFiles.maximumSize) },
            hasDirectoriesAbove: true)
    }
}

extension AndroidProject {
    /// Returns the API level that the files around a config set. `note` takes the reason why it isn't known.
    func level(of config: String, note: (String) -> Void) -> AndroidTarget? {
        switch target {
        case .level(let level, _)?: return level
        case .unknown(let file)?:
            note("\(config): the API level that \(file) sets isn't a number: give it with \(Flag.targetLevel.dashed)")
            return nil
        case nil: return nil
        }
    }
}
