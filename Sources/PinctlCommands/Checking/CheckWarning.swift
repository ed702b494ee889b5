import CertificatePinning

/// A warning about a good verdict that won't stay good by itself.
struct CheckWarning: Sendable, Hashable {
    /// A stable identifier that doesn't change between versions.
    enum Kind: String, Sendable, CaseIterable {
        case backupOnly = "backup-only"
        case somePaths = "some-paths"
        case expiresSoon = "expires-soon"
        case ruleEndsSoon = "rule-ends-soon"

        /// A one-line description of the warning.
        var meaning: String {
            switch self {
            case .backupOnly: "pins match, but backups alone"
            case .somePaths: "pins match, but not for the clients of every path or store"
            case .expiresSoon: "a certificate of the path ends soon"
            case .ruleEndsSoon: "the rule ends soon"
            }
        }
    }

    let kind: Kind
    /// The finding and its remedy.
    let text: String
}

extension CheckWarning {
    /// The lines about warnings in `pinctl help verdicts`.
    static var lines: [String] {
        ["", "Warnings beside a good verdict, which change the exit code with --fail-on warning alone:"]
            + Kind.allCases.map { "\(padded($0.rawValue, 15))      \($0.meaning)" }
    }
}

extension CheckWarning {
    /// Creates a warning about an exported file that accepts the chain only on some of its paths.
    init(_ refusal: ExportRefusal) {
        self.init(
            kind: .somePaths,
            text:
                "\(refusal.finding) for clients that anchor at \(refusal.anchors.joined(separator: " or ")): pin a key "
                + "that is on every path")
    }
}
