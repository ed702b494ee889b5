import CertificateTrust
import PinctlFoundation

/// The decision on a verified path by the rules for its host. The rules may be those of any system.
package struct PathDecision<Pin: DecidingPin>: Sendable {
    /// A verdict that says whether the server is accepted, and why.
    package enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// Accepted: the pins match.
        case matched
        /// Accepted: no pins apply, because no rule reaches the host, or its rules are off.
        case unpinned
        /// Accepted: the rules have expired and stop pinning then.
        case stopped
        /// Accepted: the path ends at a root that bypasses the pins.
        case bypassed
        /// Accepted although the pins don't match: the rules only report mismatches.
        case forgiven
        /// Rejected: the pins don't match.
        case refused
        /// Rejected: the path contains a denied pin.
        case denied
        /// Rejected: a rule has expired, and rejects every server since then.
        case ended
        /// Rejected: no rule reaches the host, and such hosts are rejected.
        case unlisted
    }

    /// The verdict.
    package let verdict: Verdict
    /// The pins that match, in the order of the path. For ``Verdict-swift.enum/denied``, the denied pins.
    package internal(set) var matches: [PathMatch<Pin>]
    /// The required roles without a match. If no role is required, it is only `any`, if no pin matches.
    package let unmetRoles: [PinRole]

    private init(_ verdict: Verdict, _ matches: [PathMatch<Pin>] = [], unmet: [PinRole] = []) {
        self.verdict = verdict
        self.matches = matches
        unmetRoles = unmet
    }

    /// Whether requests may be sent to the server.
    package var isAccepted: Bool {
        switch verdict {
        case .matched, .unpinned, .stopped, .bypassed, .forgiven: true
        case .refused, .denied, .ended, .unlisted: false
        }
    }
}

/// A pin and the certificate that it matches.
package struct PathMatch<Pin: DecidingPin>: Sendable {
    /// The pin that matches.
    package let pin: Pin
    /// The position of the certificate in the path, where 0 is the leaf.
    package let index: Int

    package init(pin: Pin, index: Int) {
        self.pin = pin
        self.index = index
    }

    /// Returns the pins that match at a position that their roles cover, in the order of the path. `isMatch` returns
    /// whether a pin is that of the certificate at an index.
    static func all(of pins: [Pin], length: Int, _ isMatch: (Pin, Int) -> Bool) -> [PathMatch] {
        var matches: [PathMatch] = []
        for index in 0..<length {
            // mutant pin-role: true for `pin.role.covers(index: index, of: length)` by PinDecisionTests
            //   DecisionSpecificationTests/pins
            for pin in pins where pin.role.covers(index: index, of: length) && isMatch(pin, index) {
                matches.append(PathMatch(pin: pin, index: index))
            }
        }
        return matches
    }
}

extension PathMatch: Equatable where Pin: Equatable {}
extension PathMatch: Hashable where Pin: Hashable {}
extension PathDecision: Equatable where Pin: Equatable {}
extension PathDecision: Hashable where Pin: Hashable {}

extension [PinRole] {
    /// Returns those of the roles in which none of these matches is located.
    package func unmet(by matches: [PathMatch<some DecidingPin>], length: Int) -> [PinRole] {
        // mutant pin-required-roles: true for `role.covers(index: $0.index, of: length)` by
        //   PinDecisionTests/requirement DecisionSpecificationTests/pins
        filter { role in !matches.contains { role.covers(index: $0.index, of: length) } }
    }
}

extension PathDecision {
    /// Returns the decision by these rules, whose pins count together. The function is pure and total.
    ///
    /// `denied` are the denied pins on the path. `anchor` is its last certificate, if it is known. `isMatch` returns
    /// whether a pin is that of the certificate at an index.
    static func by<Rules: RandomAccessCollection>(
        _ rules: Rules, unlisted: UnlistedHosts, denied: [PathMatch<Pin>], length: Int, anchor: X509Certificate?,
        under circumstances: DecisionCircumstances, isMatch: (Pin, Int) -> Bool
    ) -> PathDecision where Rules.Element: DecidingRule, Rules.Element.RulePin == Pin {
        // mutant canonical-denied: true by DecisionTests PlanSettingTests
        guard denied.isEmpty else { return PathDecision(.denied, denied) }
        // mutant unlisted-refused: true for `unlisted == .trust` by PinDecisionTests/unlisted
        //   DecisionSpecificationTests/settings
        guard !rules.isEmpty else { return PathDecision(unlisted == .trust ? .unpinned : .unlisted) }
        var mode = PinningMode.off
        // The rules with that mode, together.
        var pins: [Pin] = []
        var roles: Set<PinRole> = []
        var stores: [TrustStore] = []
        var areBypassed = false
        // Rules are large, and are read in place.
        for index in rules.indices {
            guard let own = rules[index].modeInEffect(under: circumstances) else { return PathDecision(.ended) }
            let deciding = PinningMode.deciding(mode, own)
            if deciding != mode { (mode, pins, roles, stores, areBypassed) = (deciding, [], [], [], false) }
            guard own == mode, mode != .off else { continue }
            areBypassed = areBypassed || rules[index].bypassesPins(under: circumstances.anchorSource)
            pins = pins.isEmpty ? rules[index].pins : pins + rules[index].pins
            roles = roles.isEmpty ? rules[index].requirement.roles : roles.union(rules[index].requirement.roles)
            if let store = rules[index].pinsApplyOnlyUnder { stores.append(store) }
        }
        guard mode != .off else {
            return PathDecision(rules.indices.contains { rules[$0].mode != .off } ? .stopped : .unpinned)
        }
        guard !areBypassed else { return PathDecision(.bypassed) }
        let matches = PathMatch.all(of: pins, length: length, isMatch)
        let unmet = roles.required.unmet(by: matches, length: length)
        guard !unmet.isEmpty else { return PathDecision(.matched, matches) }
        // mutant bypass-outside: true for `!$0.contains(anchor)` by DeniedPinTests DecisionSpecificationTests/settings
        if circumstances.hasLocalAnchors, let anchor, stores.contains(where: { !$0.contains(anchor) }) {
            return PathDecision(.bypassed, matches, unmet: unmet)
        }
        // mutant mismatch-enforced: true for `mode == .report` by PinDecisionTests DecisionSpecificationTests/pins
        return PathDecision(mode == .report ? .forgiven : .refused, matches, unmet: unmet)
    }
}

/// The certificates of a path, with the fingerprints of the certificate that pins are compared with at the moment. Each
/// is computed once for all pins.
struct PathFingerprints<Pin: DecidingPin> {
    private let certificates: [X509Certificate]
    private var index = 0
    /// The fingerprints of the certificate at ``index``. There are as many as kinds of pins, which are few.
    private var known: [(kind: Pin.Kind, value: Pin.Value?)] = []

    init(_ certificates: [X509Certificate]) { self.certificates = certificates }

    /// Returns whether a pin is that of the certificate at an index, or of its key.
    mutating func hasMatch(_ pin: Pin, at index: Int) -> Bool {
        if index != self.index {
            self.index = index
            known.removeAll(keepingCapacity: true)
        }
        let kind = pin.kind
        let found: Pin.Value?
        if let entry = known.first(where: { $0.kind == kind }) {
            found = entry.value
        } else {
            found = Pin.value(of: certificates[index], kind)
            known.append((kind, found))
        }
        // mutant pin-fingerprint: true by PinDecisionTests PinEvaluationAttackTests
        return found == pin.value
    }
}
