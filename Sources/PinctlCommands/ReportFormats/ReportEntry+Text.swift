extension ReportEntry {
    /// The subject, with the variant if there is one.
    var title: String { variant.isEmpty ? subject : "\(subject) (\(variant))" }
}

extension ReportEntry.Outcome {
    /// The outcome in words for people.
    var words: String {
        switch self {
        case .ok: "ok"
        case .warning: "warning"
        case .failed: "failed"
        case .notTrusted: "not trusted"
        case .couldNotCheck: "could not check"
        case .badInput: "bad input"
        case .known: "known"
        }
    }

    /// The rank of the outcome, where 0 is the most severe.
    var rank: Int {
        switch self {
        case .badInput: 0
        case .failed: 1
        case .notTrusted: 2
        case .couldNotCheck: 3
        case .warning: 4
        case .known: 5
        case .ok: 6
        }
    }

    /// Whether the outcome needs action.
    var isFailure: Bool { rank < Self.warning.rank }

    static let worstFirst = allCases.sorted { $0.rank < $1.rank }
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
    var counts: [(outcome: ReportEntry.Outcome, count: Int)] {
        var counts: [ReportEntry.Outcome: Int] = [:]
        for entry in entries { counts[entry.outcome, default: 0] += 1 }
        return ReportEntry.Outcome.worstFirst.compactMap { outcome in counts[outcome].map { (outcome, $0) } }
    }

    /// The indices of the entries by cause.
    ///
    /// The groups come first, in their order, followed by the other entries by outcome, the most severe first. Good
    /// entries come last and have no group.
    var sections: [ReportSection] {
        var sections = groups.map { ReportSection(outcome: $0.outcome, group: $0) }
        let places = Dictionary(groups.enumerated().map { ($1.key, $0) }) { first, _ in first }
        var others: [ReportEntry.Outcome: ReportSection] = [:]
        for (index, entry) in entries.enumerated() {
            if let key = entry.group, let place = places[key] {
                sections[place].entries.append(index)
            } else {
                others[entry.outcome, default: ReportSection(outcome: entry.outcome)].entries.append(index)
            }
        }
        sections.removeAll { $0.entries.isEmpty }
        return sections + ReportEntry.Outcome.worstFirst.compactMap { others[$0] }
    }
}

/// The entries that are presented together.
struct ReportSection {
    let outcome: ReportEntry.Outcome
    /// The common cause of the entries, if any.
    var group: ReportGroup?
    var entries: [Int] = []
}
