import CertificatePinning
import PinctlBasics
import PinctlFoundation

extension PolicyBundle {
    /// The effect of a bundle's expiry, and what to do before it.
    static let effectOfExpiry = "programs then use the policy that they were built with: publish a newer bundle"

    /// Returns a warning if the bundle has expired, or will within the period.
    func expiryWarning(at time: Date, within period: WarningPeriod) -> String? {
        guard period.contains(time, from: issued, until: expires) else { return nil }
        return "the bundle \(expires <= time ? "expired" : "expires") at \(expires.rfc3339), and \(Self.effectOfExpiry)"
    }
}
