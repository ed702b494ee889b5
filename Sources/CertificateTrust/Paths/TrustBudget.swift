/// The limits on the work of one evaluation. The peer chooses the certificates, and must not control how long they
/// take.
///
/// The numbers are those of webpki (`Budget` in its verify_cert.rs: 100 signatures, 200,000 steps, 250,000 comparisons
/// of name constraints), but with fewer steps, because a step here also finds and orders the issuers. Within these
/// limits, every path-building test of BetterTLS passes.
struct TrustBudget: Sendable {
    /// The number of signatures verified in all candidates.
    static let maximumSignatures = 100
    /// The number of issuers tried, whether or not they lead to an anchor.
    static let maximumSteps = 1_000
    /// The number of candidates passed to OpenSSL.
    static let maximumCandidates = 50
    /// The number of comparisons of names with name constraints. OpenSSL makes as many again.
    static let maximumComparisons = 250_000
    /// The number of certificates in a path, leaf and anchor included.
    static let maximumPathLength = 12
    /// The number of certificates presented. OpenSSL's peers send 2 to 5, and the longest cross-signed chains have
    /// about 10.
    static let maximumPresented = 100
    /// The number of bytes presented: four times what TLS accepts from a peer (`SSL_MAX_CERT_LIST_DEFAULT`, 100 KiB).
    /// OpenSSL needs up to seventy times as much memory for them.
    static let maximumPresentedBytes = 400 * 1_024
    /// The size of a stapled OCSP response, which is parsed for each candidate: twice what OpenSSL accepts from a peer
    /// (`SSL3_RT_MAX_PLAIN_LENGTH`, 16 KiB). A response with its responder's certificate has two or three thousand
    /// bytes.
    static let maximumStapleBytes = 32 * 1_024

    private(set) var signatures = 0
    private(set) var steps = 0
    private(set) var candidates = 0
    private(set) var comparisons = 0

    /// Spends from the budget before work is done. Returns false if that would exceed the limit.
    mutating func spend(signatures count: Int) -> Bool { Self.spend(count, from: &signatures, Self.maximumSignatures) }
    mutating func spendStep() -> Bool { Self.spend(1, from: &steps, Self.maximumSteps) }
    mutating func spendCandidate() -> Bool { Self.spend(1, from: &candidates, Self.maximumCandidates) }
    mutating func spend(comparisons count: Int) -> Bool {
        Self.spend(count, from: &comparisons, Self.maximumComparisons)
    }

    private static func spend(_ count: Int, from spent: inout Int, _ limit: Int) -> Bool {
        guard count <= limit - spent else { return false }
        spent += count
        return true
    }
}
