import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics

/// A file of pins in any dialect.
struct DialectInput {
    let path: String
    /// The name in messages: the path, followed by the part in brackets if the file contains several policies.
    private(set) var title: String
    let dialect: PinDialect
    let reading: DialectReading
    private let bytes: [UInt8]

    /// Reads a file with one policy, with `-` for standard input. The dialect is recognized unless it is given.
    init(
        _ path: String, as named: PinDialect?, host: String? = nil, _ projects: SourceProjects? = nil
    ) throws(UsageError) {
        let all = try Self.all(path, as: named, host: host, projects)
        guard all.count == 1 else {
            let ways = all.map { "\(Flag.from.dashed) \($0.dialect.rawValue)" }.joined(separator: " or ")
            throw .unusable([
                "\(Self.title(path)): has \(all.count) independent policies, "
                    + "\(all.map(\.title).joined(separator: " and ")): choose one with \(ways)"
            ])
        }
        self = all[0]
    }

    /// Reads every policy in a file. An Info.plist can contain both TrustKit's configuration and NSPinnedDomains.
    static func all(
        _ path: String, as named: PinDialect?, host: String? = nil, _ projects: SourceProjects? = nil
    ) throws(UsageError) -> [DialectInput] {
        let bytes = try contents(path)
        let dialects = named.map { [$0] } ?? PinDialect.allRecognized(in: bytes)
        guard !dialects.isEmpty else {
            throw .unusable(["\(title(path)): no dialect is recognized: name it with \(Flag.from.dashed)"])
        }
        var all: [DialectInput] = []
        for dialect in dialects {
            do throws(UsageError) {
                var input = try DialectInput(
                    path, bytes, dialect, host: host, project: projects?.project(of: path))
                input.title = dialect.title(ofPolicyIn: title(path), among: dialects)
                all.append(input)
            } catch {
                guard named == nil else { throw error }
                throw .unusable(error.messages + [assumption(dialect, path)])
            }
        }
        return all
    }

