import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A change between two policies for the servers of one rule.
struct PolicyChange: Sendable, Hashable {
    /// The name of the change that has to be allowed.
    static let lockout = "lockout"

    enum Direction: String, Sendable {
        case stricter, weaker, changed
    }

    let host: String
    let direction: Direction
    let message: String
    /// Whether no server that the policy before accepted is accepted now.
    var locksOut = false
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
            case (nil, _?): add(scope, .stricter, "is pinned")
            case (_?, nil): add(scope, unlisted == .refuse ? .stricter : .weaker, "isn't pinned any more")
            case (let from?, let to?): changes += to.changes(from: from, scope)
            case (nil, nil): break
            }
        }
        return changes + lockouts(from: old)
    }

    /// Returns the rules for whose hosts no server that the old policy accepts is accepted now, in order. The rule that
    /// decides counts, whatever its host and ports are.
    private func lockouts(from old: PinningPolicy) -> [PolicyChange] {
        let denied = Set(deny.map(\.fingerprint))
        var reasons: [String: String] = [:]
        for rule in rules + old.rules {
            let host = rule.host.description
            let names = [host] + (rule.includesSubdomains ? ["any." + host] : [])
            for name in names.compactMap({ try? ServerName($0) }) {
                for port in rule.ports ?? [443] {
                    guard let before = old.rule(for: name, port: port), before.mode == .enforce else { continue }
                    guard let now = self.rule(for: name, port: port) else {
                        if unlisted == .refuse {
                            reasons[rule.scope] = "isn't pinned any more, and hosts without a rule are refused"
                        }
                        continue
                    }
                    let left = Set(now.pins.map(\.fingerprint)).subtracting(denied)
                    guard now.mode == .enforce, left.isDisjoint(with: before.pins.map(\.fingerprint)) else { continue }
                    reasons[rule.scope] = "none of the pins before is left"
                }
            }
        }
        return reasons.sorted { $0.key < $1.key }.map {
            PolicyChange(host: $0.key, direction: .stricter, message: $0.value, locksOut: true)
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
        let roles = Set(pins.map { "\($0.fingerprint) \($0.role.rawValue)" })
        if new == before, roles != Set(old.pins.map { "\($0.fingerprint) \($0.role.rawValue)" }) {
            add(.changed, "its pins have other roles")
        }
        return changes
    }
}
