public import CertificateTrust
public import PinctlFoundation

/// A set of rules that map hosts to the public keys they must present.
///
/// A policy never extends trust. It only decides on paths that are already verified, and can refuse them.
public struct PinningPolicy: Sendable {
    /// The rules in their original order.
    public let rules: [PinningRule]
    /// The behavior for a host that no rule covers.
    public let unlisted: UnlistedHosts
    /// The keys and certificates that no verified path may contain. They apply to every host, whatever its rule and
    /// mode are.
    public let deny: [Pin]
    /// The SHA-256 of everything that affects decisions, 32 bytes. Policies with the same digest decide alike.
    public let digest: [UInt8]
    private let table: RuleTable<PinningRule>
    /// The pins of ``deny`` by object. They are looked up for every certificate of every candidate path.
    private let denied: [PinFingerprint: [Pin]]
    /// Whether ``deny`` has pins of whole certificates.
    private let deniesCertificates: Bool
    /// Whether any rule has anchors of its own.
    package let hasAnchors: Bool

    /// Creates a policy from rules.
    ///
    /// Throws the first reason why the rules are invalid: no rule, a rule without pins, rules for the same host and
    /// port, or a rule for all names below a public suffix.
    public init(
        rules: [PinningRule], unlisted: UnlistedHosts = .trust, deny: [Pin] = [],
        publicSuffixes: PublicSuffixes = .system
    ) throws(PolicyError) {
        // mutant no-rules: true by PolicyProblemTests PolicyInCodeTests RuleChoiceTests
        guard !rules.isEmpty else { throw .noRules }
        for rule in rules {
            if let problem = rule.problems(publicSuffixes: publicSuffixes).first { throw problem }
        }
        let table = RuleTable(rules, combination: .closest)
        if let (earlier, later) = table.overlaps().first {
            throw .overlap(host: rules[later].host, earlier: rules[earlier].location)
        }
        self.init(checked: table, unlisted, deny: deny)
    }

    /// The policy for programs without one. It accepts every host whose chain is verified.
    package static let unpinned = PinningPolicy(checked: RuleTable([], combination: .closest), .trust, deny: [])

    /// Creates a policy with one rule, which requires one of these pins in any role. Without pins, it refuses the host.
    package init(pinning host: ServerName, to pins: [Pin]) {
        self.init(
            checked: RuleTable([PinningRule(host: host, pins: pins)], combination: .closest), .trust, deny: [])
    }

    /// Creates a policy from rules that are known to be valid.
    init(checked table: RuleTable<PinningRule>, _ unlisted: UnlistedHosts, deny: [Pin]) {
        rules = table.rules
        self.table = table
        self.unlisted = unlisted
        self.deny = deny
        denied = Dictionary(grouping: deny, by: \.fingerprint)
        deniesCertificates = deny.contains { $0.kind == .certificate }
        hasAnchors = rules.contains { $0.anchors != nil }
        digest = policyDigest(rules, unlisted, deny: deny)
    }
}

extension PinningPolicy {
    /// Returns the rule for a host and port: the rule of the exact host, otherwise that of the longest parent that
    /// includes subdomains.
    ///
    /// Rules that don't cover the host or the port are skipped. Rules are never merged.
    public func rule(for name: ServerName, port: Int) -> PinningRule? {
        table.index(for: name, port: port).map { rules[$0] }
    }

    /// Returns the anchors of the rule for a host and port, or `nil` if there is no rule or it has none of its own.
    package func anchors(for name: ServerName, port: Int) -> TrustStore? {
        // Few policies have any, and each request asks.
        hasAnchors ? rule(for: name, port: port)?.anchors : nil
    }

    /// Returns every rule that covers a host at some port.
    package func rules(covering name: ServerName) -> [PinningRule] { table.rules(covering: name) }

    /// Whether cleartext connections to a host are allowed, although they have no keys to compare. They are allowed if
    /// none of the rules that cover the host at any port is enforced. For a host without a rule, ``unlisted`` decides.
    public func permitsCleartext(to name: ServerName) -> Bool {
        let covering = rules(covering: name)
        // mutant cleartext-any-port: covering.first?.mode != .enforce for `$0.mode != .enforce` by RuleChoiceTests
        //   PinDecisionTests DecisionSpecificationTests/rules
        // mutant cleartext-unlisted: true for `unlisted == .trust` by RuleChoiceTests PinDecisionTests
        //   DecisionSpecificationTests/rules
        return covering.isEmpty ? unlisted == .trust : covering.allSatisfy { $0.mode != .enforce }
    }

