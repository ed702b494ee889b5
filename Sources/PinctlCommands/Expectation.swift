import CertificatePinning
import CertificateTrust
import FoundationEssentials
import TLSTransport

/// Where the pins of a run come from.
enum PinSource: Sendable {
    /// No pins are asked for: a trusted chain is enough.
    case none
    /// `--pin`: one of these, anywhere on the path.
    case pins([Pin])
    /// A policy file.
    case policy(PolicyFile)

    /// What is expected of one server.
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

/// What is expected of one server besides a trusted chain.
enum Expectation: Sendable {
    case trust
    /// What this policy says; it has a rule for the server.
    case pins(PinningPolicy)
    /// Nothing can be: the policy file has no rule for it.
    case unlisted(PolicyFile)
}

extension Expectation {
    /// What may be behind a chain or pins that are not as expected.
    func causes(
        of trust: ServerTrust, port: UInt16, at time: Date, systemRoots: TrustStore? = nil
    ) -> [PinFailureCause] {
        switch self {
        case .trust: []
        case .pins(let policy):
            PinDiagnosis(of: trust, port: Int(port), by: policy, at: time, systemRoots: systemRoots).causes
        case .unlisted(let file): PinDiagnosis(ofUnlisted: trust.name, in: file.policy).causes
        }
    }
}
