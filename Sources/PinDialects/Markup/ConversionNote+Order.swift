import CertificatePinning

extension [ConversionNote] {
    /// In the order of the file; what concerns the whole of it comes first.
    var inOrder: Self {
        sorted {
            ($0.location?.line ?? 0, $0.location?.column ?? 0) < ($1.location?.line ?? 0, $1.location?.column ?? 0)
        }
    }
}

extension PolicyFileError {
    /// The problems that keep a file from being read, with the settings that its own system ignores: a misspelled one
    /// may be the cause.
    init(_ problems: PolicyProblems, besides notes: [ConversionNote]) {
        var problems = problems
        for note in notes where note.rule == .ignoredSetting {
            let position = SourcePosition(
                line: Int32(clamping: note.location?.line ?? 0), column: Int32(clamping: note.location?.column ?? 0))
            problems.add(note.message, at: position, rule: note.rule)
        }
        self.init(problems: problems.sorted)
    }
}
