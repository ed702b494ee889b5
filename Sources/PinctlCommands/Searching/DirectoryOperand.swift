import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The files of known dialects in a directory that was given in place of files.
struct DirectoryOperand {
    /// The files that their dialects' readers read, or should be able to read, in order.
    private(set) var files: [String] = []
    /// The parts of the directory that can't be read, and the damaged files that aren't among the others.
    private(set) var problems: [PolicyProblem] = []
    /// The number of pins that are in force and were found by their form alone.
    private(set) var otherPins = 0
    /// The files with pins that name no host, if hosts are needed.
    private var hostless: [String] = []
    private(set) var notes: [String] = []

    /// Returns the operands with the files of each directory in its place, and the problems in these directories.
    /// `isWanted` selects the files by their dialects. `needsHosts` leaves out files with pins that name no host, and
    /// `needsPins` those without pins.
    static func expanding(
        _ operands: [String], at time: Date, variables: [String: String], _ projects: SourceProjects,
        _ console: inout Console,
        where isWanted: (PinDialect) -> Bool = { _ in true }, needsPins: Bool = false, needsHosts: Bool = false
    ) throws(UsageError) -> (paths: [String], problems: [PolicyProblem]) {
        var paths: [String] = []
        var problems: [PolicyProblem] = []
        for operand in operands {
            guard operand != "-", FileKind(operand) == .directory else {
                paths.append(operand)
                continue
            }
            let directory = DirectoryOperand(
                operand, at: time, variables: variables, projects, where: isWanted, needsPins: needsPins,
                needsHosts: needsHosts)
            for note in directory.notes { console.note("note: \(note)") }
            guard !directory.files.isEmpty || !directory.problems.isEmpty else {
                // mutant import-hostless: [] by FindTests/withoutHost
                let hostless = directory.hostless
                guard hostless.isEmpty else { throw .unusable(hostless.map(Self.hostlessMessage)) }
                throw .unusable([
                    "\(operand): has no pin file of a known dialect: search it with pinctl find \(operand)"
                ])
            }
            for file in directory.hostless { console.note("note: \(Self.hostlessMessage(file))") }
            if directory.otherPins > 0 {
                console.note(
                    "note: \(operand): \(plural(directory.otherPins, "pin")) in other files can't be read by a "
                        + "dialect: see pinctl find \(operand)")
            }
            paths += directory.files
            problems += directory.problems
        }
        return (paths, problems)
    }

    private static func hostlessMessage(_ file: String) -> String {
        "\(file): its pins name no host, so they aren't read as part of a directory: import the file itself, with "
            + Flag.importedHost.dashed
    }

    private init(
        _ operand: String, at time: Date, variables: [String: String], _ projects: SourceProjects,
        where isWanted: (PinDialect) -> Bool, needsPins: Bool, needsHosts: Bool
    ) {
        let tree = SourceTree(operand, variables: variables)
        notes = tree.notes
        problems = tree.problems.map { PolicyProblem(location: PolicyLocation(path: $0.path), message: $0.reason) }
        var testFailures: [PolicyProblem] = []
        defer { notes += testFailures.testNotes }
        var constants = PinConstants()
        var others: [PinSighting] = []
        // A program may be read before or after the file that has its constants.
        defer { otherPins = others.count { !constants.contains($0) } }
        var buffer = FileBuffer()
        for path in tree.paths {
            let search: PinSearch
            // The hosts of pins that no dialect reads don't count here, so the list of suffixes isn't used.
            let suffixes = PublicSuffixes { _ in false }
            switch FileSearch(path, name: tree.name(of: path), at: time, suffixes: suffixes, projects, &buffer).result {
            case .searched(let result): search = result
            case .tooLarge(let mayPin):
                if mayPin { problems.append(.tooLarge(path)) }
                continue
            case .skipped: continue
            case .lost:
                problems.append(.lost(path))
                continue
            case .failed(let error):
                // mutant lint-unreadable: {} by FindTests
                problems.append(
                    PolicyProblem(location: PolicyLocation(path: path), message: error.description))
                continue
            }
            // lint says what to do about a placeholder.
            // mutant directory-placeholder: false for `$0.standing == .placeholder` by FindTests
            let pins = search.sightings.filter { $0.isInForce || $0.standing == .placeholder }
            constants.add(search)
            others += pins.filter { $0.dialect == nil }
            guard !search.isTest else {
                testFailures += search.failures.map(\.first)
                continue
            }
            // mutant import-hosts: false for `needsHosts` by FindTests/hosts
            // mutant import-failed-hostless: true for `search.problems.isEmpty` by FindTests/hosts
            if needsHosts, search.problems.isEmpty, pins.contains(where: { $0.dialect != nil && $0.host == nil }) {
                hostless.append(path)
                continue
            }
            if search.dialects.contains(where: isWanted) {
                let isPinned = pins.contains { $0.dialect.map(isWanted) ?? false }
                if !search.problems.isEmpty || !needsPins || isPinned || search.lacksPins { files.append(path) }
            } else {
                // mutant import-broken-policy: {} by FindTests
                problems += search.failures.map(\.first)
            }
        }
    }
}

extension PinSearch {
    /// The first problem of each reader that failed, and the number of its other ones.
    var failures: [(first: PolicyProblem, more: Int)] {
        problems.compactMap { problem in problem.problems.first.map { ($0, problem.problems.count - 1) } }
    }
}

extension PolicyProblem {
    /// The problem of a file of pins that isn't text.
    static func lost(_ path: String) -> PolicyProblem {
        PolicyProblem(
            location: PolicyLocation(path: path),
            message: "isn't text, although its name is that of a file with pins: give its source, or remove it")
    }

    /// The problem of a text that is too large to be searched and has a word of pinning.
    static func tooLarge(_ path: String) -> PolicyProblem {
        PolicyProblem(
            location: PolicyLocation(path: path),
            message: "may have pins and is larger than 8 MiB: divide it, or search other directories")
    }
}

extension [PolicyProblem] {
    /// The note on readers that failed for files of tests, which can be damaged on purpose.
    var testNotes: [String] {
        guard let first else { return [] }
        let more = count > 1 ? " (and \(plural(count - 1, "more problem")) in files of tests)" : ""
        return ["\(first.location): isn't read, as part of tests: \(first.message)\(more)"]
    }
}
