public import FoundationEssentials

/// A claim to be evaluated: a presented chain, the name it should prove, the anchors and the policy.
///
/// Nothing is trusted until ``evaluate(at:accepting:tracing:)`` returns. It is an object so that an answer can name the
/// very claim it answers.
public final class ServerTrust: Sendable {
    /// What the server presented.
    public let presented: PresentedChain
    /// The name that was asked for.
    public let name: ServerName
    /// The anchors.
    public let store: TrustStore
    /// What a path must satisfy.
    public let policy: TrustPolicy
    /// What is at hand about revocation, for a policy that looks at it.
    public let revocation: RevocationEvidence

    /// A claim over an already parsed chain.
    public init(
        presented: PresentedChain, name: ServerName, store: TrustStore, policy: TrustPolicy = .default,
        revocation: RevocationEvidence = .none
    ) {
        self.presented = presented
        self.name = name
        self.store = store
        self.policy = policy
        self.revocation = revocation
    }

    /// Returns the best valid path as of `time`. Throws the most useful reason when there is none.
    ///
    /// A path is valid when the leaf names the server (RFC 9525), every certificate is within its validity, both ends
    /// inclusive, and satisfies the policy for its position, and OpenSSL verifies it (RFC 5280, section 6). `tracing` is
    /// called for every path that was tried.
    public func evaluate(
        at time: Date, tracing: (TrustAttempt) -> Void = { _ in }
    ) throws(TrustFinding) -> VerifiedPath {
        let result = evaluation(at: time, tracing: tracing)
        guard let path = result.accepted else { throw result.finding }
        return verified(path)
    }

    /// Returns a valid path as of `time` that `accepting` accepts.
    ///
    /// `accepting` is called for each valid path, best first, and can only refuse it; then the next valid path is tried.
    /// Throws ``TrustError/refused(best:)`` when valid paths exist and none was accepted, ``TrustError/untrusted(_:)``
    /// when none is valid.
    public func evaluate(
        at time: Date, accepting: (VerifiedPath) -> Bool, tracing: (TrustAttempt) -> Void = { _ in }
    ) throws(TrustError) -> VerifiedPath {
        let result = evaluation(at: time, accepting: accepting, tracing: tracing)
        if let path = result.accepted { return verified(path) }
        if let path = result.refused { throw .refused(best: verified(path)) }
        throw .untrusted(result.finding)
    }

    /// Every valid path as of `time`, best first, at most `limit`: each way in which a client could anchor the chain.
    ///
    /// Throws the most useful reason when there is none. The budgets of an evaluation apply to all paths together.
    public func allPaths(at time: Date, limit: Int) throws(TrustFinding) -> [VerifiedPath] {
        guard limit > 0 else { return [] }
        var paths: [VerifiedPath] = []
        let result = evaluation(
            at: time,
            accepting: { path in
                paths.append(path)
                return paths.count >= limit
            })
        guard !paths.isEmpty else { throw result.finding }
        return paths
    }

    /// Every valid path as of `time`, where this one is known to be valid: nothing is verified again when the names of
    /// the issuers leave no other way.
    package func allPaths(
        beside path: VerifiedPath, at time: Date, limit: Int
    ) throws(TrustFinding) -> [VerifiedPath] {
        let builder = PathBuilder(
            leaf: presented.leaf, intermediates: presented.intermediates, store: store,
            time: Int64(time.timeIntervalSince1970.rounded(.down)))
        return builder.isOnlyWay(path.certificates) ? [path] : try allPaths(at: time, limit: limit)
    }

    /// The evaluation, with what it cost.
    func evaluation(
        at time: Date, accepting: (VerifiedPath) -> Bool = { _ in true }, tracing: (TrustAttempt) -> Void = { _ in }
    ) -> TrustEvaluation.Result {
        TrustEvaluation.run(
            TrustEvaluation.Claim(
                presented: presented, name: name, store: store, policy: policy, revocation: revocation),
            at: time, accepting: { accepting(verified($0)) }, tracing: tracing)
    }

    private func verified(_ path: [X509Certificate]) -> VerifiedPath {
        VerifiedPath(certificates: path, leaf: presented.leaf, name: name)
    }
}
