/// What the results of a run count for: the flags decide what is excused, the rest is the exit code.
struct Gate {
    /// What is excused.
    struct Terms: Sendable {
        var baseline: Baseline?
        var failsOnWarning = false
        var exitsZero = false
        var maximumUnreachable = Share.number(0)
    }

    /// A number, or a part of all.
    enum Share: Sendable, Hashable {
        case number(Int)
        case percent(Int)

        /// Whether `count` is no more than that of `all`.
        func allows(_ count: Int, of all: Int) -> Bool {
            switch self {
            case .number(let limit): count <= limit
            // Neither product is near the end of the range: both counts are of things that were looked at.
            case .percent(let percent): count * 100 <= percent * all
            }
        }
    }

    /// What one result comes to.
    struct Judgement {
        let outcome: ReportEntry.Outcome
        let isMended: Bool
    }

    let terms: Terms
    private(set) var checked = 0
    private(set) var known = 0
    private(set) var mended = 0
    private(set) var warned = 0
    /// What is not known already, by its outcome.
    private var tally: [ExitCode: Int] = [:]
    private var unreachable = 0
    private var found = ExitCode.good

    init(_ terms: Terms) {
        self.terms = terms
    }

    /// Counts a result.
    mutating func add(_ result: CheckResult) -> Judgement {
        let status = result.text.verdict.status
        checked += 1
        found.record(status)
        if status == .couldNotCheck { unreachable += 1 }
        if terms.baseline?.knows(result) == true {
            known += 1
            return Judgement(outcome: .known, isMended: false)
        }
        tally[status, default: 0] += 1
        let isMended = terms.baseline?.isMended(result) == true
        if isMended { mended += 1 }
        let outcome: ReportEntry.Outcome =
            switch status {
            case .good: result.text.warnings.isEmpty ? .ok : .warning
            case .notTrusted: .notTrusted
            case .couldNotCheck: .couldNotCheck
            default: .failed
            }
        if outcome == .warning { warned += 1 }
        return Judgement(outcome: outcome, isMended: isMended)
    }

    /// Failures so far that count, for the line of progress.
    var failed: Int { tally.filter { $0.key != .good }.reduce(0) { $0 + $1.value } }

    /// Whether some targets were not reached, and that is excused.
    var excusesUnreachable: Bool {
        let count = tally[.couldNotCheck] ?? 0
        return count > 0 && unreachable < checked && terms.maximumUnreachable.allows(count, of: checked)
    }

    /// The outcome with what is excused, and without.
    var outcome: (counted: ExitCode, found: ExitCode) {
        var counted = ExitCode.good
        for status in tally.keys where status != .couldNotCheck { counted.record(status) }
        if tally[.couldNotCheck] != nil, !excusesUnreachable { counted.record(.couldNotCheck) }
        // Known or not: where nobody was reached, nothing was checked.
        if checked > 0, unreachable == checked { counted.record(.couldNotCheck) }
        if terms.failsOnWarning, warned > 0 { counted.record(.finding) }
        return (counted, found)
    }

    private static let words: [(status: ExitCode, words: String)] = [
        (.good, "ok"), (.finding, "failed"), (.notTrusted, "not trusted"), (.couldNotCheck, "unreachable"),
    ]

    /// `3 checked: 1 ok, 2 failed`.
    var closing: String {
        var parts = Self.words.map { (tally[$0.status] ?? 0, $0.words) }
        if warned > 0 { parts[0].1 += " (\(warned) with a warning)" }
        parts += [(known, "known"), (mended, "mended")]
        return "\(checked) checked: " + parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// What the summary of JSON counts.
    var members: [(String, Int)] {
        [("checked", checked)] + Self.words.map { ($0.status.word, tally[$0.status] ?? 0) } + [
            ("warnings", warned), ("known", known), ("mended", mended),
        ]
    }
}
