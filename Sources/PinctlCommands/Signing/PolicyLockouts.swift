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
    func lockouts(from old: PinningPolicy) -> [PolicyChange] {
        var changes = unlistedLockouts(from: old)
        let samples = RuleSamples(of: rules + old.rules)
        let contacted = contactedEndpoints
        for rule in rules + old.rules {
            var found: [LockoutReason] = []
            // The reasons that `pinctl check` doesn't see at some name.
            var unchecked: Set<LockoutReason> = []
            for name in samples.names(of: rule) {
                var reasons: [LockoutReason] = []
                var checked: Set<LockoutReason> = []
                for port in samples.ports(of: rule) {
                    let comparison = RuleComparison(old: old, new: self, for: name, port: port)
                    reasons += comparison.reasons
                    // mutant sign-contacted: true for `isChecked(rule, name, contacted)` by
                    //   PolicyLockoutTests/untargeted
                    guard isChecked(rule, name, contacted), (rule.ports ?? [443]).contains(port) else { continue }
                    checked.formUnion(comparison.reasons)
                }
                unchecked.formUnion(Set(reasons).subtracting(checked))
                found += reasons
            }
            for reason in found {
                let change = PolicyChange(host: rule.scope, reason, isChecked: !unchecked.contains(reason))
                if !changes.contains(change) { changes.append(change) }
            }
        }
        return changes.enumerated().sorted {
            ($0.element.locksOut ? 0 : 1, $0.element.host, $0.offset)
                < ($1.element.locksOut ? 0 : 1, $1.element.host, $1.offset)
        }.map(\.element)
    }

    /// The names and ports that `pinctl check` connects to. Empty if a target can't be parsed.
    private var contactedEndpoints: Set<String> {
        Set(((try? checkedTargets()) ?? []).map(\.target.endpoint).map { "\($0.name) \($0.port)" })
    }

    /// Returns whether `pinctl check` connects to a name at each port that a rule lists, or at the default port of one
    /// that lists none.
    private func isChecked(_ rule: PinningRule, _ name: ServerName, _ contacted: Set<String>) -> Bool {
        (rule.ports ?? [443]).allSatisfy { contacted.contains("\(name) \($0)") }
    }

    /// Returns the lock-outs of hosts that may have no rule: those by new denied pins, and by `unlisted`.
    private func unlistedLockouts(from old: PinningPolicy) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        // mutant sign-unlisted: false for 1 by PolicyLockoutTests/kinds
        if unlisted == .refuse, old.unlisted == .trust {
            let reason = LockoutReason(
                "they are refused",
                certain: "every server is refused: add a rule for each host that clients connect to")
            changes.append(PolicyChange(host: "hosts without a rule", reason))
        }
        let (denied, before) = (deny.roles, old.deny.roles)
        // mutant sign-newly-denied: false by PolicyLockoutTests/kinds
        for pin in deny.map(\.fingerprint) where denied[pin]?.isSubset(of: before[pin] ?? []) == false {
            let reason = LockoutReason("a server is locked out if \(pin) is in its chain, which isn't known")
            let change = PolicyChange(host: "all hosts", reason, isChecked: false)
            if !changes.contains(change) { changes.append(change) }
        }
        return changes
    }

    /// Returns the positions in which a rule's pins are accepted, without those in which they are denied.
    fileprivate func acceptedRoles(of rule: PinningRule) -> [PinFingerprint: Set<PinRole>] {
        let denied = deny.roles
        return rule.pins.roles.reduce(into: [:]) { accepted, pin in
            // mutant sign-denied: pin.value by ScriptTests
            let left = pin.value.subtracting(denied[pin.key] ?? [])
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

    init(_ message: String, certain: String? = nil) {
        self.message = message
        self.certain = certain
    }

    /// Returns the reason for servers without the key of a pin in this role.
    static func keys(_ pins: String, as role: PinRole) -> LockoutReason {
        let role = role == .any ? "" : " as \(role.rawValue)"
        return LockoutReason("a server is locked out unless it has the key of \(pins)\(role), which isn't known")
    }

    func since(_ time: Date) -> LockoutReason { LockoutReason("from \(time.rfc3339) on, \(message)", certain: certain) }
}

/// Names and ports at which two policies are compared, at least one of each kind for each rule.
struct RuleSamples {
    /// A label that no host has, so that no rule for a host takes the place of the rule for names below its parent.
    private let label: String
    /// Each port that some rule lists, the default and one more.
    private let ports: [Int]

    init(of rules: [PinningRule]) {
        let labels = Set(rules.flatMap { $0.host.description.split(separator: ".").map(String.init) })
        // mutant sign-label: true for `!labels.contains($0)` by PolicyLockoutTests/label
        label = (0...labels.count).lazy.map { "any\($0)" }.first { !labels.contains($0) } ?? "any"
        let listed = rules.reduce(into: Set([443])) { $0.formUnion($1.ports ?? []) }
        let other = (1...65_535).first { !listed.contains($0) }
        // mutant sign-other-port: [] for `(other.map { [$0] } ?? [])` by PolicyLockoutTests/kinds
        ports = listed.sorted() + (other.map { [$0] } ?? [])
    }

    func names(of rule: PinningRule) -> [ServerName] {
        let below = rule.includesSubdomains ? try? ServerName("\(label).\(rule.host)") : nil
        return [rule.host] + (below.map { [$0] } ?? [])
    }

    func ports(of rule: PinningRule) -> [Int] { rule.ports?.sorted() ?? ports }
}

/// The comparison of what two policies decide for a host and port.
private struct RuleComparison {
    private let old: PinningPolicy
    private let new: PinningPolicy
    private let before: PinningRule?
    private let now: PinningRule?

    init(old: PinningPolicy, new: PinningPolicy, for name: ServerName, port: Int) {
        (self.old, self.new) = (old, new)
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
        let accepted = new.acceptedRoles(of: now)
        let required = now.requirement.roles.required
        guard let before else { return required.map { newly($0, accepted, now) } }
        let known = old.acceptedRoles(of: before)
        /// Returns those of some pins that are accepted now in each of these positions.
        func left(of pins: [PinFingerprint: Set<PinRole>]) -> [PinFingerprint: Set<PinRole>] {
            // mutant sign-role: accepted[pin] != nil for `accepted[pin]?.isSuperset(of: roles) == true` by
            //   ScriptTests
            pins.filter { pin, roles in accepted[pin]?.isSuperset(of: roles) == true }
        }
        func replaced(_ role: PinRole) -> LockoutReason {
            let isKept = known.keys.contains { accepted[$0] != nil }
            let suffix = role == .any ? isKept ? " in its role" : "" : " as \(role.rawValue)"
            return LockoutReason(
                "none of the pins before is left\(suffix)",
                certain: "no pin of the bundle before is left\(role == .any ? "" : suffix), so its server must change "
                    + "its key in the same moment: keep one of the pins, in its role, until the server serves a new one"
            )
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
            // A server may have any of the keys but those of backups.
            let lost = sets.filter { set in
                let left = left(of: set)
                return before.pins.contains {
                    // mutant sign-unproven: false for `left[$0.fingerprint] == nil` by ScriptTests
                    set[$0.fingerprint] != nil && left[$0.fingerprint] == nil && !$0.isBackup
                } || left.isEmpty
            }
            guard lost.count == sets.count else { continue }
            guard let set = lost.map(left).first(where: { !$0.isEmpty }) else {
                // mutant sign-required-left: {} by PolicyLockoutTests/kinds
                reasons.append(replaced(role))
                continue
            }
            let pins = before.pins.filter { set[$0.fingerprint] != nil }.alternatives
            reasons.append(.keys(pins, as: role))
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
        return .keys(rule.pins.filter { matching[$0.fingerprint] != nil }.alternatives, as: role)
    }
}

extension [PinFingerprint: Set<PinRole>] {
    /// Returns the pins that count in some of these positions, in those.
    fileprivate func within(_ positions: Set<PinRole>) -> Self {
        mapValues { $0.intersection(positions) }.filter { !$0.value.isEmpty }
    }
}

extension [Pin] {
    /// The pins, of which one is enough, as text.
    fileprivate var alternatives: String {
        reduce(into: [String]()) { titles, pin in
            let title = "\(pin.title)\(pin.isBackup ? " (a backup)" : "")"
            if !titles.contains(title) { titles.append(title) }
        }
        .joined(separator: " or ")
    }
}
