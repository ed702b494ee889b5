import CertificatePinning
import PinDialects

/// One flag. The parser and the help are made from these values and from nothing else.
package struct Flag: Sendable, Hashable {
    /// The name behind the two dashes.
    package let long: String
    /// The letter behind one dash.
    package let short: Character?
    /// What the help calls the value; nil for a flag that takes none.
    package let valueName: String?
    package let isRepeatable: Bool
    /// One line: what it does, lower case.
    package let help: String

    private init(
        _ long: String, short: Character? = nil, value: String? = nil, repeatable: Bool = false, _ help: String
    ) {
        self.long = long
        self.short = short
        valueName = value
        isRepeatable = repeatable
        self.help = help
    }

    /// As it is typed: `--host`.
    package var dashed: String { "--\(long)" }
}

extension Flag {
    static let help = Flag("help", short: "h", "print this help")
    static let version = Flag("version", "print the version")

    static let json = Flag("json", "print one JSON document instead of text")
    static let quiet = Flag("quiet", short: "q", "print no results: the exit code tells")

    static let long = Flag("long", short: "l", "say for every pin where it comes from and what it is")

    static let spelling = Flag(
        "as", value: "SPELLING",
        "spell pins as \(PinSpelling.allCases.map(\.rawValue).joined(separator: ", ")) (okhttp)")

    static let host = Flag("host", value: "NAME", "the DNS name or IP address the certificate must be for")
    static let caFile = Flag(
        "ca-file", value: "FILE", repeatable: true, "trust the certificates in FILE instead of the system's")
    static let store = Flag(
        "store", value: "NAME=FILE", repeatable: true, "verify under the roots in FILE, once for each NAME")
    static let profile = Flag(
        "profile", value: "PROFILE", "default: what the Web accepts; strict: RFC 5280 and the CA/Browser Forum")
    static let crl = Flag(
        "crl", value: "FILE", repeatable: true, "hold the chain against the revocation lists in FILE")
    static let ocsp = Flag("ocsp", value: "FILE", "hold the chain against this OCSP response, DER, about its leaf")
    static let revocation = Flag(
        "revocation", value: "MODE", "use: what is at hand decides; require: every certificate needs an answer")
    static let verbose = Flag("verbose", short: "v", "also show every path that was tried, and why it was not taken")
    static let at = Flag("at", value: "TIME", "judge as of this time (RFC 3339, or a date) instead of now")
    static let lintRule = Flag(
        "rule", value: "RULE=LEVEL", repeatable: true, "off, warning or error for what a rule finds: P011=off")
    static let pin = Flag(
        "pin", value: "PIN", repeatable: true, "expect this pin, sha256/BASE64, anywhere in the chain")
    static let policy = Flag("policy", value: "FILE", "judge by this policy file")

    static let connectTimeout = Flag("connect-timeout", value: "SECONDS", "time to connect to a target (5)")
    static let timeout = Flag("timeout", value: "SECONDS", "time for a whole target (10)")
    static let output = Flag("output", short: "o", value: "FILE", "write to FILE, which must not exist yet")

    private static let dialects = PinDialect.allCases.map(\.rawValue).joined(separator: ", ")
    static let from = Flag(
        "from", value: "DIALECT", "the dialect of FILE, where it is not to be guessed (pinctl help dialects)")
    static let to = Flag("to", value: "DIALECT", "write \(dialects)")
    static let importedHost = Flag("host", value: "NAME", "the host that the pins are for, where FILE names none")
    static let exportedHost = Flag("host", value: "NAME", "export the rule of this host alone")
    static let into = Flag("into", value: "FILE", "replace the pins in this file and nothing else")
    static let check = Flag("check", "write nothing: exit with 1 if the file means something else")
    static let lossy = Flag("lossy", "write although something is lost, which is told")
    static let allow = Flag(
        "allow", value: "CHANGE", repeatable: true,
        "write although this is lost, role-lost for example, and nothing else")
    static let asDialect = Flag(
        "as", value: "DIALECT", "judge as the system of this dialect does (pinctl help dialects)")
    static let among = Flag(
        "in", value: "FILE", repeatable: true, "look among the keys and certificates of FILE, or of a server")
}
