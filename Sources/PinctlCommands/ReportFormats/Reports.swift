import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The reports that the command line asks for, and the output for the CI job.
struct Reports: Sendable {
    private let files: [ReportFile]
    private let annotations: Annotations
    /// The file that GitHub shows as the summary of a step (`GITHUB_STEP_SUMMARY`).
    private let stepSummary: String?

    /// Whether no report is needed, so that a command doesn't have to keep its results.
    var isEmpty: Bool { files.isEmpty && annotations == .none }

    fileprivate init(files: [ReportFile], annotations: Annotations, stepSummary: String?) {
        self.files = files
        self.annotations = annotations
        self.stepSummary = stepSummary
    }

    /// Writes all reports. The console must have the run's summary already, because the reports include its outcome.
    func write(_ report: Report, _ console: inout Console) {
        guard !isEmpty else { return }
        var report = report
        report.status = console.status
        report.summary = console.ending
        for file in files {
            guard let path = file.path else {
                console.document(file.format.text(of: report))
                continue
            }
            do throws(NewFileError) {
                try overwriteFile(path, Array(file.format.text(of: report).utf8))
            } catch {
                console.problem(
                    "\(Flag.report.dashed) \(file.format.rawValue)=\(path): \(error)", .badInput,
                    members: [("file", .string(path))])
            }
        }
        guard annotations == .github else { return }
        for line in GitHubAnnotation.lines(for: report) { console.command(line) }
        guard let stepSummary else { return }
        var isFull = false
        do throws(NewFileError) {
            try appendToFile(stepSummary) { size in
                // GitHub doesn't show a longer summary, and other commands may have written to it.
                let text = MarkdownReport.text(report, limit: max(0, GitHubAnnotation.summaryLimit - size - 1))
                isFull = text.isEmpty
                return Array(text.utf8)
            }
            if isFull { console.note("note: the step summary is full and doesn't contain this run: \(stepSummary)") }
        } catch {
            console.note("note: the step summary was not written, \(stepSummary): \(error)")
        }
    }
}

/// One `--report FORMAT=FILE`.
struct ReportFile: Sendable, Hashable {
    let format: ReportFormat
    /// The path, or `nil` for standard output.
    let path: String?

    init(_ text: String) throws(UsageError) {
        let parts = text.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false).map(String.init)
        guard let format = ReportFormat(rawValue: parts[0]) else {
            throw .unknownChoice(.report, parts[0], known: ReportFormat.allCases.map(\.rawValue))
        }
        guard parts.count == 2, !parts[1].isEmpty else {
            throw .invalidValue(.report, reason: "\(text) doesn't name a file: write \(format.rawValue)=FILE")
        }
        self.format = format
        path = parts[1] == "-" ? nil : parts[1]
    }
}

extension Arguments {
    /// Returns the reports of `--report` and `--annotations`.
    ///
    /// Files that couldn't be written are detected before the run. A report on standard output replaces the text there.
    func reports(in environment: CommandEnvironment, _ console: inout Console) throws(UsageError) -> Reports {
        var files: [ReportFile] = []
        for text in all(.report) {
            let file = try ReportFile(text)
            guard !files.contains(where: { $0.path == file.path }) else {
                throw .invalidValue(
                    .report, reason: "two reports are written to \(file.path ?? "-"): give each its own file")
            }
            if let path = file.path {
                if file.format == .json, let baseline = self[.baseline], isSameFile(path, baseline) {
                    throw .invalidValue(
                        .report,
                        reason: "\(path) is the baseline, so the next run would ignore new failures: give another "
                            + "file, and make it the baseline after a review")
                }
                do throws(NewFileError) {
                    try checkOverwritable(path)
                } catch {
                    throw .invalidValue(.report, reason: "\(text): \(error)")
                }
            }
            files.append(file)
        }
        if files.contains(where: { $0.path == nil }) {
            guard !has(.json), !has(.ndjson) else {
                throw .invalidValue(
                    .report, reason: "standard output already contains the JSON: give a file, or omit one of the two")
            }
            console.silence()
        }
        let variables = environment.variables()
        let annotations = try annotations(variables)
        let summary = variables["GITHUB_STEP_SUMMARY"] ?? ""
        return Reports(
            files: files, annotations: annotations, stepSummary: summary.isEmpty ? nil : summary)
    }

    private func annotations(_ variables: [String: String]) throws(UsageError) -> Annotations {
        guard let word = self[.annotations] else { return variables["GITHUB_ACTIONS"] == "true" ? .github : .none }
        guard let choice = Annotations(rawValue: word) else {
            throw .unknownChoice(.annotations, word, known: Annotations.allCases.map(\.rawValue))
        }
        return choice
    }
}
