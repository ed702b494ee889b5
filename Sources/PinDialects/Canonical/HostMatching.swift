import Basics
import CertificatePinning
import CertificateTrust

extension PinDialect {
    /// Returns the rules that apply to a host as the user wrote it.
    ///
    /// Trailing dots, capitals and empty labels are treated the way the dialect's own system does. Rules that don't
    /// cover `port` are skipped; without a port, the ports of rules are ignored. The dialect determines which names a
    /// text matches, and the policy how several rules combine.
    public func rules(for host: String, port: Int? = nil, in policy: CanonicalPolicy) -> [CanonicalRule] {
        guard !rejects(host), let name = name(ofHost: host) else { return [] }
        let candidates = policy.rules.filter { rule in
            guard let port, let ports = rule.ports else { return true }
            return ports.contains(port)
        }
        let reaches = candidates.map { rule in rule.patterns.compactMap { reach(of: $0, to: name) } }
        let reached = zip(candidates, reaches).filter { $1.contains(where: \.isMeant) }
        switch policy.combination {
        case .union: return reached.map(\.0)
        case .closest:
            let best = reached.flatMap(\.1).filter(\.isMeant).map(\.length).max()
            return reached.filter { $1.contains { $0.isMeant && $0.length == best } }.map(\.0)
        case .carveOut:
            let best = reaches.joined().map(\.length).max()
            return reached.filter { $1.contains { $0.isMeant && $0.length == best } }.map(\.0)
        }
    }

    /// Returns whether the dialect's own system fails for a host before it looks for a rule. Android throws for a
    /// leading dot.
    public func rejects(_ host: String) -> Bool { self == .android && host.hasPrefix(".") }

    /// The extent to which a pattern matches a host.
    private struct Reach {
        /// The length of the pattern's name in bytes. The longest name is the closest.
        let length: Int
        /// Whether the scope includes the host, and not only a parent of it.
        let isMeant: Bool
    }

    /// Returns the reach of a pattern, or `nil` if its name is neither the host nor a parent of it.
    private func reach(of pattern: HostPattern, to host: [UInt8]) -> Reach? {
        guard pattern.scope != .every else { return Reach(length: 0, isMeant: true) }
        guard let name = name(ofPattern: pattern.host), host.count >= name.count,
            host.suffix(name.count).elementsEqual(name)
        else { return nil }
        let front = host.dropLast(name.count)
        guard !front.isEmpty else { return Reach(length: name.count, isMeant: pattern.scope != .oneLabelBelow) }
        guard front.last == Self.dot else { return nil }
        let isMeant =
            switch pattern.scope {
            case .exact: false
            case .oneLabelBelow, .exactAndOneLabelBelow: !front.dropLast().contains(Self.dot)
            case .exactAndBelow, .every: true
            }
        return Reach(length: name.count, isMeant: isMeant)
    }

    private static let dot = UInt8(ascii: ".")

    /// Returns the form of a requested host that the system compares, or `nil` if the system doesn't accept it as a
    /// name.
    private func name(ofHost host: String) -> [UInt8]? {
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
        case .policy, .curl, .tlsa, .swift:
            return (try? ServerName(host)).map { Array($0.description.utf8) }
        }
    }

    /// Returns the form of a name in a file that the system compares. Trailing dots are kept.
    private func name(ofPattern host: String) -> [UInt8]? {
        switch self {
        case .okhttp: Array(Self.canonicalHost(host).utf8)
        case .trustkit: Array(host.utf8)
        case .android, .apple: Array(host.lowercased().utf8)
        case .policy, .hpkp, .curl, .tlsa, .swift: name(ofHost: host)
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

/// Returns whether a host is below one of the parents, at any depth. No hostname has more than 253 bytes (RFC 1035,
/// section 2.3.4).
func isBelow(_ host: String, oneOf parents: Set<String>) -> Bool {
    guard host.utf8.count <= 253 else { return false }
    var rest = host[...]
    while let dot = rest.firstIndex(of: ".") {
        rest = rest[rest.index(after: dot)...]
        if parents.contains(String(rest)) { return true }
    }
    return false
}

extension CanonicalPolicy {
    /// The hosts whose rules also pin all hosts below them.
    var pinnedParents: Set<String> {
        let patterns = rules.filter { $0.mode != .off }.flatMap(\.patterns)
        return Set(patterns.filter { $0.scope == .exactAndBelow }.map(\.host))
    }
}
