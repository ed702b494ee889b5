package import CertificateTrust
import PinctlBasics
package import PinctlFoundation

/// The decision on a verified path, made by the rules for its host the way their own system does.
package struct CanonicalDecision: Sendable, Hashable {
    /// A verdict that says whether the server is accepted, and why.
    package enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// Accepted: the pins match.
        case matched
        /// Accepted: no pins apply, because no rule reaches the host, or its rules are off or have expired.
        case unpinned
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
    package let matches: [CanonicalMatch]
    /// The required roles without a match, or only `any` if no pin matches at all.
    package let unmetRoles: [PinRole]

    init(_ verdict: Verdict, _ matches: [CanonicalMatch] = [], unmet: [PinRole] = []) {
        self.verdict = verdict
        self.matches = matches
        unmetRoles = unmet
    }

    /// Whether requests may be sent to the server.
    package var isAccepted: Bool {
        switch verdict {
        case .matched, .unpinned, .bypassed, .forgiven: true
        case .refused, .denied, .ended, .unlisted: false
        }
    }
}

/// A pin and the certificate that it matches.
package struct CanonicalMatch: Sendable, Hashable {
    /// The pin that matches.
    package let pin: CanonicalPin
    /// The position of the certificate in the path, where 0 is the leaf.
    package let index: Int

    package init(pin: CanonicalPin, index: Int) {
        self.pin = pin
        self.index = index
    }
}

/// The inputs of a decision in addition to the rules and the path.
package struct DecisionCircumstances: Sendable, Hashable {
    /// The current time.
    package var time: Date
    /// The offset of the device's local time from UTC, in seconds.
    package var offset: Int
    /// The time at which the client last saw the policy, or `nil` for just now.
    package var noted: Date?
    /// The dialect's name for the set of roots that the path's root belongs to, such as `system` or `user`, or `nil` if
    /// unknown.
    package var anchorSource: String?
    /// Whether roots outside the stores under which pins apply were added on the client, so that they bypass the pins.
    package var hasLocalAnchors: Bool

    /// Creates the circumstances of a decision.
    package init(
        at time: Date, offset: Int = 0, noted: Date? = nil, anchorSource: String? = nil, hasLocalAnchors: Bool = true
    ) {
        self.time = time
        self.offset = offset
        self.noted = noted
        self.anchorSource = anchorSource
        self.hasLocalAnchors = hasLocalAnchors
    }
}

extension CanonicalPolicy {
    /// Decides on a verified path, leaf first, to a host for which these rules of the policy were found.
    ///
    /// The pins of several rules count together. The function is pure and total.
    package func decide(
        _ path: [X509Certificate], by rules: [CanonicalRule], under circumstances: DecisionCircumstances
    ) -> CanonicalDecision {
        var objects: [PinnedObject: [UInt8]] = [:]
        return decide(by: rules, under: circumstances, pathLength: path.count, anchor: path.last) { pin, index in
            let object = PinnedObject(index: index, content: pin.content, digest: pin.digest)
            let value = objects[object] ?? pin.value(of: path[index])
            objects[object] = value
            return value == pin.value
        }
    }

