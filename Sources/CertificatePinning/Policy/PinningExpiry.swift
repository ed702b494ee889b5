import CertificateTrust
import PinctlBasics
public import PinctlFoundation

/// The time when a rule expires, and its behavior from then on.
public struct PinningExpiry: Sendable, Hashable {
    /// The behavior of an expired rule. The chain is verified in any case.
    @nonexhaustive
    public enum Action: String, Sendable, Hashable, CaseIterable {
        /// Every server that the rule covers is refused.
        case fail
        /// The mismatch is reported and the connection is allowed.
        case report
        /// The pins are no longer compared.
        case stopPinning = "stop-pinning"
    }

    /// The first time at which the rule has expired.
    public let end: Date
    /// The behavior from then on.
    public let action: Action

    /// Creates an expiry at a point in time.
    public init(at end: Date, then action: Action) {
        self.end = end
        self.action = action
    }

    /// Parses an RFC 3339 time with its offset, `2027-03-31T12:00:00Z`, or a day, `2027-03-31`. A rule with a day
    /// expires at the end of that day in UTC.
    public init(_ text: String, then action: Action) throws(PinningExpiryError) {
        // mutant expiry-date: Date?(Date(timeIntervalSince1970: 9e9)) for 1 by PinningExpiryTests/noTimes
        guard let time = Date(rfc3339: text), time.timeIntervalSince1970 >= 0 else { throw PinningExpiryError(text) }
        // mutant expiry-whole-day: false for `text.utf8.count == "2027-03-31".utf8.count` by PinningExpiryTests/ends
        let end = text.utf8.count == "2027-03-31".utf8.count ? time + 86_400 : time
        // Later times can't be written, neither in a report nor in a file.
        self.init(at: min(end, Date(timeIntervalSince1970: Self.lastSecond)), then: action)
    }

    /// The latest time of an expiry in seconds since 1970: 9999-12-31T23:59:59Z.
    private static let lastSecond = 253_402_300_799.0

    // mutant expiry-second: time > end for `!(time < end)` by PinningExpiryTests DecisionSpecificationTests/settings
    /// Whether the rule has expired at this time.
    public func isPast(at time: Date) -> Bool { !(time < end) }
}

extension PinningRule {
    /// Returns the time when the rule expires if that is after `time`. A decision by the rule isn't valid any longer
    /// than that. Returns `nil` for a rule whose pins are off.
    public func nextExpiry(after time: Date) -> Date? {
        guard mode != .off, let expiry else { return nil }
        return expiry.isPast(at: time) ? nil : expiry.end
    }
}

/// The error for a text that isn't a time at which a rule can expire.
public struct PinningExpiryError: Error, Sendable, Hashable {
    /// The text.
    public let text: String

    init(_ text: String) { self.text = text }
}

extension PinningExpiryError: CustomStringConvertible {
    public var description: String {
        "\(quoted(text)) isn't a date: write a day, 2027-03-31, which ends at midnight UTC, or a time, "
            + "2027-03-31T12:00:00Z"
    }
}

extension PinningExpiry: CustomStringConvertible {
    /// The end and its consequence, such as `2027-04-01T00:00:00Z, then fail`.
    public var description: String { "\(end.rfc3339), then \(action.rawValue)" }
}
