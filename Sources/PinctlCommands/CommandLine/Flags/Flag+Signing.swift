/// Flags for policy bundles.
extension Flag {
    static let keySets = Flag(
        "keys", value: .file("FILE"), repeatable: true,
        "the key set of the bundle, JSON (see pinctl help sign)",
        details: "Programs in use may have different key sets: give each, from the oldest to the newest. sign also "
            + "signs the newest one, unless the bundle before already contains it.")
    static let allowChange = Flag(
        "allow", value: .choice("CHANGE", PolicyChange.allowable), repeatable: true,
        "sign although no server that was accepted before is accepted now, or with a gap before the number",
        details: "lockout is for the servers, and gap for a sequence number that isn't the next after that of --after.")
    static let signingKey = Flag(
        "key", value: .file("FILE"), repeatable: true,
        "sign with the private key in FILE: PEM, Ed25519 or EC P-256",
        details: "An encrypted key needs --password-file or --password-fd.")
    static let signer = Flag(
        "signer", value: .text("COMMAND"), repeatable: true,
        "sign with a command, such as that of a hardware token or a cloud service",
        details: "The shell runs COMMAND for each document, with the bytes to sign on standard input. It prints the "
            + "signature in Base64: 64 bytes for Ed25519, DER for ECDSA with SHA-256.")
    static let previousBundle = Flag(
        "after", value: .file("BUNDLE"), "the bundle before this one, which the new one replaces",
        details: "Required for every bundle but the first, also to add a signature.")
    static let sequence = Flag(
        "sequence", value: .text("N"), "the sequence number (default: one more than that of --after, or 1)")
    static let validFor = Flag(
        "valid-for", value: .text("PERIOD"), "the period until the bundle expires, such as 30d (default: 30d)")
    static let rollout = Flag(
        "rollout", value: .text("SHARE,PERIOD"),
        "for a period, put the bundle in force only in a share of the installations: 10%,3d",
        details: "The others keep their policy meanwhile, and report the servers that the new one would refuse.")
    static let servers = Flag(
        "servers", "check the servers of the policy first, and sign nothing if a client would refuse one",
        details: "The checks are those of pinctl check --policy, with the roots of --ca-file.")
}
