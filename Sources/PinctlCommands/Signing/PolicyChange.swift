import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A change between two policies for the servers of one rule.
struct PolicyChange: Sendable, Hashable {
    /// The name of a change that has to be allowed: no server that was accepted before is accepted.
    static let lockout = "lockout"
    /// The name of a change that has to be allowed: sequence numbers are left out, and the changes between aren't
    /// shown.
    static let gap = "gap"
    static let allowable = [lockout, gap]

    enum Direction: String, Sendable {
        case stricter, weaker, changed
    }

    let host: String
    let direction: Direction
    let message: String
    /// The consequence and the remedy of a change after which no server that the policy before accepted is accepted.
    var lockout: String?
    /// Whether servers can be refused that were accepted before, which the policies don't show.
    var dependsOnServers = false
    /// Whether `pinctl check` of the policy shows whether they are.
    var isChecked = true
    /// Whether the servers show that they are accepted, although the policies don't.
    var isShownByServers = false

    /// Whether no server that the policy before accepted is accepted now.
    var locksOut: Bool { lockout != nil }
}

extension PolicyChange {
    init(host: String, _ reason: LockoutReason, isChecked: Bool = true) {
        self.init(
            host: host, direction: .stricter, message: reason.message, lockout: reason.certain,
            dependsOnServers: reason.certain == nil, isChecked: isChecked, isShownByServers: reason.isShownByServers)
    }
}

extension PolicyChange: CustomStringConvertible {
    var description: String { "\(host): \(direction.rawValue): \(message)" }
}

extension PolicyBundle {
    /// Returns the changes from an earlier bundle, or none without one. Files that pins come from are read beside
    /// `path`.
    func changes(from previous: PolicyBundle?, besides path: String) throws(PolicyBundleError) -> [PolicyChange] {
        guard let previous else { return [] }
        do throws(PolicyFileError) {
            let (new, old) = (try policyFile().policy, try previous.policyFile().policy)
            let certificates = KnownCertificates(of: [new, old], in: [self, previous], besides: path)
            return new.changes(from: old, knowing: certificates)
        } catch {
            throw .policy(error)
        }
    }
}

