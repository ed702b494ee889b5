import CertificatePinning
import FoundationEssentials

/// What a run found, for the files of `--report`: every format is made from this value and from nothing else.
struct Report: Sendable {
    /// The command, `check`.
    let command: String
    /// When it ran.
    let time: Date
    /// What was held against: the policy's path, or nil.
    let policy: String?
    var entries: [ReportEntry] = []
    /// The causes that several entries may share, the worst first.
    var groups: [ReportGroup] = []
    /// What the verdicts of its entries, and their warnings, mean.
    var rules: [ReportRule] = []
    /// The summary of the JSON document; the console's, when the report is written.
    var summary: [(String, JSON)] = []
    /// The line that ends the text output.
    var closing = ""
    /// The outcome; the console's, when the report is written.
    var status = ExitCode.good
}

/// One thing that was looked at, and what came of it.
struct ReportEntry: Sendable {
    enum Outcome: String, Sendable, CaseIterable {
        case ok
        case warning
        case failed
        case notTrusted = "not_trusted"
        case couldNotCheck = "could_not_check"
        case badInput = "bad_input"
        /// A failure that a baseline knows.
        case known
    }

    let outcome: Outcome
    /// What was looked at: `api.example.com:443`, a file.
    let subject: String
    /// Which of several looks at it this is: `203.0.113.7, ECDSA`; empty when there is one.
    var variant = ""
    /// The address that was asked, where one was: `203.0.113.7:443`.
    var address: String?
    /// The kind of key that was asked for, where one was: `ecdsa`.
    var key: String?
    /// The verdict in a word that stays the same across versions: `pin_mismatch`, `P003`.
    let verdict: String
    /// What was found, in one line.
    let finding: String
    /// The lines below it, as the text output has them.
    var details: [String] = []
    /// Warnings beside the verdict: a word that stays the same, and a line.
    var warnings: [(identifier: String, text: String)] = []
    /// Where the rule stands that decided, or the finding.
    var location: PolicyLocation?
    /// What is likely behind it.
    var causes: [ReportCause] = []
    /// The chain, leaf first, as it was judged.
    var chain: [ReportCertificate] = []
    /// What the rule expects.
    var pins: [ReportPin] = []
    var duration: Duration?
    /// The key of the group that it is one of.
    var group: String?
    /// The element of the JSON document; nil for what that does not list, a file without findings.
    let json: JSON?
}

/// What is likely behind a failure.
struct ReportCause: Sendable {
    /// A word that stays the same: `authority-changed`.
    let identifier: String
    /// What is the case, in a line.
    let finding: String
    /// What to do about it.
    let remedy: String
}

extension ReportCause {
    init(_ cause: PinFailureCause) {
        self.init(identifier: cause.identifier, finding: cause.finding, remedy: cause.remedy)
    }
}

/// One certificate of a chain that was judged.
struct ReportCertificate: Sendable {
    let role: String
    let subject: String
    let issuer: String
    let key: String
    /// `sha256/BASE64`.
    let pin: String
    let notBefore: Date
    let notAfter: Date
    /// `served`, `store` or `file`.
    let source: String
    /// The title of the pin that matches here; nil without one.
    let matched: String?
}

/// One pin of the rule that decided.
struct ReportPin: Sendable {
    /// Its name, or itself.
    let title: String
    /// `sha256/BASE64`.
    let pin: String
    let role: String
    let isBackup: Bool
    /// `matches as root`, `not served`.
    let standing: String
    let isMatched: Bool
}

/// What failed for one cause.
struct ReportGroup: Sendable {
    /// What tells it from others; its entries have it too.
    var key = ""
    let outcome: ReportEntry.Outcome
    /// The cause in a line: `the authority changed: WE1 → WE2`.
    let title: String
    let remedy: String
    let count: Int
    /// The first of its subjects.
    let examples: [String]
}

/// A verdict or a rule that a report may name.
struct ReportRule: Sendable {
    /// `pin_mismatch`, `P003`.
    let identifier: String
    /// What it means, in a line.
    let summary: String
    /// What to do about it, in sentences; empty where the finding says it.
    var help = ""
    var isWarning = false
}
