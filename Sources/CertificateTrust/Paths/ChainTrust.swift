public import FoundationEssentials

/// A claim without a server's name: the chain of a TLS client, or of whatever ``TrustPolicy/purpose`` says.
///
/// Use ``ServerTrust`` for servers: a chain that is valid for some name is not valid for yours.
public struct ChainTrust: Sendable {
    /// What was presented.
    public let presented: PresentedChain
    /// The anchors.
    public let store: TrustStore
    /// What a path must satisfy.
    public let policy: TrustPolicy
    /// What is at hand about revocation, for a policy that looks at it.
    public let revocation: RevocationEvidence

    /// A claim over an already parsed chain.
    public init(
        presented: PresentedChain, store: TrustStore, policy: TrustPolicy, revocation: RevocationEvidence = .none
    ) {
        self.presented = presented
        self.store = store
        self.policy = policy
        self.revocation = revocation
    }

    /// Finds a valid path as of `time`, as ``ServerTrust`` does, with no name asked for.
    /// Throws the most useful reason when there is none.
    public func evaluate(
        at time: Date, tracing: (TrustAttempt) -> Void = { _ in }
    ) throws(TrustFinding) -> VerifiedChain {
        let claim = TrustEvaluation.Claim(
            presented: presented, name: nil, store: store, policy: policy, revocation: revocation)
        let result = TrustEvaluation.run(claim, at: time, tracing: tracing)
        guard let path = result.accepted else { throw result.finding }
        return VerifiedChain(certificates: path, leaf: presented.leaf)
    }

    /// Every valid path as of `time`, best first, at most `limit`, as ``ServerTrust/allPaths(at:limit:)`` has them.
    /// Throws the most useful reason when there is none.
    public func allPaths(at time: Date, limit: Int) throws(TrustFinding) -> [VerifiedChain] {
        guard limit > 0 else { return [] }
        let claim = TrustEvaluation.Claim(
            presented: presented, name: nil, store: store, policy: policy, revocation: revocation)
        var paths: [VerifiedChain] = []
        let result = TrustEvaluation.run(
            claim, at: time,
            accepting: { path in
                paths.append(VerifiedChain(certificates: path, leaf: presented.leaf))
                return paths.count >= limit
            }, tracing: { _ in })
        guard !paths.isEmpty else { throw result.finding }
        return paths
    }
}

/// A path from a leaf to a trust anchor that was verified at a time, for no name. Only ``ChainTrust`` makes one; pins
/// are not judged on it.
public struct VerifiedChain: Sendable, Hashable {
    /// Leaf first, anchor last.
    public let certificates: [X509Certificate]
    /// The certificate that was presented first.
    public let leaf: X509Certificate

    init(certificates: [X509Certificate], leaf: X509Certificate) {
        self.certificates = certificates
        self.leaf = leaf
    }

    /// The trust anchor the path ends at.
    public var anchor: X509Certificate { certificates.last ?? leaf }
}
