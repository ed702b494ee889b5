import CertificatePinning
import PinctlBasics
import PinctlFoundation

extension Console {
    /// Prints what a command doesn't know about a policy if it is in a bundle, and counts the bundle.
    mutating func note(of file: PolicyFile) {
        if file.bundle != nil { noteUnverifiedBundle() }
        for note in file.bundleNotes { self.note("note: \(note)") }
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
