import CertificateTrust

// Findings about rules that conflict with each other.

extension PolicyLinter {
    private struct Entry {
        let rule: Int
        let host: HostPattern
    }

    var shadowFindings: [LintFinding] {
        var entries: [String: [Entry]] = [:]
        for (index, rule) in policy.rules.enumerated() {
            for host in rule.patterns where Self.isName(host) {
                entries[host.host.lowercased(), default: []].append(Entry(rule: index, host: host))
            }
        }
        var findings: [LintFinding] = []
        for (index, rule) in policy.rules.enumerated() {
            for host in rule.patterns where Self.isName(host) {
                let text = host.host.lowercased()
                let same = policy.combination == .union ? [] : entries[text]?.prefix(Self.limit) ?? []
                if let earlier = same.first(where: { $0.rule < index && overlap(policy.rules[$0.rule], rule) }) {
                    findings.append(
                        LintFinding(
                            .shadowedRule, .error, at: location(of: rule),
                            "\(host.name) already has a rule at \(location(of: policy.rules[earlier.rule])): merge the two"
                        ))
                } else if let parent = parent(of: text, entries), overlap(policy.rules[parent.rule], rule),
                    let message = conflict(rule, host, policy.rules[parent.rule], parent.host)
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
    private static func isName(_ host: HostPattern) -> Bool { (1...253).contains(host.host.utf8.count) }

    private func overlap(_ left: CanonicalRule, _ right: CanonicalRule) -> Bool {
        guard let first = left.ports, let second = right.ports else { return true }
        return !first.isDisjoint(with: second)
    }

    /// Returns the longest parent whose rule includes subdomains.
    private func parent(of host: String, _ entries: [String: [Entry]]) -> Entry? {
        var rest = host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if let entry = entries[String(rest)]?.first(where: \.host.includesSubdomains) { return entry }
        }
        return nil
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
                "\(host.name) is excluded from \(place), which is enforced: enforce this rule too, or give the reason in a comment, pinctl-allow P009"
        }
        if policy.combination == .carveOut, !host.includesSubdomains {
            return "names below \(host.name) are excluded from \(place), and have no pins: include subdomains"
        }
        let isSame = Set(rule.pins.map(\.value)) == Set(parent.pins.map(\.value)) && rule.mode == parent.mode
        return isSame && rule.ports == parent.ports && rule.expiry?.end == parent.expiry?.end
            ? "\(host.name) repeats \(place), and the two may drift apart: remove it" : nil
    }
}
