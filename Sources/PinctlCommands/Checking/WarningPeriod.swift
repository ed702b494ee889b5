import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The time before an expiry in which `check` warns about it.
enum WarningPeriod: Sendable {
    /// A third of each certificate's lifetime, at most ``limit``. A certificate that lives for six days would otherwise
    /// have a warning on each of them.
    case usual
    /// The same time for every certificate and rule.
    case seconds(TimeInterval)
    /// A share of each certificate's lifetime in percent, for CA certificates at most ``limit``. A third of a root's
    /// lifetime is ten years.
    case share(Double)

    /// The longest share of a lifetime, 14 days in seconds.
    private static let limit: TimeInterval = 14 * 86_400

    /// Returns whether a time is so close to a certificate's expiry that it needs a warning.
    func contains(_ time: Date, before certificate: X509Certificate, isLeaf: Bool) -> Bool {
        contains(time, from: certificate.notBefore, until: certificate.notAfter, isLeaf: isLeaf)
    }

    /// Returns whether a time is so close to the end of a lifetime that it needs a warning.
    func contains(_ time: Date, from start: Date, until end: Date, isLeaf: Bool = true) -> Bool {
        let left = end.timeIntervalSince(time)
        let lifetime = end.timeIntervalSince(start)
        // Whole seconds are compared without a division, so the boundary is exact.
        return switch self {
        case .usual: left < Self.limit && left * 3 < lifetime
        case .seconds(let seconds): left < seconds
        case .share(let percent): (isLeaf || left < Self.limit) && left * 100 < lifetime * percent
        }
    }

    /// The number of seconds before the expiry of a rule, which has no lifetime.
    var secondsBeforeRule: TimeInterval {
        switch self {
        case .seconds(let seconds): seconds
        case .share(0): 0
        case .usual, .share: Self.limit
        }
    }
}

extension PolicyBundle {
    /// The effect of a bundle's expiry, and what to do before it.
    static let effectOfExpiry = "programs then use the policy that they were built with: publish a newer bundle"

    /// Returns a warning if the bundle has expired, or will within the period.
    func expiryWarning(at time: Date, within period: WarningPeriod) -> String? {
        guard period.contains(time, from: issued, until: expires) else { return nil }
        return "the bundle \(expires <= time ? "expired" : "expires") at \(expires.rfc3339), and \(Self.effectOfExpiry)"
    }
}
