import FoundationEssentials

@testable import CertificatePinning
@testable import CertificateTrust
@testable import PinDialects

extension FuzzTarget {
    /// A policy and a verified path. The decision is the one that a second implementation makes, and the same by the
    /// canonical form of the policy.
    static let decisions = FuzzTarget(name: "decisions") { bytes in
        var script = Script(bytes)
        let host = script.element(of: parts.hosts)
        let port = script.element(of: [443, 8443, 1])
        let now = Date(timeIntervalSince1970: script.element(of: [100, 99, 101, 0, 1e12]))
        let unlisted = script.element(of: UnlistedHosts.allCases)
        let path = path(&script, to: host)
        let denied = (0..<script.number(below: 3)).map { _ in parts.pin(&script) }
        var rules: [PinningRule] = []
        while !script.isAtEnd, rules.count < 16 { rules.append(parts.rule(&script)) }
        guard let policy = try? PinningPolicy(rules: rules, unlisted: unlisted, deny: denied) else { return }

        let expected = NaiveDecision(policy, path, port: port, at: now)
        let decision: NaiveDecision
        do throws(PinningError) {
            let made = try policy.decide(path, port: port, at: now)
            precondition(made.path == path, "a decision on another path")
            _ = made.description
            decision = NaiveDecision(made)
        } catch {
            _ = error.description
            decision = NaiveDecision(error)
        }
        precondition(decision == expected, "decided \(decision), expected \(expected): \(policy)")
        precondition(
            decision.isRefusal || !denied.contains { $0.isOn(path) }, "a denied key was accepted: \(policy)")

        let canonical = CanonicalPolicy(policy)
        let covering = RuleTable(canonical, of: .policy).rules(for: host, port: port)
        let verdict = canonical.decide(
            path.certificates, by: covering, under: DecisionCircumstances(at: now)
        ).verdict
        precondition(verdict == decision.canonical, "\(verdict) in the canonical form, \(decision) here: \(policy)")
        precondition((try? PinningPolicy(rules: rules, unlisted: unlisted, deny: denied))?.digest == policy.digest)
    }

    private static let parts = PolicyParts(
        hosts: ["a.test", "b.a.test", "c.b.a.test", "ba.test", "192.0.2.1", "test.example"], ports: [443, 8443, 2],
        // A leaf, three CAs and a certificate that isn't on any path.
        certificates: [CertificatePool.shared.leaves[0]].map(\.certificate)
            + CertificatePool.shared.authorities.prefix(4).map(\.certificate),
        ends: [100, 50, 100.5, 1e12, -.infinity, .infinity, .nan])

    private static func path(_ script: inout Script, to host: String) -> VerifiedPath {
        guard let name = try? ServerName(host) else { preconditionFailure("a name was refused") }
        let certificates = parts.certificates
        let count = script.number(below: 4)
        let path = [certificates[0]] + (0..<count).map { _ in script.element(of: certificates) }
        return VerifiedPath(certificates: path, leaf: path[0], name: name, transparencyFinding: nil)
    }
}

extension Pin {
    /// Whether a path has the pinned key or certificate at one of the pin's positions.
    fileprivate func isOn(_ path: VerifiedPath) -> Bool {
        path.certificates.indices.contains { isOn(path, at: $0) }
    }

    fileprivate func isOn(_ path: VerifiedPath, at index: Int) -> Bool {
        let certificate = path.certificates[index]
        let isMatch =
            switch fingerprint {
            case .publicKey(let key): certificate.spkiFingerprint == key
            case .certificate(let digest): certificate.fingerprint == digest
            @unknown default: preconditionFailure("a new case")
            }
        return isMatch && role.isHeld(at: index, of: path.certificates.count)
    }
}

extension PinRole {
    fileprivate func isHeld(at index: Int, of count: Int) -> Bool {
        let isLast = index == count - 1
        return switch self {
        case .leaf: index == 0
        case .intermediate: index != 0 && !isLast
        case .root: index != 0 && isLast
        case .ca: index != 0
        case .any: true
        @unknown default: preconditionFailure("a new case")
        }
    }
}

/// A decision, and a second implementation of it.
private enum NaiveDecision: Equatable {
    case matched, unpinned, forgiven, bypassed, stopped
    case mismatch, denied, expired, unlisted, untrusted

    init(_ decision: PinDecision) {
        self =
            switch decision {
            case .matched: .matched
            case .unpinned: .unpinned
            case .forgiven: .forgiven
            case .bypassed: .bypassed
            case .stopped: .stopped
            @unknown default: preconditionFailure("a new case")
            }
    }

    init(_ error: PinningError) {
        self =
            switch error {
            case .mismatch: .mismatch
            case .denied: .denied
            case .expired: .expired
            case .unlisted: .unlisted
            case .untrusted: .untrusted
            @unknown default: preconditionFailure("a new case")
            }
    }

    init(_ policy: PinningPolicy, _ path: VerifiedPath, port: Int, at now: Date) {
        let host = path.name.description
        let reaching = policy.rules.filter { rule in
            let own = rule.host.description
            return (own == host || rule.includesSubdomains && host.hasSuffix("." + own))
                && rule.ports.map { $0.contains(port) } ?? true
        }
        let rule = reaching.max { $0.host.description.utf8.count < $1.host.description.utf8.count }
        if policy.deny.contains(where: { $0.isOn(path) }) {
            self = .denied
            return
        }
        guard let rule else {
            self = policy.unlisted == .refuse ? .unlisted : .unpinned
            return
        }
        if rule.mode == .off {
            self = .unpinned
            return
        }
        let action = rule.expiry.flatMap { $0.end > now ? nil : $0.action }
        if action == .fail || action == .stopPinning {
            self = action == .fail ? .expired : .stopped
            return
        }
        let indices = path.certificates.indices.filter { index in
            rule.pins.contains { $0.isOn(path, at: index) }
        }
        let isMet =
            switch rule.requirement {
            case .any: !indices.isEmpty
            case .eachOf(let roles):
                roles.allSatisfy { role in
                    indices.contains { role.isHeld(at: $0, of: path.certificates.count) }
                }
            @unknown default: preconditionFailure("a new case")
            }
        if isMet {
            self = .matched
        } else if let store = rule.pinsApplyOnlyUnder, !store.contains(path.anchor) {
            self = .bypassed
        } else {
            self = rule.mode == .report || action != nil ? .forgiven : .mismatch
        }
    }

    var isRefusal: Bool {
        switch self {
        case .mismatch, .denied, .expired, .unlisted, .untrusted: true
        case .matched, .unpinned, .forgiven, .bypassed, .stopped: false
        }
    }

    var canonical: CanonicalDecision.Verdict {
        switch self {
        case .matched: .matched
        case .unpinned: .unpinned
        case .stopped: .stopped
        case .forgiven: .forgiven
        case .bypassed: .bypassed
        case .mismatch, .untrusted: .refused
        case .denied: .denied
        case .expired: .ended
        case .unlisted: .unlisted
        }
    }
}
