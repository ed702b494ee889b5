import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension PinningPolicy {
    /// Returns the changes after which a server that another policy accepts can be refused, first those that lock out
    /// every such server, each in order of the hosts. The rule that decides counts, whatever its host and ports are.
    ///
    /// The policies don't show which keys, roots and timestamps servers have. So a change that some server can fail is
    /// a possible lock-out.
    func lockouts(from old: PinningPolicy, knowing certificates: KnownCertificates) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        var seen: Set<PolicyChange> = []
        func add(_ change: PolicyChange) { if seen.insert(change).inserted { changes.append(change) } }
        for change in unlistedLockouts(from: old, knowing: certificates) { add(change) }
        let samples = RuleSamples(of: self, old)
        let targets = Dictionary(grouping: ((try? checkedTargets()) ?? []).map(\.target), by: \.endpoint.name)
        for rule in rules + old.rules {
            var found: [LockoutReason] = []
            // The reasons that `pinctl check` doesn't see at some name.
            var unchecked: Set<LockoutReason> = []
            for name in samples.names(of: rule) {
                let contacted = rule.contacted(by: targets[name] ?? [])
                var checked: Set<LockoutReason> = []
                var reasons: [LockoutReason] = []
                for port in samples.ports(of: rule, at: name, contacted) {
                    let found = RuleComparison(old: old, new: self, for: name, port: port, certificates).reasons
                    reasons += found
                    // mutant sign-contacted: true for `contacted.contains(port)` by PolicyLockoutTests/untargeted
                    if contacted.contains(port) { checked.formUnion(found) }
                }
                unchecked.formUnion(Set(reasons).subtracting(checked))
                found += reasons
            }
            for reason in found {
                add(PolicyChange(host: rule.scope, reason, isChecked: !unchecked.contains(reason)))
            }
        }
        return changes.enumerated().sorted {
            ($0.element.locksOut ? 0 : 1, $0.element.host, $0.offset)
                < ($1.element.locksOut ? 0 : 1, $1.element.host, $1.offset)
        }.map(\.element)
    }

    /// Returns the lock-outs of hosts that may have no rule: those by new denied pins, and by `unlisted`.
    private func unlistedLockouts(
        from old: PinningPolicy, knowing certificates: KnownCertificates
    ) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        // mutant sign-unlisted: false for 1 by PolicyLockoutTests/kinds
        if unlisted == .refuse, old.unlisted == .trust {
            let reason = LockoutReason(
                "they are refused",
                certain: "every server is refused: add a rule for each host that clients connect to")
            changes.append(PolicyChange(host: "hosts without a rule", reason))
        }
        let (denied, before) = (deny.roles, old.deny.roles)
        for pin in deny.map(\.fingerprint) {
            let newly = denied[pin, default: []].subtracting(certificates.roles(of: pin, in: before))
            // mutant sign-newly-denied: {} by PolicyLockoutTests/kinds
            guard !newly.isEmpty else { continue }
            let role = newly == PinRole.any.positions ? "" : " as \(newly.names)"
            let reason = LockoutReason("a server is locked out if \(pin) is in its chain\(role), which isn't known")
            changes.append(PolicyChange(host: "all hosts", reason, isChecked: false))
        }
        return changes
    }

    /// Returns the positions in which a rule's pins are accepted, without those in which they are denied.
    fileprivate func acceptedRoles(
        of rule: PinningRule, knowing certificates: KnownCertificates
    ) -> [PinFingerprint: Set<PinRole>] {
        let denied = deny.roles
        return rule.pins.roles.reduce(into: [:]) { accepted, pin in
            // mutant sign-denied: pin.value by ScriptTests
            let left = pin.value.subtracting(certificates.roles(of: pin.key, in: denied))
            if !left.isEmpty { accepted[pin.key] = left }
        }
    }
}

/// A reason why servers are locked out.
struct LockoutReason: Hashable {
    let message: String
    /// The consequence and the remedy, if no server that was accepted before is accepted now. Otherwise, it depends on
    /// the server.
    let certain: String?
    /// Whether the servers show that they are accepted, although the policies don't.
    let isShownByServers: Bool

    init(_ message: String, certain: String? = nil, isShownByServers: Bool = false) {
        self.message = message
        self.certain = certain
        self.isShownByServers = isShownByServers
    }

