/// Flags that select what `check` checks and how its results count.
extension Flag {
    static let targets = Flag(
        "targets", value: .file("FILE"), repeatable: true, "check the targets in FILE, one a line; - is standard input",
        details:
            "Blank lines are passed over, and so is what follows a #. Every line has its own results, in the order "
            + "of the lines, as soon as they are there; the file is read as far as it is needed.")
    static let files = Flag(
        "files", "check files instead of servers: the operands are chains, requests and keys",
        details: "Nothing is connected to. A chain is judged for each host of the policy that its leaf is for, a key "
            + "or a request as the key of a leaf.")
    static let failures = Flag(
        "failures", "print only what failed, warns or is mended, and the end",
        details: "JSON and reports have everything all the same.")
    static let warnWithin = Flag(
        "warn-within", value: .text("PERIOD"), "warn of what ends within 14d, 12w, 36h; 0 for never (14d)")
    static let failOn = Flag(
        "fail-on", value: .choice("LEVEL", ["error", "warning"]),
        "what counts as failed: error, or warning too (error)")
    static let exitZero = Flag(
        "exit-zero", "end with 0 where it would be 1, 3 or 4",
        details: "The summary of JSON still says what was found. Wrong usage and unreadable input stay exit code 2.")
    static let baseline = Flag(
        "baseline", value: .file("FILE"),
        "pass over what failed in the same way in FILE, the --json or --ndjson of an earlier run",
        details: "A failure is the same when target, verdict and causes are, with the authority it is about and the "
            + "key that fails; whatever else fails counts. What does not fail any more is told. --report json=FILE "
            + "writes such a FILE too.")
    static let maxUnreachable = Flag(
        "max-unreachable", value: .text("N%"), "accept that N% of what is checked, or N of it, is not reached (0)",
        details: "Each address and each kind of key of a target counts. A run in which nothing is reached fails "
            + "whatever is given.")
}
