/// Files and remarks that continuous integration shows.
extension Flag {
    static let report = Flag(
        "report", value: .text("FORMAT=FILE"), repeatable: true,
        "write a report to FILE: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", "))",
        details: "FILE is written whole or not at all, over one that is there. - is standard output, in place of the "
            + "text.")
    static let annotations = Flag(
        "annotations", value: .choice("WHERE", Annotations.allCases.map(\.rawValue)),
        "github: remarks at lines and a summary of the job, as where GITHUB_ACTIONS is true; none")
}
