package import FoundationEssentials

/// The list of cases in which the library deviates on purpose, or can't do better.
package struct Divergences: Sendable {
    package struct Entry: Decodable, Sendable {
        let reason: String
        /// Other implementations that answer as this library does.
        let who: String
        let expected: Verdict
        let ours: Verdict
    }

    /// The entries, by profile and case.
    let entries: [String: [String: Entry]]

    package init(json: Data) throws {
        entries = try JSONDecoder().decode([String: [String: Entry]].self, from: json)
    }

    /// Returns every disagreement between the outcomes of all suites and the list, as lines to print.
    package func problems(of outcomes: [Outcome]) -> [String] {
        var listed = entries.mapValues { Set($0.keys) }
        var problems: [String] = []
        for outcome in outcomes {
            let entry = entries[outcome.profile]?[outcome.id]
            listed[outcome.profile]?.remove(outcome.id)
            let (expected, actual) = (outcome.expected, outcome.actual)
            let name = "\(outcome.profile)  \(outcome.id)"
            if let entry, (entry.expected, entry.ours) != (expected, actual) {
                problems.append(
                    "\(name): listed as \(entry.ours.rawValue) for \(entry.expected.rawValue), "
                        + "is \(actual.rawValue) for \(expected.rawValue): correct the list")
            } else if entry == nil, expected != actual {
                problems.append(
                    "\(name): \(actual.rawValue), not \(expected.rawValue)"
                        + (outcome.context.map { ": \($0)" } ?? ""))
            }
        }
        for (profile, ids) in listed {
            problems += ids.map { "\(profile)  \($0): is listed, and no case is named so: correct the list" }
        }
        return problems.sorted()
    }
}
