import CertificateTrust
import PinctlBasics

/// A problem in a policy that is valid but likely to cause an outage or to weaken security.
public struct LintFinding: Sendable, Hashable {
    /// The severity of a finding.
    @nonexhaustive
    public enum Severity: String, Sendable, Hashable, CaseIterable {
        /// The policy can ship, but needs a second look.
        case warning
        /// The policy must not ship.
        case error
    }

    /// The rule that the policy violates.
    public let rule: LintRule
    /// The severity of the finding.
    public let severity: Severity
    /// The position of the problem in the policy.
    public let location: PolicyLocation
    /// The problem and the remedy.
    public let message: String

    package init(_ rule: LintRule, _ severity: Severity? = nil, at location: PolicyLocation, _ message: String) {
        self.rule = rule
        self.severity = severity ?? rule.severity
        self.location = location
        self.message = message
    }
}

extension LintFinding: CustomStringConvertible {
    /// The finding on one line, such as `pins/pins.jsonc:31:5: warning[P003] …`.
    public var description: String {
        "\(location): \(severity.rawValue)[\(rule.rawValue)] \(visibleText(message))"
    }
}
