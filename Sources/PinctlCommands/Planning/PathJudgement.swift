import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation

/// The decision of a release on a verified path or on a key alone.
enum PathJudgement: Hashable, Sendable {
    /// Accepted because of these pins.
    case matched([CanonicalMatch])
    /// Accepted although no pins match, for this reason.
    case tolerated(String)
    /// Accepted because pinning is off, since a day or always.
    case off(since: String?)
    /// Accepted because no rule reaches the host.
    case unpinned
    /// Rejected for a reason, with the keys that would change that.
    case refused(String, KeyRemedy)
    /// Unknown. It is accepted if one of these pins belongs to a CA that issues it.
    case depends([CanonicalPin])

    var isAccepted: Bool {
        switch self {
        case .matched, .tolerated, .off, .unpinned: true
        case .refused, .depends: false
        }
    }

    /// Whether it is rejected, and would be with every other key too.
    var isFinal: Bool { if case .refused(_, .none) = self { true } else { false } }
}

/// The keys with which a rejected path would be accepted.
enum KeyRemedy: Hashable, Sendable {
    /// Pinned keys in these roles, in addition to the keys on the path.
    case missing([PinRole])
    /// Pinned keys in these roles, on a path without the key that is denied.
    case denied([PinRole])
    /// No key.
    case none

    /// The roles in which a pinned key is missing, or `nil` if no key helps.
    var roles: [PinRole]? {
        switch self {
        case .missing(let roles), .denied(let roles): roles
        case .none: nil
        }
    }
}

extension ReleaseRule {
    /// Judges the valid paths of a chain, which end at roots of `store`, the way the release's clients do. `store` is
    /// `nil` for the default one. The roots of a named store are those of other clients, on which they aren't added
    /// locally. Local roots bypass the pins only if no path ends at another one. `hasOthers` means that
    /// a path that isn't among these may end at another root.
    func judge(
        _ paths: [[X509Certificate]], besides hasOthers: Bool = false, under store: String? = nil, at time: Date
    ) -> [PathJudgement] {
        let pinned = rules.compactMap(\.stores.pinsApplyOnlyUnder)
        let isLocal =
            !hasOthers && !paths.compactMap(\.last).contains { root in pinned.contains { $0.contains(root) } }
        return paths.map {
            judgement(
                of: release.decisions(
                    on: $0, by: rules, at: time, anchorSource: source(of: $0),
                    // mutant plan-bypass-only-way: true for `isLocal` by PlanSettingTests/localAnchors
                    hasLocalAnchors: isLocal && (store == nil || anchors != nil)), at: time)
        }
    }

    /// Combines the decisions of devices in the time zones where a day begins first and last.
    ///
    /// On a device where the rule still applies, the release breaks although others don't pin anymore.
    private func judgement(of decisions: [CanonicalDecision], at time: Date) -> PathJudgement {
        let zones = decisions.map { judgement(of: $0, at: time) }
        let last = zones[zones.count - 1]
        guard zones[0] != last, let day = endDay else { return last }
        switch last {
        case .refused(let reason, let remedy): return .refused("\(reason), where \(day) hasn't begun", remedy)
        case .depends: return last
        default: return .off(since: "\(day), where it has begun")
        }
    }

    /// Judges a chain by the pins that need no trusted chain, which are those of DANE (RFC 7671, section 5). Returns
    /// `nil` if there are none.
    func judgeUntrusted(_ chain: PresentedChain, at time: Date) -> PathJudgement? {
        let alone = rules.map { rule in
            var rule = rule
            rule.pins.removeAll { $0.trust == .chain }
            return rule
        }
        guard alone.contains(where: { !$0.pins.isEmpty }) else { return nil }
        let decisions = release.decisions(on: [chain.leaf], by: alone, at: time)
        return decisions.allSatisfy { $0.verdict == .matched } ? judgement(of: decisions, at: time) : nil
    }

    private func judgement(of decision: CanonicalDecision, at time: Date) -> PathJudgement {
        switch decision.verdict {
        case .matched:
            return .matched(decision.matches)
        case .unpinned: return rules.isEmpty ? .unpinned : .off(since: nil)
        case .stopped: return .off(since: endDay)
        case .bypassed:
            let isLocal = !decision.unmetRoles.isEmpty
            return .tolerated(
                (bypass ?? "the path ends at a root that needs no pin") + (isLocal ? ", and this one does" : ""))
        case .forgiven: return .tolerated("the mismatch is only reported")
        case .refused: return mismatched(decision.unmetRoles)
        case .denied: return denied(decision.matches.first?.pin.title ?? "a key", at: time)
        case .ended: return Self.ended(endDay)
        case .unlisted: return Self.unlisted
        }
    }

    /// The moments at which the rules first expire on any device, earliest first.
    var ends: [Date] { ends(atOffset: RuleExpiry.zoneMargin) }

