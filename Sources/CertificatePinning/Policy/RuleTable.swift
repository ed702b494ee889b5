import CertificateTrust

/// A table that finds the rule of a host: a dictionary from hosts to their rules, with one lookup for the name and one
/// for each parent.
struct RuleTable: Sendable {
    /// The indices of a host's rules, by the host's canonical text. A DNS name and an address never have the same text.
    private var indices: [String: [Int]] = [:]
    /// Whether some host of this length in bytes includes its subdomains, at most 253 (RFC 1035, section 2.3.4). It
    /// limits the lookups for a name with 127 labels.
    private var isParentLength = [Bool](repeating: false, count: 256)

    init(_ rules: [PinningRule]) {
        for (index, rule) in rules.enumerated() {
            let host = rule.host.description
            indices[host, default: []].append(index)
            if rule.includesSubdomains, host.utf8.count < isParentLength.count {
                isParentLength[host.utf8.count] = true
            }
        }
    }

    /// Returns the rule of the exact host, otherwise that of the longest parent that includes subdomains. Rules that
    /// don't cover the host or the port are skipped.
    func rule(for name: ServerName, port: Int, in rules: [PinningRule]) -> PinningRule? {
        let text = name.description
        if let exact = rule(of: text, port, in: rules, where: { _ in true }) { return exact }
        for parent in parents(of: name) {
            if let rule = rule(of: parent, port, in: rules, where: \.includesSubdomains) { return rule }
        }
        return nil
    }

    /// Returns the parents of a name, longest first, that are as long as some host whose rule includes its subdomains.
    private func parents(of name: ServerName) -> [String] {
        guard case .dns(let text) = name.kind else { return [] }
        let bytes = Array(text.utf8)
        return bytes.indices.compactMap { dot in
            guard bytes[dot] == UInt8(ascii: "."), isParentLength[bytes.count - dot - 1] else { return nil }
            return String(decoding: bytes[(dot + 1)...], as: UTF8.self)
        }
    }

    private func rule(
        of host: String, _ port: Int, in rules: [PinningRule], where reaches: (PinningRule) -> Bool
    ) -> PinningRule? {
        guard let index = indices[host]?.first(where: { rules[$0].reaches(port: port) && reaches(rules[$0]) })
        else { return nil }
        return rules[index]
    }

    /// Returns every rule that covers a host at some port: its own, and those of its parents that include subdomains.
    func rules(covering name: ServerName, in rules: [PinningRule]) -> [PinningRule] {
        let text = name.description
        let above = parents(of: name).flatMap { (indices[$0] ?? []).map { rules[$0] }.filter(\.includesSubdomains) }
        return (indices[text] ?? []).map { rules[$0] } + above
    }

    /// Returns the rules for one host that cover the same port, each with the first earlier one that does.
    func overlaps(in rules: [PinningRule]) -> [(earlier: Int, later: Int)] {
        var overlaps: [(earlier: Int, later: Int)] = []
        for indices in indices.values where indices.count > 1 {
            var reachesAll: Int?
            var firstToReach: [Int: Int] = [:]
            for index in indices {
                let earlier: Int?
                if let ports = rules[index].ports {
                    earlier = reachesAll ?? ports.compactMap { firstToReach[$0] }.min()
                    for port in ports where firstToReach[port] == nil { firstToReach[port] = index }
                } else {
                    earlier = index == indices[0] ? nil : indices[0]
                    reachesAll = reachesAll ?? index
                }
                if let earlier { overlaps.append((earlier, index)) }
            }
        }
        return overlaps.sorted { $0.later < $1.later }
    }
}

extension PinningRule {
    func reaches(port: Int) -> Bool { ports?.contains(port) ?? true }
}
