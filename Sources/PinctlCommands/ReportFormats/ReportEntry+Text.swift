extension ReportEntry {
    /// The subject, with the variant if there is one.
    var title: String { variant.isEmpty ? subject : "\(subject) (\(variant))" }
}

extension Report {
    /// The verdict on the whole run, such as `failed`.
    var headline: String {
        switch status {
        case .good: "good"
        case .finding: "failed"
        case .badInput: "bad input"
        case .couldNotCheck: "could not check everything"
        case .notTrusted: "not trusted"
        case .internalError, .interrupted: status.word
        }
    }

    /// The number of entries with each outcome, the most severe first, without outcomes that no entry has.
    var counts: [(outcome: Severity, count: Int)] {
        var counts: [Severity: Int] = [:]
        for entry in entries { counts[entry.outcome, default: 0] += 1 }
        return Severity.allCases.compactMap { outcome in counts[outcome].map { (outcome, $0) } }
    }

    /// The indices of the entries by cause.
    ///
    /// The groups come first, in their order, followed by the other entries by outcome, the most severe first. Good
    /// entries come last and have no group.
    var sections: [ReportSection] {
        var sections = groups.map { ReportSection(outcome: $0.outcome, group: $0) }
        let places = Dictionary(groups.enumerated().map { ($1.key, $0) }) { first, _ in first }
        var others: [Severity: ReportSection] = [:]
        for (index, entry) in entries.enumerated() {
            if let key = entry.group, let place = places[key] {
                sections[place].entries.append(index)
            } else {
                others[entry.outcome, default: ReportSection(outcome: entry.outcome)].entries.append(index)
            }
        }
        sections.removeAll { $0.entries.isEmpty }
        return sections + Severity.allCases.compactMap { others[$0] }
    }
}

/// The entries that are presented together.
struct ReportSection {
    let outcome: Severity
    /// The common cause of the entries, if any.
    var group: ReportGroup?
    var entries: [Int] = []
}
