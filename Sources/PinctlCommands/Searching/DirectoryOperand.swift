import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The files of known dialects in a directory that was given in place of files.
struct DirectoryOperand {
    /// The files that their dialects' readers read, or should be able to read, in order.
    private(set) var files: [String] = []
    /// The number of pins that are in force and were found by their form alone.
    private(set) var otherPins = 0
    private(set) var notes: [String] = []

    /// Returns the operands with the files of each directory in its place. `isWanted` selects these by their dialects.
    static func expanding(
        _ operands: [String], at time: Date, variables: [String: String], _ console: inout Console,
        where isWanted: (PinDialect) -> Bool = { _ in true }, needsPins: Bool = false
    ) throws(UsageError) -> [String] {
        var paths: [String] = []
        for operand in operands {
            guard operand != "-", FileKind(operand) == .directory else {
                paths.append(operand)
                continue
            }
            let directory = try DirectoryOperand(
                operand, at: time, variables: variables, where: isWanted, needsPins: needsPins)
            for note in directory.notes { console.note("note: \(note)") }
            guard !directory.files.isEmpty else {
                throw .unusable([
                    "\(operand): has no pin file of a known dialect: search it with pinctl find \(operand)"
                ])
            }
            if directory.otherPins > 0 {
                console.note(
                    "note: \(operand): \(plural(directory.otherPins, "pin")) in other files can't be read by a "
                        + "dialect: see pinctl find \(operand)")
            }
            paths += directory.files
        }
        return paths
    }

    private init(
        _ operand: String, at time: Date, variables: [String: String], where isWanted: (PinDialect) -> Bool,
        needsPins: Bool
    ) throws(UsageError) {
        let tree = SourceTree(operand, variables: variables)
        notes = tree.notes
        guard tree.problems.isEmpty else {
            throw .unusable(tree.problems.map { "\($0.path): \($0.reason)" })
        }
        for file in tree.files {
            let search: PinSearch
            // The hosts of pins that no dialect reads don't count here, so the list of suffixes isn't used.
            switch FileSearch(file.path, name: file.name, at: time, suffixes: PublicSuffixes { _ in false }).result {
            case .searched(let result): search = result
            case .tooLarge:
                notes.append("\(file.path): isn't read, because it is larger than 8 MiB: check that it has no pins")
                continue
            case .skipped: continue
            case .failed(let error): throw .unusable(["\(file.path): \(error)"])
            }
            let pins = search.sightings.filter(\.isInForce)
            otherPins += pins.count { $0.dialect == nil }
            notes += search.expectedFailures
            let isUnread = search.problems.contains { !$0.isExpected }
            guard isUnread || search.problems.isEmpty, !search.isTest, search.dialects.contains(where: isWanted) else {
                continue
            }
            if isUnread || !needsPins || pins.contains(where: { $0.dialect.map(isWanted) ?? false }) {
                files.append(file.path)
            }
        }
    }
}

extension PinSearch {
    /// The notes on readers that failed for a program or a file of tests.
    var expectedFailures: [String] {
        problems.compactMap { problem in
            guard problem.isExpected, let first = problem.problems.first else { return nil }
            return
                "\(first.location): isn't read as \(problem.dialect.title), so its pins were searched by their form: "
                + first.message
        }
    }
}
