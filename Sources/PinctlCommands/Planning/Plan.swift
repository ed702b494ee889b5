import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

/// New chains or keys, held against what was shipped.
struct Plan {
    let candidates: [NewChain]
    let releases: [Release]
    let hosts: [PlannedHost]
    let stores: [(name: String?, store: TrustStore)]
    let policy: TrustPolicy
    let now: Date
    private(set) var names = KnownNames()
    /// Paths that were found, by chain, host and roots: releases share them.
    private var found: [FoundKey: FoundPaths] = [:]

    private struct FoundKey: Hashable {
        let candidate: Int
        let host: ServerName
        let roots: [UInt8]
    }

    private enum FoundPaths {
        case paths([VerifiedPath])
        case untrusted(String)
    }

    /// The paths of one chain under one store that are looked at.
    private static let pathLimit = 16

    init(
        _ candidates: [NewChain], against releases: [Release], hosts: [PlannedHost],
        stores: [(name: String?, store: TrustStore)], policy: TrustPolicy, now: Date
    ) {
        self.candidates = candidates
        self.releases = releases
        self.hosts = hosts
        self.stores = stores
        self.policy = policy
        self.now = now
        learn(candidates)
    }

    /// Notes whose keys are in these chains.
    mutating func learn(_ chains: [NewChain]) {
        for case .chain(let chain) in chains.map(\.content) { names.add(chain.certificates) }
    }

    /// Notes whose keys another plan met.
    mutating func learn(from other: Plan) { names.add(other.names) }

    /// Judges every release at a host, those of `candidates` that cover it.
    mutating func cells(at host: Int, endingBefore limit: Date? = nil) -> [PlanCell] {
        let planned = hosts[host]
        let covering = candidates.indices.filter { candidates[$0].covers(planned.name) }
        let shown = covering.isEmpty ? Array(candidates.indices) : covering
        var cells: [PlanCell] = []
        for release in releases.indices {
            if let original = releases[release].original {
                var cell = cells[original]
                cell.release = release
                cells.append(cell)
                continue
            }
            var cell = cell(of: releases[release], release, at: host, shown, isCovered: !covering.isEmpty, limit)
            for export in releases[release].exports {
                let beside = self.cell(of: export, release, at: host, shown, isCovered: !covering.isEmpty, limit)
                cell = cell.joined(with: beside, of: export.name)
            }
            cells.append(cell)
        }
        return cells
    }

    /// Judges one file of a release.
    private mutating func cell(
        of file: Release, _ release: Int, at host: Int, _ shown: [Int], isCovered: Bool, _ limit: Date?
    ) -> PlanCell {
        let planned = hosts[host]
        let rule = file.rule(for: planned.name, port: planned.port)
        let isUncovered = !isCovered && rule.isPinned
        let judged = isUncovered ? uncovered(planned, by: rule) : judge(shown, planned, by: rule, at: nil)
        var cell = PlanCell(release: release, host: host, rule: rule, judged, names: names, isUncovered: isUncovered)
        cell.countsPins = cell.standing != .off || rule.lastEnds.contains { $0 > now }
        if let limit, cell.standing.isSurvival {
            cell.end = end(of: cell, rule, shown, judged, planned, before: limit)
        }
        return cell
    }

    /// Judges a host that no candidate covers: clients refuse it, apart from those that look at no name (RFC 7671,
    /// section 5.1).
    private func uncovered(_ host: PlannedHost, by rule: ReleaseRule) -> [StoreJudgement] {
        candidates.map { candidate in
            var direct: PathJudgement?
            if case .chain(let chain) = candidate.content {
                direct = rule.judgeUntrusted(chain, at: candidate.time(from: now))
            }
            return StoreJudgement(
                candidate: candidate, store: nil, untrusted: nil, paths: [],
                direct: direct ?? .refused(candidate.mismatch(with: host.title), isMismatch: false))
        }
    }

    /// `time` is a later moment, of which the paths that ended are told.
    private mutating func judge(
        _ shown: [Int], _ host: PlannedHost, by rule: ReleaseRule, at later: Date?, leafMayEnd: Bool = false
    ) -> [StoreJudgement] {
        var judged: [StoreJudgement] = []
        for index in shown {
            let candidate = candidates[index]
            let begin = candidate.time(from: now)
            let time = max(begin, later ?? begin)
            switch candidate.content {
            case .key(let key, _):
                judged.append(
                    StoreJudgement(
                        candidate: candidate, store: nil, untrusted: nil, paths: [], direct: rule.judge(key, at: time)))
            case .chain(let chain):
                let roots = rule.anchors.map { [(name: String?.some("its own roots"), store: $0)] } ?? stores
                for (name, store) in roots {
                    let direct = rule.judgeUntrusted(chain, at: time)
                    switch paths(of: chain, index, host.name, store, at: begin) {
                    case .untrusted(let reason):
                        judged.append(
                            StoreJudgement(
                                candidate: candidate, store: name, untrusted: reason, paths: [], direct: direct))
                    case .paths(let paths):
                        let alive = paths.filter { path in
                            path.certificates.enumerated().allSatisfy { index, certificate in
                                certificate.notAfter >= time || index == 0 && !leafMayEnd
                            }
                        }
                        names.add(paths.flatMap(\.certificates))
                        judged.append(
                            StoreJudgement(
                                candidate: candidate, store: name,
                                untrusted: alive.isEmpty ? "its path ends" : nil,
                                paths: alive.map { ($0, rule.judge($0, under: name, at: time)) }, direct: direct))
                    }
                }
            }
        }
        return judged
    }

