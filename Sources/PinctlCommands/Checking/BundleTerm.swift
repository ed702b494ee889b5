import CertificatePinning
import PinctlBasics
import PinctlFoundation

/// The period in which a signed bundle is valid. Programs that have no newer bundle when it expires use the policy that
/// they were built with.
struct BundleTerm: Sendable {
    let issued: Date
    let expires: Date

    /// Reads the period of a bundle. Returns `nil` for any other file.
    init?(of bytes: [UInt8]) {
        guard PolicyBundle.isRecognized(in: bytes), let bundle = try? PolicyBundle(json: bytes) else { return nil }
        (issued, expires) = (bundle.issued, bundle.expires)
    }

    /// The effect of the expiry, and what to do before it.
    static let effect = "programs then use the policy that they were built with: publish a newer bundle"

    /// Returns a warning if the bundle has expired, or will within the period.
    func warning(at time: Date, within period: WarningPeriod) -> String? {
        guard period.contains(time, from: issued, until: expires) else { return nil }
        return "the bundle \(expires <= time ? "expired" : "expires") at \(expires.rfc3339), and \(Self.effect)"
    }
}

extension Arguments {
    /// Returns the period of the policy of `--policy`, or of the usual one, if it is a bundle.
    func bundleTerm(in environment: CommandEnvironment) -> BundleTerm? {
        (try? DialectInput.contents(self[.policy] ?? Self.usualPolicyPath(in: environment))).flatMap(BundleTerm.init)
    }
}
