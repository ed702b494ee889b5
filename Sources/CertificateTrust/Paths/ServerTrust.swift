import PinctlBasics
public import PinctlFoundation

/// A claim to evaluate: a presented chain, the hostname it should prove, the anchors and the policy.
///
/// Nothing is trusted until ``evaluate(at:accepting:tracing:)`` returns a path. The claim is a class so that an answer
/// can refer to the exact claim it belongs to.
public final class ServerTrust: Sendable {
    /// The chain that the server presented.
    public let presented: PresentedChain
    /// The requested hostname.
    public let name: ServerName
    /// The trust anchors.
    public let store: TrustStore
    /// The requirements for a path.
    public let policy: TrustPolicy
    /// The evidence about revocation, which is used if the policy checks revocation.
    public let revocation: RevocationEvidence
    /// The evidence about Certificate Transparency, which is used if the policy checks it.
    public let transparency: TransparencyEvidence

    private let attached = Locked<(any Sendable)?>(nil)

    /// Creates a claim for a parsed chain.
    public init(
        presented: PresentedChain, name: ServerName, store: TrustStore, policy: TrustPolicy = .default,
        revocation: RevocationEvidence = .none, transparency: TransparencyEvidence = .none
    ) {
        self.presented = presented
        self.name = name
        self.store = store
        self.policy = policy
        self.revocation = revocation
        self.transparency = transparency
    }

    /// Calls `body` with a value that a layer above this library keeps for this claim, and that is released with it. No
    /// evaluation reads the value.
    @_spi(Attachments)
    public func withAttachment<Result: Sendable>(_ body: (inout (any Sendable)?) -> Result) -> Result {
        attached.withLock { value in body(&value) }
    }

    /// Returns the best valid path as of `time`. Throws the most useful finding if there is none.
    ///
    /// A path is valid if the leaf matches the hostname (RFC 9525), every certificate is within its validity (both ends
    /// inclusive) and satisfies the policy for its position, and OpenSSL verifies the path (RFC 5280, section 6).
    /// `tracing` is called for every path that was tried.
    public func evaluate(
        at time: Date, tracing: (TrustAttempt) -> Void = { _ in }
    ) throws(TrustFinding) -> VerifiedPath {
        verified(try TrustEvaluation.bestPath(claim, at: time, tracing: tracing))
    }

    /// Returns a valid path as of `time` that `accepting` accepts, or `nil` if it rejects every valid path.
    ///
    /// `accepting` is called for each valid path, best first. It can only reject a path, and then the next valid path
    /// is tried. Throws the most useful finding if there is no valid path.
    public func evaluate(
        at time: Date, accepting: (VerifiedPath) -> Bool, tracing: (TrustAttempt) -> Void = { _ in }
    ) throws(TrustFinding) -> VerifiedPath? {
        let result = evaluation(at: time, accepting: accepting, tracing: tracing)
        guard result.accepted != nil || result.isRefused else { throw result.finding }
        return result.accepted.map(verified)
    }

    /// Returns every valid path as of `time`, best first, up to `limit`. Each is a way in which a client could anchor
    /// the chain.
    ///
    /// Throws the most useful finding if there is none. The limits of an evaluation apply to all paths together.
    public func allPaths(at time: Date, limit: Int) throws(TrustFinding) -> [VerifiedPath] {
        try paths(at: time, limit: limit).paths
    }

    /// Returns what ``allPaths(at:limit:)`` does, and whether there are surely no other valid paths.
    package func paths(
        at time: Date, limit: Int
    ) throws(TrustFinding) -> (paths: [VerifiedPath], isWhole: Bool) {
        let found = try TrustEvaluation.allPaths(claim, at: time, limit: limit)
        return (found.paths.map(verified), found.isWhole)
    }

    /// Returns every valid path as of `time`, given one path that is known to be valid. Nothing is verified again if
    /// the names of the issuers allow no other path.
    package func allPaths(
        beside path: VerifiedPath, at time: Date, limit: Int
    ) throws(TrustFinding) -> [VerifiedPath] {
        let builder = PathBuilder(
            leaf: presented.leaf, intermediates: presented.intermediates, store: store,
            time: time.secondsSince1970())
        return builder.isOnlyWay(path.certificates) ? [path] : try allPaths(at: time, limit: limit)
    }

    /// Runs the evaluation and returns its result, including the budget that was spent.
    func evaluation(
        at time: Date, accepting: (VerifiedPath) -> Bool = { _ in true }, tracing: (TrustAttempt) -> Void = { _ in }
    ) -> TrustEvaluation.Result {
        TrustEvaluation.run(claim, at: time, accepting: { accepting(verified($0)) }, tracing: tracing)
    }

    private var claim: TrustEvaluation.Claim {
        TrustEvaluation.Claim(
            presented: presented, name: name, store: store, policy: policy, revocation: revocation,
            transparency: transparency)
    }

    private func verified(_ path: TrustEvaluation.Path) -> VerifiedPath {
        VerifiedPath(
            certificates: path.certificates, leaf: presented.leaf, name: name,
            transparencyFinding: path.transparencyFinding)
    }
}
