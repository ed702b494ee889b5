import Foundation
import PinctlConformanceSuite

/// One line for each suite and profile, below it one for each of its parts.
enum Table {
    static func print(_ outcomes: [Outcome]) {
        Swift.print(
            "wrong accept: accepted where the suite refuses; the default profile does so by design where strict "
                + "refuses\n"
        )
        Swift.print(line("suite", "profile", ["cases", "right", "wrong accept", "wrong reject", "skipped"], "slowest"))
        let suites = Dictionary(grouping: outcomes) { [place(of: $0).suite, $0.profile] }
        for (suite, outcomes) in suites.sorted(by: { $0.key.lexicographicallyPrecedes($1.key) }) {
            Swift.print(row(suite[0], outcomes))
            let parts = Dictionary(grouping: outcomes) { place(of: $0).part }
            for (part, outcomes) in parts.sorted(by: { $0.key < $1.key }) where parts.count > 1 {
                Swift.print(row("  " + part, outcomes))
            }
        }
    }

    /// What x509-limbo holds besides the two suites of BetterTLS is its core.
    private static func place(of outcome: Outcome) -> (suite: String, part: String) {
        let words = outcome.id.components(separatedBy: "::")
        switch (outcome.profile, words[0]) {
        case ("names", let source): return ("hostnames", source)
        case (_, "bettertls"): return ("bettertls", words[1])
        case (_, "pkits"): return ("pkits", "")
        case (_, let part): return ("limbo core", part)
        }
    }

    private static func row(_ name: String, _ outcomes: [Outcome]) -> String {
        func count(_ isCounted: (Outcome) -> Bool) -> String { "\(outcomes.filter(isCounted).count)" }
        let counts = [
            "\(outcomes.count)", count { $0.actual == $0.expected },
            count { $0.actual == .success && $0.expected == .failure },
            count { $0.actual == .failure && $0.expected == .success }, count { $0.actual == .skipped },
        ]
        let slowest = outcomes.max { ($0.milliseconds ?? -1) < ($1.milliseconds ?? -1) }
        let time = slowest?.milliseconds.map { String(format: "%.1f ms  ", $0) + (slowest?.id ?? "") } ?? ""
        return line(name, outcomes.first?.profile ?? "", counts, time)
    }

    private static func line(_ name: String, _ profile: String, _ counts: [String], _ slowest: String) -> String {
        let columns = counts.map { $0.count < 12 ? String(repeating: " ", count: 12 - $0.count) + $0 : $0 }
        return name.padding(toLength: 28, withPad: " ", startingAt: 0)
            + profile.padding(toLength: 8, withPad: " ", startingAt: 0) + columns.joined(separator: " ")
            + "   " + slowest
    }
}
