import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of workflow commands that annotate lines of files on GitHub.
///
/// GitHub shows ten annotations of each kind for a step. The most severe come first, and only the first for each cause
/// is written.
enum GitHubAnnotation {
    /// The maximum size of a step summary in bytes.
    static let summaryLimit = 1 << 20

    private static let shownLimit = 10
    /// The maximum length of an annotation in characters, since it is shown next to a line of code.
    private static let textLimit = 2_000

    static func lines(for report: Report) -> [String] {
        var errors: [(rank: Int, line: String)] = []
        var warnings: [String] = []
        var seen: Set<String> = []
        let groups = Dictionary(report.groups.map { ($0.key, $0) }) { first, _ in first }
        for entry in report.entries {
            let group = entry.group.flatMap { groups[$0] }
            switch entry.outcome {
            case .failed, .notTrusted, .couldNotCheck, .badInput:
                // Further annotations of one rank can't be among those shown.
                guard errors.count(where: { $0.rank == entry.outcome.rank }) < shownLimit else { continue }
                if let group, !seen.insert(group.key).inserted { continue }
                let others = (group?.count ?? 1) - 1
                let title = "\(entry.verdict): \(entry.title)\(others > 0 ? " and \(others) more" : "")"
                let remedies = entry.causes.map { "\($0.finding): \($0.remedy)" }
                errors.append(
                    (
                        entry.outcome.rank,
                        line(entry.outcome, entry.location, title, [entry.finding] + remedies)
                    ))
            case .warning where entry.warnings.isEmpty:
                guard warnings.count < shownLimit else { continue }
                warnings.append(line(.warning, entry.location, "\(entry.verdict): \(entry.title)", [entry.finding]))
            case .warning, .ok:
                for warning in entry.warnings where warnings.count < shownLimit {
                    warnings.append(
                        line(.warning, entry.location, "\(warning.identifier): \(entry.title)", [warning.text]))
                }
            case .known: break
            }
        }
        let worst = errors.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        return worst.prefix(shownLimit).map(\.element.line) + warnings
    }

    private static func line(
        _ severity: Severity, _ location: PolicyLocation?, _ title: String, _ lines: [String]
    ) -> String {
        var properties: [String] = []
        if let location {
            properties.append("file=\(property(visibleText(location.path)))")
            if location.line > 0 { properties += ["line=\(location.line)", "col=\(location.column)"] }
        }
        properties.append("title=\(property(shortened(visibleText(title))))")
        let message = lines.map { data(shortened(visibleText($0))) }.joined(separator: "%0A")
        return "::\(severity.level) \(properties.joined(separator: ","))::\(message)"
    }

    private static func shortened(_ text: String) -> String {
        let head = text.unicodeScalars.prefix(textLimit)
        return head.endIndex == text.unicodeScalars.endIndex ? text : String(Substring(head)) + "…"
    }

    /// Escapes text for use after the two colons.
    private static func data(_ text: String) -> String { escaped(text, ["%": "%25", "\r": "%0D", "\n": "%0A"]) }

    /// Escapes text for use after `title=`.
    private static func property(_ text: String) -> String { escaped(data(text), [":": "%3A", ",": "%2C"]) }
}
