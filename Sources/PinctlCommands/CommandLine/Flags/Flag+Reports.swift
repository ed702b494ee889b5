/// Flags for reports and annotations in continuous integration.
extension Flag {
    static let report = Flag(
        "report", value: .beginning("FORMAT=FILE", ReportFormat.allCases.map { "\($0.rawValue)=" }), repeatable: true,
        in: .output,
        "write a report: \(ReportFormat.allCases.map(\.rawValue).joined(separator: ", "))",
        details: "An existing FILE is replaced, and FILE is never left incomplete. With - as FILE, the report replaces "
            + "the text on standard output.")
    static let annotations = Flag(
        "annotations", value: .choice("WHERE", Annotations.allCases.map(\.rawValue)), in: .output,
        "github: annotate lines and write a job summary; none: do neither",
        details:
            "The default is github if GITHUB_ACTIONS is true, and none otherwise. Annotations are printed on standard "
            + "error, and the summary is appended to the file that GITHUB_STEP_SUMMARY names.")
}
