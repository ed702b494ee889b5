/// The search for paths from a leaf to an anchor: issuers are found by name, the most promising first, and every
/// candidate that reaches an anchor is handed to `visit`.
///
/// Building is bounded, since the peer chooses the certificates: a path has at most 12 of them, a search takes at most
/// 1,000 steps and yields at most 50 candidates with at most 200 signatures in all. With these bounds every
/// path-building case of BetterTLS is found.
struct PathBuilder {
    static let maximumLength = 12
    static let maximumSteps = 1_000
    static let maximumCandidates = 50
    static let maximumSignatures = 200

    enum Outcome {
        /// `visit` said to stop.
        case stopped
        /// Every path within the bounds was visited.
        case exhausted
        /// A bound ended the search.
        case overBudget
    }

    private let leaf: X509Certificate
    /// What was presented with the leaf, each certificate once, by subject.
    private let presented: [CanonicalName: [X509Certificate]]
    private let store: TrustStore
    private let time: Int64
    private var steps = 0
    private var candidates = 0
    private var signatures = 0
    /// The longest path that was walked, to tell where an issuer is missing.
    private(set) var longestWalk: [X509Certificate] = []

    /// `time` is in seconds since 1970 and only orders the search.
    init(presented: PresentedChain, store: TrustStore, time: Int64) {
        leaf = presented.leaf
        var seen: Set<X509Certificate> = []
        self.presented = Dictionary(
            grouping: presented.intermediates.filter { seen.insert($0).inserted }, by: \.canonicalSubject)
        self.store = store
        self.time = time
    }

    /// Visits candidates, leaf first and anchor last, until `visit` returns true.
    mutating func search(visit: ([X509Certificate]) -> Bool) -> Outcome {
        var path = [leaf]
        return walk(&path, visit)
    }

    private mutating func walk(_ path: inout [X509Certificate], _ visit: ([X509Certificate]) -> Bool) -> Outcome {
        guard let current = path.last else { return .exhausted }
        if path.count > longestWalk.count { longestWalk = path }
        if store.contains(current) {
            let outcome = yield(path, visit)
            guard outcome == .exhausted, !current.isSelfIssued else { return outcome }
        }
        guard path.count < Self.maximumLength else { return .exhausted }
        for (issuer, isAnchor) in issuers(of: current) {
            // A loop is a step too: a peer can present hundreds of certificates that are found only to be passed over.
            steps += 1
            guard steps <= Self.maximumSteps else { return .overBudget }
            guard !isRepeated(issuer, in: path) else { continue }
            path.append(issuer)
            let outcome = isAnchor ? yield(path, visit) : walk(&path, visit)
            path.removeLast()
            guard outcome == .exhausted else { return outcome }
        }
        return .exhausted
    }

    private mutating func yield(_ path: [X509Certificate], _ visit: ([X509Certificate]) -> Bool) -> Outcome {
        candidates += 1
        signatures += path.count - 1
        guard candidates <= Self.maximumCandidates, signatures <= Self.maximumSignatures else { return .overBudget }
        return visit(path) ? .stopped : .exhausted
    }

    /// Anchors, then presented certificates; in each, those whose key identifier and validity fit first.
    private func issuers(of certificate: X509Certificate) -> [(X509Certificate, isAnchor: Bool)] {
        let anchors = store.issuers(of: certificate)
        let others = (presented[certificate.canonicalIssuer] ?? []).filter { !anchors.contains($0) }
        return ordered(anchors, for: certificate).map { ($0, true) }
            + ordered(others, for: certificate).map { ($0, false) }
    }

    private func ordered(_ issuers: [X509Certificate], for certificate: X509Certificate) -> [X509Certificate] {
        guard issuers.count > 1 else { return issuers }
        func rank(_ issuer: X509Certificate) -> Int {
            let wanted = certificate.authorityKeyIdentifier
            let isOtherKey =
                wanted != nil && issuer.subjectKeyIdentifier != nil && issuer.subjectKeyIdentifier != wanted
            return (isOtherKey ? 2 : 0) + (issuer.validity.contains(time) ? 0 : 1)
        }
        return issuers.enumerated().sorted { (rank($0.element), $0.offset) < (rank($1.element), $1.offset) }
            .map(\.element)
    }

    /// The same name with the same key twice in a path is a loop, whatever the rest of the certificate says.
    private func isRepeated(_ issuer: X509Certificate, in path: [X509Certificate]) -> Bool {
        path.contains {
            $0.canonicalSubject == issuer.canonicalSubject && $0.subjectPublicKeyInfo == issuer.subjectPublicKeyInfo
        }
    }
}
