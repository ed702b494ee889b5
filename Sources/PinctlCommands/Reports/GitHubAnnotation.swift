import CertificatePinning
import CertificateTrust

/// Commands to GitHub's runner that put remarks at lines of files. It shows ten of each kind for a step, so the worst come
/// first, and of several for one cause the first.
enum GitHubAnnotation {
    /// What is shown of the summary of a step, in bytes.
    static let summaryLimit = 1 << 20

    private static let shownLimit = 10
    /// Characters of a remark; it is read beside a line of code.
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
                // More than are shown of one rank cannot be among those that are.
                guard errors.count(where: { $0.rank == entry.outcome.rank }) < shownLimit else { continue }
                if let group, !seen.insert(group.key).inserted { continue }
                let others = (group?.count ?? 1) - 1
                let title = "\(entry.verdict): \(entry.title)\(others > 0 ? " and \(others) more" : "")"
                let remedies = entry.causes.map { "\($0.finding): \($0.remedy)" }
                errors.append(
                    (
                        entry.outcome.rank,
                        line("error", entry.location, title, [entry.finding] + remedies)
                    ))
            case .warning where entry.warnings.isEmpty:
                guard warnings.count < shownLimit else { continue }
                warnings.append(line("warning", entry.location, "\(entry.verdict): \(entry.title)", [entry.finding]))
            case .warning, .ok:
                for warning in entry.warnings where warnings.count < shownLimit {
                    warnings.append(
                        line("warning", entry.location, "\(warning.identifier): \(entry.title)", [warning.text]))
                }
            case .known: break
            }
        }
        let worst = errors.enumerated().sorted { ($0.element.rank, $0.offset) < ($1.element.rank, $1.offset) }
        return worst.prefix(shownLimit).map(\.element.line) + warnings
    }

    private static func line(
        _ command: String, _ location: PolicyLocation?, _ title: String, _ lines: [String]
    ) -> String {
        var properties: [String] = []
        if let location {
            properties.append("file=\(property(visibleText(location.path)))")
            if location.line > 0 { properties += ["line=\(location.line)", "col=\(location.column)"] }
        }
        properties.append("title=\(property(shortened(visibleText(title))))")
        let message = lines.map { data(shortened(visibleText($0))) }.joined(separator: "%0A")
        return "::\(command) \(properties.joined(separator: ","))::\(message)"
    }

    private static func shortened(_ text: String) -> String {
        let head = text.unicodeScalars.prefix(textLimit)
        return head.endIndex == text.unicodeScalars.endIndex ? text : String(Substring(head)) + "…"
    }

    /// What may stand behind the two colons.
    private static func data(_ text: String) -> String { escaped(text, ["%": "%25", "\r": "%0D", "\n": "%0A"]) }

    /// What may stand behind `title=`.
    private static func property(_ text: String) -> String { escaped(data(text), [":": "%3A", ",": "%2C"]) }
}
