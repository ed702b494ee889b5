import CertificateTrust

/// The failures of a run grouped by cause. Their size is bounded for any number of targets.
extension Report {
    /// The maximum number of causes that are distinguished. Failures for further causes are only counted.
    private static let causeLimit = 1_000
    private static let exampleLimit = 10
    /// The maximum number of causes shown at the end of a run.
    private static let shownLimit = 20
    /// The maximum number of rows that they take. What was printed before as many rows may have left the screen.
    static let shownRows = 20

    /// Adds a failure of an item to its group. Returns true if it is the first with its cause, or if it has none.
    ///
    /// The items may arrive in any order. The result depends only on their positions.
    mutating func group(_ result: CheckResult, of item: Int) -> Bool {
        guard let key = result.failureKey else { return true }
        if let place = groupPlaces[key] {
            groups[place].count += 1
            if let failure = result.verdict.failure {
                (groups[place].remedy, groups[place].shortRemedy) = (failure.sharedRemedy, failure.sharedRemedy)
            }
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
                noun: result.file != nil ? "file" : "host",
                shortRemedy: result.shortRemedy))
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

    /// Puts the cause that all hosts show together before the groups of these hosts, whose own remedies don't lead to
    /// it.
    mutating func lead(with group: ReportGroup) {
        // mutant cause-leads: false for `groups[index].outcome == group.outcome` by RunPatternTests/ahead
        for index in groups.indices where groups[index].outcome == group.outcome && groups[index].noun == group.noun {
            (groups[index].remedy, groups[index].shortRemedy) = ("", "")
        }
        groups.insert(group, at: 0)
    }

    /// Returns the lines that end the text output: for each cause, its hosts with the finding in one line, and what to
    /// do in another. They fit into the last rows of a screen with this many columns. The details are printed before.
    func groupLines(columns: Int? = nil) -> [String] {
        var lines: [String] = []
        var (left, rows) = (groups[...], 0)
        while left.startIndex < Self.shownLimit, let group = left.first {
            let new =
                ["\(group.subjects): \(group.title)"]
                + (group.shortRemedy.isEmpty ? [] : ["  do: \(group.shortRemedy)"])
            rows += columns.map { width in new.reduce(0) { $0 + FoldedLine.fold($1, columns: width).count } } ?? 0
            guard lines.isEmpty || rows <= Self.shownRows else { break }
            lines += new
            left = left.dropFirst()
        }
        let rest = left.reduce(ungrouped) { $0 + $1.count }
        if rest > 0 {
            lines.append(
                "\(grouped(rest)) more \(rest == 1 ? "failure with another cause" : "failures with other causes")")
        }
        return lines
    }

    /// Whether several subjects fail for one cause, which is explained only once.
    var hasSharedCause: Bool { groups.contains { $0.count > 1 } }
}

extension ReportGroup {
    /// The subject, or the number of subjects with the first of them.
    fileprivate var subjects: String {
        guard count > 1 else { return examples.first ?? "" }
        return "\(grouped(count)) \(noun)s (\(FirstNames(examples, of: count)))"
    }
}
