import CertificateTrust
public import FoundationEssentials

/// When a rule ends, and what it does from then on. No rule ends in silence.
public struct PinningExpiry: Sendable, Hashable {
    /// What a rule does when its time is over. The chain is verified all the same.
    @nonexhaustive
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// Every server that the rule reaches is refused.
        case fail
        /// A mismatch is told and forgiven.
        case report
        /// The pins are not looked at any more.
        case stopPinning = "stop-pinning"
    }

    /// The first instant that is too late.
    public let end: Date
    /// What happens from then on.
    public let action: Action

    /// Ends a rule at an instant.
    public init(at end: Date, then action: Action) {
        self.end = end
        self.action = action
    }

    /// Ends a rule at an instant of RFC 3339 with its offset, `2027-03-31T12:00:00Z`, or with a day, `2027-03-31`: at
    /// the end of that day in UTC.
    public init(_ text: String, then action: Action) throws(PinningExpiryError) {
        guard let time = Date(rfc3339: text), time.timeIntervalSince1970 >= 0 else { throw PinningExpiryError(text) }
        let end = text.utf8.count == "2027-03-31".utf8.count ? time + 86_400 : time
        // No reader of reports, and no file, can say what is later.
        self.init(at: min(end, Date(timeIntervalSince1970: Self.lastSecond)), then: action)
    }

    /// 9999-12-31T23:59:59Z.
    private static let lastSecond = 253_402_300_799.0

    /// Whether the rule has ended at a time.
    public func isPast(at time: Date) -> Bool { !(time < end) }
}

extension PinningRule {
    /// When the rule expires, if that is after `time`: a decision by the rule doesn't hold longer. `nil` for a rule whose
    /// pins are off.
    public func nextExpiry(after time: Date) -> Date? {
        guard mode != .off, let expiry else { return nil }
        return expiry.isPast(at: time) ? nil : expiry.end
    }
}

/// A text is no time at which a rule could end.
public struct PinningExpiryError: Error, Sendable, Hashable {
    /// The text.
    public let text: String

    init(_ text: String) { self.text = text }
}

extension PinningExpiryError: CustomStringConvertible {
    public var description: String {
        "\(quoted(text)) is no time: write a day, 2027-03-31, which ends in UTC, or an instant, 2027-03-31T12:00:00Z"
    }
}
