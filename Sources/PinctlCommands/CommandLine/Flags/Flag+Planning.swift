/// Flags for planning a new certificate.
extension Flag {
    static let newInput = Flag(
        "new", value: .file("INPUT"), repeatable: true, "what servers are to show: a chain, a request or a key")
    static let currentInput = Flag(
        "current", value: .file("INPUT"), repeatable: true,
        "what servers show today: for names that get lost, and pins that can go now")
    static let against = Flag(
        "against", value: .text("SOURCE"), repeatable: true,
        "releases: git:TAGGLOB:PATH, a file of pins, a folder of them")
    static let repository = Flag("repository", value: .folder("DIR"), "the repository of git: sources (this folder)")
    static let plannedHost = Flag(
        "host", value: .text("NAME"), repeatable: true, "judge this host, NAME or NAME:PORT, and no other")
    static let failWithin = Flag(
        "fail-within", value: .text("PERIOD"),
        "exit with 1 also for what survives now and will not within 100d, 12w, 36h")
    static let share = Flag(
        "share", value: .text("RELEASE=PERCENT"), repeatable: true, "how many of the users have a release: ios-5.0=3%")
    static let timeline = Flag("timeline", "say when each pin can go also where there are more than eight")
}
