/// An index of rules by hostname, which finds the rules around a host without checking every rule.
struct RulesByName {
    let rules: [CanonicalRule]
    private var indices: [String: [Int]] = [:]

    init(_ rules: [CanonicalRule]) {
        self.rules = rules
        for (index, rule) in rules.enumerated() {
            for host in Set(rule.patterns.map(\.host)) { indices[host, default: []].append(index) }
        }
    }

    /// Returns the indices of the rules for the pattern's own name and its parents, in the order of the file.
    func around(_ pattern: HostPattern) -> [Int] {
        var found = indices[pattern.host, default: []] + (pattern.host.isEmpty ? [] : indices["", default: []])
        // A longer text isn't a DNS name (RFC 1035, section 2.3.4).
        guard pattern.host.utf8.count <= 253 else { return found }
        var rest = pattern.host[...]
        while let dot = rest.firstIndex(of: ".") {
            rest = rest[rest.index(after: dot)...]
            if !rest.isEmpty, let above = indices[String(rest)] { found += above }
        }
        return found.sorted()
    }

    /// Returns the rules that include the pattern's own host or names below it.
    func covering(_ pattern: HostPattern) -> [CanonicalRule] {
        around(pattern).map { rules[$0] }.filter { rule in rule.patterns.contains { $0.covers(pattern) } }
    }
}
