import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlFoundation

/// A plan that checks new chains or keys against releases.
struct Plan {
    let candidates: [NewChain]
    let releases: [Release]
    let hosts: [PlannedHost]
    let stores: [(name: String?, store: TrustStore)]
    let policy: TrustPolicy
    /// The recognized logs of Certificate Transparency, if a list was given.
    let logs: TransparencyLogList?
    /// The changes of trust stores that are known.
    let calendar: RootCalendar
    let now: Date
    private(set) var names = KnownNames()
    /// The paths found so far by chain, host and roots, since releases share them.
    private var found: [FoundKey: FoundPaths] = [:]

    private struct FoundKey: Hashable {
        let candidate: Int
        let host: ServerName
        let roots: [UInt8]
        let requiresTransparency: Bool
    }

    private enum FoundPaths {
        /// The valid paths, and whether there are no others.
        case paths([VerifiedPath], isWhole: Bool)
        case untrusted(String)
    }

    /// The maximum number of paths examined for one chain and store.
    private static let pathLimit = 16

    init(
        _ candidates: [NewChain], against releases: [Release], hosts: [PlannedHost],
        stores: [(name: String?, store: TrustStore)], policy: TrustPolicy, logs: TransparencyLogList? = nil,
        calendar: RootCalendar = RootCalendar(), now: Date
    ) {
        self.candidates = candidates
        self.releases = releases
        self.hosts = hosts
        self.stores = stores
        self.policy = policy
        self.logs = logs
        self.calendar = calendar
        self.now = now
        learn(candidates)
        if candidates.contains(where: \.isKey) {
            for (_, store) in stores { names.addSubjects(of: store.certificates ?? []) }
        }
        for release in releases where release.original == nil { names.add(release.allPins) }
    }

    /// Adds the names of the keys in these chains.
    mutating func learn(_ chains: [NewChain]) {
        for case .chain(let chain) in chains.map(\.content) { names.add(chain.certificates) }
    }

    /// Adds the names of the keys that another plan found.
    mutating func learn(from other: Plan) { names.addSubjects(of: other.names) }

    /// Returns whether a candidate, or a path that was found for it, has the pinned key or certificate.
    func serves(_ pin: CanonicalPin) -> Bool {
        names.has(pin)
            || candidates.contains { candidate in
                switch candidate.content {
                case .chain: false
                case .key(let key, _): key.isPinned(by: pin)
                case .below(let root): pin.isSameKey(as: root.key.pin)
                }
            }
    }

    /// Judges every release at a host, using the candidates that cover the host.
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
            if cell.standing < .notTrusted {
                cell.end = [cell.end, endOfBundle(releases[release], before: limit)].compactMap(\.self).min()
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
        let judged = isCovered ? judge(shown, planned, by: rule, at: nil) : uncovered(planned, by: rule)
        var cell = PlanCell(release: release, host: host, rule: rule, judged, names: names, isUncovered: !isCovered)
        let isApplied = cell.standing != .off || rule.lastEnds.contains { $0 > now }
        cell.countsPins = isApplied && (cell.isUncovered || !judged.flatMap(\.judgements).contains(where: \.isFinal))
        // A key among the candidates leaves open who issues it, but not what happens to the rule and to chains.
        if cell.standing.isSurvival || cell.standing == .depends {
            let ends = [
                limit.flatMap { end(of: cell, rule, shown, judged, planned, before: $0) },
                endByStores(rule, judged, before: limit),
            ]
            cell.end = ends.compactMap(\.self).min()
        }
        return cell
    }

    /// Judges a host that no candidate covers. Clients reject the connection, except those that don't check the
    /// hostname (RFC 7671, section 5.1).
    private func uncovered(_ host: PlannedHost, by rule: ReleaseRule) -> [StoreJudgement] {
        candidates.enumerated().map { index, candidate in
            var direct: PathJudgement?
            if case .chain(let chain) = candidate.content {
                direct = rule.judgeUntrusted(chain, at: candidate.time(from: now))
            }
            return StoreJudgement(
                candidate: candidate, index: index, store: nil, untrusted: nil, paths: [],
                direct: direct ?? .refused(candidate.mismatch(with: host.title), .none))
        }
    }

