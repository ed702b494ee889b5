import CertificatePinning
import CertificateTrust

extension PinDialect {
    /// The rules that hold for a host as somebody wrote it: dots at its end, capitals and empty labels count as they do
    /// in the dialect's own system. Rules that do not reach `port` are passed over; without one, ports do not count.
    ///
    /// The dialect says which names a text stands for, the policy how several rules combine.
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

    /// Whether the dialect's own system fails for a host before it looks for a rule: Android throws at a dot in front.
    public func rejects(_ host: String) -> Bool { self == .android && host.hasPrefix(".") }

    /// How far a pattern's name reaches.
    private struct Reach {
        /// Bytes of the pattern's name: the longest is the closest.
        let length: Int
        /// Whether the scope holds the host too, and not only the name above it.
        let isMeant: Bool
    }

    /// nil when the pattern's name is neither the host nor above it.
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

    /// What the system compares of a host that it is asked for; nil where it takes the text for no name.
    private func name(ofHost host: String) -> [UInt8]? {
        switch self {
        case .okhttp, .trustkit: return Array(host.utf8)
        case .android, .apple:
            var name = Array(host.lowercased().utf8)
            if name.last == Self.dot { name.removeLast() }
            return name
        case .hpkp:
            // Addresses never have pins (RFC 7469, section 2.3.3).
            guard let name = try? ServerName(host), !name.isIPAddress else { return nil }
            return Array(name.description.utf8)
        case .policy, .curl, .tlsa, .swift:
            return (try? ServerName(host)).map { Array($0.description.utf8) }
        }
    }

    /// What the system compares of a name in its file: dots at the end stay where they stand.
    private func name(ofPattern host: String) -> [UInt8]? {
        switch self {
        case .okhttp: Array(Self.canonicalHost(host).utf8)
        case .trustkit: Array(host.utf8)
        case .android, .apple: Array(host.lowercased().utf8)
        case .policy, .hpkp, .curl, .tlsa, .swift: name(ofHost: host)
        }
    }

    /// A host as OkHttp keeps it: lower case, U-labels as A-labels.
    static func canonicalHost(_ host: String) -> String {
        let lowered = host.lowercased()
        guard !lowered.utf8.allSatisfy({ $0 < 0x80 }) else { return lowered }
        return lowered.split(separator: ".", omittingEmptySubsequences: false)
            .map { Punycode.aLabel($0) ?? String($0) }.joined(separator: ".")
    }
}
