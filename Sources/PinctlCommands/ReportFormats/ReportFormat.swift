import CertificatePinning
import PinctlBasics

/// A file format of a report.
enum ReportFormat: String, Sendable, CaseIterable {
    /// JUnit XML for the test result pages of Jenkins, GitLab and others.
    case junit
    /// SARIF 2.1.0 for code scanning, with results at lines of files.
    case sarif
    /// Markdown with GitHub's tables, for a comment or a wiki.
    case markdown
    /// A single HTML page with everything in it.
    case html
    /// Metrics for the textfile collector of the Prometheus node exporter.
    case prometheus
    /// The document of `--json`.
    case json

    /// Returns the contents of the file.
    func text(of report: Report) -> String {
        switch self {
        case .junit: JUnitReport.text(report)
        case .sarif: SARIFReport.text(report)
        case .markdown: MarkdownReport.text(report)
        case .html: HTMLReport.text(report)
        case .prometheus: PrometheusReport.text(report)
        case .json: JSONReport.text(report)
        }
    }
}

/// A system that shows annotations at lines of files.
enum Annotations: String, Sendable, CaseIterable {
    case github
    case none
}

/// A writer of the same document as `--json`, byte for byte, so that it can serve as a baseline.
enum JSONReport {
    static func text(_ report: Report) -> String {
        var text = Console.documentHead(schema: "pinctl.\(report.command)/1")
        for (index, element) in report.entries.lazy.compactMap(\.json).enumerated() {
            text += (index == 0 ? "\n" : ",\n") + element.text
        }
        text += "\n],\"summary\":\(JSON.object(report.summary).text)}\n"
        return text
    }
}
