import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects

/// A pin, and the certificate that it matches: 0 is the leaf.
struct PlannedMatch: Hashable, Sendable {
    let pin: CanonicalPin
    let index: Int
}

/// What one release makes of one verified path, or of a key alone.
enum PathJudgement: Hashable, Sendable {
    /// Accepted by these pins.
    case matched([PlannedMatch])
    /// Accepted although no pins match, for this reason.
    case tolerated(String)
    /// Accepted since pins are off: from a day on, or all along.
    case off(since: String?)
    /// No rule reaches the host.
    case unpinned
    /// Refused, and why; `isMismatch` when another key would be accepted.
    case refused(String, isMismatch: Bool)
    /// It is not known: accepted if one of these is among the authorities that issue it.
    case depends([CanonicalPin])

    var isAccepted: Bool {
        switch self {
        case .matched, .tolerated, .off, .unpinned: true
        case .refused, .depends: false
        }
    }
}

extension ReleaseRule {
    /// Judges a path that ends at a root of `store`, nil for the usual one, as the clients of the release do.
    func judge(_ path: VerifiedPath, under store: String? = nil, at time: Date) -> PathJudgement {
        switch system {
        case .policy(let policy, let port, _):
            do throws(PinningError) {
                switch try policy.decide(path, port: port, at: time) {
                case .matched(let matches, _):
                    return .matched(matches.map { PlannedMatch(pin: CanonicalPin($0.pin), index: $0.index) })
                case .unpinned(nil): return .unpinned
                case .unpinned: return .off(since: nil)
                case .forgiven: return .tolerated("the mismatch is only reported")
                case .bypassed(let mismatch):
                    // A store that has a name is that of clients, to whom its roots are no local ones.
                    guard store == nil || anchors != nil else { return mismatched(mismatch.unmetRoles) }
                    return .tolerated("\(bypass ?? "pins are bypassed"), and this one does")
                case .stopped(let rule): return .off(since: rule.expiry?.end.day)
                }
            } catch {
                switch error {
                case .mismatch(let mismatch): return mismatched(mismatch.unmetRoles)
                case .denied(let match, _, _): return Self.denied(match.pin.name ?? "\(match.pin.object)")
                case .expired(let rule, _, _): return Self.ended(rule.expiry?.end.day)
                case .unlisted: return Self.unlisted
                case .untrusted(let finding): return .refused(finding.description, isMismatch: false)
                }
            }
        case .dialect(_, let policy):
            return inEveryZone(at: time) { judgement(of: policy.decide(path.certificates, by: rules, under: $0)) }
        }
    }

    /// Judges in the time zones where a day begins first and last: a device where the rule still holds breaks although
    /// others don't pin any more.
    private func inEveryZone(at time: Date, _ judge: (DecisionCircumstances) -> PathJudgement) -> PathJudgement {
        let zones = rules.circumstances(at: time).map(judge)
        guard zones[0] != zones[1], let day = endDay else { return zones[1] }
        switch zones[1] {
        case .refused(let reason, let isMismatch):
            return .refused("\(reason), where \(day) hasn't begun", isMismatch: isMismatch)
        case .depends: return zones[1]
        default: return .off(since: "\(day), where it has begun")
        }
    }

    /// Judges what is accepted without a trusted chain: DANE's own pins (RFC 7671, section 5). Nil when there are none.
    func judgeUntrusted(_ chain: PresentedChain, at time: Date) -> PathJudgement? {
        guard case .dialect(_, let policy) = system else { return nil }
        let alone = rules.map { rule in
            var rule = rule
            rule.pins.removeAll { $0.trust == .chain }
            return rule
        }
        guard alone.contains(where: { !$0.pins.isEmpty }) else { return nil }
        let decision = policy.decide([chain.leaf], by: alone, under: DecisionCircumstances(at: time))
        return decision.verdict == .matched ? judgement(of: decision) : nil
    }

    /// Of devices in several time zones the gravest.
    private func judgement(of decisions: [CanonicalDecision]) -> PathJudgement {
        let judgements = decisions.map { judgement(of: $0) }
        let refusal = judgements.first { !$0.isAccepted }
        let off = judgements.first { if case .off = $0 { true } else { false } }
        return refusal ?? off ?? judgements[0]
    }

    private func judgement(of decision: CanonicalDecision) -> PathJudgement {
        switch decision.verdict {
        case .matched:
            return .matched(decision.matches.map { PlannedMatch(pin: $0.pin, index: $0.index) })
        case .unpinned: return rules.isEmpty ? .unpinned : .off(since: endDay)
        case .bypassed: return .tolerated(bypass ?? "the path ends at a root that needs no pin")
        case .forgiven: return .tolerated("the mismatch is only reported")
        case .refused: return mismatched(decision.unmetRoles)
        case .denied: return Self.denied(decision.matches.first?.pin.title ?? "a key")
        case .ended: return Self.ended(endDay)
        case .unlisted: return Self.unlisted
        }
    }

