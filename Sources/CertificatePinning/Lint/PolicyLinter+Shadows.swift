import CertificateTrust

// Findings about rules that conflict with each other.

extension PolicyLinter {
    var shadowFindings: [LintFinding] {
        let table = RuleTable(
            policy.rules, matching: HostMatching(.lowercased, .lowercased), combination: policy.combination)
        var findings: [LintFinding] = []
        for (index, rule) in policy.rules.enumerated() {
            for host in rule.patterns where Self.isName(host) {
                let (earlier, parent) = neighbors(of: host, in: table, before: index)
                if let earlier {
                    findings.append(
                        LintFinding(
                            .shadowedRule, .error, at: location(of: rule),
                            "\(host.name) already has a rule at \(location(of: earlier)): merge the two"))
                } else if let parent, parent.rule.sharesPorts(with: rule),
                    let message = conflict(rule, host, parent.rule, parent.host)
                {
                    findings.append(LintFinding(.shadowedRule, at: location(of: rule), message))
                }
            }
        }
        return findings
    }

    /// The most rules for one host that are compared, since there can be one for each port.
    private static let limit = 10

    /// Returns whether the host is a name: not empty, and not longer than a hostname can be.
    private static func isName(_ host: HostPattern) -> Bool {
        (1...ServerName.maximumLength).contains(host.host.utf8.count)
    }

    /// Returns the earlier rule with the same host that covers the same port, and the first rule of the longest parent
    /// that also includes the host's first name.
    private func neighbors(
        of host: HostPattern, in table: RuleTable<CanonicalRule>, before index: Int
    ) -> (earlier: CanonicalRule?, parent: (rule: CanonicalRule, host: HostPattern)?) {
        var earlier: CanonicalRule?
        var parent: (rule: CanonicalRule, host: HostPattern)?
        table.walk(around: host) { depth, entries in
            if depth == 0 {
                let same = policy.combination == .union ? [] : entries.prefix(Self.limit)
                earlier = same.lazy.filter { $0.rule < index }.map { table.rules[$0.rule] }
                    .first { $0.sharesPorts(with: policy.rules[index]) }
                return earlier == nil
            }
            // A pattern of OkHttp with *. begins one label below its host.
            let depth = depth + (host.scope == .oneLabelBelow ? 1 : 0)
            guard let entry = entries.first(where: { $0.scope.includes(depth: depth) }) else {
                // The longest name decides alone there, and includes nothing below it.
                return policy.combination != .carveOut
            }
            let rule = table.rules[entry.rule]
            parent = (rule, rule.patterns[entry.pattern])
            return false
        }
        return (earlier, parent)
    }

    /// Returns a message about the effect of a rule on a parent's rule, if it may not be what the owner intended.
    private func conflict(_ rule: CanonicalRule, _ host: HostPattern, _ parent: CanonicalRule, _ name: HostPattern)
        -> String?
    {
        let place = "the rule for \(name.name) at \(location(of: parent))"
        if policy.combination == .union {
            let roles = rule.requirement.roles.union(parent.requirement.roles)
            if roles.count > 1 {
                let all = PinRole.allCases.filter(roles.contains).map(\.rawValue).joined(separator: " and as ")
                return
                    "\(host.name) is also pinned by \(place), and a match as \(all) is required: list it in one of them"
            }
            return "\(host.name) is also pinned by \(place), and a pin of either matches: list it in one of them"
        }
        if parent.mode == .enforce, rule.mode != .enforce {
            return
                "\(host.name) is excluded from \(place), which is enforced: enforce this rule too, or give the reason "
                + "in a comment, pinctl-allow P009"
        }
        if policy.combination == .carveOut, host.scope == .exact {
            return "names below \(host.name) are excluded from \(place), and have no pins: include subdomains"
        }
        let isSame = Set(rule.pins.map(\.value)) == Set(parent.pins.map(\.value)) && rule.mode == parent.mode
        return isSame && rule.ports == parent.ports && rule.expiry?.end == parent.expiry?.end
            ? "\(host.name) repeats \(place), and the two may drift apart: remove it" : nil
    }
}
