package import CertificatePinning
import CertificateTrust
import PinctlBasics

extension PinDialect {
    /// Returns the rules that apply to a host as the user wrote it. To look up several hosts, create a ``HostTable``.
    package func rules(for host: String, port: Int? = nil, in policy: CanonicalPolicy) -> [CanonicalRule] {
        HostTable(policy, of: self).rules(for: host, port: port)
    }

    /// Returns whether the dialect's own system fails for a host before it looks for a rule. Android throws for a
    /// leading dot.
    func rejects(_ host: String) -> Bool { self == .android && host.hasPrefix(".") }

    fileprivate static let dot = UInt8(ascii: ".")

    /// Returns the form of a requested host that the system compares, or `nil` if the system doesn't accept it as a
    /// name.
    fileprivate func name(ofHost host: String) -> [UInt8]? {
        switch self {
        case .okhttp, .trustkit: return Array(host.utf8)
        case .android, .apple:
            var name = Array(host.lowercased().utf8)
            if name.last == Self.dot { name.removeLast() }
            return name
        case .hpkp:
            // IP addresses never have pins (RFC 7469, section 2.3.3).
            guard let name = try? ServerName(host), !name.isIPAddress else { return nil }
            return Array(name.description.utf8)
        case .policy, .curl, .envoy, .tlsa, .certspotter, .swift:
            return (try? ServerName(host)).map { Array($0.description.utf8) }
        }
    }

    /// Returns the form of a name in a file that the system compares. Trailing dots are kept.
    fileprivate func name(ofPattern host: String) -> [UInt8]? {
        switch self {
        case .okhttp: Array(Self.canonicalHost(host).utf8)
        case .trustkit: Array(host.utf8)
        case .android, .apple: Array(host.lowercased().utf8)
        case .policy, .hpkp, .curl, .envoy, .tlsa, .certspotter, .swift: name(ofHost: host)
        }
    }

    /// Returns a host the way OkHttp stores it: in lower case, with U-labels as A-labels.
    static func canonicalHost(_ host: String) -> String {
        let lowered = host.lowercased()
        guard !lowered.utf8.allSatisfy({ $0 < 0x80 }) else { return lowered }
        return lowered.split(separator: ".", omittingEmptySubsequences: false)
            .map { Punycode.aLabel($0) ?? String($0) }.joined(separator: ".")
    }
}

/// A table that finds the rules that apply to a host, the way a dialect's own system does.
///
/// The dialect determines which names a text matches, and the policy how several rules combine.
package struct HostTable: Sendable {
    private struct Entry {
        let rule: Int
        let scope: HostPattern.Scope
    }

    /// The extent to which a rule matches a host.
    private struct Reach {
        let rule: Int
        /// The length of the pattern's name in bytes. The longest name is the closest.
        let length: Int
        /// Whether the scope includes the host, and not only a parent of it.
        let isMeant: Bool
    }

    private let dialect: PinDialect
    private let rules: [CanonicalRule]
    private let combination: RuleCombination
    /// The patterns by their names, in the form that the system compares.
    private var entries: [[UInt8]: [Entry]] = [:]
    /// The lengths of the names, which limit the lookups for a host with many labels.
    private var lengths: Set<Int> = []

    /// Creates the table of a policy's rules.
    package init(_ policy: CanonicalPolicy, of dialect: PinDialect) {
        self.dialect = dialect
        rules = policy.rules
        combination = policy.combination
        for (index, rule) in rules.enumerated() {
            for pattern in rule.patterns {
                let name = pattern.scope == .every ? [] : dialect.name(ofPattern: pattern.host)
                guard let name else { continue }
                entries[name, default: []].append(Entry(rule: index, scope: pattern.scope))
                lengths.insert(name.count)
            }
        }
    }

    /// Returns the rules that apply to a host as the user wrote it.
    ///
    /// Trailing dots, capitals and empty labels are treated the way the dialect's own system does. Rules that don't
    /// cover `port` are skipped; without a port, the ports of rules are ignored.
    package func rules(for host: String, port: Int? = nil) -> [CanonicalRule] {
        guard !dialect.rejects(host), let name = dialect.name(ofHost: host) else { return [] }
        let reaches = reaches(to: name).filter { reach in
            guard let port, let ports = rules[reach.rule].ports else { return true }
            return ports.contains(port)
        }
        var chosen = reaches.filter(\.isMeant)
        switch combination {
        case .union: break
        case .closest:
            let best = chosen.map(\.length).max()
            chosen.removeAll { $0.length != best }
        case .carveOut:
            let best = reaches.map(\.length).max()
            chosen.removeAll { $0.length != best }
        }
        return Set(chosen.map(\.rule)).sorted().map { rules[$0] }
    }

    /// Returns the reaches of the patterns whose name is the host or a parent of it.
    private func reaches(to host: [UInt8]) -> [Reach] {
        var reaches = entries[[], default: []].filter { $0.scope == .every }
            .map { Reach(rule: $0.rule, length: 0, isMeant: true) }
        let starts = [0] + host.indices.filter { host[$0] == PinDialect.dot }.map { $0 + 1 }
        for start in starts where lengths.contains(host.count - start) {
            // The labels before the name, without the dot between them.
            let front = start == 0 ? nil : host[..<(start - 1)]
            for entry in entries[Array(host[start...]), default: []] where entry.scope != .every {
                let isMeant =
                    switch entry.scope {
                    case .exact: front == nil
                    case .oneLabelBelow: front.map { !$0.contains(PinDialect.dot) } ?? false
                    case .exactAndOneLabelBelow: front.map { !$0.contains(PinDialect.dot) } ?? true
                    case .exactAndBelow, .every: true
                    }
                reaches.append(Reach(rule: entry.rule, length: host.count - start, isMeant: isMeant))
            }
        }
        return reaches
    }
}

/// Returns whether a host is below one of the names, at any depth.
func isBelow(_ host: String, oneOf names: Set<String>) -> Bool {
    parents(of: host).contains { names.contains(String($0)) }
}

extension CanonicalPolicy {
    /// The hosts whose rules also pin all hosts below them.
    var pinnedParents: Set<String> {
        let patterns = rules.filter { $0.mode != .off }.flatMap(\.patterns)
        return Set(patterns.filter { $0.scope == .exactAndBelow }.map(\.host))
    }
}