    /// The first moments at which its rules end on some device, the earliest first.
    var ends: [Date] { ends(atOffset: RuleExpiry.zoneMargin) }

    /// The first moments at which its rules have ended on every device, the earliest first.
    var lastEnds: [Date] { ends(atOffset: -RuleExpiry.zoneMargin) }

    private func ends(atOffset offset: Int) -> [Date] {
        rules.compactMap { rule in
            switch rule.expiry?.moment {
            case .instant(let seconds): Date(timeIntervalSince1970: Double(seconds))
            case .localDay(let day):  // At midnight itself Android still pins.
                CivilTime(day: day).map { Date(timeIntervalSince1970: Double($0.midnight - Int64(offset)) + 1) }
            default: nil
            }
        }
        .sorted()
    }

    /// The day on which the first of its rules ends, as the file has it.
    private var endDay: String? {
        rules.compactMap { rule in
            switch rule.expiry?.moment {
            case .instant(let seconds): Date(timeIntervalSince1970: Double(seconds)).day
            case .localDay(let day): day
            default: nil
            }
        }
        .min()
    }

    private func mismatched(_ unmet: [PinRole]) -> PathJudgement {
        if unmet != [.any] {
            let roles = unmet.map(\.rawValue).joined(separator: " and as ")
            return .refused("no pin matches as \(roles)", isMismatch: true)
        }
        return .refused(
            pins.isEmpty ? "a rule without pins refuses every chain" : "no pin is in the new chain",
            isMismatch: !pins.isEmpty)
    }

    private static let unlisted = PathJudgement.refused("it refuses hosts that no rule names", isMismatch: false)

    private static func denied(_ title: String) -> PathJudgement {
        .refused("\(title) is denied, and in the new chain", isMismatch: false)
    }

    private static func ended(_ day: String?) -> PathJudgement {
        .refused("its rule ended \(day ?? "before") and refuses everything since", isMismatch: false)
    }
}

extension ReleaseRule {
    /// Judges a key alone: whoever issues its certificate, the key is the leaf's.
    func judge(_ key: SPKIFingerprint, at time: Date) -> PathJudgement {
        if let denied = deniedPin(of: key) { return Self.denied(denied) }
        guard !rules.isEmpty else { return isPinned ? Self.unlisted : .unpinned }
        // With no certificate at all no pin matches: what is told then is what holds besides the pins.
        let (policy, rules) = withoutDenied
        let bare = inEveryZone(at: time) { judgement(of: policy.decide([], by: rules, under: $0)) }
        guard case .refused(_, isMismatch: true) = bare else { return bare }
        let roles = requiredRoles
        let leaf = pins.filter { $0.role.covers(index: 0, of: 3) && $0.content == .publicKey && $0.pins(key) }
        let unmet = leaf.isEmpty ? roles : roles.filter { !$0.covers(index: 0, of: 3) }
        if unmet.isEmpty, let pin = leaf.first { return .matched([PlannedMatch(pin: pin, index: 0)]) }
        // A pin of any place that is not this key may be an authority's.
        let authorities = pins.filter { $0.role.covers(index: 1, of: 3) || $0.role.covers(index: 2, of: 3) }
            .filter { !$0.pins(key) }
        let canMeet = unmet.allSatisfy { role in
            authorities.contains { pin in
                (1...2).contains { role.covers(index: $0, of: 3) && pin.role.covers(index: $0, of: 3) }
            }
        }
        return canMeet && !authorities.isEmpty
            ? .depends(authorities) : .refused("no pin is this key", isMismatch: true)
    }

    private var withoutDenied: (CanonicalPolicy, [CanonicalRule]) {
        switch system {
        case .policy: (CanonicalPolicy(rules: rules, combination: .closest), rules)
        case .dialect(_, let policy): (policy, rules)
        }
    }

    private func deniedPin(of key: SPKIFingerprint) -> String? {
        let denied: [CanonicalPin] =
            switch system {
            case .policy(let policy, _, _): policy.deny.map { CanonicalPin($0) }
            case .dialect(_, let policy): policy.denied
            }
        return denied.first { $0.role.covers(index: 0, of: 3) && $0.pins(key) }?.title
    }
}

extension CanonicalPin {
    /// Whether it is this key's, by the digest that keys are named by.
    func pins(_ key: SPKIFingerprint) -> Bool {
        content == .publicKey && digest == .sha256 && value == Array(copying: key.bytes.span)
    }
}