    private mutating func paths(
        of chain: PresentedChain, _ candidate: Int, _ host: ServerName, _ store: TrustStore, at time: Date
    ) -> FoundPaths {
        let key = FoundKey(candidate: candidate, host: host, roots: store.digest)
        if let known = found[key] { return known }
        let trust = ServerTrust(presented: chain, name: host, store: store, policy: policy)
        let result: FoundPaths
        do throws(TrustFinding) {
            result = .paths(try trust.allPaths(at: time, limit: Self.pathLimit))
        } catch {
            result = .untrusted(error.description)
        }
        found[key] = result
        return result
    }

    /// The first moment before `limit` from which a release that survives does not any more, by what is known: its rule
    /// ends, or a path of the chain. The end of the leaf alone counts where nothing but its key is pinned.
    private mutating func end(
        of cell: PlanCell, _ rule: ReleaseRule, _ shown: [Int], _ judged: [StoreJudgement], _ host: PlannedHost,
        before limit: Date
    ) -> (date: Date, why: String)? {
        var moments: [(date: Date, why: String)] = rule.ends.map { ($0, "its rule ends") }
        for path in judged.flatMap(\.paths).map(\.path) {
            for (index, certificate) in path.certificates.enumerated() where index > 0 || !cell.standsWithoutLeaf {
                let issuer = certificate.isSelfIssued ? "" : ", issued by \(names.issuer(of: certificate)),"
                let why =
                    index == 0
                    ? "the leaf ends, and only its key is pinned: renew it with the same key"
                    : "\(names.title(certificate))\(issuer) ends"
                moments.append((certificate.notAfter + 1, why))
            }
        }
        for (date, why) in moments.sorted(by: { ($0.date, $0.why) < ($1.date, $1.why) })
        where date > now && date <= limit {
            let later = judge(shown, host, by: rule, at: date, leafMayEnd: why.hasPrefix("the leaf"))
            let then = PlanCell(release: cell.release, host: cell.host, rule: rule, later, names: names)
            guard !then.standing.isSurvival else { continue }
            let effect = then.standing == .off ? ", and its pins are off then" : ""
            return (date, why + effect)
        }
        return nil
    }
}

extension Plan {
    /// The hosts to judge: those that the new names and the rules of some release have in common, and those that are
    /// lost. Where no release pins anything, the new names. Empty when they have none in common and nobody said what
    /// servers show today.
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
        guard !hosts.isEmpty || !current.isEmpty else { return [] }
        let before =
            current.isEmpty ? pinnedHosts(besides: candidates, in: releases) : Self.hosts(of: current, in: releases)
        let lost = before.filter { host in !candidates.contains { $0.covers(host.name) } }
        return (hosts + lost).sorted { ($0.title, $0.pattern ?? "") < ($1.title, $1.pattern ?? "") }
    }

    /// The hosts that rules pin, those left out that stand for names below them of which a certificate has one. Empty for
    /// requests and keys, which name the hosts of one server.
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

    /// The hosts of some chains: names that some rule reaches, and hosts of rules that they cover.
    private static func hosts(of candidates: [NewChain], in releases: [Release]) -> [PlannedHost] {
        var seen: Set<PlannedHost> = []
        var named: [PlannedHost] = []
        for host in releases.flatMap(\.namedHosts) where seen.insert(host).inserted { named.append(host) }
        let ports = [443] + Set(named.map(\.port)).subtracting([443]).sorted()
        var hosts = named.filter { host in candidates.contains { $0.covers(host.name) } }
        for entry in candidates.flatMap(\.names) {
            guard let (name, pattern) = ServerName.named(entry) else { continue }
            // Hosts of rules stand for the names of a wildcard, and one port for others, where the same rules decide.
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

    /// The places of the rules that decide about a host, in each release.
    private static func rules(of releases: [Release], for name: ServerName, _ port: Int) -> [[PolicyLocation?]] {
        releases.map { $0.rule(for: name, port: port).rules.map(\.location) }
    }
}

extension ServerName {
    /// The name of an entry, and for a wildcard one of the names that it stands for, with the pattern itself.
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