    /// The moments at which the rules have expired on every device, earliest first.
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

    /// The day on which the first rule expires, as written in the file.
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
            return .refused("no pin matches as \(roles)", .missing(unmet))
        }
        return pins.isEmpty
            ? .refused("a rule without pins refuses every chain", .none)
            : .refused("no pin matches the new chain", .missing(unmet))
    }

    private static let unlisted = PathJudgement.refused("it refuses hosts without a rule", .none)

    /// Denied pins come before everything else, so that another key helps only if the rule accepts any.
    private func denied(_ title: String, at time: Date) -> PathJudgement {
        let hasEnded = rules.contains { $0.modeInEffect(under: DecisionCircumstances(at: time)) == nil }
        let isClosed = hasEnded || rules.isEmpty && isPinned
        // mutant plan-final: false for `isClosed` by PlanSentenceTests
        return .refused("\(title) is denied, and is in the new chain", isClosed ? .none : .denied(requiredRoles))
    }

    private static func ended(_ day: String?) -> PathJudgement {
        .refused("its rule expired \(day.map { "on \($0)" } ?? "before") and then refuses every server", .none)
    }
}

extension ReleaseRule {
    /// Judges a key alone. Whichever CA issues its certificate, the key is the leaf's.
    func judge(_ key: NewKey, names: KnownNames, at time: Date) -> PathJudgement {
        // mutant plan-denied: nil by PlanSettingTests PlanTests PlanRoleTests PlanAgreementTests
        if let denied = deniedPin(of: key) { return self.denied(denied, at: time) }
        guard !rules.isEmpty else { return isPinned ? Self.unlisted : .unpinned }
        // No pin matches without certificates, so the result shows the decisions that don't depend on pins.
        let bare = judgement(of: release.decisions(on: [X509Certificate](), by: rules, at: time), at: time)
        guard case .refused(_, .missing) = bare else { return bare }
        let roles = requiredRoles
        // mutant plan-role: true for `$0.role.covers(index: 0, of: 3)` by PlanRoleTests PlanAgreementTests
        let leaf = pins.filter { $0.role.covers(index: 0, of: 3) && key.isPinned(by: $0) }
        let unmet = leaf.isEmpty ? roles : roles.filter { !$0.covers(index: 0, of: 3) }
        if unmet.isEmpty, let pin = leaf.first { return .matched([CanonicalMatch(pin: pin, index: 0)]) }
        // A pin for any position may be one of a CA, unless it is of this key or of a leaf that is known.
        let authorities = pins.filter { pin in
            // mutant plan-leaf-issuer: true for `names.isAuthority(pin, under: ownRoots) != false` by
            //   PlanRoleTests/knownLeaves
            !key.isPinned(by: pin) && names.isAuthority(pin, under: ownRoots) != false && !isDenied(pin)
        }
        guard canMeet(unmet, authorities) else { return .refused("no pin matches this key", .missing(unmet)) }
        return .depends(authorities)
    }

    /// Returns whether CAs with these pins can have all of the roles, each CA at one position of a chain.
    private func canMeet(_ roles: [PinRole], _ authorities: [CanonicalPin]) -> Bool {
        let issuers = authorities.filter { $0.role.covers(index: 1, of: 3) }
        let roots = authorities.filter { $0.role.covers(index: 2, of: 3) }
        func isMet(_ role: PinRole, at indices: Int...) -> Bool { indices.contains { role.covers(index: $0, of: 3) } }
        if !issuers.isEmpty, roles.allSatisfy({ isMet($0, at: 1) }) { return true }
        if !roots.isEmpty, roles.allSatisfy({ isMet($0, at: 2) }) { return true }
        return roles.allSatisfy { isMet($0, at: 1, 2) }
            && issuers.contains { issuer in roots.contains { !$0.isSameKey(as: issuer) } }
    }

    /// Returns whether a pin is denied for CAs.
    private func isDenied(_ pin: CanonicalPin) -> Bool {
        release.policy.denied.contains { denied in
            denied.isSameKey(as: pin) && (1...2).allSatisfy { denied.role.covers(index: $0, of: 3) }
        }
    }

    /// Judges the chains below a root of a provider. Clients find different paths, so each of them has to be accepted.
    func judge(_ root: ProviderPools.Root, at time: Date) -> PathJudgement {
        let judged = root.paths(at: time).map { path in
            judgement(of: release.decisions(on: path.served, by: rules, at: time), at: time)
        }
        // mutant plan-provider-path: judged[0] by PlanProviderTests/crossSigned
        return judged.first { !$0.isAccepted } ?? judged[0]
    }

    private func deniedPin(of key: NewKey) -> String? {
        release.policy.denied.first { $0.role.covers(index: 0, of: 3) && key.isPinned(by: $0) }?.title
    }
}
