package import CertificateTrust
package import PinctlFoundation

extension CanonicalPolicy {
    /// Returns all lint findings as of `time` for a file of another system, in the order of the file.
    ///
    /// `bytes` are the contents of the file, whose comments can allow findings. Properties that only this project's own
    /// files can express, such as backups and where pins come from, aren't checked. `others` are findings of the
    /// reader, to which the same settings and comments apply.
    package func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings = LintSettings(),
        publicSuffixes: PublicSuffixes = .system, calendar: RootCalendar = RootCalendar(),
        renewals: [KeyRenewal]? = nil, besides others: [LintFinding] = []
    ) -> [LintFinding] {
        var policy = self
        policy.rules = rulesInEffect(where: \.pins.isEmpty)
        var linter = PolicyLinter(policy, path: path, at: time, publicSuffixes: publicSuffixes)
        linter.calendar = calendar
        linter.renewals = renewals
        return linter.findings(allowing: LintAllowance.all(in: bytes), settings: settings, besides: others)
    }
}

extension RuleTable<CanonicalRule> {
    /// The number of rules considered for a hostname. Further rules are ignored.
    private static var limit: Int { 32 }

    /// Returns the pins of other rules that count for every host and port of this rule, if all rules that reach a host
    /// count together.
    func pins(besides rule: CanonicalRule) -> [CanonicalPin] {
        let shared = rule.patterns.map { pattern in
            near(pattern).filter { other in
                let reachesPorts = other.ports.map { rule.ports?.isSubset(of: $0) ?? false } ?? true
                return reachesPorts
                    && other.patterns.contains { $0 == pattern || $0.covers(pattern) && $0.holdsWhole(pattern) }
            }
            .flatMap { $0.pins.map(\.unnamed) }
        }
        let own = Set(rule.pins.map(\.unnamed))
        let common = shared.dropFirst().reduce(Set(shared.first ?? [])) { $0.intersection($1) }
        return common.filter { !own.contains($0) }
    }

    private func near(_ pattern: HostPattern) -> [CanonicalRule] {
        var found: [CanonicalRule] = []
        walk(around: pattern) { _, entries in
            found += entries.prefix(Self.limit).map { rules[$0.rule] }
            return found.count < Self.limit
        }
        return found
    }
}
