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

    /// Whether the path is valid, accepted or not.
    public var isValid: Bool {
        if case .untrusted = outcome { false } else { true }
    }
}