    /// Judges the candidates for a host. If `later` is given, paths that have expired by then aren't trusted.
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
                        candidate: candidate, index: index, store: nil, untrusted: nil, paths: [],
                        direct: rule.judge(key, names: names, at: time)))
            case .below(let root):
                judged.append(
                    StoreJudgement(
                        candidate: candidate, index: index, store: nil, untrusted: nil, paths: [],
                        direct: rule.judge(root, at: time)))
            case .chain(let chain):
                let direct =
                    rule.judgeUntrusted(chain, at: time) ?? judgeByAnchors(of: rule, chain, host.name, at: time)
                for (name, store) in rule.anchors(in: stores) {
                    switch paths(of: chain, index, host.name, store, named: name, by: rule, at: begin) {
                    case .untrusted(let reason):
                        judged.append(
                            StoreJudgement(
                                candidate: candidate, index: index, store: name, untrusted: reason, paths: [],
                                direct: direct))
                    case .paths(let paths, let isWhole):
                        let alive = paths.filter { path in
                            path.certificates.enumerated().allSatisfy { index, certificate in
                                certificate.notAfter >= time || index == 0 && !leafMayEnd
                            }
                        }
                        names.add(paths.flatMap(\.certificates))
                        judged.append(
                            StoreJudgement(
                                candidate: candidate, index: index, store: name,
                                untrusted: alive.isEmpty ? "its path has expired" : nil,
                                paths: Array(
                                    zip(
                                        alive,
                                        rule.judge(
                                            alive.map(\.certificates), besides: !isWhole, under: name, at: time))),
                                direct: direct))
                    }
                }
            }
        }
        return judged
    }

    /// Judges a chain by the pins of trust anchors that need no root of a store (DANE-TA, RFC 7671, section 5.2).
    /// Returns `nil` if none of them is at the end of a valid path.
    ///
    /// An anchor is in the chain, or it is the whole certificate in the pin.
    private func judgeByAnchors(
        of rule: ReleaseRule, _ chain: PresentedChain, _ host: ServerName, at time: Date
    ) -> PathJudgement? {
        for pin in rule.pins where pin.trust == .pinAlone && pin.role.covers(index: 1, of: 2) {
            var anchors = chain.intermediates.filter(pin.matches)
            if pin.content == .certificate, pin.digest == .full, let anchor = try? X509Certificate(derBytes: pin.value)
            {
                anchors.append(anchor)
            }
            guard !anchors.isEmpty else { continue }
            let trust = ServerTrust(
                presented: chain, name: host, store: TrustStore(certificates: anchors), policy: policy)
            guard let path = try? trust.evaluate(at: time) else { continue }
            return .matched([CanonicalMatch(pin: pin, index: path.certificates.count - 1)])
        }
        return nil
    }

    private mutating func paths(
        of chain: PresentedChain, _ candidate: Int, _ host: ServerName, _ store: TrustStore, named storeName: String?,
        by rule: ReleaseRule, at time: Date
    ) -> FoundPaths {
        let key = FoundKey(
            candidate: candidate, host: host, roots: store.digest, requiresTransparency: rule.requiresTransparency)
        if let known = found[key] { return known }
        var policy = policy
        if rule.requiresTransparency { policy.certificateTransparency = .require }
        let trust = ServerTrust(
            presented: chain, name: host, store: store, policy: policy, transparency: TransparencyEvidence(logs: logs))
        let result: FoundPaths
        do throws(TrustFinding) {
            let (paths, isWhole) = try trust.paths(at: time, limit: Self.pathLimit)
            result = .paths(paths, isWhole: isWhole)
        } catch {
            let flag: Flag? = rule.trustsOnlyOwnRoots ? nil : storeName == nil ? .caFile : .store
            result = .untrusted("\(error.text(from: .file, trustedBy: flag))")
        }
        found[key] = result
        return result
    }

    /// Returns the first known moment before `limit` at which a surviving release stops surviving: when its rule or a
    /// certificate on its path expires.
    ///
    /// The expiry of the leaf counts only if nothing but its key is pinned.
    private mutating func end(
        of cell: PlanCell, _ rule: ReleaseRule, _ shown: [Int], _ judged: [StoreJudgement], _ host: PlannedHost,
        before limit: Date
    ) -> PlanEnd? {
        var moments: [(date: Date, why: String)] = rule.ends.map { ($0, "its rule expires") }
        for path in judged.flatMap(\.paths).map(\.path) {
            for (index, certificate) in path.certificates.enumerated() where index > 0 || !cell.standsWithoutLeaf {
                let issuer = certificate.isSelfIssued ? "" : ", issued by \(names.issuer(of: certificate)),"
                let why =
                    index == 0
                    ? "the leaf expires, and only its key is pinned: renew it with the same key"
                    : "\(names.title(certificate))\(issuer) expires"
                moments.append((certificate.notAfter + 1, why))
            }
        }
        for (date, why) in moments.sorted(by: { ($0.date, $0.why) < ($1.date, $1.why) })
        // mutant plan-fail-within: date < limit for `date <= limit` by PlanTests/ends
        where date > now && date <= limit {
            let later = judge(shown, host, by: rule, at: date, leafMayEnd: why.hasPrefix("the leaf"))
            let then = PlanCell(release: cell.release, host: cell.host, rule: rule, later, names: names)
            // The pins of a rule that only reports decide nothing that their expiry could end.
            let onlyReports = !rule.rules.contains { $0.mode == .enforce }
            guard !then.standing.isSurvival, then.standing != .off || !onlyReports else { continue }
            let effect = then.standing == .off ? ", and its pins are off then" : ""
            return PlanEnd(date: date, why: why + effect)
        }
        return nil
    }
}
