public import CertificatePinning
public import Foundation

/// The outcome of one step of a ``PolicyUpdater``.
@nonexhaustive
public enum PolicyUpdate: Sendable {
    /// A bundle was received, verified and saved, and its policy is in force.
    case adopted(VerifiedPolicyBundle)
    /// The bundle that an earlier run of the program saved is in force.
    case resumed(VerifiedPolicyBundle)
    /// A bundle was received, verified and saved, but is in its rollout stage, and not yet in force here.
    case staged(VerifiedPolicyBundle)
    /// A server that the policy in force accepted would be refused by the staged bundle, with this error.
    case wouldRefuse(PinningError)
    /// The server has no newer bundle than this one. The sequence number is 0 if none was ever accepted.
    case unchanged(sequence: Int)
    /// A bundle was refused. The policy in force stays.
    case refused(PolicyBundleError)
    /// The bundle that an earlier run of the program saved was refused or can't be read, and isn't in force. The
    /// text is the reason.
    case savedRefused(String)
    /// The bundle in force has expired. The policy that the program was built with is in force, with the pins that the
    /// bundle denied.
    case expired(sequence: Int, at: Date)
    /// A bundle is valid but couldn't be saved, so the policy in force stays. The text is the reason.
    case unsaved(sequence: Int, String)
    /// The server couldn't be reached, or its response isn't a bundle. The text is the reason.
    case unreachable(String)
}

extension PolicyUpdate: CustomStringConvertible {
    /// One line: what happened, and the remedy if there is one.
    public var description: String {
        switch self {
        case .adopted(let bundle):
            "policy \(bundle.bundle.sequence) is in force until \(bundle.bundle.expires.ISO8601Format())"
        case .resumed(let bundle):
            "the saved policy \(bundle.bundle.sequence) is in force until \(bundle.bundle.expires.ISO8601Format())"
        case .staged(let bundle):
            "policy \(bundle.bundle.sequence) is staged until \(bundle.bundle.rollout?.until.ISO8601Format() ?? "")"
        case .wouldRefuse(let error): "the staged policy would refuse a server: \(error)"
        case .unchanged(let sequence): "policy \(sequence) is still the latest"
        case .refused(let error): "a policy update was refused, and the policy in force stays: \(error)"
        case .savedRefused(let reason):
            "the saved policy was refused, and the built-in policy is in force: \(reason)"
        case .expired(let sequence, let date):
            "policy \(sequence) expired at \(date.ISO8601Format()), so the built-in policy is in force: publish a new "
                + "bundle"
        case .unsaved(let sequence, let reason):
            "policy \(sequence) can't be saved, and the policy in force stays: \(reason)"
        case .unreachable(let reason): "no policy update could be fetched: \(reason)"
        }
    }
}
