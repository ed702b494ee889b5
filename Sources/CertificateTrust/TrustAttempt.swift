/// One step of an evaluation that somebody may want to read: how far a path was walked and what became of it.
public struct TrustAttempt: Sendable, Hashable {
    /// What became of a path.
    @nonexhaustive
    public enum Outcome: Sendable, Hashable {
        /// Not valid, for this reason.
        case untrusted(TrustFinding)
        /// Valid, and the caller did not accept it.
        case refused
        /// Valid and accepted.
        case accepted
    }

    /// Leaf first; the last is an anchor unless the path was given up before one.
    public let certificates: [X509Certificate]
    /// What became of it.
    public let outcome: Outcome
}

extension TrustAttempt: CustomStringConvertible {
    /// `leaf < issuer < anchor: what became of it`, the subjects by their common names where they have one.
    public var description: String {
        let path = certificates.map { visibleText($0.subject.commonName ?? $0.subject.description) }
        let outcome =
            switch outcome {
            case .untrusted(let finding): "\(finding.rule.rawValue): \(finding)"
            case .refused: "valid, not accepted"
            case .accepted: "valid"
            }
        return "\(path.joined(separator: " < ")): \(outcome)"
    }
}
