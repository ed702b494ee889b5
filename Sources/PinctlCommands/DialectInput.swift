import CertificatePinning
import CertificateTrust
import PinDialects

/// A file of pins in whatever dialect, as it was read.
struct DialectInput {
    let path: String
    let dialect: PinDialect
    let reading: DialectReading
    private let bytes: [UInt8]

    /// Reads a file, `-` for standard input; the dialect is found by what stands in it unless it is named.
    init(_ path: String, as named: PinDialect?) throws(UsageError) {
        let bytes = try Self.contents(path)
        guard let dialect = named ?? PinDialect.recognized(in: bytes) else {
            throw .unusable(["\(Self.title(path)): no dialect is recognized: name it with \(Flag.from.dashed)"])
        }
        try self.init(path, bytes, dialect)
    }

    /// Reads bytes that came from a path.
    init(_ path: String, _ bytes: [UInt8], _ dialect: PinDialect) throws(UsageError) {
        self.path = path
        self.dialect = dialect
        self.bytes = bytes
        do throws(PolicyFileError) {
            reading = try dialect.read(bytes, path: Self.title(path))
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
    }

    /// Where the policy says that its pins are held too.
    func exports() throws(UsageError) -> [(dialect: PinDialect, file: String)] {
        guard dialect == .policy else { return [] }
        var exports: [(dialect: PinDialect, file: String)] = []
        let file: PolicyFile
        do throws(PolicyFileError) {
            file = try PolicyFile(bytes: bytes, path: path)
        } catch {
            throw .unusable(error.problems.map(\.description))
        }
        for export in file.exports {
            guard let dialect = PinDialect(rawValue: export.target) else {
                throw .unusable([
                    "\(export.location): \"exports\" knows no \"\(export.target)\": one of "
                        + PinDialect.allCases.map(\.rawValue).joined(separator: ", ")
                ])
            }
            exports.append((dialect, export.file))
        }
        return exports
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
    mutating func tell(_ notes: [ConversionNote], isLossy: Bool) -> Bool {
        let losses = notes.filter { $0.direction != .unchanged && $0.change != .quirk }
        let isRefused = losses.contains { $0.direction == .impossible } || !losses.isEmpty && !isLossy
        for note in notes {
            let isLoss = isRefused && note.direction != .unchanged && note.change != .quirk
            if isLoss {
                problem(note.description, .finding, members: note.members)
            } else {
                self.note(note.description)
            }
        }
        if isRefused, !losses.contains(where: { $0.direction == .impossible }) {
            self.note("nothing is written: look whether you can live with that, then give \(Flag.lossy.dashed)")
        }
        return !isRefused
    }
}

extension ConversionNote {
    var members: [(String, JSON)] {
        [("change", .string(change.rawValue)), ("direction", .string(direction.rawValue))]
            + (location.map { [("file", .string($0.path)), ("line", .integer($0.line))] } ?? [])
    }
}
