import Basics
public import CertificatePinning
public import CertificateTrust
public import FoundationEssentials

/// The decision on a verified path, made by the rules for its host the way their own system does.
public struct CanonicalDecision: Sendable, Hashable {
    /// A verdict that says whether the server is accepted, and why.
    @nonexhaustive
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
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
    public let verdict: Verdict
    /// The pins that match, in the order of the path. For ``Verdict-swift.enum/denied``, the denied pins.
    public let matches: [CanonicalMatch]
    /// The required roles without a match, or only `any` if no pin matches at all.
    public let unmetRoles: [PinRole]

    init(_ verdict: Verdict, _ matches: [CanonicalMatch] = [], unmet: [PinRole] = []) {
        self.verdict = verdict
        self.matches = matches
        unmetRoles = unmet
    }

    /// Whether requests may be sent to the server.
    public var isAccepted: Bool {
        switch verdict {
        case .matched, .unpinned, .bypassed, .forgiven: true
        case .refused, .denied, .ended, .unlisted: false
        }
    }
}

/// A pin and the certificate that it matches.
public struct CanonicalMatch: Sendable, Hashable {
    /// The pin that matches.
    public let pin: CanonicalPin
    /// The position of the certificate in the path, where 0 is the leaf.
    public let index: Int
}

/// The inputs of a decision in addition to the rules and the path.
public struct DecisionCircumstances: Sendable, Hashable {
    /// The current time.
    public var time: Date
    /// The offset of the device's local time from UTC, in seconds.
    public var offset: Int
    /// The time at which the client last saw the policy, or `nil` for just now.
    public var noted: Date?
    /// The dialect's name for the set of roots that the path's root belongs to, such as `system` or `user`, or `nil` if
    /// unknown.
    public var anchorSource: String?

    /// Creates the circumstances of a decision.
    public init(at time: Date, offset: Int = 0, noted: Date? = nil, anchorSource: String? = nil) {
        self.time = time
        self.offset = offset
        self.noted = noted
        self.anchorSource = anchorSource
    }
}

extension CanonicalPolicy {
    /// Decides on a verified path, leaf first, to a host for which these rules of the policy were found.
    ///
    /// The pins of several rules count together. The function is pure and total.
    public func decide(
        _ path: [X509Certificate], by rules: [CanonicalRule], under circumstances: DecisionCircumstances
    ) -> CanonicalDecision {
        let deniedMatches = matches(of: denied, on: path)
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
            rule.anchors?.contains { $0.bypassesPins && $0.source == circumstances.anchorSource } ?? false
        }
        guard !bypasses else { return CanonicalDecision(.bypassed) }
        let found = matches(of: judged.flatMap(\.pins), on: path)
        let unmet = requiredRoles(of: judged).filter { role in
            !found.contains { role.covers(index: $0.index, of: path.count) }
        }
        guard !unmet.isEmpty else { return CanonicalDecision(.matched, found) }
        return CanonicalDecision(enforced.isEmpty ? .forgiven : .refused, found, unmet: unmet)
    }

    /// Returns the roles that need a match: those of all rules that require roles, or `any` if there are none.
    private func requiredRoles(of rules: [CanonicalRule]) -> [PinRole] {
        var named: Set<PinRole> = []
        for case .eachOf(let roles) in rules.map(\.requirement) { named.formUnion(roles) }
        return named.isEmpty ? [.any] : PinRole.allCases.filter { named.contains($0) }
    }

    private func matches(of pins: [CanonicalPin], on path: [X509Certificate]) -> [CanonicalMatch] {
        var pins = pins
        var seen: Set<CanonicalPin> = []
        pins = pins.filter { seen.insert($0).inserted }
        return path.enumerated().flatMap { index, certificate in
            pins.filter { $0.role.covers(index: index, of: path.count) && $0.matches(certificate) }
                .map { CanonicalMatch(pin: $0, index: index) }
        }
    }
}

extension CanonicalPin {
    /// Returns whether the pin is that of the certificate or its key. The position of the certificate isn't considered.
    public func matches(_ certificate: X509Certificate) -> Bool {
        let bytes = content == .certificate ? certificate.derBytes : certificate.subjectPublicKeyInfo.derBytes
        return switch digest {
        case .full: value == bytes
        case .sha256: value == sha256Digest(bytes.span)
        case .sha1: value == CertificateTrust.digest("SHA1", of: bytes)
        case .sha512: value == CertificateTrust.digest("SHA2-512", of: bytes)
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
