import FoundationEssentials

@testable import CertificatePinning
@testable import CertificateTrust
@testable import PinDialects
@testable import PinctlCommands

extension FuzzTarget {
    /// Released policies, new chains and keys, and trust stores. `plan` says that a release survives exactly where its
    /// clients accept what is new, and that it needs a pin exactly where they refuse without it.
    static let plan = FuzzTarget(name: "plan") { bytes in
        var script = Script(bytes)
        let scene = ScriptedPlan(&script)
        guard !scene.releases.isEmpty, !scene.candidates.isEmpty else { return }
        let candidates = scene.candidates.map(\.chain)
        let releases = scene.releases.enumerated().map { index, files in files.release("r\(index)") }
        var plan = Plan(
            candidates, against: releases, hosts: scene.hosts, stores: scene.stores, policy: .default, now: scene.now)
        var cells: [PlanCell] = []
        for host in scene.hosts.indices { cells += plan.cells(at: host, endingBefore: scene.limit) }
        precondition(cells.count == releases.count * scene.hosts.count, "a combination is missing")
        for cell in cells { scene.check(cell) }

        // What is printed.
        _ = Plan.hosts(for: candidates, replacing: [], in: releases)
        let timeline = PlanTimeline(cells, of: plan, today: nil, isComplete: true)
        _ = (timeline.json, timeline.lines, timeline.removals)
        let text = PlanText(
            releases: releases, hosts: scene.hosts, cells: cells, names: plan.names, unread: [], columns: 80,
            isVerbose: true)
        _ = text.lines
        let remedy = PlanRemedy(
            releases: releases, hosts: scene.hosts, cells: cells, names: plan.names, candidates: candidates,
            isComplete: true)
        _ = remedy.lines
    }
}

/// Released files, and what servers are going to serve.
private struct ScriptedPlan {
    /// A chain of the pool, or the key of its leaf alone.
    struct Candidate {
        let leaf: CertificatePool.Entry
        let chain: NewChain
        let isKey: Bool
    }

    /// A release's own policy, and one that was exported from it.
    struct Files {
        let policies: [PinningPolicy]
        let dialect: PinDialect

        /// The policies for clients on which the roots of the stores weren't added locally, so that they bypass no
        /// pins.
        var clients: [PinningPolicy] {
            policies.map { policy in policy.replacingRules { $0.with(pins: $0.pins) } }
        }

        func release(_ name: String) -> Release {
            let files = policies.map { Release(name: name, pins: ShippedPolicy(CanonicalPolicy($0), of: dialect)) }
            var release = files[0]
            release.exports = Array(files.dropFirst())
            return release
        }
    }

    let now: Date
    let limit: Date?
    let stores: [(name: String?, store: TrustStore)]
    let candidates: [Candidate]
    let hosts: [PlannedHost]
    let releases: [Files]

    private static let pool = CertificatePool.shared
    /// Cross-signed CAs in the first places, and intermediates with a fault.
    private static let authorities =
        [0, 2, 8, 7, 14, 1, 26].map { pool.authorities[$0] } + pool.authorities[36..<45]
    private static let leaves = [2, 0, 6, 7, 3].map { pool.leaves[$0] }
    private static let parts = PolicyParts(
        hosts: ["a.test", "b.test", "c.a.test", "test.example"], ports: [443, 8443, 2],
        certificates: (leaves.prefix(2) + authorities.prefix(4)).map(\.certificate),
        ends: [1_745_000_000, 1_749_999_999.5, 1_750_000_000, 1_800_000_000, .infinity])
    /// A root, whose key isn't pinned.
    private static let unrelated = pool.authorities[35].certificate

    init(_ script: inout Script) {
        let seconds = script.element(of: [1_745_000_000, 1_800_000_000, 1_699_999_000, 1_749_999_999, 1_800_000_001])
        let now = Date(timeIntervalSince1970: Double(seconds))
        self.now = now
        limit = script.element(of: [nil, 100, 6_000_000, 100_000_000]).map { now + $0 }
        stores = (0...script.number(below: 2)).map { index in
            let roots = script.subset(of: Array(Self.authorities.prefix(5)))
            return ("store \(index)", TrustStore(certificates: roots.map(\.certificate)))
        }
        hosts = (0...script.number(below: 2)).compactMap { _ in
            let name = try? ServerName(script.element(of: Self.parts.hosts))
            let port = script.element(of: [443, 8443])
            return name.map { PlannedHost(name: $0, port: port) }
        }
        candidates = (0...script.number(below: 2)).map { index in
            let leaf = script.element(of: Self.leaves)
            let names = leaf.certificate.subjectAlternativeNames
            let isKey = script.number(below: 4) == 3
            let others = (0..<script.number(below: 4)).map { _ in script.element(of: Self.authorities).certificate }
            let key = NewKey(
                fingerprint: leaf.certificate.spkiFingerprint, bytes: leaf.certificate.subjectPublicKeyInfo.derBytes)
            let content =
                isKey
                ? NewChain.Content.key(key, isRequest: true)
                : .chain(PresentedChain(leaf: leaf.certificate, intermediates: others))
            return Candidate(
                leaf: leaf, chain: NewChain(title: "new \(index)", content: content, names: names), isKey: isKey)
        }
        var releases: [Files] = []
        while !script.isAtEnd, releases.count < 3 {
            let dialect = script.element(of: [PinDialect.policy, .policy, .android, .okhttp])
            let policies = (0...script.number(below: 4) / 3).compactMap { _ in Self.policy(&script) }
            if !policies.isEmpty { releases.append(Files(policies: policies, dialect: dialect)) }
        }
        self.releases = releases
    }

