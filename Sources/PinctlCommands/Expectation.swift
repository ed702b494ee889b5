import CertificatePinning
import CertificateTrust
import PinctlFoundation
import PinctlTLSTransport

/// The source of the pins of a run.
enum PinSource: Sendable {
    /// No pins. A trusted chain is enough.
    case none
    /// The pins of `--pin`, of which one must match anywhere on the path.
    case pins([Pin])
    case policy(PolicyFile)

    /// Returns the expectation for one server.
    func expectation(for endpoint: Endpoint) throws(UsageError) -> Expectation {
        switch self {
        case .none: return .trust
        case .pins(let pins):
            do throws(PolicyError) {
                return .pins(try PinningPolicy(rules: [PinningRule(host: endpoint.name, pins: pins)]))
            } catch {
                throw .unusable([error.description])
            }
        case .policy(let file):
            let rule = file.policy.rule(for: endpoint.name, port: Int(endpoint.port))
            return rule == nil ? .unlisted(file) : .pins(file.policy)
        }
    }
}

/// The expectation for one server in addition to a trusted chain.
enum Expectation: Sendable {
    case trust
    /// The pins of a policy that has a rule for the server.
    case pins(PinningPolicy)
    /// No expectation, because the policy file has no rule for the server.
    case unlisted(PolicyFile)
}

extension Expectation {
    /// Returns the rule of the policy for a host, if there is one.
    func rule(for name: ServerName, port: UInt16) -> PinningRule? {
        if case .pins(let policy) = self { policy.rule(for: name, port: Int(port)) } else { nil }
    }

    /// Returns the possible causes of an unexpected chain or of unexpected pins.
    func causes(
        of trust: ServerTrust, port: UInt16, at time: Date, systemRoots: TrustStore? = nil
    ) -> [PinFailureCause] {
        switch self {
        case .trust:
            // Most causes of an untrusted chain don't depend on pins. The finding itself says to check the clock.
            PinningPolicy.failureCauses(withoutPins: trust, at: time).filter { !$0.isOfClock }
        case .pins(let policy):
            policy.failureCauses(for: trust, port: Int(port), at: time, systemRoots: systemRoots)
        case .unlisted(let file): file.policy.failureCauses(forUnlisted: trust.name)
        }
    }
}
