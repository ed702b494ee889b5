/// An index of rules by hostname, which finds the rules around a host without checking every rule.
package struct RulesByName {
    package let rules: [CanonicalRule]
    private var indices: [String: [Int]] = [:]

    package init(_ rules: [CanonicalRule]) {
        self.rules = rules
        for (index, rule) in rules.enumerated() {
            for host in Set(rule.patterns.map(\.host)) { indices[host, default: []].append(index) }
        }
    }

    /// Returns the indices of the rules for the pattern's own name and its parents, in the order of the file.
    package func around(_ pattern: HostPattern) -> [Int] {
        var found = indices[pattern.host, default: []] + (pattern.host.isEmpty ? [] : indices["", default: []])
        for parent in parents(of: pattern.host) where !parent.isEmpty { found += indices[String(parent)] ?? [] }
        return found.sorted()
    }

    /// Returns the rules that include the pattern's own host or names below it.
    package func covering(_ pattern: HostPattern) -> [CanonicalRule] {
        around(pattern).map { rules[$0] }.filter { rule in rule.patterns.contains { $0.covers(pattern) } }
    }
}

/// Returns the names above a host, the nearest first. A text of more than 253 bytes isn't a DNS name (RFC 1035, section
/// 2.3.4) and has none.
package func parents(of host: String) -> some Sequence<Substring> {
    let parent = { (name: Substring) in name.firstIndex(of: ".").map { name[name.index(after: $0)...] } }
    return sequence(first: host.utf8.count <= 253 ? host[...] : "", next: parent).dropFirst()
}

extension CanonicalPolicy {
    /// Returns the rules without those that exclude hosts that no other rule pins, which have no effect.
    ///
    /// `where` selects which of these are removed.
    package func rulesInEffect(where goes: (CanonicalRule) -> Bool = { _ in true }) -> [CanonicalRule] {
        guard unlisted == .trust, rules.contains(where: { $0.mode == .off }) else { return rules }
        let pinning = RulesByName(rules.filter { $0.mode != .off })
        return rules.filter { rule in
            rule.mode != .off || !goes(rule) || rule.patterns.contains { !pinning.covering($0).isEmpty }
        }
    }
}

extension HostPattern {
    /// Returns whether the pattern includes every host that another pattern includes.
    package func holdsWhole(_ other: HostPattern) -> Bool {
        switch scope {
        case _ where self == other: true
        case .exactAndBelow, .every: other.host == host || other.host.hasSuffix("." + host)
        case .exactAndOneLabelBelow: other.host == host ? other.scope != .exactAndBelow : other.scope == .exact
        case .oneLabelBelow: other.host != host && other.scope == .exact
        case .exact: false
        }
    }

    /// Returns whether the pattern includes the host of another pattern, or names below it.
    package func covers(_ other: HostPattern) -> Bool {
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