    /// Decides on a verified path to `path.name` at `time`, as if it were the chain's only one. Has no side effects.
    public func decide(_ path: VerifiedPath, port: Int, at time: Date) throws(PinningError) -> PinDecision {
        try decide(path, by: table.index(for: path.name, port: port), port: port, at: time)
    }

    /// Verifies the certificates that a server presented and compares the pins. Uses the rule's own anchors if it has
    /// any.
    ///
    /// The pins take part in path building. If several paths are valid, the result is one that has the required pins
    /// and nothing denied. A path that ends at an anchor for which the rule bypasses the pins is the result only if
    /// every valid path does. A chain that isn't trusted is refused in every mode.
    public func evaluate(_ trust: ServerTrust, port: Int, at time: Date) throws(PinningError) -> PinDecision {
        let index = table.index(for: trust.name, port: port)
        let rule = index.map { rules[$0] }
        // mutant unlisted-unverified: true by PinDecisionTests/unlisted
        guard rule != nil || unlisted == .trust else { throw .unlisted(trust.name, port: port) }
        let trust = rule.map { trust.under($0) } ?? trust
        var accepted: PinDecision?
        // Acceptances without a match, used only if no path has the pins.
        var forgiven: PinDecision?
        var bypassed: PinDecision?
        // Whether a path ends at an anchor under which the pins apply. Then they apply to the server, and a root that
        // the client also has, such as one of a company that cross-signed a public CA, doesn't turn them off.
        var isUnderPins = false
        // The limit that ended the search. A path to such an anchor may be among those that weren't tried.
        var limit: TrustFinding?
        // The refusal of the best path.
        var refusal: PinningError?
        do throws(TrustFinding) {
            _ = try trust.evaluate(
                at: time,
                accepting: { candidate in
                    // mutant bypass-only-way: false by DeniedPinTests/bypassBesideAnchor
                    if rule?.pinsApplyOnlyUnder?.contains(candidate.anchor) == true { isUnderPins = true }
                    do throws(PinningError) {
                        let decision = try decide(candidate, by: index, port: port, at: time)
                        switch decision {
                        case .matched, .unpinned, .stopped: accepted = decision
                        case .forgiven: forgiven = forgiven ?? decision
                        case .bypassed: bypassed = bypassed ?? decision
                        }
                    } catch {
                        refusal = refusal ?? error
                    }
                    // mutant pinned-path: true by PinAttackTests/pinnedPathFound DeniedPinTests
                    return accepted != nil
                },
                tracing: { limit = limit ?? $0.limit })
        } catch {
            throw .untrusted(error)
        }
        if let decision = accepted ?? forgiven { return decision }
        if let bypassed, !isUnderPins {
            guard let limit else { return bypassed }
            throw .untrusted(limit)
        }
        // Every path that isn't accepted has a refusal, and there is one if the pins apply.
        throw refusal ?? .unlisted(trust.name, port: port)
    }

    /// Returns the same policy with more denied pins.
    package func denying(_ pins: [Pin]) -> PinningPolicy {
        PinningPolicy(checked: table, unlisted, deny: deny + pins)
    }

    /// Returns a denied key among certificates that weren't verified. Their positions are unknown, so the pins' roles
    /// are ignored.
    package func deniedPin(among presented: [X509Certificate]) -> Pin? {
        // mutant unverified-deny: nil by DeniedPinTests PinnedRequestTests VerdictTests ServerTrustChallengeTests
        presented.lazy.flatMap { deniedPins(of: $0) }.first
    }

    private func deniedPin(on path: VerifiedPath) -> PathMatch<Pin>? {
        let count = path.certificates.count
        for (index, certificate) in path.certificates.enumerated() {
            let pins = deniedPins(of: certificate) + deniedPins(equivalentTo: index, on: path.certificates)
            guard let pin = pins.first(where: { $0.role.covers(index: index, of: count) }) else { continue }
            return PathMatch(pin: pin, index: index)
        }
        return nil
    }

