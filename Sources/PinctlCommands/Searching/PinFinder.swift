import CertificatePinning
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The pins of source trees, with what couldn't be searched.
struct PinFinder {
    private let time: Date
    private let variables: [String: String]
    private var sightings: [PinSighting] = []
    private var unsure: [PinSighting] = []
    private var constants = PinConstants()
    private var otherProblems: [PolicyProblem] = []
    /// The code that pins in a way that isn't read.
    private var unread: [UnreadPinning] = []
    /// The files that couldn't be read, with the positions in them.
    var problems: [PolicyProblem] {
        // Code that compares a value may compare a pin that was found.
        let hasPins = sightings.contains(where: \.isInForce)
        return otherProblems + unread.filter { !$0.comparesValue || !hasPins }.map(\.problem)
    }
    private var otherNotes: [String] = []
    private var testFailures: [PolicyProblem] = []
    var notes: [String] { otherNotes + testFailures.testNotes }
    private(set) var fileCount = 0
    private(set) var linkCount = 0
    private(set) var tooLarge: [String] = []
    private var omittedCount = 0

    /// The number of digests that are kept in case that they are pins. A tree has more if it has lists of checksums.
    private static let maximumUnsure = 200_000

    init(at time: Date, variables: [String: String]) {
        self.time = time
        self.variables = variables
    }

    /// Searches a directory or a file.
    mutating func search(_ operand: String) async {
        guard FileKind(operand) != .missing else {
            otherProblems.append(
                PolicyProblem(location: PolicyLocation(path: operand), message: "no such directory: check the path"))
            return
        }
        let tree = SourceTree(operand, variables: variables)
        otherNotes += tree.notes
        linkCount += tree.linkCount
        otherProblems += tree.problems.map {
            PolicyProblem(location: PolicyLocation(path: $0.path), message: $0.reason)
        }
        let (paths, size) = (tree.paths, Self.filesPerTask)
        let parts = stride(from: 0, to: paths.count, by: size).map { paths[$0..<min($0 + size, paths.count)] }
        let time = time
        let projects = SourceProjects([operand], variables: variables)
        await inOrder(parts) { part in
            var buffer = FileBuffer()
            return part.map { FileSearch($0, name: tree.name(of: $0), at: time, projects, &buffer) }
        } each: { results in
            for result in results { add(result) }
        }
        // git uses the settings of a repository in its work tree. Nobody writes the other files of .git.
        let path = SourceTree.path(".git/config", in: operand)
        guard FileKind(path) != .missing else { return }
        var buffer = FileBuffer()
        let configuration = FileSearch(path, name: ".git/config", at: time, projects, &buffer)
        if case .searched(let search) = configuration.result, search.dialects.isEmpty { return }
        // mutant find-git-config: {} by FindTests/gitConfiguration
        add(configuration)
    }

    private static let filesPerTask = 64

    private mutating func add(_ file: FileSearch) {
        let search: PinSearch
        switch file.result {
        case .searched(let result): search = result
        case .tooLarge(mayPin: false): return tooLarge.append(file.path)
        case .tooLarge(mayPin: true): return otherProblems.append(.tooLarge(file.path))
        case .skipped: return
        case .lost: return otherProblems.append(.lost(file.path))
        case .failed(let error):
            otherProblems.append(PolicyProblem(location: PolicyLocation(path: file.path), message: error.description))
            return
        }
        fileCount += 1
        sightings += search.sightings
        constants.add(search)
        let room = max(0, Self.maximumUnsure - unsure.count)
        unsure += search.unsure.prefix(room)
        omittedCount += max(0, search.unsure.count - room)
        // Tests have damaged files on purpose.
        guard !search.isTest else {
            testFailures += search.failures.map(\.first)
            return
        }
        // Pins in the same file are those of the code.
        // mutant find-unread: {} by UnreadPinningTests
        if let place = file.unread, search.problems.isEmpty, !search.sightings.contains(where: \.isInForce) {
            unread.append(place)
        }
        for (first, more) in search.failures { add(first, more) }
        if let first = search.unusablePins.first { add(first, search.unusablePins.count - 1) }
    }

    /// Adds the first problem of a file. One is enough to show that its pins aren't known.
    private mutating func add(_ first: PolicyProblem, _ more: Int) {
        let rest = more > 0 ? " (and \(plural(more, "more problem")): run pinctl lint on the file)" : ""
        otherProblems.append(PolicyProblem(location: first.location, message: first.message + rest))
    }

    /// The pins by host. Digests without a mark count if the same digest is a pin elsewhere.
    var agreement: PinAgreement {
        let sightings = constants.resolved(sightings).map(constants.marked)
        let known = Set(sightings.map(\.pin.value))
        return PinAgreement(sightings + unsure.filter { known.contains($0.pin.value) })
    }

    /// The note on digests that were too many to compare, if any.
    var omission: String? {
        omittedCount == 0
            ? nil
            : "\(grouped(omittedCount)) digests without a word of pinning weren't compared with the pins: search fewer "
                + "directories"
    }
}
