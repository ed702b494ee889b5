import PinctlBasics
import PinctlFoundation

/// A limit on the lifetime of the certificates that public CAs issue to servers (Baseline Requirements, section 6.3.2,
/// as changed by ballots 193, SC31 and SC-081v3).
struct LifetimeLimit: Sendable {
    /// The first second of the first day on which certificates with this limit are issued, in seconds since 1970.
    let start: Int64
    let days: Int64

    /// The limits by day of issue, the latest first. Certificates from before all of them aren't limited here.
    static let all = [
        LifetimeLimit(start: 1_868_227_200, days: 47),  // 2029-03-15
        LifetimeLimit(start: 1_805_068_800, days: 100),  // 2027-03-15
        LifetimeLimit(start: 1_773_532_800, days: 200),  // 2026-03-15
        LifetimeLimit(start: 1_598_918_400, days: 398),  // 2020-09-01
        LifetimeLimit(start: 1_519_862_400, days: 825),  // 2018-03-01
    ]

    /// Returns a description of a lifetime that is too long and its remedy, or `nil`.
    ///
    /// The day of issue is taken from notBefore, because a certificate doesn't state it otherwise. A CA may set
    /// notBefore up to 48 hours back, so a certificate of the first two days may be measured by the limit before.
    static func violation(by validity: ClosedRange<Int64>) -> String? {
        guard let limit = all.first(where: { $0.start <= validity.lowerBound }) else { return nil }
        let days = days(of: validity)
        // mutant strict-lifetime: false by LifetimeTests
        guard days > limit.days else { return nil }
        let start = Date(timeIntervalSince1970: Double(limit.start)).day
        return "is valid for \(days) days, but public CAs may issue for at most \(limit.days) days since \(start): "
            + "reissue it for a shorter time"
    }

    /// Returns the lifetime as the Baseline Requirements count it: both ends inclusive, in days of 86,400 seconds. A
    /// part of a day counts as a whole one.
    private static func days(of validity: ClosedRange<Int64>) -> Int64 {
        // Neither difference nor sum overflows, because the years of a certificate are 0 to 9999.
        let seconds = validity.upperBound - validity.lowerBound + 1
        return (seconds + 86_399) / 86_400
    }
}
