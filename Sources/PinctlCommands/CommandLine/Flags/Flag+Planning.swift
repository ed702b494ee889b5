/// Flags for planning a new certificate.
extension Flag {
    static let newInput = Flag(
        "new", value: .file("INPUT"), repeatable: true, "plan for this new chain, request or key")
    static let currentInput = Flag(
        "current", value: .file("INPUT"), repeatable: true,
        "compare with the current chain, to find lost hostnames and pins no longer needed")
    static let nextIssuer = Flag("next-issuer", "plan for every root under which the CA of today's chain issues")
    static let against = Flag(
        "against", value: .text("SOURCE"), repeatable: true,
        "check these releases: git:TAGGLOB:PATH[:PATH], a pin file, or a directory of them")
    static let targetLevel = Flag(
        "target-sdk", value: .text("LEVEL"),
        "judge Android's config as an app does that targets this API level",
        details: "The default is the level in an AndroidManifest.xml or a Gradle file above the config.")
    static let repository = Flag(
        "repository", value: .directory("DIR"), "read git: sources from this repository (default: current directory)")
    static let plannedHost = Flag(
        "host", value: .text("HOST[:PORT]"), repeatable: true, "check only this host")
    static let failWithin = Flag(
        "fail-within", value: .text("PERIOD"),
        "exit with 1 also if a release stops working within PERIOD: 100d, 12w, 36h")
    static let share = Flag(
        "share", value: .text("RELEASE=PERCENT"), repeatable: true,
        "set the share of users who have a release, such as ios-5.0=3%")
    static let timeline = Flag("timeline", "print when each pin can be removed, even for more than eight pins")
}
