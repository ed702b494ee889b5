import CertificatePinning
import CertificateTrust
import PinDialects

/// A file of pins in whatever dialect, as it was read.
struct DialectInput {
    let path: String
    let dialect: PinDialect
    private(set) var reading: DialectReading
    private let bytes: [UInt8]

    /// Reads a file, `-` for standard input; the dialect is found by what stands in it unless it is named.
    init(_ path: String, as named: PinDialect?, host: String? = nil) throws(UsageError) {
        let bytes = try Self.contents(path)
        guard let dialect = named ?? PinDialect.recognized(in: bytes) else {
            throw .unusable(["\(Self.title(path)): no dialect is recognized: name it with \(Flag.from.dashed)"])
        }
        do throws(UsageError) {
            try self.init(path, bytes, dialect, host: host)
        } catch {
            guard named == nil else { throw error }
            throw .unusable(error.messages + [Self.assumption(dialect, path)])
        }
        if named == nil, dialect == .trustkit, String(decoding: bytes, as: UTF8.self).contains("NSPinnedDomains") {
            reading.notes.append(
                ConversionNote(
                    .quirk, .unchanged,
                    "NSPinnedDomains stand in this file too: read them with \(Flag.from.dashed) apple",
                    at: PolicyLocation(path: path)))
        }
    }

    /// Reads bytes that came from a path.
    init(_ path: String, _ bytes: [UInt8], _ dialect: PinDialect, host: String? = nil) throws(UsageError) {
        self.path = path
        self.dialect = dialect
        self.bytes = bytes
        do throws(PolicyFileError) {
            reading = try dialect.read(bytes, path: Self.title(path), host: host)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Says as what a file was read that did not say it, for whoever finds that it is something else.
    static func assumption(_ dialect: PinDialect, _ path: String) -> String {
        "\(title(path)): was read as \(dialect.rawValue) (\(dialect.title)), by what is in it: name another dialect with "
            + Flag.from.dashed
    }

    /// Where the policy says that its pins are held too.
    func exports() throws(UsageError) -> [ExportedFile] {
        guard dialect == .policy else { return [] }
        let file: PolicyFile
        do throws(PolicyFileError) {
            file = try PolicyFile(bytes: bytes, path: path)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
        return try ExportedFile.all(of: file)
    }

    /// The changes that the policy accepts in the file that is written; in every file of the dialect where none is named.
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

extension Arguments {
    /// The dialect that a flag names; nil without it.
    func dialect(_ flag: Flag) throws(UsageError) -> PinDialect? {
        guard let name = self[flag] else { return nil }
        guard let dialect = PinDialect(rawValue: name) else {
            throw .unknownChoice(flag, name, known: PinDialect.allCases.map(\.rawValue))
        }
        return dialect
    }
}

extension Console {
    /// Says on standard error what a conversion changes; false when nothing is to be written for it.
    mutating func tell(
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
        if !losses.isEmpty, !losses.contains(where: { $0.direction == .impossible }) {
            let changes = Set(losses.map(\.change.rawValue)).sorted()
            self.note(
                "nothing is written: look whether you can live with that, then give "
                    + changes.map { "\(Flag.allow.dashed) \($0)" }.joined(separator: " ") + ", or \(Flag.lossy.dashed)")
        }
        return losses.isEmpty
    }
}

extension Arguments {
    /// What may be lost: all of it with `--lossy`.
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

extension ConversionNote {
    /// Whether somebody has to agree to it.
    var isLoss: Bool { direction != .unchanged && change != .quirk }

    var members: [(String, JSON)] {
        [("change", .string(change.rawValue)), ("direction", .string(direction.rawValue))]
            + (location.map { [("file", .string($0.path)), ("line", .integer($0.line))] } ?? [])
    }
}
