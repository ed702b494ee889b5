public import CertificatePinning
public import CertificateTrust
public import FoundationEssentials

/// What the rules of a host make of a verified path, in their own system's way.
public struct CanonicalDecision: Sendable, Hashable {
    /// Whether the server is accepted, and why.
    @nonexhaustive
    public enum Verdict: String, Sendable, Hashable, CaseIterable {
        /// Accepted: the pins match.
        case matched
        /// Accepted: no pins hold, because no rule reaches the host, or its rules are off or have ended.
        case unpinned
        /// Accepted: the path ends at a root that needs no pin.
        case bypassed
        /// Accepted although the pins do not match: mismatches are only told.
        case forgiven
        /// Refused: the pins do not match.
        case refused
        /// Refused: the path holds a denied pin.
        case denied
        /// Refused: a rule has ended, and refuses everything since.
        case ended
        /// Refused: no rule reaches the host, and such hosts are refused.
        case unlisted
    }

    /// The verdict.
    public let verdict: Verdict
    /// The pins that match, in the order of the path; of ``Verdict-swift.enum/denied`` the denied ones.
    public let matches: [CanonicalMatch]
    /// The required roles without a match; `any` alone when no pin matches at all.
    public let unmetRoles: [PinRole]

    init(_ verdict: Verdict, _ matches: [CanonicalMatch] = [], unmet: [PinRole] = []) {
        self.verdict = verdict
        self.matches = matches
        unmetRoles = unmet
    }

    /// Whether a request may go to the server.
    public var isAccepted: Bool {
        switch verdict {
        case .matched, .unpinned, .bypassed, .forgiven: true
        case .refused, .denied, .ended, .unlisted: false
        }
    }
}

/// A pin, and the certificate that it matches.
public struct CanonicalMatch: Sendable, Hashable {
    /// The pin.
    public let pin: CanonicalPin
    /// The certificate on the path, 0 is the leaf.
    public let index: Int
}

/// What a decision depends on beside rules and path.
public struct DecisionCircumstances: Sendable, Hashable {
    /// Now.
    public var time: Date
    /// Seconds that the device's clock is ahead of UTC.
    public var offset: Int
    /// When the client last saw the policy; nil for just now.
    public var noted: Date?
    /// What the dialect calls the roots among which the path's stands: `system`, `user`; nil when that is not known.
    public var anchorSource: String?

    /// Names circumstances.
    public init(at time: Date, offset: Int = 0, noted: Date? = nil, anchorSource: String? = nil) {
        self.time = time
        self.offset = offset
        self.noted = noted
        self.anchorSource = anchorSource
    }
}

extension CanonicalPolicy {
    /// Decides on a verified path, leaf first, to a host for which these rules of the policy were found. The pins of
    /// several rules count together. Pure, and total.
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
        // A rule that only reports adds nothing to what an enforced one accepts.
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

    /// The roles in which a match must stand: those of every rule that names some, else any.
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
    /// Whether this is a certificate's key, or the certificate, wherever it stands.
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
    /// Whether the rule has ended.
    package func isOver(under circumstances: DecisionCircumstances) -> Bool {
        let now = circumstances.time.timeIntervalSince1970
        return switch self {
        case .instant(let seconds): now >= Double(seconds)
        // A day that is none ends nothing: its own system refuses the file.
        case .localDay(let day):
            CivilTime(day: day).map { now > Double($0.secondsSince1970) - Double(circumstances.offset) } ?? false
        case .age(let age): now >= (circumstances.noted?.timeIntervalSince1970 ?? now) + Double(age)
        }
    }
}
