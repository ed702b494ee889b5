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

/// An index of rules by hostname, for policies in which all rules that reach a host count together.
struct UnitedRules {
    /// The number of rules considered for a hostname. Further rules are ignored.
    private static let limit = 32
    private var rules: [String: [CanonicalRule]] = [:]

    init(_ all: [CanonicalRule]) {
        for rule in all where rule.mode == .enforce {
            for host in Set(rule.patterns.map(\.host)) where rules[host, default: []].count < Self.limit {
                rules[host, default: []].append(rule)
            }
        }
    }

    /// Returns the pins of other rules that count for every host and port of this rule.
    func pins(besides rule: CanonicalRule) -> [CanonicalPin] {
        let shared = rule.patterns.map { pattern in
            around(pattern.host).filter { other in
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

    private func around(_ host: String) -> [CanonicalRule] {
        var found = rules[host] ?? []
        for parent in parents(of: host) {
            guard found.count < Self.limit else { break }
            found += rules[String(parent)] ?? []
        }
        return found
    }
}