    /// Decides on a path of which only the pins of its certificates may be known. `isMatch` returns whether a pin is
    /// that of the certificate at an index, and `anchor` is the last certificate, if it is known.
    package func decide(
        by rules: [CanonicalRule], under circumstances: DecisionCircumstances, pathLength: Int,
        anchor: X509Certificate? = nil, isMatch: (CanonicalPin, Int) -> Bool
    ) -> CanonicalDecision {
        let deniedMatches = matches(of: denied, pathLength, isMatch)
        guard deniedMatches.isEmpty else { return CanonicalDecision(.denied, deniedMatches) }
        guard !rules.isEmpty else { return CanonicalDecision(unlisted == .trust ? .unpinned : .unlisted) }
        var modes: [(rule: CanonicalRule, mode: PinningMode)] = []
        for rule in rules where rule.mode != .off {
            guard let expiry = rule.expiry, expiry.moment.isOver(under: circumstances) else {
                modes.append((rule, rule.mode))
                continue
            }
            switch expiry.effect {
            case .fail: return CanonicalDecision(.ended)
            case .report: modes.append((rule, .report))
            case .stopPinning: break
            }
        }
        // A rule that only reports adds nothing to the pins that an enforced rule accepts.
        let enforced = modes.filter { $0.mode == .enforce }.map(\.rule)
        let judged = enforced.isEmpty ? modes.map(\.rule) : enforced
        guard !judged.isEmpty else { return CanonicalDecision(.unpinned) }
        let bypasses = judged.contains { rule in
            rule.anchors?.contains { anchors in
                anchors.bypassesPins && anchors.source == circumstances.anchorSource
                    && rule.stores.pinsApplyOnlyUnder == nil
            } ?? false
        }
        guard !bypasses else { return CanonicalDecision(.bypassed) }
        let found = matches(of: judged.flatMap(\.pins), pathLength, isMatch)
        let unmet = requiredRoles(of: judged).filter { role in
            !found.contains { role.covers(index: $0.index, of: pathLength) }
        }
        guard !unmet.isEmpty else { return CanonicalDecision(.matched, found) }
        if circumstances.hasLocalAnchors, let anchor, judged.contains(where: { $0.isBypassed(by: anchor) }) {
            return CanonicalDecision(.bypassed, found, unmet: unmet)
        }
        return CanonicalDecision(enforced.isEmpty ? .forgiven : .refused, found, unmet: unmet)
    }

    /// Returns the roles that need a match: those of all rules that require roles, or `any` if there are none.
    private func requiredRoles(of rules: [CanonicalRule]) -> [PinRole] {
        var named: Set<PinRole> = []
        for case .eachOf(let roles) in rules.map(\.requirement) { named.formUnion(roles) }
        return named.isEmpty ? [.any] : PinRole.allCases.filter { named.contains($0) }
    }

    private func matches(
        of pins: [CanonicalPin], _ pathLength: Int, _ isMatch: (CanonicalPin, Int) -> Bool
    ) -> [CanonicalMatch] {
        var seen: Set<CanonicalPin> = []
        let pins = pins.filter { seen.insert($0.unnamed).inserted }
        return (0..<pathLength).flatMap { index in
            pins.filter { $0.role.covers(index: index, of: pathLength) && isMatch($0, index) }
                .map { CanonicalMatch(pin: $0, index: index) }
        }
    }
}

/// A part of a path that pins can identify, whose digest is computed once for all of them.
private struct PinnedObject: Hashable {
    let index: Int
    let content: CanonicalPin.Content
    let digest: CanonicalPin.Digest
}

extension CanonicalRule {
    /// Returns whether a path that ends at this anchor needs no pin.
    fileprivate func isBypassed(by anchor: X509Certificate) -> Bool {
        stores.pinsApplyOnlyUnder.map { !$0.contains(anchor) } ?? false
    }
}

extension CanonicalPin {
    /// Returns whether the pin is that of the certificate or its key. The position of the certificate isn't considered.
    package func matches(_ certificate: X509Certificate) -> Bool { value(of: certificate) == value }

    /// Returns the value of a pin of this kind for a certificate.
    fileprivate func value(of certificate: X509Certificate) -> [UInt8]? {
        let bytes = content == .certificate ? certificate.derBytes : certificate.subjectPublicKeyInfo.derBytes
        return switch digest {
        case .full: bytes
        case .sha256: sha256Digest(bytes.span)
        case .sha1: CertificateTrust.digest("SHA1", of: bytes)
        case .sha512: CertificateTrust.digest("SHA2-512", of: bytes)
        }
    }
}

extension RuleExpiry.Moment {
    /// Returns whether the moment has passed.
    package func isOver(under circumstances: DecisionCircumstances) -> Bool {
        let now = circumstances.time.timeIntervalSince1970
        return switch self {
        case .instant(let seconds): now >= Double(seconds)
        // An invalid day never expires, because the dialect's own system rejects such a file.
        case .localDay(let day):
            CivilTime(day: day).map { now > Double($0.secondsSince1970) - Double(circumstances.offset) } ?? false
        case .age(let age): now >= (circumstances.noted?.timeIntervalSince1970 ?? now) + Double(age)
        }
    }
}
