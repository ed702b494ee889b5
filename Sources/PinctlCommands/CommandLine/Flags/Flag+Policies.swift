import CertificatePinning
import PinDialects

/// Flags for files of pins.
extension Flag {
    private static let dialects = PinDialect.allCases.map(\.rawValue)

    static let lintRule = Flag(
        "rule", value: .beginning("RULE=LEVEL", LintRule.allCases.map { "\($0.rawValue)=" }), repeatable: true,
        "set the level of a rule to off, warning or error: P011=off")
    static let calendar = Flag(
        "calendar", value: .file("FILE"),
        "judge by the coming changes of trust stores in FILE, such as public-roots.jsonc (default: those in the files "
            + "that the policy includes)")
    static let issuance = Flag(
        "issuance", value: .file("FILE|DIR"), repeatable: true,
        "report pinned keys that change at renewal, as the settings of the client or its last certificates show",
        details: "FILE is " + IssuanceProgram.files
            + ". DIR has such files, or else the last certificates of servers, also in directories below it.")
    static let from = Flag(
        "from", value: .choice("DIALECT", dialects),
        "read pin files as this dialect if they are not recognized or contain two (pinctl help dialects)")
    static let to = Flag(
        "to", value: .choice("DIALECT", dialects), "convert to \(dialects.joined(separator: ", "))")
    static let importedHost = Flag(
        "host", value: .text("HOST"), "apply the pins to this host if FILE names none")
    static let exportedHost = Flag("host", value: .text("HOST"), "export only the rule for this host")
    static let into = Flag("into", value: .file("FILE"), "replace the pins in this file and change nothing else")
    static let check = Flag("check", "write nothing, and exit with 1 if the file differs from the policy")
    static let lossy = Flag("lossy", "write even if settings are lost, and report them")
    static let allow = Flag(
        "allow",
        value: .choice("CHANGE", ConversionChange.allCases.filter { $0 != .quirk }.map(\.rawValue)), repeatable: true,
        "accept this change by the conversion, such as role-lost")
    static let asDialect = Flag(
        "as", value: .choice("DIALECT", dialects),
        "match hosts as the system of this dialect does (see pinctl help dialects)")
    static let among = Flag(
        "in", value: .file("FILE|TARGET"), repeatable: true,
        "search the keys and certificates of a file, a directory or a server")
}
