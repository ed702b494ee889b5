public import PinctlFoundation

/// A claim without a server name: the chain of a TLS client, or for the purpose in ``TrustPolicy/purpose``.
///
/// Use ``ServerTrust`` for servers: a chain that is valid for some hostname isn't necessarily valid for yours.
public struct ChainTrust: Sendable {
    /// The presented chain.
    public let presented: PresentedChain
    /// The trust anchors.
    public let store: TrustStore
    /// The requirements for a path.
    public let policy: TrustPolicy
    /// The evidence about revocation, which is used if the policy checks revocation.
    public let revocation: RevocationEvidence
    /// The evidence about Certificate Transparency, which is used if the policy checks it.
    public let transparency: TransparencyEvidence

    /// Creates a claim for a parsed chain.
    public init(
        presented: PresentedChain, store: TrustStore, policy: TrustPolicy, revocation: RevocationEvidence = .none,
        transparency: TransparencyEvidence = .none
    ) {
        self.presented = presented
        self.store = store
        self.policy = policy
        self.revocation = revocation
        self.transparency = transparency
    }

    /// Returns the best valid path as of `time`, as ``ServerTrust`` does, but without a hostname. Throws the most
    /// useful finding if there is none.
    public func evaluate(
        at time: Date, tracing: (TrustAttempt) -> Void = { _ in }
    ) throws(TrustFinding) -> VerifiedChain {
        verified(try TrustEvaluation.bestPath(claim, at: time, tracing: tracing))
    }

    /// Returns every valid path as of `time`, best first, up to `limit`, as ``ServerTrust/allPaths(at:limit:)`` does.
    /// Throws the most useful finding if there is none.
    public func allPaths(at time: Date, limit: Int) throws(TrustFinding) -> [VerifiedChain] {
        try TrustEvaluation.allPaths(claim, at: time, limit: limit).paths.map(verified)
    }

    private var claim: TrustEvaluation.Claim {
        TrustEvaluation.Claim(
            presented: presented, name: nil, store: store, policy: policy, revocation: revocation,
            transparency: transparency)
    }

    private func verified(_ path: TrustEvaluation.Path) -> VerifiedChain {
        VerifiedChain(
            certificates: path.certificates, leaf: presented.leaf, transparencyFinding: path.transparencyFinding)
    }
}

/// A path from a leaf to a trust anchor that was verified at a given time, without a hostname. Only ``ChainTrust``
/// creates one. Pins aren't checked against it.
public struct VerifiedChain: Sendable, Hashable {
    /// The certificates of the path, leaf first and anchor last.
    public let certificates: [X509Certificate]
    /// The certificate that was presented first.
    public let leaf: X509Certificate
    /// The reason why the leaf isn't compliant, if the policy reports Certificate Transparency
    /// (``CertificateTransparencyMode/report``).
    public let transparencyFinding: TrustFinding?

    init(certificates: [X509Certificate], leaf: X509Certificate, transparencyFinding: TrustFinding?) {
        self.certificates = certificates
        self.leaf = leaf
        self.transparencyFinding = transparencyFinding
    }

    /// The trust anchor at the end of the path.
    public var anchor: X509Certificate { certificates.last ?? leaf }
}

extension VerifiedChain: CustomStringConvertible {
    /// The subjects from the leaf to the anchor.
    public var description: String { certificates.pathText }
}
