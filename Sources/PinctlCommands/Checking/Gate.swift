/// The effect of a run's results on its exit code, given the failures that the flags excuse.
struct Gate {
    /// The terms that excuse failures.
    struct Terms: Sendable {
        var baseline: Baseline?
        var failsOnWarning = false
        var exitsZero = false
        var maximumUnreachable = Share.number(0)
    }

    /// A number, or a percentage of all.
    enum Share: Sendable, Hashable {
        case number(Int)
        case percent(Int)

        /// Returns whether `count` is within this share of `all`.
        func allows(_ count: Int, of all: Int) -> Bool {
            switch self {
            case .number(let limit): count <= limit
            // Neither product can overflow, since both factors count checked items.
            case .percent(let percent): count * 100 <= percent * all
            }
        }
    }

    /// The outcome of one result.
    struct Judgement {
        let outcome: ReportEntry.Outcome
        let isMended: Bool
    }

    let terms: Terms
    private(set) var checked = 0
    private(set) var known = 0
    private(set) var mended = 0
    private(set) var warned = 0
    /// The number of results that aren't in the baseline, by outcome.
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

    /// The number of failures so far that count, for the progress line.
    var failed: Int { tally.filter { $0.key != .good }.reduce(0) { $0 + $1.value } }

    /// Whether some targets were unreachable and the flags excuse that.
    var excusesUnreachable: Bool {
        let count = tally[.couldNotCheck] ?? 0
        return count > 0 && unreachable < checked && terms.maximumUnreachable.allows(count, of: checked)
    }

    /// The outcome with and without the failures that are excused.
    var outcome: (counted: ExitCode, found: ExitCode) {
        var counted = ExitCode.good
        for status in tally.keys where status != .couldNotCheck { counted.record(status) }
        if tally[.couldNotCheck] != nil, !excusesUnreachable { counted.record(.couldNotCheck) }
        // If every target was unreachable, nothing was checked, whether the failures are in the baseline or not.
        if checked > 0, unreachable == checked { counted.record(.couldNotCheck) }
        if terms.failsOnWarning, warned > 0 { counted.record(.finding) }
        return (counted, found)
    }

    private static let words: [(status: ExitCode, words: String)] = [
        (.good, "ok"), (.finding, "failed"), (.notTrusted, "not trusted"), (.couldNotCheck, "unreachable"),
    ]

    /// The closing line, such as `3 checked: 1 ok, 2 failed`.
    var closing: String {
        var parts = Self.words.map { (tally[$0.status] ?? 0, $0.words) }
        if warned > 0 { parts[0].1 += " (\(warned) with a warning)" }
        parts += [(known, "known"), (mended, "mended")]
        return "\(checked) checked: " + parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
    }

    /// The counts in the JSON summary.
    var members: [(String, Int)] {
        [("checked", checked)] + Self.words.map { ($0.status.word, tally[$0.status] ?? 0) } + [
            ("warnings", warned), ("known", known), ("mended", mended),
        ]
    }
}
