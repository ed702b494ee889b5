/// Flags that determine whether a chain is trusted and which pins it must match.
extension Flag {
    static let host = Flag(
        "host", value: .text("NAME"), in: .trust, "the DNS name or IP address the certificate must be for")
    static let caFile = Flag(
        "ca-file", value: .file("FILE"), repeatable: true, in: .trust,
        "trust the certificates in FILE instead of the system's")
    static let systemRoots = Flag(
        "system-roots", in: .trust, "trust the system's certificates beside those of --ca-file")
    static let store = Flag(
        "store", value: .text("NAME=FILE"), repeatable: true, in: .trust,
        "verify under the roots in FILE, once for each NAME")
    static let profile = Flag(
        "profile", value: .choice("PROFILE", ["default", "strict"]), in: .trust,
        "default: what the Web accepts; strict: RFC 5280 and the CA/Browser Forum")
    static let crl = Flag(
        "crl", value: .file("FILE"), repeatable: true, in: .trust, "hold the chain against the revocation lists in FILE"
    )
    static let ocsp = Flag(
        "ocsp", value: .file("FILE"), in: .trust, "hold the chain against this OCSP response, DER, about its leaf")
    static let revocation = Flag(
        "revocation", value: .choice("MODE", ["use", "require"]), in: .trust,
        "use: look at what is at hand; require: every certificate needs an answer")
    static let at = Flag(
        "at", value: .text("TIME"), in: .trust, "judge as of this time (RFC 3339, or a date) instead of now")
    static let pin = Flag(
        "pin", value: .text("PIN"), repeatable: true, in: .trust,
        "expect this pin, sha256/BASE64, anywhere in the chain")
    static let policy = Flag("policy", value: .file("FILE"), in: .trust, "judge by this policy file")
}
