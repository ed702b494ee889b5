import CertificateTrust

/// The failures of a run grouped by cause. Their size is bounded for any number of targets.
extension Report {
    /// The maximum number of causes that are distinguished. Failures for further causes are only counted.
    private static let causeLimit = 1_000
    private static let exampleLimit = 10
    /// The maximum number of causes shown at the end of a run.
    private static let shownLimit = 20

    /// Adds a failure of an item to its group. Returns true if it is the first with its cause, or if it has none.
    ///
    /// The items may arrive in any order. The result depends only on their positions.
    mutating func group(_ result: CheckResult, of item: Int) -> Bool {
        guard let key = result.failureKey else { return true }
        if let place = groupPlaces[key] {
            groups[place].count += 1
            let end = groups[place].items.firstIndex { $0 > item } ?? groups[place].items.count
            if end < Self.exampleLimit {
                groups[place].items.insert(item, at: end)
                groups[place].examples.insert(result.subject, at: end)
                groups[place].items = Array(groups[place].items.prefix(Self.exampleLimit))
                groups[place].examples = Array(groups[place].examples.prefix(Self.exampleLimit))
            }
            return false
        }
        guard groups.count < Self.causeLimit else {
            ungrouped += 1
            return true
        }
        groupPlaces[key] = groups.count
        let remedy = result.failureRemedy
        groups.append(
            ReportGroup(
                key: key, outcome: result.severity, title: result.failureTitle, remedy: remedy, count: 1,
                examples: [result.subject], items: [item], causeCount: max(1, result.causes.count),
                noun: result.source == "file" ? "file" : "host",
                isExplained: result.explanation.contains("  do: \(remedy)")))
        return true
    }

    /// Sorts the groups by severity, then by the number of subjects, then by first appearance. No failures can be added
    /// after that.
    mutating func sortGroups() {
        groups = groups.enumerated().sorted { left, right in
            let (a, b) = (left.element, right.element)
            if a.outcome != b.outcome { return a.outcome.rank < b.outcome.rank }
            guard a.count == b.count else { return a.count > b.count }
            return (a.items.first ?? 0, left.offset) < (b.items.first ?? 0, right.offset)
        }.map(\.element)
        groupPlaces = [:]
    }

    /// The lines that end the text output if several subjects fail for one cause. The details of the first of them are
    /// printed before. If it is the only one, its remedy isn't repeated.
    var groupLines: [String] {
        guard groups.contains(where: { $0.count > 1 }) else { return [] }
        var lines = groups.prefix(Self.shownLimit).flatMap { group in
            let more = group.count - group.examples.count
            let causes = group.causeCount == 1 ? "1 cause" : "\(group.causeCount) causes"
            let things = "\(grouped(group.count)) \(group.noun)\(group.count == 1 ? "" : "s")"
            return ["\(causes), \(things): \(group.title)"]
                + (group.remedy.isEmpty || group.count == 1 && group.isExplained ? [] : ["  do: \(group.remedy)"])
                + ["  " + group.examples.joined(separator: ", ") + (more > 0 ? " and \(grouped(more)) more" : "")]
        }
        let rest = groups.dropFirst(Self.shownLimit).reduce(ungrouped) { $0 + $1.count }
        if rest > 0 { lines.append("\(grouped(rest)) more failures with other causes") }
        return lines
    }
}
