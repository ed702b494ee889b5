package import CertificateTrust
package import PinctlFoundation

/// The properties of a rule that ``RuleTable`` and ``PathDecision`` need. The rule may be one of this project's
/// policies or one of another system's file.
package protocol DecidingRule: Sendable {
    associatedtype RulePin: DecidingPin

    /// The hosts that the rule is for.
    var patterns: [HostPattern] { get }
    /// The ports that the rule covers, or `nil` for all.
    var ports: Set<Int>? { get }
    /// The pins of the rule.
    var pins: [RulePin] { get }
    /// The matches that are required.
    var requirement: PinRequirement { get }
    /// The behavior on a mismatch.
    var mode: PinningMode { get }
    /// The anchors under which the pins apply, or `nil` if they always do.
    var pinsApplyOnlyUnder: TrustStore? { get }

    /// Returns the behavior since the rule has expired, or `nil` if it hasn't.
    func expiryEffect(under circumstances: DecisionCircumstances) -> PinningExpiry.Action?
    /// Returns whether chains to this source of roots need no pin.
    func bypassesPins(under source: String?) -> Bool
}

/// The properties of a pin that ``PathDecision`` needs.
package protocol DecidingPin: Sendable {
    /// The kinds of fingerprints. Of each kind, a certificate has one.
    associatedtype Kind: Equatable, Sendable
    /// The fingerprints.
    associatedtype Value: Equatable, Sendable

    /// The positions on the path at which the pin counts.
    var role: PinRole { get }
    /// The kind of the pinned fingerprint.
    var kind: Kind { get }
    /// The pinned fingerprint.
    var value: Value { get }

    /// Returns the fingerprint of a certificate, or `nil` if OpenSSL doesn't offer the digest.
    static func value(of certificate: X509Certificate, _ kind: Kind) -> Value?
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

extension DecidingRule {
    /// Returns the mode of the rule, which its expiry may have changed, or `nil` if it refuses every server since then.
    package func modeInEffect(under circumstances: DecisionCircumstances) -> PinningMode? {
        guard mode != .off else { return .off }
        return switch expiryEffect(under: circumstances) {
        case .fail: nil
        case .report: .report
        case .stopPinning: .off
        case nil: mode
        }
    }

    /// Returns whether the rules cover a common port.
    package func sharesPorts(with other: Self) -> Bool {
        guard let ports, let others = other.ports else { return true }
        return !ports.isDisjoint(with: others)
    }
}

extension PinningMode {
    /// Returns the mode of the rules that decide if rules have these two modes. A rule that only reports adds nothing
    /// to the pins that an enforced rule accepts. With `off`, the pins of neither apply.
    package static func deciding(_ first: PinningMode, _ second: PinningMode) -> PinningMode {
        // mutant canonical-enforced: first == second by DecisionTests
        if first == .enforce || second == .enforce { return .enforce }
        return first == .report ? first : second
    }
}

extension Set<PinRole> {
    /// The roles that need a match if rules require these: all of them, or `any` if there are none.
    package var required: [PinRole] { isEmpty ? [.any] : PinRole.allCases.filter(contains) }
}

extension PinningRule: DecidingRule {
    package var patterns: [HostPattern] {
        [HostPattern(host.description, includesSubdomains ? .exactAndBelow : .exact)]
    }

    package func expiryEffect(under circumstances: DecisionCircumstances) -> PinningExpiry.Action? {
        expiry.flatMap { $0.isPast(at: circumstances.time) ? $0.action : nil }
    }

    /// Returns false, because the roots of these rules have no source.
    package func bypassesPins(under source: String?) -> Bool { false }
}

extension Pin: DecidingPin {
    package var kind: CanonicalPin.Content {
        switch fingerprint {
        case .publicKey: .publicKey
        case .certificate: .certificate
        }
    }

    package var value: PinFingerprint { fingerprint }

    package static func value(of certificate: X509Certificate, _ kind: CanonicalPin.Content) -> PinFingerprint? {
        switch kind {
        case .publicKey: .publicKey(certificate.spkiFingerprint)
        case .certificate: .certificate(certificate.fingerprint)
        }
    }
}
