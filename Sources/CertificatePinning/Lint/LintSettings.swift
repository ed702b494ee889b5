/// The severities of findings, where they differ from the defaults of the rules.
public struct LintSettings: Sendable, Hashable {
    /// The severities by rule. Nil turns a rule off.
    public var severities: [LintRule: LintFinding.Severity?]

    /// Creates settings with changed severities for some rules.
    public init(severities: [LintRule: LintFinding.Severity?] = [:]) {
        self.severities = severities
    }

    /// Returns the finding with the severity in the settings, or nil if its rule is off.
    func adjust(_ finding: LintFinding) -> LintFinding? {
        guard let setting = severities[finding.rule] else { return finding }
        return setting.map { LintFinding(finding.rule, $0, at: finding.location, finding.message) }
    }
}
