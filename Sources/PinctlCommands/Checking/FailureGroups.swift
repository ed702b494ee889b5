/// The failures of a run grouped by cause, for the end of its output. Their size is bounded for any number of targets.
struct FailureGroups {
    private struct Group {
        let key: FailureKey
        let outcome: ReportEntry.Outcome
        let status: ExitCode
        let title: String
        let remedy: String
        let causeCount: Int
        /// The kind of subject that is counted: `host` or `file`.
        let noun: String
        var count: Int
        var examples: [String]
    }

    /// The maximum number of causes that are distinguished. Failures for further causes are only counted.
    private static let limit = 1_000
    private static let exampleLimit = 10
    /// The maximum number of causes shown at the end of a run.
    private static let shownLimit = 20

    private var groups: [FailureKey: Group] = [:]
    private var order: [FailureKey] = []
    private var others = 0

    /// Adds a failure. Returns true if it is the first with its cause.
    mutating func add(_ text: VerdictText, _ outcome: ReportEntry.Outcome) -> Bool {
        guard let key = text.failureKey else { return true }
        if groups[key] != nil {
            groups[key]?.count += 1
            if (groups[key]?.examples.count ?? 0) < Self.exampleLimit { groups[key]?.examples.append(text.subject) }
            return false
        }
        guard groups.count < Self.limit else {
            others += 1
            return true
        }
        groups[key] = Group(
            key: key, outcome: outcome, status: text.verdict.status, title: text.failureTitle,
            remedy: text.failureRemedy, causeCount: max(1, text.causes.count),
            noun: text.source == "file" ? "file" : "host", count: 1, examples: [text.subject])
        order.append(key)
        return true
    }

    /// The groups, ordered by severity, then by the number of subjects, then by first appearance.
    private var sorted: [Group] {
        order.compactMap { groups[$0] }.enumerated().sorted { left, right in
            let (a, b) = (left.element, right.element)
            if a.status != b.status { return a.status.isWorse(than: b.status) }
            return a.count == b.count ? left.offset < right.offset : a.count > b.count
        }.map(\.element)
    }

    /// The groups for the files of `--report`.
    var report: [ReportGroup] {
        sorted.map {
            ReportGroup(
                key: $0.key.text, outcome: $0.outcome, title: $0.title, remedy: $0.remedy, count: $0.count,
                examples: $0.examples)
        }
    }

    /// The lines that end the text output if several subjects fail for one cause. The details of each are printed
    /// before.
    var lines: [String] {
        let sorted = sorted
        guard sorted.contains(where: { $0.count > 1 }) else { return [] }
        var lines = sorted.prefix(Self.shownLimit).flatMap { group in
            let more = group.count - group.examples.count
            let causes = group.causeCount == 1 ? "1 cause" : "\(group.causeCount) causes"
            let things = "\(grouped(group.count)) \(group.noun)\(group.count == 1 ? "" : "s")"
            return ["\(causes), \(things): \(group.title)"]
                + (group.remedy.isEmpty ? [] : ["  do: \(group.remedy)"])
                + ["  " + group.examples.joined(separator: ", ") + (more > 0 ? " and \(grouped(more)) more" : "")]
        }
        let rest = sorted.dropFirst(Self.shownLimit).reduce(others) { $0 + $1.count }
        if rest > 0 { lines.append("\(grouped(rest)) more failures for other causes") }
        return lines
    }
}
