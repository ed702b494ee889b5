extension ReportEntry {
    /// What was looked at, with what tells the looks at it apart.
    var title: String { variant.isEmpty ? subject : "\(subject) (\(variant))" }
}

extension ReportEntry.Outcome {
    /// The word that people read.
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

    /// The worst first.
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

    /// Whether somebody has to do something.
    var isFailure: Bool { rank < Self.warning.rank }

    static let worstFirst = allCases.sorted { $0.rank < $1.rank }
}

extension Report {
    /// `check: failed`, the verdict of the whole run.
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

    /// How many entries have each outcome, the worst first, without those that none has.
    var counts: [(outcome: ReportEntry.Outcome, count: Int)] {
        var counts: [ReportEntry.Outcome: Int] = [:]
        for entry in entries { counts[entry.outcome, default: 0] += 1 }
        return ReportEntry.Outcome.worstFirst.compactMap { outcome in counts[outcome].map { (outcome, $0) } }
    }

    /// The indexes of its entries by cause: those of each group, in the order of the groups, then the others by outcome,
    /// the worst first. What is good comes last and has no group.
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

/// Entries that are told together.
struct ReportSection {
    let outcome: ReportEntry.Outcome
    /// What is behind all of them, where that is one thing.
    var group: ReportGroup?
    var entries: [Int] = []
}
