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
    static let provider = Flag(
        "provider", value: .choice("NAME", ProviderPools.builtIn.names), repeatable: true,
        "plan for every root of this provider of managed certificates, such as cloudflare")
    static let providers = Flag(
        "providers", value: .file("FILE"),
        "use the providers' roots in FILE, such as a newer pins/providers.jsonc (default: those built in)")
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
    static let update = Flag("update", "replace the pins in every file that the policy lists in \"exports\"")
    static let exportedMode = Flag(
        "mode", value: .choice("MODE", [PinningMode.enforce, .report].map(\.rawValue)),
        "give every rule that isn't off this mode: enforce or report")
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