    /// Returns the reason for servers that have none of these pins in this role. Each pin has a role of its own if it
    /// counts in fewer positions.
    static func without(
        _ pins: [Pin], _ roles: [PinFingerprint: Set<PinRole>], as role: PinRole
    ) -> LockoutReason {
        let isUniform = pins.allSatisfy { roles[$0.fingerprint, default: []] == role.positions }
        let isShort = isUniform && pins.allSatisfy { $0.kind == .publicKey }
        var titles: [String] = []
        for pin in pins {
            let positions = roles[pin.fingerprint, default: []]
            let own = isUniform || positions == PinRole.any.positions ? "" : " as \(positions.names)"
            let text = (isShort ? pin.title : pin.titleWithKind) + (pin.isBackup ? " (a backup)" : "") + own
            if !titles.contains(text) { titles.append(text) }
        }
        let suffix = isUniform && role != .any ? " as \(role.rawValue)" : ""
        return LockoutReason(
            "a server is locked out unless it has "
                + "\(isShort ? "the key of " : "")\(titles.joined(separator: " or "))\(suffix), which isn't known")
    }

    func since(_ time: Date) -> LockoutReason {
        LockoutReason("from \(time.rfc3339) on, \(message)", certain: certain, isShownByServers: isShownByServers)
    }
}

extension PinningRule {
    /// Returns the ports among those of some targets for this rule's name if they are all that the rule is about: each
    /// port that it lists, or the default port of a target's scheme if it lists none.
    fileprivate func contacted(by targets: [Target]) -> Set<Int> {
        let contacted = Set(targets.map { Int($0.endpoint.port) })
        let startTLS = check.startTLS.flatMap(StartTLSProtocol.init)
        let isComplete =
            ports?.isSubset(of: contacted)
            ?? targets.contains { Target($0.endpoint, startTLS: $0.startTLS ?? startTLS).hasDefaultPort }
        return isComplete ? contacted : []
    }
}

/// Names and ports at which two policies are compared, at least one of each kind for each rule.
struct RuleSamples {
    private let policies: [PinningPolicy]
    /// A label that no host has, so that no rule for a host takes the place of the rule for names below its parent.
    private let label: String

    init(of policies: PinningPolicy...) {
        self.policies = policies
        let hosts = policies.flatMap(\.rules).map(\.host.description)
        let labels = Set(hosts.flatMap { $0.split(separator: ".").map(String.init) })
        // mutant sign-label: true for `!labels.contains($0)` by PolicyLockoutTests/label
        label = (0...labels.count).lazy.map { "any\($0)" }.first { !labels.contains($0) } ?? "any"
    }

    func names(of rule: PinningRule) -> [ServerName] {
        let below = rule.includesSubdomains ? try? ServerName("\(label).\(rule.host)") : nil
        return [rule.host] + (below.map { [$0] } ?? [])
    }

    /// Returns the ports of a rule at one of its names. For a rule without ports, they are those that the rules for the
    /// name list, and one more, which stands for all others: if possible, one of `preferred`.
    func ports(of rule: PinningRule, at name: ServerName, _ preferred: Set<Int> = []) -> [Int] {
        if let ports = rule.ports { return ports.sorted() }
        let listed = policies.flatMap { $0.rules(covering: name) }
            .reduce(into: Set<Int>()) { $0.formUnion($1.ports ?? []) }
        let other = (preferred.sorted() + Array(1...listed.count + 1)).first { !listed.contains($0) }
        // mutant sign-other-port: [] for `(other.map { [$0] } ?? [])` by PolicyLockoutTests/kinds
        return listed.sorted() + (other.map { [$0] } ?? [])
    }
}

/// The comparison of what two policies decide for a host and port.
private struct RuleComparison {
    private let old: PinningPolicy
    private let new: PinningPolicy
    private let before: PinningRule?
    private let now: PinningRule?
    private let certificates: KnownCertificates

    init(
        old: PinningPolicy, new: PinningPolicy, for name: ServerName, port: Int, _ certificates: KnownCertificates
    ) {
        (self.old, self.new, self.certificates) = (old, new, certificates)
        before = old.rule(for: name, port: port)
        now = new.rule(for: name, port: port)
    }

