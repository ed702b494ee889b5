import CertificatePinning
import CertificateTrust

extension Plan {
    /// Returns the hosts to judge: those that the new names and the rules of any release have in common, and those that
    /// are lost.
    ///
    /// A host is lost if the current chain is for it and the new one isn't. Without the current chain, a host that the
    /// new certificate isn't valid for may be served from another one.
    ///
    /// If no release pins anything, these are the new names. The result is empty if there is nothing in common and the
    /// current chain wasn't given.
    static func hosts(
        for candidates: [NewChain], replacing current: [NewChain], in releases: [Release]
    ) -> [PlannedHost] {
        let hosts = hosts(of: candidates, in: releases)
        guard !hosts.isEmpty || !releases.allSatisfy(\.pinsNothing) else {
            var seen: Set<PlannedHost> = []
            return candidates.flatMap(\.names).compactMap { ServerName.named($0) }
                .map { PlannedHost(name: $0, port: 443, pattern: $1) }
                .filter { seen.insert($0).inserted }
        }
        let lost = Self.hosts(of: current, in: releases).filter { host in
            !candidates.contains { $0.covers(host.name) }
        }
        return (hosts + lost).sorted { ($0.title, $0.pattern ?? "") < ($1.title, $1.pattern ?? "") }
    }

    /// Returns the reasons why hosts that the user named can't be judged, one line for each.
    ///
    /// Without this check, a misspelled name would look like a host without pins, which nothing breaks. A host that
    /// some release pins can always be judged: it breaks if no candidate covers it. A rule whose mode is off is enough
    /// for a host to be known, and so are releases that all pin nothing.
    static func obstacles(
        to hosts: [PlannedHost], for candidates: [NewChain], in releases: [Release]
    ) -> [String] {
        let pinsNothing = releases.allSatisfy(\.pinsNothing)
        let files = releases + releases.flatMap(\.exports)
        return hosts.compactMap { host in
            let rules = files.map { $0.rule(for: host.name, port: host.port) }
            guard !rules.contains(where: \.isPinned) else { return nil }
            let remedy = "check the name in \(Flag.plannedHost.dashed) \(host.title), or leave it out"
            guard candidates.contains(where: { $0.covers(host.name) }) else {
                let mismatches = candidates.map { $0.mismatch(with: host.name.description) }
                return "\(mismatches.joined(separator: "; ")): \(remedy)"
            }
            // mutant plan-host: false for 2 by PlanNameTests
            guard !pinsNothing, !releases.contains(where: { $0.decides(host) }) else { return nil }
            return "no release has a rule for \(host.title): \(remedy)"
        }
    }

    /// Returns the hosts that releases pin and that aren't judged, because no certificate of a server of theirs was
    /// given.
    static func unjudged(
        besides hosts: [PlannedHost], for candidates: [NewChain], in releases: [Release]
    ) -> [PlannedHost] {
        pinnedHosts(besides: candidates, in: releases).filter { host in
            !hosts.contains { $0.name == host.name } && !candidates.contains { $0.covers(host.name) }
        }
    }

    /// Returns the hosts that rules pin.
    ///
    /// A host with a rule for the names below it is left out if a certificate has such a name. The result is empty for
    /// requests and keys, which name the hosts of a single server.
    private static func pinnedHosts(besides candidates: [NewChain], in releases: [Release]) -> [PlannedHost] {
        var entries: [SubjectAlternativeName] = []
        for candidate in candidates {
            guard case .chain = candidate.content else { return [] }
            entries += candidate.names
        }
        let names = entries.compactMap { ServerName.named($0)?.0 }
        var seen: Set<PlannedHost> = []
        return releases.flatMap(\.pinnedHosts).filter { host, reachesBelow in
            seen.insert(host).inserted && !(reachesBelow && names.contains { $0.isSubdomain(of: host.name) })
        }.map(\.host)
    }

    /// Returns the hosts of some chains: names that a rule reaches, and hosts of rules that the chains cover.
    private static func hosts(of candidates: [NewChain], in releases: [Release]) -> [PlannedHost] {
        var seen: Set<PlannedHost> = []
        var named: [PlannedHost] = []
        for host in releases.flatMap(\.namedHosts) where seen.insert(host).inserted { named.append(host) }
        let ports = [443] + Set(named.map(\.port)).subtracting([443]).sorted()
        var hosts = named.filter { host in candidates.contains { $0.covers(host.name) } }
        for entry in candidates.flatMap(\.names) {
            guard let (name, pattern) = ServerName.named(entry) else { continue }
            // If the same rules decide, a rule's host represents the names of a wildcard, and one port represents the
            // others.
            var judged = Set(
                hosts.filter { pattern == nil ? $0.name == name : $0.name.matches(entry) }
                    .map { rules(of: releases, for: $0.name, $0.port) })
            for port in ports {
                let rules = rules(of: releases, for: name, port)
                guard rules.contains(where: { !$0.isEmpty }), judged.insert(rules).inserted else { continue }
                hosts.append(PlannedHost(name: name, port: port, pattern: pattern))
            }
        }
        return hosts
    }

    /// Returns the positions of the rules that decide for a host, in each release.
    private static func rules(of releases: [Release], for name: ServerName, _ port: Int) -> [[PolicyLocation?]] {
        releases.map { $0.rule(for: name, port: port).rules.map(\.location) }
    }
}

extension ServerName {
    /// Returns the name of an entry. For a wildcard, this is one of its names together with the pattern.
    fileprivate static func named(_ entry: SubjectAlternativeName) -> (ServerName, pattern: String?)? {
        let text = entry.description
        switch entry {
        case .dns where text.hasPrefix("*."):
            return (try? ServerName("any" + text.dropFirst())).map { ($0, text) }
        case .dns, .ipAddress: return (try? ServerName(text)).map { ($0, nil) }
        default: return nil
        }
    }
}
