import CertificateTrust

/// The way in which several rules that reach a host combine.
package enum RuleCombination: String, Sendable, Hashable, CaseIterable {
    /// The rule of the exact host applies, or else that of the longest parent that includes subdomains. Used by this
    /// project, Android and TrustKit.
    case closest
    /// All rules apply, and their pins count together. Used by OkHttp and Apple.
    case union
    /// The entry with the longest name applies, or none if that entry doesn't include subdomains. Used by RFC 7469.
    case carveOut
}

/// The rules of a policy, by host and port. To find the rules for a host takes one lookup in a dictionary for the host
/// and one for each parent.
///
/// ``HostMatching`` defines how hosts are compared with names, and ``RuleCombination`` which of several rules apply. So
/// there is one table for this project's policies and for those of every other system.
package struct RuleTable<Rule: DecidingRule>: Sendable {
    /// The rules, in their original order.
    package let rules: [Rule]
    private let matching: HostMatching
    private let combination: RuleCombination
    /// The rules with a name, by that name. A DNS name and an address never have the same text.
    private var named: [String: [RuleEntry]] = [:]
    /// The rules for every host.
    private var nameless: [RuleEntry] = []
    /// Whether some name of this length in bytes may decide for the names below it. This limits the lookups for a host
    /// with many labels.
    private var isParentLength = [Bool](repeating: false, count: ServerName.maximumLength + 1)

    /// Creates a table. By default, names are compared as they are written, and all rules apply that reach a host.
    package init(
        _ rules: [Rule], matching: HostMatching = HostMatching(.written, .written),
        combination: RuleCombination = .union
    ) {
        self.rules = rules
        self.matching = matching
        self.combination = combination
        for (index, rule) in rules.enumerated() {
            for (number, pattern) in rule.patterns.enumerated() {
                add(pattern, RuleEntry(rule: index, pattern: number, scope: pattern.scope, ports: rule.ports))
            }
        }
    }

    private mutating func add(_ pattern: HostPattern, _ entry: RuleEntry) {
        guard pattern.scope != .every else {
            nameless.append(entry)
            return
        }
        guard let name = matching.named.name(pattern.host) else { return }
        named[name, default: []].append(entry)
        let decidesBelow = pattern.scope != .exact || combination == .carveOut
        if decidesBelow, name.utf8.count < isParentLength.count { isParentLength[name.utf8.count] = true }
    }
}

/// A pattern of a rule in a ``RuleTable``.
package struct RuleEntry: Sendable {
    /// The index of the rule.
    package let rule: Int
    /// The index of the pattern in its rule.
    package let pattern: Int
    /// The names at and below the pattern's host that the pattern includes.
    package let scope: HostPattern.Scope
    fileprivate let ports: Set<Int>?

    /// Returns whether the rule covers the port. Without a port, the ports of rules are ignored.
    fileprivate func reaches(_ port: Int?) -> Bool {
        guard let port else { return true }
        // mutant rule-port: true by PinDecisionTests/ports DecisionSpecificationTests/rules
        return ports?.contains(port) ?? true
    }
}

// MARK: - Rules for a host

extension RuleTable {
    /// Returns the rules that apply to a host as the user wrote it, in their original order. Rules that don't cover the
    /// port are skipped. Without a port, the ports of rules are ignored.
    package func rules(for host: String, port: Int? = nil) -> [Rule] {
        guard !matching.rejects(host), let name = matching.requested.name(host) else { return [] }
        var indices: Set<Int> = []
        find(name, port, combination) { indices.insert($0) }
        return indices.sorted().map { rules[$0] }
    }

    /// Returns the index of the first rule that applies to a host and port, in a table of canonical names.
    func index(for name: ServerName, port: Int) -> Int? {
        var first: Int?
        find(name.description, port, combination) { first = first ?? $0 }
        return first
    }

    /// Returns every rule that covers a host at some port, in a table of canonical names.
    func rules(covering name: ServerName) -> [Rule] {
        var covering: [Rule] = []
        find(name.description, nil, .union) { covering.append(rules[$0]) }
        return covering
    }