    var reasons: [LockoutReason] {
        guard before != nil || old.unlisted == .trust else { return [] }
        guard now != nil || new.unlisted == .trust else {
            // The hosts that had no rule before have a reason of their own.
            guard before != nil else { return [] }
            return [
                LockoutReason(
                    "isn't pinned any more, and hosts without a rule are refused",
                    certain: "no rule covers it any more, so every server is refused: keep a rule for it")
            ]
        }
        return anchorReasons + transparencyReasons + modeReasons
    }

    // MARK: - Trust

    private var anchorReasons: [LockoutReason] {
        let possible = "a server is locked out unless its chain ends at"
        switch (before?.anchors, now?.anchors) {
        case (nil, nil): return []
        // mutant sign-anchors-added: [] by PolicyLockoutTests/kinds
        case (nil, _?): return [LockoutReason("\(possible) one of the rule's own anchors, which isn't known")]
        case (_?, nil):
            // mutant sign-anchors-removed: [] by PolicyLockoutTests/kinds
            return [LockoutReason("\(possible) an anchor of the clients' own trust store, which isn't known")]
        case (let known?, let anchors?):
            guard known.digest != anchors.digest else { return [] }
            let reason = LockoutReason("\(possible) one of the anchors that the rule has now, which isn't known")
            guard let certificates = known.certificates else { return [reason] }
            guard !certificates.contains(where: anchors.containsKey(of:)) else {
                // mutant sign-anchors-changed: [] by PolicyLockoutTests/kinds
                return certificates.allSatisfy(anchors.contains) ? [] : [reason]
            }
            // A chain may still contain a CA that is an anchor now.
            let isBelow = anchors.certificates.map { all in
                all.contains { !$0.isSelfIssued && !known.issuers(of: $0).isEmpty }
            }
            // mutant sign-anchors-replaced: false by PolicyLockoutTests/kinds
            guard isBelow == false else { return [reason] }
            return [
                LockoutReason(
                    "none of the anchors before is left",
                    certain: "no trust anchor of the bundle before is left, so its server must change its chain in the "
                        + "same moment: keep one of the anchors until the server has a chain under a new one")
            ]
        }
    }

    private var transparencyReasons: [LockoutReason] {
        let needed = "a server is locked out unless its leaf has enough Certificate Transparency timestamps"
        return switch (before?.certificateTransparency, now?.certificateTransparency) {
        case (.require, _): []
        // mutant sign-transparency: [] by PolicyLockoutTests/kinds
        case (_, .require): [LockoutReason("\(needed), which isn't known")]
        // mutant sign-transparency-left: [] by PolicyLockoutTests/kinds
        case (_?, nil): [LockoutReason("\(needed) where clients require them, which isn't known")]
        default: []
        }
    }

    // MARK: - Pins

    /// The reasons before either rule has expired, and from then on.
    private var modeReasons: [LockoutReason] {
        var reasons: [LockoutReason] = []
        let ends = Set([before?.expiry?.end, now?.expiry?.end].compactMap(\.self))
        // mutant sign-expiry-later: [] for `ends.sorted()` by PolicyLockoutTests/kinds
        for time in [Date.distantPast] + ends.sorted() {
            let circumstances = DecisionCircumstances(at: time)
            func mode(_ rule: PinningRule?) -> PinningMode? {
                rule.map { $0.modeInEffect(under: circumstances) } ?? .off
            }
            guard let earlier = mode(before) else { continue }
            guard let mode = mode(now) else {
                // mutant sign-expiry-fail: {} by PolicyLockoutTests/kinds
                reasons.append(
                    LockoutReason(
                        "every server is refused from \(time.rfc3339) on",
                        certain: "every server is refused from \(time.rfc3339) on, unless clients get a later bundle: "
                            + "choose a later \"expires\", or another \"onExpiry\""))
                break
            }
            guard mode == .enforce, let now else { continue }
            let found = pinReasons(from: earlier == .enforce ? before : nil, to: now)
            for reason in found where !reasons.contains(reason) {
                reasons.append(time == .distantPast ? reason : reason.since(time))
            }
        }
        return reasons
    }

