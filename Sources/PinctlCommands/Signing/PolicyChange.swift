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
    /// Whether no server that the policy before accepted is accepted now.
    var locksOut = false
    /// Whether servers are accepted only if they have a key that is left, which the policies don't show.
    var dependsOnServers = false
}

extension PolicyChange: CustomStringConvertible {
    var description: String { "\(host): \(direction.rawValue): \(message)" }
}

extension PolicyBundle {
    /// Returns the changes from an earlier bundle, or none without one.
    func changes(from previous: PolicyBundle?) throws(PolicyBundleError) -> [PolicyChange] {
        guard let previous else { return [] }
        do throws(PolicyFileError) {
            return try policyFile().policy.changes(from: previous.policyFile().policy)
        } catch {
            throw .policy(error)
        }
    }
}

extension PinningPolicy {
    /// Returns the changes from another policy, in order of the hosts.
    func changes(from old: PinningPolicy) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        func add(_ host: String, _ direction: PolicyChange.Direction, _ message: String) {
            changes.append(PolicyChange(host: host, direction: direction, message: message))
        }
        if unlisted != old.unlisted {
            add("hosts without a rule", unlisted == .refuse ? .stricter : .weaker, "\(unlisted.rawValue)")
        }
        let (denied, before) = (Set(deny.map(\.fingerprint)), Set(old.deny.map(\.fingerprint)))
        for pin in deny.map(\.fingerprint) where !before.contains(pin) {
            add("all hosts", .stricter, "\(pin) is denied")
        }
        for pin in old.deny.map(\.fingerprint) where !denied.contains(pin) {
            add("all hosts", .weaker, "\(pin) isn't denied any more")
        }
        let (new, known) = (Self.byScope(rules), Self.byScope(old.rules))
        for scope in Set(new.keys).union(known.keys).sorted() {
            switch (known[scope], new[scope]) {
            case (nil, let to?):
                add(scope, .stricter, "is pinned")
                // mutant sign-rule: [] for `old.rules(deciding: to)` by ScriptTests
                for from in old.rules(deciding: to) { changes += to.changes(from: from, scope) }
            case (let from?, nil):
                add(scope, unlisted == .refuse ? .stricter : .weaker, "isn't pinned any more")
                // The changes to a new rule are shown under its own hosts.
                // mutant sign-rule-left: [] for `self.rules(deciding: from)` by ScriptTests
                for to in self.rules(deciding: from) where known[to.scope] != nil {
                    changes += to.changes(from: from, scope)
                }
            case (let from?, let to?): changes += to.changes(from: from, scope)
            case (nil, nil): break
            }
        }
        return changes + lockouts(from: old)
    }

    /// Returns the rules that decide for the hosts of a rule of another policy, in order of their hosts.
    private func rules(deciding other: PinningRule) -> [PinningRule] {
        let found = other.samples.compactMap { rule(for: $0.name, port: $0.port) }
        return Self.byScope(found).sorted { $0.key < $1.key }.map(\.value)
    }

    /// Returns the rules for whose hosts no pin that the old policy accepts is accepted now in each of its positions,
    /// in order, then those for which only some are. The rule that decides counts, whatever its host and ports are.
    private func lockouts(from old: PinningPolicy) -> [PolicyChange] {
        var reasons: [String: String] = [:]
        var survivors: [String: String] = [:]
        for rule in rules + old.rules {
            for (name, port) in rule.samples {
                guard let before = old.rule(for: name, port: port), before.mode == .enforce else { continue }
                guard let now = self.rule(for: name, port: port) else {
                    if unlisted == .refuse {
                        reasons[rule.scope] = "isn't pinned any more, and hosts without a rule are refused"
                    }
                    continue
                }
                let (known, accepted) = (old.acceptedRoles(of: before), acceptedRoles(of: now))
                // mutant sign-role: accepted[pin] != nil for `accepted[pin]?.isSuperset(of: roles) == true` by
                //   ScriptTests
                let left = known.filter { pin, roles in accepted[pin]?.isSuperset(of: roles) == true }
                guard now.mode == .enforce else { continue }
                // mutant sign-lockout: true by ScriptTests
                guard !left.isEmpty else {
                    let isKept = known.keys.contains { accepted[$0] != nil }
                    reasons[rule.scope] = "none of the pins before is left" + (isKept ? " in its role" : "")
                    continue
                }
                // A server may have any of the keys but those of backups.
                let pins = before.pins.filter { known[$0.fingerprint] != nil }
                // mutant sign-unproven: false for `left[$0.fingerprint] == nil` by ScriptTests
                guard pins.contains(where: { left[$0.fingerprint] == nil && !$0.isBackup }) else { continue }
                survivors[rule.scope] = pins.filter { left[$0.fingerprint] != nil }
                    .map { "\($0.title)\($0.isBackup ? " (a backup)" : "")" }.joined(separator: " or ")
            }
        }
        return reasons.sorted { $0.key < $1.key }.map {
            PolicyChange(host: $0.key, direction: .stricter, message: $0.value, locksOut: true)
        }
            + survivors.sorted { $0.key < $1.key }.map {
                PolicyChange(
                    host: $0.key, direction: .stricter,
                    message: "a server is locked out unless it has the key of \($0.value), which isn't known",
                    dependsOnServers: true)
            }
    }

    /// Returns the positions in which a rule's pins are accepted, without those in which they are denied.
    private func acceptedRoles(of rule: PinningRule) -> [PinFingerprint: Set<PinRole>] {
        let denied = deny.roles
        return rule.pins.roles.reduce(into: [:]) { accepted, pin in
            // mutant sign-denied: pin.value by ScriptTests
            let left = pin.value.subtracting(denied[pin.key] ?? [])
            if !left.isEmpty { accepted[pin.key] = left }
        }
    }

    /// Returns rules by the hosts and ports that they cover.
    private static func byScope(_ rules: [PinningRule]) -> [String: PinningRule] {
        Dictionary(rules.map { ($0.scope, $0) }) { first, _ in first }
    }
}