    private func find(_ name: String, _ port: Int?, _ combination: RuleCombination, _ apply: (Int) -> Void) {
        walk(name) { depth, entries in
            var isDecided = false
            for entry in entries where entry.reaches(port) {
                // mutant rule-subdomains: true by RuleChoiceTests DecisionSpecificationTests/rules
                let isMeant = entry.scope.includes(depth: depth)
                if isMeant { apply(entry.rule) }
                isDecided = isDecided || isMeant || combination == .carveOut
            }
            return combination == .union || !isDecided
        }
    }

    /// Passes on the rules of a name, then those of its parents, the longest first, and then those for every host, each
    /// with the number of labels before the parent. Ends when `visit` returns false.
    ///
    /// A text of more than 253 bytes isn't a DNS name and has no parents.
    private func walk(_ name: String, _ visit: (_ depth: Int, _ entries: [RuleEntry]) -> Bool) {
        if let entries = named[name], !visit(0, entries) { return }
        let bytes = name.utf8.span
        var depth = 0
        if bytes.count <= ServerName.maximumLength {
            // mutant rule-label: true by RuleChoiceTests DecisionSpecificationTests/rules
            for index in bytes.indices where bytes[index] == UInt8(ascii: ".") {
                depth += 1
                let length = bytes.count - index - 1
                guard isParentLength[length], let entries = named[String(Substring(name.utf8.suffix(length)))] else {
                    continue
                }
                guard visit(depth, entries) else { return }
            }
        }
        if !nameless.isEmpty { _ = visit(depth + 1, nameless) }
    }
}

// MARK: - Rules around a name of the policy

extension RuleTable {
    /// Passes on the rules with the name of a pattern, then those of its parents, the longest first, and then those for
    /// every host, each with the number of labels before the parent. Ends when `visit` returns false.
    package func walk(around pattern: HostPattern, _ visit: (_ depth: Int, _ entries: [RuleEntry]) -> Bool) {
        guard let name = matching.named.name(pattern.host) else { return }
        walk(name, visit)
    }

    /// Returns the indices of the rules for the pattern's own name and its parents, in their original order.
    package func around(_ pattern: HostPattern) -> [Int] {
        var indices: Set<Int> = []
        walk(around: pattern) { _, entries in
            indices.formUnion(entries.map(\.rule))
            return true
        }
        return indices.sorted()
    }

    /// Returns the rules that include the pattern's own host or names below it.
    package func covering(_ pattern: HostPattern) -> [Rule] {
        around(pattern).map { rules[$0] }.filter { rule in rule.patterns.contains { $0.covers(pattern) } }
    }

    /// Returns whether the rule of a parent includes all names below that parent, and so the host.
    package func includes(byParent host: String) -> Bool {
        var isIncluded = false
        walk(around: HostPattern(host, .exact)) { depth, entries in
            isIncluded = depth > 0 && entries.contains { $0.scope == .exactAndBelow }
            return !isIncluded
        }
        return isIncluded
    }

    /// Returns the rules for one name that cover the same port, each with the first earlier one that does.
    func overlaps() -> [(earlier: Int, later: Int)] {
        var overlaps: [(earlier: Int, later: Int)] = []
        for entries in named.values where entries.count > 1 {
            var reachesAll: Int?
            var firstToReach: [Int: Int] = [:]
            for entry in entries {
                let earlier: Int?
                if let ports = entry.ports {
                    earlier = reachesAll ?? ports.compactMap { firstToReach[$0] }.min()
                    for port in ports where firstToReach[port] == nil { firstToReach[port] = entry.rule }
                } else {
                    earlier = entry.rule == entries[0].rule ? nil : entries[0].rule
                    reachesAll = reachesAll ?? entry.rule
                }
                // mutant rules-overlap: {} by PolicyProblemTests DecisionSpecificationTests/rules
                if let earlier { overlaps.append((earlier, entry.rule)) }
            }
        }
        return overlaps.sorted { $0.later < $1.later }
    }
}
