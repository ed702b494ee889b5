/// One step of an evaluation for diagnostics: a path that was tried, and its outcome.
public struct TrustAttempt: Sendable, Hashable {
    /// The outcome of a path.
    @nonexhaustive
    public enum Outcome: Sendable, Hashable {
        /// The path isn't valid, for this reason.
        case untrusted(TrustFinding)
        /// The path is valid, and the caller rejected it.
        case refused
        /// The path is valid, and the caller accepted it.
        case accepted
    }

    /// The certificates of the path, leaf first. The last one is an anchor unless the path was abandoned before
    /// reaching one.
    public let certificates: [X509Certificate]
    /// The outcome of the path.
    public let outcome: Outcome

    /// Whether the path is valid, whether or not the caller accepted it.
    public var isValid: Bool {
        if case .untrusted = outcome { false } else { true }
    }

    /// The finding, if the path wasn't judged because of a limit or for lack of memory. It may be valid.
    package var limit: TrustFinding? {
        // mutant bypass-whole-search: false for 2 by DeniedPinTests/bypassBeyondBudget PlanSettingTests/localAnchors
        guard case .untrusted(let finding) = outcome, finding.rule == .budget || finding.rule == .outOfMemory else {
            return nil
        }
        return finding
    }
}

extension TrustAttempt: CustomStringConvertible {
    /// The subjects from the leaf upwards, and the outcome.
    public var description: String {
        switch outcome {
        case .untrusted(let finding): "\(certificates.pathText): \(finding)"
        case .refused: "\(certificates.pathText): refused by the caller"
        case .accepted: "\(certificates.pathText): accepted"
        }
    }
}
