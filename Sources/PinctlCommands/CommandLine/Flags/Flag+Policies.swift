import PinDialects

/// Flags for files of pins.
extension Flag {
    private static let dialects = PinDialect.allCases.map(\.rawValue)

    static let lintRule = Flag(
        "rule", value: .text("RULE=LEVEL"), repeatable: true, "off, warning or error for what a rule finds: P011=off")
    static let from = Flag(
        "from", value: .choice("DIALECT", dialects),
        "the dialect of FILE, where it is not recognized or FILE holds two (pinctl help dialects)")
    static let to = Flag(
        "to", value: .choice("DIALECT", dialects), "write \(dialects.joined(separator: ", "))")
    static let importedHost = Flag(
        "host", value: .text("NAME"), "the host that the pins are for, where FILE names none")
    static let exportedHost = Flag("host", value: .text("NAME"), "export the rule of this host alone")
    static let into = Flag("into", value: .file("FILE"), "replace the pins in this file and nothing else")
    static let check = Flag("check", "write nothing: exit with 1 if the file means something else")
    static let lossy = Flag("lossy", "write although something is lost, which is told")
    static let allow = Flag(
        "allow", value: .text("CHANGE"), repeatable: true,
        "write although this is lost, role-lost for example, and nothing else")
    static let asDialect = Flag(
        "as", value: .choice("DIALECT", dialects),
        "judge as the system of this dialect does (pinctl help dialects)")
    static let among = Flag(
        "in", value: .file("FILE"), repeatable: true,
        "look among the keys and certificates of FILE, of a folder of them, or of a server")
}
