import CertificatePinning
import CertificateTrust
import PinctlFoundation
import PinctlTLSTransport

/// The pins that a run expects, in addition to trusted chains.
enum PinSource: Sendable {
    /// No pins. A trusted chain is enough.
    case none
    /// The pins of `--pin`, of which one must match anywhere on the path of every server.
    case pins([Pin])
    case policy(PolicyFile)

    /// Returns the policy that a host is judged by, or `nil` without pins.
    func policy(for host: ServerName) -> PinningPolicy? {
        switch self {
        case .none: nil
        case .pins(let pins): PinningPolicy(pinning: host, to: pins)
        case .policy(let file): file.policy
        }
    }

    /// Returns the rule for a host, or `nil` if there is none.
    func rule(for host: ServerName, port: UInt16) -> PinningRule? {
        policy(for: host)?.rule(for: host, port: Int(port))
    }

    /// Returns the policy file if it has no rule for a host, so that nothing is expected of it.
    func file(unlisting host: ServerName, port: UInt16) -> PolicyFile? {
        guard case .policy(let file) = self, rule(for: host, port: port) == nil else { return nil }
        return file
    }

    /// Returns the possible causes of an unexpected chain or of unexpected pins.
    func causes(
        of trust: ServerTrust, port: UInt16, at time: Date, systemRoots: TrustStore? = nil
    ) -> [PinFailureCause] {
        if let file = file(unlisting: trust.name, port: port) {
            return file.policy.failureCauses(forUnlisted: trust.name)
        }
        guard let policy = policy(for: trust.name) else {
            // Most causes of an untrusted chain don't depend on pins. The finding itself says to check the clock.
            return PinningPolicy.failureCauses(withoutPins: trust, at: time).filter { !$0.isOfClock }
        }
        return policy.failureCauses(for: trust, port: Int(port), at: time, systemRoots: systemRoots)
    }
}
