public import CertificateTrust
public import FoundationEssentials

/// Which servers must prove which keys.
///
/// A policy only narrows: it is asked about paths that are verified already, and can refuse them.
public struct PinningPolicy: Sendable {
    /// The rules, in the order they were given.
    public let rules: [PinningRule]
    /// What happens to a host that no rule reaches.
    public let unlisted: UnlistedHosts
    /// What no verified path may hold, of any host, whatever its rule and mode say.
    public let deny: [Pin]
    /// SHA-256 over everything that decides, 32 bytes: policies with the same digest decide alike.
    public let digest: [UInt8]
    private let table: RuleTable
    /// What ``deny`` names: it is asked about every certificate of every path that is tried.
    private let denied: [PinnedObject: [Pin]]

    /// Makes a policy of rules.
    ///
    /// Throws the first reason why they cannot hold: no rule, a rule without pins, rules for one host and port, or a
    /// rule for all names below a public suffix.
    public init(
        rules: [PinningRule], unlisted: UnlistedHosts = .trust, deny: [Pin] = [],
        publicSuffixes: PublicSuffixes = .system
    ) throws(PolicyError) {
        guard !rules.isEmpty else { throw .noRules }
        for rule in rules {
            if let problem = rule.problems(publicSuffixes: publicSuffixes).first { throw problem }
        }
        let table = RuleTable(rules)
        if let (earlier, later) = table.overlaps(in: rules).first {
            throw .overlap(host: rules[later].host, earlier: rules[earlier].location)
        }
        self.init(checked: rules, table, unlisted, deny: deny)
    }

    /// Takes rules that are known to hold.
    init(checked rules: [PinningRule], _ table: RuleTable, _ unlisted: UnlistedHosts, deny: [Pin]) {
        self.rules = rules
        self.table = table
        self.unlisted = unlisted
        self.deny = deny
        denied = Dictionary(grouping: deny, by: \.object)
        digest = policyDigest(rules, unlisted, deny: deny)
    }
}

extension PinningPolicy {
    /// The rule for a host and port: that of the exact host, else of the longest parent that includes subdomains.
    ///
    /// A rule that does not reach the host or the port is passed over; nothing is merged.
    public func rule(for name: ServerName, port: Int) -> PinningRule? {
        table.rule(for: name, port: port, in: rules)
    }

    /// Whether a host may be spoken with in the clear, where there is nothing to look for pins on: no rule that is
    /// enforced covers it at any port, and hosts without a rule are not refused.
    public func permitsCleartext(to name: ServerName) -> Bool {
        let covering = table.rules(covering: name, in: rules)
        return covering.isEmpty ? unlisted == .trust : covering.allSatisfy { $0.mode != .enforce }
    }

    /// Decides on a verified path to `path.name`, as of `time`. Pure.
    public func decide(_ path: VerifiedPath, port: Int, at time: Date) throws(PinningError) -> PinDecision {
        try decide(path, by: rule(for: path.name, port: port), port: port, at: time)
    }

    /// Verifies what a server presented and judges the pins on it, with the rule's own anchors where it has them.
    ///
    /// The pins take part in path building: of several valid paths, one that holds them and nothing that is denied is
    /// found. A chain that does not verify is refused in every mode.
    public func evaluate(_ trust: ServerTrust, port: Int, at time: Date) throws(PinningError) -> AcceptedPath {
        let rule = rule(for: trust.name, port: port)
        guard rule != nil || unlisted == .trust else { throw .unlisted(trust.name, port: port) }
        let trust = rule?.anchors.map { trust.replacingStore($0) } ?? trust
        var decision = PinDecision.unpinned(rule)
        // A path that is accepted without the pins waits until no path has them.
        var unmatched: AcceptedPath?
        do throws(TrustError) {
            let path = try trust.evaluate(
                at: time,
                accepting: { candidate in
                    guard let found = try? decide(candidate, by: rule, port: port, at: time) else { return false }
                    switch found {
                    case .matched, .unpinned, .stopped:
                        decision = found
                        return true
                    case .forgiven, .bypassed:
                        unmatched = unmatched ?? AcceptedPath(path: candidate, decision: found)
                        return false
                    }
                })
            return AcceptedPath(path: path, decision: decision)
        } catch {
            switch error {
            case .untrusted(let finding): throw .untrusted(finding)
            case .refused(let best):
                if let unmatched { return unmatched }
                decision = try decide(best, by: rule, port: port, at: time)
                return AcceptedPath(path: best, decision: decision)
            }
        }
    }

    /// A key that is denied, among certificates that were not verified: nobody can say which places they have.
    package func deniedPin(among presented: [X509Certificate]) -> Pin? {
        presented.lazy.flatMap { deniedPins(of: $0) }.first
    }

    private func deniedPin(on path: VerifiedPath) -> PinMatch? {
        let count = path.certificates.count
        for (index, certificate) in path.certificates.enumerated() {
            guard let pin = deniedPins(of: certificate).first(where: { $0.role.covers(index: index, of: count) })
            else { continue }
            return PinMatch(pin: pin, index: index, role: PinRole(index: index, of: count))
        }
        return nil
    }

    private func deniedPins(of certificate: X509Certificate) -> [Pin] {
        guard !denied.isEmpty else { return [] }
        return (denied[.publicKey(certificate.spkiFingerprint)] ?? [])
            + (denied[.certificate(certificate.fingerprint)] ?? [])
    }

    private func decide(
        _ path: VerifiedPath, by rule: PinningRule?, port: Int, at time: Date
    ) throws(PinningError) -> PinDecision {
        if let match = deniedPin(on: path) { throw .denied(match, path, port: port) }
        guard let rule else {
            guard unlisted == .trust else { throw .unlisted(path.name, port: port) }
            return .unpinned(nil)
        }
        guard rule.mode != .off else { return .unpinned(rule) }
        let expiry = rule.expiry.flatMap { $0.isPast(at: time) ? $0 : nil }
        switch expiry?.action {
        case .fail: throw .expired(rule, path, port: port)
        case .stopPinning: return .stopped(rule)
        case .report, nil: break
        }
        let matches = rule.pins.matches(on: path)
        guard let unmet = rule.unmetRoles(matches, on: path) else { return .matched(matches, rule) }
        let mismatch = PinMismatch(
            rule: rule, path: path, port: port, matches: matches, unmetRoles: unmet, expiry: expiry)
        if let store = rule.pinsBypassedOutside, !store.contains(path.anchor) { return .bypassed(mismatch) }
        guard rule.mode == .report || expiry != nil else { throw .mismatch(mismatch) }
        return .forgiven(mismatch)
    }
}

extension ServerTrust {
    /// The same claim under other anchors.
    package func replacingStore(_ store: TrustStore) -> ServerTrust {
        ServerTrust(presented: presented, name: name, store: store, policy: policy, revocation: revocation)
    }
}
