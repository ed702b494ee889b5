/// What one evaluation may spend: the peer chooses the certificates, and must not choose how long they are looked at.
///
/// The numbers are those of webpki (`Budget` in its verify_cert.rs: 100 signatures, 200,000 steps, 250,000 comparisons
/// of name constraints), with fewer steps, since a step here also finds and orders the issuers. Under them every
/// path-building case of BetterTLS is found.
struct TrustBudget: Sendable {
    /// Signatures verified in all candidates.
    static let maximumSignatures = 100
    /// Issuers tried, whether they lead to an anchor or not.
    static let maximumSteps = 1_000
    /// Candidates handed to OpenSSL.
    static let maximumCandidates = 50
    /// Names held against name constraints. OpenSSL compares as many again.
    static let maximumComparisons = 250_000
    /// Certificates in a path, leaf and anchor included.
    static let maximumPathLength = 12
    /// Certificates presented: OpenSSL's peers send 2 to 5, the longest cross-signed chains about 10.
    static let maximumPresented = 100
    /// Bytes presented: four times what TLS takes from a peer (`SSL_MAX_CERT_LIST_DEFAULT`, 100 KiB). OpenSSL takes up
    /// to seventy times as much memory for them.
    static let maximumPresentedBytes = 400 * 1_024
    /// Bytes of a stapled OCSP response, which is read for each candidate: twice what OpenSSL takes from a peer
    /// (`SSL3_RT_MAX_PLAIN_LENGTH`, 16 KiB). One with its responder's certificate has two or three thousand.
    static let maximumStapleBytes = 32 * 1_024

    private(set) var signatures = 0
    private(set) var steps = 0
    private(set) var candidates = 0
    private(set) var comparisons = 0

    /// Each pays for what is about to be done, or says that it would be over the limit.
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
