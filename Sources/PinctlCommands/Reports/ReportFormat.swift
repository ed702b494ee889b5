/// What a report is written as.
enum ReportFormat: String, Sendable, CaseIterable {
    /// For the pages of test results of Jenkins, GitLab and others.
    case junit
    /// For code scanning: results at lines of files (SARIF 2.1.0).
    case sarif
    /// For a comment or a wiki, with GitHub's tables.
    case markdown
    /// One page for people, with everything in it.
    case html
    /// For the textfile collector of Prometheus' node exporter.
    case prometheus
    /// The document of `--json`.
    case json

    /// The whole file.
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

/// Where remarks at lines of files are wanted.
enum Annotations: String, Sendable, CaseIterable {
    case github
    case none
}
