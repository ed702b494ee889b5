import CertificatePinning
import PinctlBasics
import PinctlFoundation

/// The findings of a run for the files of `--report`. Every format is generated from this value alone.
struct Report: Sendable {
    /// The command, such as `check`.
    let command: String
    /// The time of the run.
    let time: Date
    /// The path of the policy that was checked against, if any.
    let policy: String?
    var entries: [ReportEntry] = []
    /// The causes that several entries may share, the most severe first.
    var groups: [ReportGroup] = []
    /// The positions of the groups by their keys, while failures are added.
    var groupPlaces: [String: Int] = [:]
    /// The number of failures for causes that aren't distinguished.
    var ungrouped = 0
    /// The descriptions of the entries' verdicts and warnings.
    var rules: [ReportRule] = []
    /// The verdict on each release at each host, if the command is `plan`.
    var matrix: ReportMatrix?
    /// The summary of the JSON document, taken from the console when the report is written.
    var summary: [(String, JSON)] = []
    /// The last line of the text output.
    var closing = ""
    /// The outcome, taken from the console when the report is written.
    var status = ExitCode.good
}

/// The verdicts on releases, with what follows from them.
struct ReportMatrix: Sendable {
    /// The hosts, which are the heads of the columns after the first.
    let hosts: [String]
    /// Each release with its verdict at each host.
    let rows: [(release: String, verdicts: [(word: String, outcome: Severity)])]
    /// The changes that make it safe to serve the certificate, in lines. Empty if it is safe already.
    let ways: [String]
    /// Each pin with the time when its key can be removed. Empty if nothing is known of it.
    let removals: [(pin: String, moment: String)]
}

/// A checked item and its result.
struct ReportEntry: Sendable {
    let outcome: Severity
    /// The name of the item, such as `api.example.com:443` or a file.
    let subject: String
    /// The variant if the item was checked several times, such as `203.0.113.7, ECDSA`, or empty.
    var variant = ""
    /// The address that was connected to, such as `203.0.113.7:443`, if any.
    var address: String?
    /// The kind of key that was requested, such as `ecdsa`, if any.
    var key: String?
    /// The verdict as a stable word that doesn't change between versions, such as `pin_mismatch` or `P003`.
    let verdict: String
    /// The finding in one line.
    let finding: String
    /// The detail lines of the text output.
    var details: [String] = []
    /// The warnings in addition to the verdict, each with a stable identifier and a one-line text.
    var warnings: [(identifier: String, text: String)] = []
    /// The position of the deciding rule or of the finding.
    var location: PolicyLocation?
    /// The likely causes.
    var causes: [ReportCause] = []
    /// The evaluated chain, leaf first.
    var chain: [ReportCertificate] = []
    /// The pins that the rule expects.
    var pins: [ReportPin] = []
    var duration: Duration?
    /// The key of the entry's group.
    var group: String?
    /// The element of the JSON document, or `nil` if the document doesn't list it, such as a file without findings.
    let json: JSON?
}

/// A likely cause of a failure.
struct ReportCause: Sendable {
    /// A stable identifier, such as `authority-changed`.
    let identifier: String
    /// The cause in one line.
    let finding: String
    /// The remedy.
    let remedy: String
}

/// A certificate of an evaluated chain.
struct ReportCertificate: Sendable {
    let role: String
    let subject: String
    let issuer: String
    let key: String
    /// The pin, in the form `sha256/BASE64`.
    let pin: String
    let notBefore: Date
    let notAfter: Date
    /// The share of the lifetime that was left at the time of the run, from 0 to 1.
    let lifetimeLeft: Double
    /// The source: `served`, `store` or `file`.
    let source: String
    /// The title of the pin that matches the certificate, or `nil` if none does.
    let matched: String?
}

extension ReportCertificate {
    /// The share that is left in whole percent, rounded down.
    var lifetimeLeftPercent: Int { Int(lifetimeLeft * 100) }

    /// The certificate in one line, without its subject and pin.
    var line: String {
        "\(role): \(key), by \(issuer), valid from \(notBefore.rfc3339) until \(notAfter.rfc3339), "
            + "\(lifetimeLeftPercent)% of its lifetime left"
    }
}

/// A pin of the deciding rule.
struct ReportPin: Sendable {
    /// The name of the pin, or otherwise the pin itself.
    let title: String
    /// The pin, in the form `sha256/BASE64`.
    let pin: String
    let role: String
    let isBackup: Bool
    /// The state of the pin, such as `matches as root` or `not served`.
    let standing: String
    let isMatched: Bool
}

/// The failures with one cause.
struct ReportGroup: Sendable {
    /// The identifier of the group, which its entries have too.
    var key = ""
    let outcome: Severity
    /// The cause in one line, such as `the authority changed: WE1 → WE2`.
    let title: String
    var remedy: String
    var count: Int
    /// The first subjects of the group.
    var examples: [String]
    /// The positions of the examples in the run, in ascending order.
    var items: [Int] = []
    /// The number of causes that each entry has, if several apply at once.
    var causeCount = 1
    /// The kind of subject that is counted: `host` or `file`.
    var noun = "host"
    /// The remedy in a few words, for the end of a screen, which refers to the text above.
    var shortRemedy = ""
}

/// A verdict or rule that a report may refer to.
struct ReportRule: Sendable {
    /// The identifier, such as `pin_mismatch` or `P003`.
    let identifier: String
    /// A one-line description.
    let summary: String
    /// The remedy in sentences, empty if the finding contains it.
    var help = ""
    var isWarning = false
}