    private static func policy(_ script: inout Script) -> PinningPolicy? {
        let unlisted = script.element(of: UnlistedHosts.allCases)
        let denied = (0..<script.number(below: 8) / 6).map { _ in parts.pin(&script) }
        let rules = (0...script.number(below: 3)).map { _ in parts.rule(&script) }
        return try? PinningPolicy(rules: rules, unlisted: unlisted, deny: denied)
    }
}

/// What a client does about one chain with one store.
private enum Answer: Equatable {
    case untrusted, refused, accepted, stopped

    var isAccepted: Bool { self == .accepted || self == .stopped }
}

extension ScriptedPlan {
    private func covering(_ host: PlannedHost) -> [Candidate] {
        candidates.filter { candidate in
            candidate.leaf.names.contains { CertificatePool.covers($0, host.name.description) }
        }
    }

    /// Compares a cell with what the release's clients do.
    func check(_ cell: PlanCell) {
        let files = releases[cell.release]
        let host = hosts[cell.host]
        let covering = covering(host)
        let expected = files.clients.map { standings(of: $0, files.dialect, host, covering) }
        precondition(
            expected.contains { $0.contains(cell.standing) }
                && expected.allSatisfy { standings in standings.contains { $0 <= cell.standing } },
            "\(cell.standing), expected \(expected): \(cell.finding), \(files.policies) at \(host.title)")
        precondition(cell.end == nil || limit.map { $0 > now } == true, "an end beyond the limit")
        guard files.policies.count == 1, files.dialect == .policy, let policy = files.clients.first else { return }
        let rule = policy.rule(for: host.name, port: host.port)
        for rescue in cell.sufficientPins {
            let holder = Self.parts.certificates.first { CanonicalPin(.publicKey, .sha256, rescue.value).matches($0) }
            // A new certificate with the key isn't this one, as with keys below. The remedies leave out denied keys.
            guard let holder, !policy.pinsCertificate(holder), !policy.deniesKey(of: holder) else { continue }
            let path = VerifiedPath(
                certificates: [holder, Self.unrelated], leaf: holder, name: host.name, transparencyFinding: nil)
            precondition(
                (try? policy.decide(path, port: host.port, at: now)) != nil,
                "a leaf with the key \(rescue) is refused: \(policy) at \(host.title)")
        }
        guard cell.standing.isSurvival, let rule, !covering.contains(where: \.isKey) else { return }
        checkPins(of: cell, policy, rule, host, covering)
        // The expiry of a rule that only reports isn't an end.
        if rule.mode == .enforce || rule.expiry == nil { checkEnd(of: cell, policy, host, covering) }
    }

    /// The standings that a file may have.
    private func standings(
        of policy: PinningPolicy, _ dialect: PinDialect, _ host: PlannedHost, _ covering: [Candidate]
    ) -> [PlanCell.Standing] {
        let rule = policy.rule(for: host.name, port: host.port)
        let isPinned = rule.map { $0.mode != .off } ?? (policy.unlisted == .refuse)
        guard !covering.isEmpty else {
            // Keys are for any host, but these have names.
            return isPinned ? [.breaks] : [.unpinned, .off, .breaks]
        }
        let answers = covering.filter { !$0.isKey }.flatMap { candidate in
            stores.map { answer(of: policy, dialect, candidate, host, $0) }
        }
        let keys = covering.filter(\.isKey)
        // A new certificate with the key isn't this one, so pins of this one don't match it.
        guard !keys.contains(where: { policy.pinsCertificate($0.leaf.certificate) }) else {
            return PlanCell.Standing.allCases
        }
        let keyAnswers = keys.map { candidate in
            let path = VerifiedPath(
                certificates: [candidate.leaf.certificate, Self.unrelated], leaf: candidate.leaf.certificate,
                name: host.name, transparencyFinding: nil)
            return answer(of: policy, on: path, host, now)
        }
        if answers.contains(.refused) { return [.breaks] }
        if isPinned, answers.contains(.untrusted) {
            return answers.contains { $0 != .untrusted } || !keys.isEmpty ? [.breaks] : [.notTrusted]
        }
        // Without an issuer, a refusal can depend on it.
        if keyAnswers.contains(.refused) { return [.breaks, .depends] }
        guard isPinned else { return rule == nil ? [.unpinned] : [.off, .unpinned] }
        return (answers + keyAnswers).contains(.stopped) ? [.off] : [.survives, .survivesOnly]
    }