extension PinningRule {
    /// The hosts and ports that the rule covers, as text.
    fileprivate var scope: String {
        let list = ports.map { ":" + $0.sorted().map(String.init).joined(separator: ",") } ?? ""
        return (includesSubdomains ? "*." : "") + host.description + list
    }

    /// Hosts and ports that the rule covers, at least one of each kind.
    fileprivate var samples: [(name: ServerName, port: Int)] {
        let names = [host.description] + (includesSubdomains ? ["any." + host.description] : [])
        return names.compactMap { try? ServerName($0) }.flatMap { name in
            (ports ?? [443]).sorted().map { (name, $0) }
        }
    }

    fileprivate func changes(from old: PinningRule, _ scope: String) -> [PolicyChange] {
        var changes: [PolicyChange] = []
        func add(_ direction: PolicyChange.Direction, _ message: String) {
            changes.append(PolicyChange(host: scope, direction: direction, message: message))
        }
        let (new, before) = (Set(pins.map(\.fingerprint)), Set(old.pins.map(\.fingerprint)))
        for pin in pins.map(\.fingerprint) where !before.contains(pin) { add(.weaker, "\(pin) is accepted") }
        for pin in old.pins.map(\.fingerprint) where !new.contains(pin) {
            add(.stricter, "\(pin) isn't accepted any more")
        }
        if mode != old.mode { add(mode == .enforce ? .stricter : .weaker, "its mode is \(mode.rawValue)") }
        if requirement != old.requirement { add(.changed, "it requires other roles") }
        if expiry != old.expiry { add(.changed, "it expires at another time, or in another way") }
        if anchors?.digest != old.anchors?.digest { add(.changed, "it trusts other roots") }
        if certificateTransparency != old.certificateTransparency {
            let direction: PolicyChange.Direction =
                certificateTransparency == .require
                ? .stricter : old.certificateTransparency == .require ? .weaker : .changed
            add(direction, "its Certificate Transparency is \(certificateTransparency?.rawValue ?? "up to the client")")
        }
        if pinsApplyOnlyUnder?.digest != old.pinsApplyOnlyUnder?.digest {
            add(pinsApplyOnlyUnder == nil ? .stricter : .weaker, "local roots bypass the pins or don't")
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

extension [Pin] {
    /// The positions that the pins of each object cover: leaf, intermediate and root.
    fileprivate var roles: [PinFingerprint: Set<PinRole>] {
        reduce(into: [:]) { roles, pin in
            roles[pin.fingerprint, default: []].formUnion(pin.role.positions)
        }
    }
}

extension PinRole {
    /// Those of leaf, intermediate and root that the role covers.
    fileprivate var positions: Set<PinRole> {
        Set((0..<3).filter { covers(index: $0, of: 3) }.map { PinRole(index: $0, of: 3) })
    }
}

extension Set<PinRole> {
    /// The role that covers these positions, or else their names in order of the path.
    fileprivate var names: String {
        let role = PinRole.allCases.first { $0.positions == self }
        return role?.rawValue ?? PinRole.allCases.filter(contains).map(\.rawValue).joined(separator: " or ")
    }
}
