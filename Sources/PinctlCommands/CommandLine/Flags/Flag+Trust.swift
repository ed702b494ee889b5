/// Flags that determine whether a chain is trusted and which pins it must match.
extension Flag {
    static let host = Flag(
        "host", value: .text("HOST"), in: .trust,
        "require the certificate to be valid for this DNS name or IP address")
    static let caFile = Flag(
        "ca-file", value: .file("FILE"), repeatable: true, in: .trust,
        "trust the CA certificates in FILE instead of the system roots")
    static let systemRoots = Flag(
        "system-roots", in: .trust, "trust the system roots in addition to --ca-file")
    static let store = Flag(
        "store", value: .text("NAME=FILE"), repeatable: true, in: .trust,
        "verify with the roots in FILE, once for each NAME")
    static let profile = Flag(
        "profile", value: .choice("PROFILE", ["default", "strict"]), in: .trust,
        "default: what the Web accepts; strict: RFC 5280 and the CA/Browser Forum")
    static let crl = Flag(
        "crl", value: .file("FILE"), repeatable: true, in: .trust, "check the chain against the CRLs in FILE")
    static let ocsp = Flag(
        "ocsp", value: .file("FILE"), in: .trust, "check the leaf against this OCSP response (DER)")
    static let revocation = Flag(
        "revocation", value: .choice("MODE", ["use", "require"]), in: .trust,
        "use: check the CRLs and OCSP responses available; require: every certificate needs one")
    static let transparencyLogs = Flag(
        "ct-logs", value: .file("FILE"), in: .trust,
        "verify Certificate Transparency with the logs in FILE (such as Google's log_list.json)",
        details:
            "pinctl fetches nothing. A list that is 70 days old proves nothing, so get a new one regularly. Google "
            + "permits the use of its list to monitor, but not to enforce it in programs other than Chrome.")
    static let transparency = Flag(
        "transparency", value: .choice("MODE", ["report", "require"]), in: .trust,
        "report: warn about a leaf without enough timestamps; require: reject it (needs --ct-logs)",
        details:
            "With --ct-logs, the default is report. A rule of the policy that has certificateTransparency overrides "
            + "this flag.")
    static let at = Flag(
        "at", value: .text("TIME"), in: .trust, "use this time (RFC 3339, or a date) instead of now")
    static let pin = Flag(
        "pin", value: .text("PIN"), repeatable: true, in: .trust,
        "expect this pin (sha256/BASE64) anywhere in the chain")
    static let policy = Flag("policy", value: .file("FILE"), in: .trust, "use this policy file")
}
