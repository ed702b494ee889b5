import CertificateTrust

/// Something in a valid policy that will cost its owner dear.
public struct LintFinding: Sendable, Hashable {
    /// How grave it is.
    @nonexhaustive
    public enum Severity: String, Sendable, Hashable, CaseIterable {
        /// Worth a thought; the policy can ship.
        case warning
        /// The policy must not ship.
        case error
    }

    /// What was looked for.
    public let rule: LintRule
    /// How grave it is.
    public let severity: Severity
    /// Where it stands.
    public let location: PolicyLocation
    /// What was found, and what to do.
    public let message: String

    package init(_ rule: LintRule, _ severity: Severity? = nil, at location: PolicyLocation, _ message: String) {
        self.rule = rule
        self.severity = severity ?? rule.severity
        self.location = location
        self.message = message
    }
}

extension LintFinding: CustomStringConvertible {
    /// `pins/pins.jsonc:31:5: warning[P003] …`, one line.
    public var description: String {
        "\(location): \(severity.rawValue)[\(rule.rawValue)] \(visibleText(message))"
    }
}
