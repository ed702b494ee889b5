/// Flags for reports and annotations in continuous integration.
extension Flag {
    static let report = Flag(
        "report", value: .text("FORMAT=FILE"), repeatable: true, in: .output,
        "write a report: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", "))",
        details: "FILE is written whole or not at all, over one that is there. - is standard output, in place of the "
            + "text.")
    static let annotations = Flag(
        "annotations", value: .choice("WHERE", Annotations.allCases.map(\.rawValue)), in: .output,
        "github: remarks at lines and a summary of the job; none",
        details:
            "github where GITHUB_ACTIONS is true, none elsewhere, unless said. Remarks go to standard error, the summary "
            + "to the file that GITHUB_STEP_SUMMARY names.")
}
