import CertificatePinning
import CertificateTrust

extension Conversion {
    /// Leaves the rules that hold for one host, as rules of that host alone.
    mutating func choose(_ host: String, _ policy: inout CanonicalPolicy) {
        let rules = PinDialect.policy.rules(for: host, in: policy)
        if rules.isEmpty {
            note(.splitLost, .impossible, "no rule reaches \(visibleText(host)): name another host", nil)
        }
        policy.rules = rules.map { rule in
            var rule = rule
            rule.patterns = rule.patterns.contains { $0.host == host } ? rule.patterns : [HostPattern(host, .exact)]
            return rule
        }
    }

    mutating func checkHosts(_ policy: CanonicalPolicy) {
        let hosts = Set(policy.rules.flatMap(\.patterns).map(\.host))
        if traits.isForOneHost, policy.rules.count > 1 || hosts.count > 1 {
            note(.splitLost, .impossible, "\(name) is for one host: choose one of \(hosts.count) with --host", nil)
        }
        let isNamed = !policy.rules.flatMap(\.patterns).contains { $0.scope == .every }
        if !traits.scopes.contains(.every), !isNamed {
            note(
                .splitLost, .impossible, "the source names no host: give one with --host", policy.rules.first?.location)
        }
    }

    /// The rule, once for each pattern, in scopes that there are.
    mutating func scoped(_ rule: CanonicalRule) -> [CanonicalRule] {
        rule.patterns.flatMap { scoped($0, rule.location) }.map { pattern in
            var rule = rule
            rule.patterns = [pattern]
            return rule
        }
    }

    private mutating func scoped(_ pattern: HostPattern, _ location: PolicyLocation?) -> [HostPattern] {
        guard !traits.scopes.contains(pattern.scope) else { return [pattern] }
        let host = visibleText(pattern.host)
        func has(_ scope: HostPattern.Scope) -> Bool { traits.scopes.contains(scope) }
        func become(_ scope: HostPattern.Scope) -> [HostPattern] { [HostPattern(pattern.host, scope)] }
        switch pattern.scope {
        case _ where has(.every):
            return [HostPattern("", .every)]
        case .exactAndOneLabelBelow where has(.oneLabelBelow):
            return become(.exact) + become(.oneLabelBelow)
        case .oneLabelBelow where has(.exactAndOneLabelBelow):
            note(.scopeWidened, .stricter, "\(host) itself is pinned too, not only the names below it", location)
            return become(.exactAndOneLabelBelow)
        case .oneLabelBelow where has(.exactAndBelow):
            note(.scopeWidened, .stricter, "\(host) itself and names of any depth below it are pinned too", location)
            return become(.exactAndBelow)
        case .exactAndOneLabelBelow where has(.exactAndBelow):
            note(.scopeWidened, .stricter, "names of any depth below \(host) are pinned, not only one label", location)
            return become(.exactAndBelow)
        case .exactAndBelow where has(.exactAndOneLabelBelow):
            note(.scopeNarrowed, .weaker, "names two labels below \(host) and more are not pinned", location)
            return become(.exactAndOneLabelBelow)
        case .exact: return become(.exact)
        case .every: return [pattern]
        default:
            note(.scopeNarrowed, .weaker, "names below \(host) are not pinned: give each a rule", location)
            return become(.exact)
        }
    }

    /// Makes rules that overlap mean what they meant, where the way they combine changes.
    mutating func combine(_ policy: inout CanonicalPolicy) {
        let original = policy.rules
        let old = policy.combination
        policy.combination = traits.combination
        guard old != traits.combination, !traits.isForOneHost else { return }
        for index in original.indices {
            for pattern in original[index].patterns {
                let covering = original.indices.filter { other in
                    other != index && original[other].patterns.contains { $0.covers(pattern) }
                }
                guard !covering.isEmpty else { continue }
                overlap(pattern, of: index, with: covering, old, &policy.rules, original)
            }
        }
    }

