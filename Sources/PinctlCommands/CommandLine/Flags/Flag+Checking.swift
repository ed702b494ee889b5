import CertificatePinning

/// Flags that select what `check` checks and how its results count.
extension Flag {
    static let targets = Flag(
        "targets", value: .file("FILE"), repeatable: true,
        "check the targets in FILE, one per line (- for standard input)",
        details: "Blank lines and text after # are ignored. Results are printed for each line as they finish, or with "
            + "--in-order in the order of the lines. The file is read only as far as needed.")
    static let inOrder = Flag(
        "in-order", "print results in the order of the targets, instead of as they finish",
        details: "A slow target then holds back the results of others. The document of --json and reports always have "
            + "this order.")
    static let files = Flag(
        "files", "check files instead of servers: chains, certificate requests and keys",
        details: "No connection is made. A chain is checked for each host of the policy that its leaf certificate is "
            + "valid for, or for the host of --host. A certificate request or a key is checked as the key of a leaf "
            + "certificate. Certificates find their issuers in all files that are named, and there is one result for "
            + "each leaf certificate. A directory is read with those below it, and keys in it are checked only if they "
            + "are pinned.")
    static let allowUnread = Flag(
        "allow-unread", "with --files, exit without 2 if files weren't understood",
        details:
            "They are still counted in the summary, and named on standard error. Files without a certificate, such as "
            + "CRLs, parameters and configuration, are recognized by their contents and need no flag. A damaged "
            + "certificate still exits with 2.")
    static let allowMissing = Flag(
        "allow-missing", "with --files, don't fail for hosts of the policy that no certificate in them is valid for",
        details:
            "For the files of one service of several. Without it, these hosts fail, because a certificate that lost a "
            + "name when it was renewed looks the same. They are named on standard error and counted in the summary.")
    static let failures = Flag(
        "failures", "print only failures, warnings, failures that no longer occur (--baseline), and the summary",
        details: "JSON output and reports still contain all results.")
    static let warnWithin = Flag(
        "warn-within", value: .text("PERIOD|SHARE"),
        "warn about expiry within 14d, 12w, 36h or 33% of the lifetime, or 0 for never (default: a third of it, at "
            + "most 14d)",
        details: "Each certificate on the path is measured by its own lifetime. For a CA certificate, a share is at "
            + "most 14 days. The expiry of a rule is measured by the period, or by 14 days.")
    static let requireGroup = Flag(
        "require-group", value: .choice("GROUP", CheckSettings.keyExchangeGroups),
        "fail if a server uses another key exchange group than GROUP, such as X25519MLKEM768",
        details:
            "X25519MLKEM768 resists quantum computers, and needs OpenSSL 3.5 or later. Servers that use TLS 1.2 "
            + "fail too. In a policy, this is \"requireGroup\" in \"check\".")
    static let failOn = Flag(
        "fail-on", value: .choice("LEVEL", ["error", "warning"]),
        "fail on an error only, or on a warning too (default: error)")
    static let exitZero = Flag(
        "exit-zero", "exit with 0 instead of 1, 3 or 4",
        details: "The JSON summary still reports the result. Wrong usage and unreadable input still exit with 2.")
    static let baseline = Flag(
        "baseline", value: .file("FILE"),
        "ignore failures already recorded in FILE, the --json or --ndjson output of an earlier run",
        details: "A failure is already recorded if its target, verdict and causes are the same, including the CA "
            + "concerned and the failing key. Any other failure counts. Failures that no longer occur are reported. "
            + "--report json=FILE writes such a file too.")
    static let maxUnreachable = Flag(
        "max-unreachable", value: .text("N%"), "allow N% of the checks, or N of them, to be unreachable (default: 0)",
        details: "Each address and each key type of a target counts separately. A run in which nothing is reachable "
            + "always fails.")
}
