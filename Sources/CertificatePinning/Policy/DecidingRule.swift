package import CertificateTrust
package import PinctlFoundation

/// A rule as ``RuleTable`` and ``PathDecision`` see it: one of this project's policies, or one of another system's file.
package protocol DecidingRule: Sendable {
    associatedtype RulePin: DecidingPin

    /// The hosts that the rule is for.
    var patterns: [HostPattern] { get }
    /// The ports that the rule covers, or `nil` for all.
    var ports: Set<Int>? { get }
    var pins: [RulePin] { get }
    /// The number of pins that must match.
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

/// A pin as ``PathDecision`` sees it.
package protocol DecidingPin: Sendable {
    /// The positions on the path at which the pin counts.
    var role: PinRole { get }
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
    /// Returns the mode of the rules that decide if rules have these two modes. A rule that only reports adds nothing to
    /// the pins that an enforced rule accepts. With `off`, the pins of neither apply.
    package static func deciding(_ first: PinningMode, _ second: PinningMode) -> PinningMode {
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

extension Pin: DecidingPin {}