    /// The reasons for a rule that is enforced. `before` is the rule before if that was enforced too.
    private func pinReasons(from before: PinningRule?, to now: PinningRule) -> [LockoutReason] {
        let accepted = new.acceptedRoles(of: now, knowing: certificates)
        let required = now.requirement.roles.required
        guard let before else { return required.map { newly($0, accepted, now) } }
        let known = old.acceptedRoles(of: before, knowing: certificates)
        /// Returns the pins that accept some servers with one of these, with the positions in which they do.
        func left(of pins: [PinFingerprint: Set<PinRole>]) -> [PinFingerprint: Set<PinRole>] {
            pins.reduce(into: [:]) { left, pin in
                for other in certificates.related(to: pin.key) {
                    // mutant sign-role: accepted[other, default: []] by PolicyLockoutTests/kinds
                    let common = accepted[other, default: []].intersection(pin.value)
                    if !common.isEmpty { left[other, default: []].formUnion(common) }
                }
            }
        }
        func replaced(_ role: PinRole) -> LockoutReason {
            let moved = known.compactMap { pin, roles in
                accepted[pin].map { "\(pin) is accepted as \($0.names), before as \(roles.names)" }
            }
            let isKept = !moved.isEmpty
            let suffix = role == .any ? isKept ? " in its role" : "" : " as \(role.rawValue)"
            let shown = isKept ? " (\(moved.sorted().joined(separator: ", ")))" : ""
            let unknown = certificates.unknown(among: known.keys, and: accepted.keys)
            return LockoutReason(
                "none of the pins before is left\(suffix)",
                certain: "no pin of the bundle before is left\(suffix)\(shown)"
                    + (unknown
                        ?? ", so its server must change its key in the same moment: keep one of the pins, in its role, "
                        + "until the server serves a new one"),
                isShownByServers: unknown != nil)
        }
        // mutant sign-lockout: true by PolicyLockoutTests/kinds
        guard !left(of: known).isEmpty else { return [replaced(.any)] }
        var reasons: [LockoutReason] = []
        // mutant sign-bypass: false for 2 by PolicyLockoutTests/kinds
        if before.pinsApplyOnlyUnder != nil, now.pinsApplyOnlyUnder == nil {
            reasons.append(
                LockoutReason(
                    "chains to local roots need a pin",
                    certain: "clients with a proxy's root, whose chains needed no pin, are locked out: keep "
                        + "\"localAnchorsBypassPins\""))
        }
        for role in required {
            // Each set of pins of which a server had one, in a position of this role.
            let sets = before.requirement.roles.required.map { known.within($0.positions) }
                .filter { set in set.values.allSatisfy { $0.isSubset(of: role.positions) } }
            guard !sets.isEmpty else {
                // mutant sign-required: {} by PolicyLockoutTests/kinds
                reasons.append(newly(role, accepted, now))
                continue
            }
            // A server may have any of the keys, also that of a backup, since nothing shows when it begins to use it.
            let isLost = sets.allSatisfy { set in
                // mutant sign-unproven: false for `!roles.isSubset(of: certificates.roles(of: pin, in: accepted))` by
                //   PolicyLockoutTests/kinds
                set.contains { pin, roles in !roles.isSubset(of: certificates.roles(of: pin, in: accepted)) }
            }
            guard isLost else { continue }
            guard let left = sets.map(left).first(where: { !$0.isEmpty }) else {
                // mutant sign-required-left: {} by PolicyLockoutTests/kinds
                reasons.append(replaced(role))
                continue
            }
            reasons.append(.without(now.pins.filter { left[$0.fingerprint] != nil }, left, as: role))
        }
        return reasons
    }

    /// Returns the reason for a role in which no match was required.
    private func newly(
        _ role: PinRole, _ accepted: [PinFingerprint: Set<PinRole>], _ rule: PinningRule
    ) -> LockoutReason {
        let matching = accepted.within(role.positions)
        guard !matching.isEmpty else {
            return LockoutReason(
                "no pin can match as \(role.rawValue)",
                certain: "no pin can match as \(role.rawValue), so every server is refused: add a pin")
        }
        return .without(rule.pins.filter { matching[$0.fingerprint] != nil }, matching, as: role)
    }
}

extension [PinFingerprint: Set<PinRole>] {
    /// Returns the pins that count in some of these positions, in those.
    fileprivate func within(_ positions: Set<PinRole>) -> Self {
        mapValues { $0.intersection(positions) }.filter { !$0.value.isEmpty }
    }
}
