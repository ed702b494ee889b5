import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A warning about a good verdict that won't stay good by itself.
struct CheckWarning: Sendable, Hashable {
    /// A stable identifier that doesn't change between versions.
    enum Kind: String, Sendable, CaseIterable {
        case backupOnly = "backup-only"
        case leafUnpinned = "leaf-unpinned"
        case somePaths = "some-paths"
        case expiresSoon = "expires-soon"
        case ruleEndsSoon = "rule-ends-soon"
        case transparency
        case separateIssuer = "separate-issuer"

        /// A one-line description of the warning.
        var meaning: String {
            switch self {
            case .backupOnly: "only backup pins match"
            case .leafUnpinned: "the rule pins keys of leaves, but only the pin of a CA matches"
            case .somePaths: "pins match, but not on every path or with every trust store"
            case .expiresSoon: "a certificate on the path expires soon"
            case .ruleEndsSoon: "the rule, or the bundle that it is in, expires soon"
            case .separateIssuer: "an issuer in the chain is only in a file of another certificate (--files)"
            case .transparency: "the leaf doesn't have enough timestamps of Certificate Transparency logs"
            }
        }
    }

    let kind: Kind
    /// The finding and its remedy.
    let text: String
}

extension CheckWarning {
    /// The lines about warnings in `pinctl help verdicts`.
    static func lines(columns: Int) -> [String] {
        [""]
            + folded(
                "Warnings about a good verdict. They change the exit code only with --fail-on warning:",
                columns: columns)
            + Kind.allCases.flatMap { tableRow($0.rawValue, width: 19, $0.meaning, columns: columns) }
    }
}

extension CheckWarning {
    /// Returns a warning if the policy reports Certificate Transparency and the leaf isn't compliant.
    static func transparency(of path: VerifiedPath) -> [CheckWarning] {
        (path.transparencyFinding?.detail).map { [CheckWarning(kind: .transparency, text: $0)] } ?? []
    }
}

extension CheckWarning {
    /// Creates a warning about an exported file that accepts the chain only on some of its paths.
    init(_ refusal: ExportRefusal) {
        self.init(
            kind: .somePaths,
            text:
                "\(refusal.finding) for clients whose path ends at \(refusal.anchors.joined(separator: " or ")): pin "
                + "a key that is on every path")
    }
}