    /// Reads bytes that came from a path, for apps that target this API level of Android. `project` has the other files
    /// with the constants of a program.
    init(
        _ path: String, _ bytes: [UInt8], _ dialect: PinDialect, host: String? = nil, target: AndroidTarget? = nil,
        project: @autoclosure () -> SourceProject? = nil
    ) throws(UsageError) {
        self.path = path
        self.dialect = dialect
        self.bytes = bytes
        title = Self.title(path)
        do throws(PolicyFileError) {
            reading = try dialect.read(
                bytes, path: Self.title(path), host: host, target: target, project: project())
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Returns a message with the dialect that was assumed for a file, in case the assumption is wrong.
    static func assumption(_ dialect: PinDialect, _ path: String) -> String {
        "\(title(path)): was read as \(dialect.rawValue) (\(dialect.title)), judging by its contents: name another "
            + "dialect with "
            + Flag.from.dashed
    }

    /// Throws if the file pins nothing, so that there are no pins to write.
    func requirePins() throws(UsageError) {
        guard reading.policy.rules.allSatisfy({ $0.mode == .off && $0.pins.isEmpty }), reading.policy.denied.isEmpty
        else { return }
        let reasons = reading.notes.filter { $0.rule?.severity == .error }.map { note in
            (note.location.map { "\($0): " } ?? "") + note.message
        }
        throw .unusable(reasons.isEmpty ? ["\(title): no pins: name a file with pins"] : reasons)
    }

    /// Returns the exported files that the policy lists.
    func exports() throws(UsageError) -> [ExportedFile] {
        guard let file = try policyFile() else { return [] }
        return try ExportedFile.all(of: file)
    }

    /// Returns the policy in this project's own format, or `nil` for a file of another system.
    func policyFile() throws(UsageError) -> PolicyFile? {
        guard dialect == .policy else { return nil }
        do throws(PolicyFileError) {
            return try PolicyFile.reading(bytes, path: path)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Returns the changes that the policy accepts in the file to be written, or in every file of the dialect if no
    /// file is given.
    func acceptedChanges(in dialect: PinDialect, file: String?) throws(UsageError) -> Set<ConversionChange> {
        let exports = try exports().filter { export in
            export.dialect == dialect && file.map { plainPath($0) == plainPath(export.path) } ?? true
        }
        guard let first = exports.first else { return [] }
        return exports.dropFirst().reduce(first.accepted ?? []) { $0.intersection($1.accepted ?? []) }
    }

    static func contents(_ path: String) throws(UsageError) -> [UInt8] {
        do throws(InputFileError) {
            guard path == "-" else { return try InputFile.contents(ofFile: path, limit: Self.maximumSize) }
            var input = InputFile.standardInput()
            return try input.contents(limit: Self.maximumSize)
        } catch {
            throw .unusable(["\(title(path)): \(error)"])
        }
    }

    private static let maximumSize = 8 * 1024 * 1024

    static func title(_ path: String) -> String { path == "-" ? "standard input" : path }
}

extension PinDialect {
    /// Returns the name of this dialect's policy in messages about a file that contains policies of all these dialects.
    func title(ofPolicyIn path: String, among all: [PinDialect]) -> String {
        guard all.count > 1 else { return path }
        return "\(path) (\(title))"
    }
}

extension Arguments {
    /// Returns the dialect that a flag gives, or `nil` without the flag.
    func dialect(_ flag: Flag) throws(UsageError) -> PinDialect? {
        guard let name = self[flag] else { return nil }
        guard let dialect = PinDialect(rawValue: name) else {
            throw .unknownChoice(flag, name, known: PinDialect.allCases.map(\.rawValue))
        }
        return dialect
    }
}

extension Console {
    /// Reports the changes of a conversion on standard error. Returns false if they prevent the result from being
    /// written.
    mutating func report(
        _ notes: [ConversionNote], _ arguments: Arguments, accepting accepted: Set<ConversionChange> = []
    ) throws(UsageError) -> Bool {
        let allowed = try arguments.allowedChanges().union(accepted)
        func isRefused(_ note: ConversionNote) -> Bool {
            note.direction == .impossible || note.isLoss && !allowed.contains(note.change)
        }
        let losses = notes.filter(isRefused)
        for note in notes {
            if isRefused(note) {
                problem(note.description, .finding, members: note.members)
            } else {
                self.note("note: \(note)")
            }
        }
        if losses.contains(where: { $0.direction == .impossible }) {
            self.note(
                "nothing is written, because impossible changes can't be allowed, not even with \(Flag.lossy.dashed): "
                    + "change the file that is converted"
            )
        } else if !losses.isEmpty {
            let changes = Set(losses.map(\.change.rawValue)).sorted()
            self.note(
                "nothing is written: if these changes are acceptable, give "
                    + changes.map { "\(Flag.allow.dashed) \($0)" }.joined(separator: " ") + ", or \(Flag.lossy.dashed)")
        }
        return losses.isEmpty
    }
}

extension Arguments {
    /// Returns the losses that the flags allow, which are all with `--lossy`.
    func allowedChanges() throws(UsageError) -> Set<ConversionChange> {
        if has(.lossy) { return Set(ConversionChange.allCases) }
        var allowed: Set<ConversionChange> = []
        for name in all(.allow) {
            guard let change = ConversionChange(rawValue: name) else {
                throw .unknownChoice(.allow, name, known: ConversionChange.allCases.map(\.rawValue))
            }
            allowed.insert(change)
        }
        return allowed
    }
}

extension DialectReading {
    /// The reason why the file can't be judged as its own system does: it contains alternatives, or rejects every
    /// server.
    var obstacle: ConversionNote? { notes.first { $0.isLoss || $0.rule == .refusesEverything } }
}

extension ConversionNote {
    /// Whether the change needs to be accepted.
    var isLoss: Bool { direction != .unchanged && change != .quirk }

    var members: [(String, JSON)] {
        [("change", .string(change.rawValue)), ("direction", .string(direction.rawValue))]
            + (location.map { [("file", .string($0.path)), ("line", .integer($0.line))] } ?? [])
    }
}
