import CertificatePinning
import PinctlBasics

extension [ConversionNote] {
    /// The notes in the order of the file. Notes about the whole file come first.
    var inOrder: Self {
        sorted {
            ($0.location?.line ?? 0, $0.location?.column ?? 0) < ($1.location?.line ?? 0, $1.location?.column ?? 0)
        }
    }
}

extension PolicyFileError {
    /// Creates an error from the problems that make a file unreadable. Settings that the file's own system ignores are
    /// added, because a misspelled one may be the cause.
    init(_ problems: PolicyProblems, besides notes: [ConversionNote]) {
        var problems = problems
        for note in notes where note.rule == .ignoredSetting || note.rule == .misplacedSetting {
            let position = SourcePosition(
                line: Int32(clamping: note.location?.line ?? 0), column: Int32(clamping: note.location?.column ?? 0))
            problems.add(note.message, at: position, rule: note.rule)
        }
        self.init(problems: problems.sorted)
    }
}
