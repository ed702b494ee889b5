/// Flags for the verdict service and the programs that it judges.
extension Flag {
    /// The flags that say what servers are judged by.
    static let judging: [Flag] = [
        .policy.described("judge servers by this policy file, and read it again when it changes"), .caFile,
        .systemRoots, .profile,
    ]
    static let socket = Flag("socket", value: .file("PATH"), "answer at this Unix socket (default: systemd's)")
    static let socketMode = Flag(
        "socket-mode", value: .text("MODE"), "the mode of the socket, such as 0660 (default: 0600)")
    static let counters = Flag(
        "report", value: .beginning("FORMAT=FILE", ["prometheus="]), in: .output,
        "write counters for Prometheus to FILE every ten seconds: prometheus=FILE",
        details: "FILE is never left incomplete.")
    static let guardFile = Flag(
        "guard", value: .file("FILE"), "preload this library (default: pinctl-guard.so beside pinctl)")
    static let requireJudged = Flag(
        "require-judged", "exit with 125 if a connection wasn't judged or the guard wasn't loaded")
}