    private mutating func overlap(
        _ pattern: HostPattern, of index: Int, with covering: [Int], _ old: RuleCombination,
        _ rules: inout [CanonicalRule], _ original: [CanonicalRule]
    ) {
        let host = visibleText(pattern.host)
        let location = original[index].location
        switch (old, traits.combination) {
        case (.union, _):
            // Both rules held; what is the closest one's from now on says so itself.
            let more = covering.flatMap { original[$0].pins }.filter { !rules[index].pins.contains($0) }
            rules[index].pins += more
        case (_, .union):
            note(
                .combinationChanged, .weaker,
                "\(host) accepts the pins of the rule above it too: \(name) counts the pins of all rules that reach a host",
                location)
        case (.carveOut, _) where pattern.scope == .exact:
            note(
                .combinationChanged, .stricter, "names below \(host) are pinned by the rule above it, and were not",
                location)
        case (_, .carveOut) where pattern.scope == .exact:
            note(.combinationChanged, .weaker, "names below \(host) are not pinned any more", location)
        default: break
        }
    }

    /// Makes rules for one host one rule.
    mutating func mergeTwins(_ rules: inout [CanonicalRule]) {
        var merged: [CanonicalRule] = []
        for rule in rules {
            let twin = merged.firstIndex { $0.patterns[0].host == rule.patterns[0].host && reachAlike($0, rule) }
            guard let twin else {
                merged.append(rule)
                continue
            }
            if merged[twin].pins != rule.pins || merged[twin].requirement != rule.requirement {
                note(
                    .combinationChanged, .weaker,
                    "the rules for \(rule.title) become one, and a pin of either is enough for all of their hosts",
                    rule.location)
                merged[twin].pins += rule.pins.filter { !merged[twin].pins.contains($0) }
                merged[twin].requirement = .any
            }
            if merged[twin].mode != rule.mode || merged[twin].expiry != rule.expiry {
                note(
                    .splitLost, .impossible,
                    "the rules for \(rule.title) differ in mode or end, and \(name) has one for a host: make them alike",
                    rule.location)
            }
            if merged[twin].patterns[0].scope == .exact { merged[twin].patterns = rule.patterns }
            merged[twin].ports = nil
        }
        rules = merged
    }

    private func reachAlike(_ one: CanonicalRule, _ other: CanonicalRule) -> Bool {
        guard traits.reachesPorts, let ports = one.ports, let others = other.ports else { return true }
        return !ports.isDisjoint(with: others)
    }

    mutating func convertPorts(_ rule: inout CanonicalRule) {
        if !traits.reachesPorts, let ports = rule.ports, ports != [443] {
            note(.portsLost, .stricter, "\(name) pins \(rule.title) at every port, not at some", rule.location)
        }
        if !traits.reachesPorts { rule.ports = nil }
    }
}

extension CanonicalPolicy {
    /// Whether a rule takes hosts out that no other rule pins: it means nothing.
    func isIdle(_ rule: CanonicalRule) -> Bool {
        guard rule.mode == .off, unlisted == .trust else { return false }
        return !rules.contains { other in
            other.mode != .off && other.patterns.contains { wide in rule.patterns.contains { wide.covers($0) } }
        }
    }
}

extension HostPattern {
    /// Whether another pattern's own host, or what is below it, is one of this one's.
    func covers(_ other: HostPattern) -> Bool {
        if scope == .every { return true }
        guard other.host != host || other.scope != scope else { return false }
        guard other.host.hasSuffix("." + host) || other.host == host else { return false }
        let depth = other.host == host ? 0 : other.host.dropLast(host.count + 1).split(separator: ".").count
        return switch scope {
        case .exact: depth == 0 && other.scope != .oneLabelBelow
        case .oneLabelBelow: depth == 1 || depth == 0 && other.scope != .exact
        case .exactAndOneLabelBelow: depth <= 1
        case .exactAndBelow, .every: true
        }
    }
}
