import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

extension ChainJudge {
    /// The maximum number of paths to examine. Each path is a way in which a client may anchor the chain.
    static let pathLimit = 16

    /// Returns all warnings about a good verdict, and one for each exported file that rejects some of the paths.
    func warnings(
        beside verdict: Verdict, of trust: ServerTrust, port: UInt16, from origin: ChainOrigin,
        expecting source: PinSource, refusals: [ExportRefusal]
    ) -> [CheckWarning] {
        guard let warningPeriod else { return [] }
        guard verdict.isGood, let path = verdict.path else { return refusals.map(CheckWarning.init) }
        var warnings: [CheckWarning] = []
        if !verdict.matches.isEmpty, let rule = verdict.rule {
            if verdict.word == .okBackupOnly {
                let cause = PinFailureCause.onlyBackup(verdict.matches.map(\.pin))
                warnings.append(CheckWarning(kind: .backupOnly, text: "\(cause.finding): \(cause.remedy)"))
            }
            warnings += unpinnedLeaf(of: verdict, path, rule, from: origin)
            warnings += paths(of: trust, beside: path, rule, port: port, expecting: source)
        }
        warnings += underStores(trust, port: port, expecting: source)
        warnings += expiring(on: path, by: verdict.rule, within: warningPeriod)
        warnings += ending(verdict)
        if !isPrivate(path, by: verdict.rule) { warnings += CheckWarning.transparency(of: path) }
        return warnings + refusals.map(CheckWarning.init)
    }

    /// Returns a warning if a rule pins keys for the leaf, and the leaf has none of them. The rule's pins of CAs accept
    /// such a leaf, even if somebody else obtained its certificate.
    private func unpinnedLeaf(
        of verdict: Verdict, _ path: VerifiedPath, _ rule: PinningRule, from origin: ChainOrigin
    ) -> [CheckWarning] {
        let pinned = rule.pins.filter { $0.role == .leaf && !$0.isBackup && $0.kind == .publicKey }
        // mutant check-leaf-unpinned: false for 2 by GateTests/leafUnpinned
        guard let first = pinned.first, !verdict.matches.contains(where: { $0.role == .leaf }) else { return [] }
        let keys = pinned.count == 1 ? first.title : "one of those pinned for the leaf"
        let pin = "pin \(path.leaf.spkiFingerprint)"
        return [
            CheckWarning(
                kind: .leafUnpinned,
                text: "the leaf's key isn't \(keys), so only pins of CAs match: "
                    + (origin == .file ? pin : PinFailureCause.confirmed(pin)))
        ]
    }

    /// Whether a path leads to a private CA that the rule names itself. The logs that browsers recognize don't accept
    /// its certificates, so only a rule with `certificateTransparency` gets a warning about them.
    private func isPrivate(_ path: VerifiedPath, by rule: PinningRule?) -> Bool {
        rule?.anchors != nil && rule?.certificateTransparency == nil && !policy.isOfPublicCA(path.certificates)
    }

    /// Returns a warning if certificates on a path expire within the period. It names the first one to expire.
    private func expiring(
        on path: VerifiedPath, by rule: PinningRule?, within period: WarningPeriod
    ) -> [CheckWarning] {
        let expiring = path.certificates.filter { period.contains(time, before: $0, isLeaf: $0 == path.leaf) }
        guard let first = expiring.min(by: { $0.notAfter < $1.notAfter }) else { return [] }
        let role = PinRole(index: path.certificates.firstIndex(of: first) ?? 0, of: path.certificates.count)
        let renewal = first == path.leaf ? rule?.renewal(of: first) : nil
        return [
            CheckWarning(
                kind: .expiresSoon,
                text: "the \(role.rawValue) expires soon, \(first.subject) on \(expiry(first, now: time)): "
                    + (renewal ?? "renew it"))
        ]
    }

    /// Returns warnings if the verdict is good, and its rule or the bundle that the policy is in expires within the
    /// period.
    func ending(_ verdict: Verdict) -> [CheckWarning] {
        guard verdict.isGood, let warningPeriod else { return [] }
        let ending = bundle?.expiryWarning(at: time, within: warningPeriod)
        return endingRule(verdict, within: warningPeriod)
            + [ending].compactMap { $0.map { CheckWarning(kind: .ruleEndsSoon, text: $0) } }
    }

    private func endingRule(_ verdict: Verdict, within period: WarningPeriod) -> [CheckWarning] {
        guard let rule = verdict.rule, rule.mode != .off, let expiry = rule.expiry,
            !expiry.isPast(at: time), expiry.end.timeIntervalSince(time) < period.secondsBeforeRule
        else { return [] }
        let then = expiry.action == .fail ? "clients then reject every server" : "clients then stop pinning"
        return [
            CheckWarning(
                kind: .ruleEndsSoon,
                text: "the rule expires at \(expiry.end.rfc3339), and \(then): ship a policy with a later expiry")
        ]
    }

    /// Returns a warning about valid paths without a match. The path that a client uses depends on its roots.
    private func paths(
        of trust: ServerTrust, beside path: VerifiedPath, _ rule: PinningRule, port: UInt16,
        expecting source: PinSource
    ) -> [CheckWarning] {
        guard let policy = source.policy(for: trust.name) else { return [] }
        let claim = trust.under(rule)
        guard let paths = try? claim.allPaths(beside: path, at: time, limit: Self.pathLimit), paths.count > 1 else {
            return []
        }
        let failing = paths.filter { path in
            if case .matched? = try? policy.decide(path, port: Int(port), at: time) { false } else { true }
        }
        guard !failing.isEmpty else { return [] }
        var anchors: [String] = []
        for path in failing where !anchors.contains(path.anchor.subject.description) {
            anchors.append(path.anchor.subject.description)
        }
        return [
            CheckWarning(
                kind: .somePaths,
                text:
                    "pins match on \(paths.count - failing.count) of \(paths.count) paths, so clients whose path ends "
                    + "at \(anchors.joined(separator: " or ")) would fail: pin a key that is on every path")
        ]
    }

    /// Returns warnings about trust stores with which the chain isn't trusted or doesn't match a pin.
    private func underStores(
        _ trust: ServerTrust, port: UInt16, expecting source: PinSource
    ) -> [CheckWarning] {
        clientStores.compactMap { name, store in
            let verdict = Verdict(
                on: trust.replacingStore(store), port: port, expecting: source, time: time, from: .served,
                trustedBy: .store)
            guard !verdict.isGood else { return nil }
            let path = verdict.path.map { path in
                ": " + path.certificates.map { $0.subject.commonName ?? "\($0.subject)" }.joined(separator: " < ")
            }
            return CheckWarning(
                kind: .somePaths,
                text: "clients with the trust store \(name) would fail: \(verdict.shortFinding)\(path ?? "")")
        }
    }
}