extension PinningPolicy {
    /// Returns the changes from another policy, in order of the hosts.
    func changes(from old: PinningPolicy, knowing certificates: KnownCertificates) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        func add(_ host: String, _ direction: PolicyChange.Direction, _ message: String) {
            changes.append(PolicyChange(host: host, direction: direction, message: message))
        }
        if unlisted == .trust, old.unlisted == .refuse { add("hosts without a rule", .weaker, "they are accepted") }
        let (denied, before) = (deny.roles, old.deny.roles)
        var seen: Set<PinFingerprint> = []
        for pin in (deny + old.deny).map(\.fingerprint) where seen.insert(pin).inserted {
            let (now, then) = (denied[pin] ?? [], before[pin] ?? [])
            // A pin that is denied in every role needs no name of one.
            func text(_ roles: Set<PinRole>) -> String { roles.names == "any" ? "" : " as \(roles.names)" }
            let (added, removed) = (now.subtracting(then), then.subtracting(now))
            if !added.isEmpty { add("all hosts", .stricter, "\(pin) is denied\(text(added))") }
            // mutant sign-deny-role: false by PolicyLockoutTests/weaker
            if !removed.isEmpty { add("all hosts", .weaker, "\(pin) isn't denied\(text(removed)) any more") }
        }
        let (new, known) = (Self.byScope(rules), Self.byScope(old.rules))
        let samples = RuleSamples(of: self, old)
        for scope in Set(new.keys).union(known.keys).sorted() {
            switch (known[scope], new[scope]) {
            case (nil, let to?):
                let (before, bare) = old.decisions(on: to, samples)
                // mutant sign-first-rule: false for `old.unlisted == .refuse` by PolicyLockoutTests/weaker
                let isFirst = old.unlisted == .refuse
                let direction: PolicyChange.Direction =
                    isFirst ? .weaker : to.mode == .enforce ? .stricter : .changed
                let effect =
                    (to.mode == .enforce ? "pinned" : "in mode \(to.mode.rawValue)")
                    + (isFirst ? ", and was refused before" : "")
                // mutant sign-rule: true by ScriptTests
                if before.isEmpty {
                    add(scope, direction, "is \(effect)")
                } else {
                    add(scope, .changed, "has a rule of its own, before that for \(before.scopes)")
                    // mutant sign-bare-before: [String]() for `bare` by PolicyLockoutTests/bare
                    for part in bare { add(scope, direction, "\(part), without a rule before, is \(effect)") }
                }
                for from in before { changes += to.changes(from: from, scope, certificates) }
            case (let from?, nil):
                let (now, bare) = decisions(on: from, samples)
                let direction: PolicyChange.Direction = unlisted == .refuse ? .stricter : .weaker
                if now.isEmpty {
                    add(scope, direction, "isn't pinned any more")
                } else {
                    add(scope, .changed, "has no rule of its own any more, and that for \(now.scopes) applies")
                    // mutant sign-bare: [String]() for `bare` by PolicyLockoutTests/bare
                    for part in bare { add(scope, direction, "\(part) isn't pinned any more") }
                }
                // The changes to a new rule are shown under its own hosts, if this rule decided there.
                for to in now {
                    let decided = known[to.scope] == nil ? old.decisions(on: to, samples).rules : []
                    // mutant sign-rule-left: true by ScriptTests
                    let isShown = decided.contains { $0.scope == scope }
                    if !isShown { changes += to.changes(from: from, scope, certificates) }
                }
            case (let from?, let to?): changes += to.changes(from: from, scope, certificates)
            case (nil, nil): break
            }
        }
        return changes + lockouts(from: old, knowing: certificates)
    }

    /// Returns the rules that decide for the hosts of a rule of another policy, in order of their hosts, and in words
    /// the hosts and ports for which none does.
    private func decisions(
        on other: PinningRule, _ samples: RuleSamples
    ) -> (rules: [PinningRule], bare: [String]) {
        var found: [PinningRule] = []
        var bare: [String] = []
        for name in samples.names(of: other) {
            let ports = samples.ports(of: other, at: name)
            found += ports.compactMap { rule(for: name, port: $0) }
            let without = ports.filter { rule(for: name, port: $0) == nil }
            guard !without.isEmpty else { continue }
            let title = name == other.host ? "\(name)" : "every other name below \(other.host)"
            // The last port stands for all that no rule lists.
            let words = without.map { other.ports == nil && $0 == ports.last ? "every other port" : "port \($0)" }
            bare.append(without.count == ports.count ? title : "\(title) at \(enumeration(words))")
        }
        return (Self.byScope(found).sorted { $0.key < $1.key }.map(\.value), bare)
    }

    /// Returns rules by the hosts and ports that they cover.
    private static func byScope(_ rules: [PinningRule]) -> [String: PinningRule] {
        Dictionary(rules.map { ($0.scope, $0) }) { first, _ in first }
    }
}

extension PinningRule {
    /// The hosts and ports that the rule covers, as text.
    var scope: String {
        let list = ports.map { ":" + $0.sorted().map(String.init).joined(separator: ",") } ?? ""
        return (includesSubdomains ? "*." : "") + host.description + list
    }

