import Basics
import CertificatePinning
import CertificateTrust
import PlatformFoundation

/// A writer of the XML of Ant's JUnit task with the extensions of Surefire, which Jenkins and GitLab read.
///
/// Each policy or file is a suite, and each entry is a case. Cases can't have properties in this format. Warnings are
/// therefore properties of their suite, and also part of the output of their case.
enum JUnitReport {
    static func text(_ report: Report) -> String {
        let suites = suites(of: report)
        var text = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
        text += "<testsuites name=\"\(markup("pinctl \(report.command)"))\""
        text += " \(counts(report.entries[...], report))>\n"
        for suite in suites { write(suite.name, suite.entries.map { report.entries[$0] }, report, to: &text) }
        text += "</testsuites>\n"
        return text
    }

    private static func suites(of report: Report) -> [(name: String, entries: [Int])] {
        var suites: [(name: String, entries: [Int])] = []
        var places: [String: Int] = [:]
        for (index, entry) in report.entries.enumerated() {
            let name = entry.location?.path ?? report.policy ?? "pinctl \(report.command)"
            if let place = places[name] {
                suites[place].entries.append(index)
            } else {
                places[name] = suites.count
                suites.append((name, [index]))
            }
        }
        return suites
    }

    private static func write(_ name: String, _ entries: [ReportEntry], _ report: Report, to text: inout String) {
        text += "  <testsuite name=\"\(markup(name))\" \(counts(entries[...], report))"
        text +=
            " skipped=\"\(entries.count { $0.outcome == .known })\" timestamp=\"\(report.time.rfc3339.prefix(19))\">\n"
        let warnings = entries.flatMap { entry in
            entry.allWarnings.map { (name: "warning.\($0.identifier)", value: "\(entry.title): \($0.text)") }
        }
        if !warnings.isEmpty {
            text += "    <properties>\n"
            for warning in warnings {
                text += "      <property name=\"\(markup(warning.name))\" value=\"\(markup(warning.value))\"/>\n"
            }
            text += "    </properties>\n"
        }
        for entry in entries { write(entry, report, to: &text) }
        text += "  </testsuite>\n"
    }

    private static func write(_ entry: ReportEntry, _ report: Report, to text: inout String) {
        text += "    <testcase classname=\"pinctl.\(markup(report.command))\" name=\"\(markup(entry.title))\""
        text += " time=\"\(seconds(entry.duration))\">\n"
        let element = element(entry.outcome)
        if let element {
            text += "      <\(element) type=\"\(markup(entry.verdict))\" message=\"\(markup(entry.finding))\">"
            let causes = entry.causes.flatMap { ["cause: \($0.finding)", "do: \($0.remedy)"] }
            text += markup(lines: [entry.finding] + causes)
            text += "</\(element)>\n"
        }
        let output =
            (element == nil ? [entry.finding] : []) + entry.details + entry.chain.map { "  " + $0.line }
            + entry.allWarnings.map { "warning: \($0.text)" }
        text += "      <system-out>\(markup(lines: output))</system-out>\n    </testcase>\n"
    }

    /// Returns the element for a case that doesn't pass.
    private static func element(_ severity: Severity) -> String? {
        switch severity {
        case .ok, .warning: nil
        case .known: "skipped"
        case .failed, .notTrusted: "failure"
        case .couldNotCheck, .badInput: "error"
        }
    }

    private static func counts(_ entries: ArraySlice<ReportEntry>, _ report: Report) -> String {
        var (failures, errors) = (0, 0)
        var time = Duration.zero
        for entry in entries {
            switch element(entry.outcome) {
            case "failure": failures += 1
            case "error": errors += 1
            default: break
            }
            time += entry.duration ?? .zero
        }
        return "tests=\"\(entries.count)\" failures=\"\(failures)\" errors=\"\(errors)\" time=\"\(seconds(time))\""
    }

    /// Formats a duration in seconds, such as `0.041`.
    private static func seconds(_ duration: Duration?) -> String {
        let milliseconds = (duration ?? .zero).wholeMilliseconds
        let digits = String(milliseconds % 1_000)
        return "\(milliseconds / 1_000).\(String(repeating: "0", count: 3 - digits.count))\(digits)"
    }
}

extension ReportEntry {
    /// The warnings of the entry, including the entry itself if its outcome is a warning.
    var allWarnings: [(identifier: String, text: String)] {
        outcome == .warning && warnings.isEmpty ? [(verdict, finding)] : warnings
    }
}

extension Duration {
    /// The duration in whole milliseconds, or 0 if it is negative.
    var wholeMilliseconds: Int {
        let (seconds, attoseconds) = components
        guard seconds >= 0, attoseconds >= 0, seconds < 1 << 40 else { return 0 }
        return Int(seconds) * 1_000 + Int(attoseconds / 1_000_000_000_000_000)
    }
}