    private func paths(_ candidate: Candidate, _ host: PlannedHost, _ store: TrustStore) -> [VerifiedPath] {
        guard case .chain(let chain) = candidate.chain.content else { return [] }
        let trust = ServerTrust(presented: chain, name: host.name, store: store, policy: .default)
        return (try? trust.allPaths(at: begin(candidate), limit: 16)) ?? []
    }

    /// The time at which the candidate is served first.
    private func begin(_ candidate: Candidate) -> Date {
        max(now, Date(timeIntervalSince1970: Double(candidate.leaf.validity.lowerBound)))
    }

    private func answer(
        of policy: PinningPolicy, _ dialect: PinDialect, _ candidate: Candidate, _ host: PlannedHost,
        _ store: (name: String?, store: TrustStore)
    ) -> Answer {
        let answers = paths(candidate, host, store.store).map { answer(of: policy, on: $0, host, begin(candidate)) }
        guard !answers.isEmpty else { return .untrusted }
        // Clients of other systems check one path, and nobody knows which.
        let isAccepted = dialect == .policy ? answers.contains(where: \.isAccepted) : answers.allSatisfy(\.isAccepted)
        return isAccepted ? answers.first(where: \.isAccepted) ?? .refused : .refused
    }

    /// The decision of the client itself on a path.
    private func answer(of policy: PinningPolicy, on path: VerifiedPath, _ host: PlannedHost, _ time: Date) -> Answer {
        switch try? policy.decide(path, port: host.port, at: time) {
        case nil: .refused
        case .stopped: .stopped
        case .matched, .unpinned, .forgiven, .bypassed: .accepted
        @unknown default: preconditionFailure("a new case")
        }
    }

    /// Checks that the policy decides otherwise exactly without a pin that is needed.
    private func checkPins(
        of cell: PlanCell, _ policy: PinningPolicy, _ rule: PinningRule, _ host: PlannedHost, _ covering: [Candidate]
    ) {
        guard rule.mode == .enforce, rule.expiry == nil else { return }
        for pin in rule.pins {
            let without = policy.replacingRules { other in
                other.host == rule.host && other.ports == rule.ports
                    ? other.with(pins: other.pins.filter { $0 != pin }) : other
            }
            let isNeeded = covering.contains { candidate in
                stores.contains { !answer(of: without, .policy, candidate, host, $0).isAccepted }
            }
            precondition(
                cell.essential.contains(CanonicalPin(pin)) == isNeeded,
                "the release needs \(pin): \(isNeeded), but the plan says \(cell.essential): \(policy)")
        }
    }

    /// Checks that the release stops surviving when the plan says so, and not before the limit otherwise.
    private func checkEnd(
        of cell: PlanCell, _ policy: PinningPolicy, _ host: PlannedHost, _ covering: [Candidate]
    ) {
        func survives(at time: Date, leafEnds: Bool) -> Bool {
            covering.allSatisfy { candidate in
                let time = max(time, begin(candidate))
                return stores.allSatisfy { store in
                    paths(candidate, host, store.store).contains { path in
                        path.certificates.dropFirst(leafEnds ? 0 : 1).allSatisfy { $0.notAfter >= time }
                            && answer(of: policy, on: path, host, time) == .accepted
                    }
                }
            }
        }
        guard let end = cell.end else {
            guard let limit else { return }
            return precondition(
                survives(at: limit, leafEnds: false), "no end, but it doesn't survive until \(limit): \(policy)")
        }
        guard let date = end.date, let limit, date > now, date <= limit else {
            preconditionFailure("an end without a day, or out of range")
        }
        precondition(
            !survives(at: date, leafEnds: end.why.hasPrefix("the leaf")), "it survives at its end, \(end): \(policy)")
    }
}

extension PinningPolicy {
    /// The same policy with other rules, which aren't checked.
    fileprivate func replacingRules(_ body: (PinningRule) -> PinningRule) -> PinningPolicy {
        let rules = rules.map(body)
        return PinningPolicy(checked: RuleTable(rules, combination: .closest), unlisted, deny: deny)
    }

    /// Whether the key of a certificate is denied.
    fileprivate func deniesKey(of certificate: X509Certificate) -> Bool {
        deny.contains { $0.fingerprint == .publicKey(certificate.spkiFingerprint) }
    }

    /// Whether a pin is of this certificate itself and not of its key.
    fileprivate func pinsCertificate(_ certificate: X509Certificate) -> Bool {
        (rules.flatMap(\.pins) + deny).contains { $0.fingerprint == .certificate(certificate.fingerprint) }
    }
}

extension PinningRule {
    /// The same rule with these pins, which always apply.
    fileprivate func with(pins: [Pin]) -> PinningRule {
        PinningRule(
            host: host, includesSubdomains: includesSubdomains, ports: ports, pins: pins, requirement: requirement,
            mode: mode, expiry: expiry)
    }
}
