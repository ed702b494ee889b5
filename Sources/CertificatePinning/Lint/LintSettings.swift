/// How grave findings are where that differs from their rules' own severity.
public struct LintSettings: Sendable, Hashable {
    /// Severities by rule; nil turns a rule off.
    public var severities: [LintRule: LintFinding.Severity?]

    /// Changes the severities of some rules.
    public init(severities: [LintRule: LintFinding.Severity?] = [:]) {
        self.severities = severities
    }

    /// The finding as it is to be told; nil when it is not.
    func adjust(_ finding: LintFinding) -> LintFinding? {
        guard let setting = severities[finding.rule] else { return finding }
        return setting.map { LintFinding(finding.rule, $0, at: finding.location, finding.message) }
    }
}
