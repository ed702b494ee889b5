import CertificatePinning

/// The remedies that a run has printed. They aren't repeated in full for each host.
struct PrintedRemedies {
    private static let mark = "  do: "

    private var lines: Set<String> = []
    private var hasConfirmation = false

    /// Returns the lines of an explanation, in which a remedy that was printed before is only referred to.
    mutating func shortened(_ explanation: [String]) -> [String] {
        explanation.map { line in
            guard line.hasPrefix(Self.mark) else { return line }
            guard lines.insert(line).inserted else { return Self.mark + "the same as above" }
            guard line.contains(PinFailureCause.confirmation) else { return line }
            defer { hasConfirmation = true }
            guard hasConfirmation else { return line }
            return line.replacing(PinFailureCause.confirmation, with: "confirm it as above")
                .replacing(PinFailureCause.otherwise, with: "; if not, don't pin any served key")
        }
    }
}