    private func deniedPins(of certificate: X509Certificate) -> [Pin] {
        guard !denied.isEmpty else { return [] }
        return (denied[.publicKey(certificate.spkiFingerprint)] ?? [])
            // mutant deny-certificate: [] for `(denied[.certificate(certificate.fingerprint)] ?? [])` by DeniedPinTests
            + (denied[.certificate(certificate.fingerprint)] ?? [])
    }

    /// Returns the denied certificates that differ from a verified one only in what its issuer didn't sign. A server
    /// could otherwise change that to evade the pin.
    private func deniedPins(equivalentTo index: Int, on path: [X509Certificate]) -> [Pin] {
        // mutant deny-equivalent: false for `deniesCertificates` by DeniedPinTests/otherForm
        guard deniesCertificates else { return [] }
        guard let fingerprints = path.equivalentFingerprints(at: index) else {
            return deny.filter { $0.kind == .certificate }
        }
        return fingerprints.flatMap { denied[.certificate($0)] ?? [] }
    }

    /// Decides by the rule with this index, or as for a host without a rule.
    private func decide(
        _ path: VerifiedPath, by index: Int?, port: Int, at time: Date
    ) throws(PinningError) -> PinDecision {
        let count = path.certificates.count
        var fingerprints = PathFingerprints<Pin>(path.certificates)
        let decision = PathDecision.by(
            // mutant deny-on-path: [] for `deniedPin(on: path).map { [$0] } ?? []` by DeniedPinTests
            //   DecisionSpecificationTests/settings
            index.map { rules[$0...$0] } ?? [], unlisted: unlisted, denied: deniedPin(on: path).map { [$0] } ?? [],
            length: count, anchor: path.anchor, under: DecisionCircumstances(at: time)
        ) { fingerprints.hasMatch($0, at: $1) }
        let matches = decision.matches.map {
            PinMatch(pin: $0.pin, index: $0.index, role: PinRole(index: $0.index, of: count))
        }
        func mismatch(_ rule: PinningRule) -> PinMismatch {
            PinMismatch(
                rule: rule, path: path, port: port, matches: matches, unmetRoles: decision.unmetRoles,
                expiry: rule.expiry.flatMap { $0.isPast(at: time) ? $0 : nil })
        }
        let rule = index.map { rules[$0] }
        switch decision.verdict {
        case .unpinned: return .unpinned(path, rule)
        case .matched: if let rule { return .matched(path, matches, rule) }
        case .stopped: if let rule { return .stopped(path, rule) }
        case .bypassed: if let rule { return .bypassed(mismatch(rule)) }
        case .forgiven: if let rule { return .forgiven(mismatch(rule)) }
        case .refused: if let rule { throw .mismatch(mismatch(rule)) }
        // mutant expiry-fail: { return .stopped(path, rule) } for `throw .expired(rule, path, port: port)` by
        //   PinningExpiryTests/actions
        case .ended: if let rule { throw .expired(rule, path, port: port) }
        case .denied: if let match = matches.first { throw .denied(match, path, port: port) }
        case .unlisted: break
        }
        throw .unlisted(path.name, port: port)
    }
}

extension ServerTrust {
    /// Returns the same server trust with other anchors.
    package func replacingStore(_ store: TrustStore) -> ServerTrust {
        ServerTrust(
            presented: presented, name: name, store: store, policy: policy, revocation: revocation,
            transparency: transparency)
    }

    /// Returns the same server trust with the anchors and the trust settings of a rule, where it has its own.
    package func under(_ rule: PinningRule) -> ServerTrust {
        guard rule.anchors != nil || rule.certificateTransparency != nil else { return self }
        var policy = policy
        if let mode = rule.certificateTransparency { policy.certificateTransparency = mode }
        return ServerTrust(
            // mutant own-anchors: store for `rule.anchors ?? store` by PinDecisionTests/anchors
            presented: presented, name: name, store: rule.anchors ?? store, policy: policy, revocation: revocation,
            transparency: transparency)
    }
}

extension PinningPolicy: CustomStringConvertible {
    /// One line for each rule, and the treatment of all other hosts.
    public var description: String {
        (rules.map(\.description) + deny.map { "denied: \($0)" } + ["unlisted hosts: \(unlisted.rawValue)"])
            .joined(separator: "\n")
    }
}
