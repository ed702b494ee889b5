/// The effect of a run's results on its exit code, given the failures that the flags excuse.
struct Gate: Sendable {
    // The terms that excuse failures.
    var baseline: Baseline?
    var failsOnWarning = false
    var exitsZero = false
    var maximumUnreachable = Share.number(0)

    private(set) var checked = 0
    private(set) var known = 0
    private(set) var fixed = 0
    private(set) var warned = 0
    /// The number of results that aren't in the baseline, by severity without warnings.
    private var tally: [Severity: Int] = [:]
    private var unreachable = 0
    private var found = ExitCode.good

    init() {}

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

    /// Counts a result, and returns it with its place in the baseline.
    mutating func add(_ result: CheckResult) -> CheckResult {
        let severity = result.verdict.severity
        checked += 1
        found.record(severity.exitCode)
        // mutant unreachable-count: false by GateTests BaselineTests
        if severity == .couldNotCheck { unreachable += 1 }
        var result = result
        if let baseline { (result.isKnown, result.isFixed) = (baseline.knows(result), baseline.isFixed(result)) }
        guard !result.isKnown else {
            known += 1
            return result
        }
        tally[severity, default: 0] += 1
        if result.isFixed { fixed += 1 }
        if result.severity == .warning { warned += 1 }
        return result
    }

    /// Returns the progress line, such as `3 of 40 checked, 1 failed, 2 unreachable`. `total` isn't known for a list.
    func progress(_ items: Int, of total: Int?) -> String {
        let unreachable = tally[.couldNotCheck] ?? 0
        let failed = tally.filter { $0.key.isFailure }.reduce(-unreachable) { $0 + $1.value }
        let counts = [(failed, "failed"), (unreachable, "unreachable")].filter { $0.0 > 0 }.map { ", \($0.0) \($0.1)" }
        return "\(items)\(total.map { " of \($0)" } ?? "") checked" + counts.joined()
    }

    /// Whether some targets were unreachable and the flags excuse that.
    var excusesUnreachable: Bool {
        let count = tally[.couldNotCheck] ?? 0
        return count > 0 && unreachable < checked && maximumUnreachable.allows(count, of: checked)
    }

    /// The outcome with and without the failures that are excused.
    var outcome: (counted: ExitCode, found: ExitCode) {
        var counted = ExitCode.good
        for severity in tally.keys where severity != .couldNotCheck { counted.record(severity.exitCode) }
        // mutant exit-unreachable: false for 2 by GateTests
        if tally[.couldNotCheck] != nil, !excusesUnreachable { counted.record(.couldNotCheck) }
        // If every target was unreachable, nothing was checked, whether the failures are in the baseline or not.
        // mutant exit-all-unreachable: false for 2 by GateTests BaselineTests
        if checked > 0, unreachable == checked { counted.record(.couldNotCheck) }
        // mutant exit-warning: false for 1 by GateTests
        if failsOnWarning, warned > 0 { counted.record(.finding) }
        return (counted, found)
    }

    private static let counted: [Severity] = [.ok, .failed, .notTrusted, .couldNotCheck]

    /// The closing line, such as `3 checked: 1 ok, 2 failed`.
    var closing: String {
        var parts = Self.counted.map { (tally[$0] ?? 0, $0 == .couldNotCheck ? "unreachable" : $0.words) }
        if warned > 0 { parts[0].1 += " (\(warned) with a warning)" }
        parts += [(known, "known"), (fixed, "fixed")]
        let counts = parts.filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return "\(checked) checked" + (counts.isEmpty ? "" : ": \(counts)")
    }

    /// The counts in the JSON summary.
    var members: [(String, Int)] {
        [("checked", checked)] + Self.counted.map { ($0.exitCode.word, tally[$0] ?? 0) } + [
            ("warnings", warned), ("known", known), ("mended", fixed),
        ]
    }
}