    fileprivate func changes(
        from old: PinningRule, _ scope: String, _ certificates: KnownCertificates
    ) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        func add(_ direction: PolicyChange.Direction, _ message: String) {
            changes.append(PolicyChange(host: scope, direction: direction, message: message))
        }
        let (new, before) = (Set(pins.map(\.fingerprint)), Set(old.pins.map(\.fingerprint)))
        for pin in pins.map(\.fingerprint) where !before.contains(pin) {
            if let key = certificates.key(of: pin), before.contains(key) {
                add(.stricter, "of the certificates with \(key), \(pin) is accepted")
            } else {
                add(.weaker, "\(pin) is accepted")
            }
        }
        for pin in old.pins.map(\.fingerprint) where !new.contains(pin) {
            if let key = certificates.key(of: pin), new.contains(key) {
                add(.weaker, "\(pin) is accepted by its key, \(key)")
            } else {
                add(.stricter, "\(pin) isn't accepted any more")
            }
        }
        if mode != old.mode { add(mode == .enforce ? .stricter : .weaker, "its mode is \(mode.rawValue)") }
        if requirement != old.requirement {
            add(.changed, "it requires a match in \(requirement), before in \(old.requirement)")
        }
        if expiry != old.expiry {
            let dates = [expiry, old.expiry].map { $0.map { "\($0)" } ?? "never" }
            add(.changed, "it expires \(dates[0]), before \(dates[1])")
        }
        if anchors?.digest != old.anchors?.digest {
            // mutant sign-anchor-names: [] for `difference(from: old)` by PolicyLockoutTests/anchorNames
            let named = difference(from: old)
            for (direction, message) in named { add(direction, message) }
            if named.isEmpty { add(.changed, "it trusts other anchors") }
        }
        if certificateTransparency != old.certificateTransparency {
            let direction: PolicyChange.Direction =
                certificateTransparency == .require
                ? .stricter : old.certificateTransparency == .require ? .weaker : .changed
            add(direction, "its Certificate Transparency is \(certificateTransparency?.rawValue ?? "up to the client")")
        }
        if pinsApplyOnlyUnder != nil, old.pinsApplyOnlyUnder == nil {
            add(.weaker, "chains to local roots need no pin")
        }
        let (roles, known) = (pins.roles, old.pins.roles)
        for pin in before.sorted(by: { "\($0)" < "\($1)" }) {
            guard let now = roles[pin], let then = known[pin], now != then else { continue }
            let direction: PolicyChange.Direction =
                now.isSubset(of: then) ? .stricter : now.isSuperset(of: then) ? .weaker : .changed
            add(direction, "\(pin) is accepted as \(now.names), before as \(then.names)")
        }
        return changes
    }
}

extension PinningRule {
    /// Returns the anchors that this rule has and another hasn't, and those that only the other has, by their names and
    /// keys. Empty if a rule has none of its own, or if they are in a directory that is read on demand.
    fileprivate func difference(from old: PinningRule) -> [(PolicyChange.Direction, String)] {
        guard let now = anchors, let before = old.anchors, let all = now.certificates, let known = before.certificates
        else { return [] }
        func title(_ root: X509Certificate) -> String { "\(root.subject) (\(root.spkiFingerprint))" }
        return all.filter { !before.contains($0) }.map { (.weaker, "it also trusts \(title($0))") }
            + known.filter { !now.contains($0) }.map { (.stricter, "it no longer trusts \(title($0))") }
    }
}

extension [PinningRule] {
    fileprivate var scopes: String { map(\.scope).joined(separator: " and ") }
}

extension [Pin] {
    /// The positions that the pins of each object cover: leaf, intermediate and root.
    var roles: [PinFingerprint: Set<PinRole>] {
        reduce(into: [:]) { roles, pin in
            roles[pin.fingerprint, default: []].formUnion(pin.role.positions)
        }
    }
}

extension PinRole {
    /// Those of leaf, intermediate and root that the role covers.
    var positions: Set<PinRole> {
        Set((0..<3).filter { covers(index: $0, of: 3) }.map { PinRole(index: $0, of: 3) })
    }
}

extension Set<PinRole> {
    /// The role that covers these positions, or else their names in order of the path.
    var names: String {
        let role = PinRole.allCases.first { $0.positions == self }
        return role?.rawValue ?? PinRole.allCases.filter(contains).map(\.rawValue).joined(separator: " or ")
    }
}
