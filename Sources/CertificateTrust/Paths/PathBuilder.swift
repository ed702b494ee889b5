/// The search for paths from a leaf to an anchor: issuers are found by name, the most promising first, depth first.
///
/// It knows nothing of validity: `admits` says whether a certificate may stand in its place, and `visit` is handed every
/// candidate that reaches an anchor. All work is paid from a ``TrustBudget``.
struct PathBuilder {
    /// What became of a candidate.
    enum Visit {
        /// The search is over.
        case stop
        /// Other candidates may be better.
        case next
        /// The signature of the certificate at this depth is not by the one behind it: no candidate with both.
        case badSignature(depth: Int)
        case overBudget
    }

    enum Outcome {
        /// `visit` said to stop.
        case stopped
        /// Every path within the bounds was visited.
        case exhausted
        /// A bound ended the search.
        case overBudget
    }

    private struct Edge: Hashable {
        var subject: X509Certificate
        var issuer: X509Certificate
    }

    private let leaf: X509Certificate
    /// What was presented with the leaf, each certificate once. They are a few, or a hundred: looking at each costs no
    /// more than a dictionary.
    private let presented: [X509Certificate]
    private let store: TrustStore
    private let time: Int64
    private var badEdges: Set<Edge> = []
    /// The subjects of presented certificates above which an anchor stands, at whatever distance; found when the search
    /// takes longer than usual.
    private var leadingNames: Set<CanonicalName>?
    /// Steps after which certificates that lead nowhere are told from the others. A chain in use takes three.
    private static let patience = 16
    /// The longest path that was walked, to tell where an issuer is missing.
    private(set) var longestWalk: [X509Certificate] = []
    /// Whether a walk was given up since it was longer than a path may be.
    private(set) var isCutShort = false

    /// `time` is in seconds since 1970 and only orders the search.
    init(leaf: X509Certificate, intermediates: [X509Certificate], store: TrustStore, time: Int64) {
        self.leaf = leaf
        var seen: Set<X509Certificate> = []
        presented = intermediates.count < 2 ? intermediates : intermediates.filter { seen.insert($0).inserted }
        self.store = store
        self.time = time
    }

    /// Visits candidates, leaf first and anchor last, until `visit` says to stop. The leaf is taken as admitted.
    mutating func search<Judge: PathJudge>(with judge: inout Judge) -> Outcome {
        var path = [leaf]
        return walk(&path, &judge)
    }

    /// Whether no search could visit another path than this one: by names alone, each certificate has the issuer that
    /// it has there, and no other.
    func isOnlyWay(_ path: [X509Certificate]) -> Bool {
        path.indices.allSatisfy { index in
            let issuers = issuers(of: path[index]).map(\.0).filter { $0 != path[index] }
            return issuers == (index + 1 < path.count ? [path[index + 1]] : [])
        }
    }

    private mutating func walk<Judge: PathJudge>(_ path: inout [X509Certificate], _ judge: inout Judge) -> Outcome {
        guard let current = path.last else { return .exhausted }
        if path.count > longestWalk.count { longestWalk = path }
        if path.count == 1, store.contains(current) {
            let outcome = yield(path, &judge)
            guard outcome == .exhausted, !current.isSelfIssued else { return outcome }
        }
        guard path.count < TrustBudget.maximumPathLength else {
            isCutShort = true
            return .exhausted
        }
        for (issuer, isAnchor) in issuers(of: current) {
            // A loop is a step too: a peer can present hundreds of certificates that are found only to be passed over.
            guard judge.budget.spendStep() else { return .overBudget }
            guard !isRepeated(issuer, in: path) else { continue }
            if isAnchor {
                let outcome = step(&path, to: issuer, &judge, asAnchor: true)
                guard outcome == .exhausted else { return outcome }
            }
            // A path ends at the first anchor; behind one that is no root it goes on when it was refused there.
            if !isAnchor || !issuer.isSelfIssued, judge.budget.steps <= Self.patience || leadsToAnchor(issuer) {
                let outcome = step(&path, to: issuer, &judge, asAnchor: false)
                guard outcome == .exhausted else { return outcome }
            }
        }
        return .exhausted
    }

    private mutating func step<Judge: PathJudge>(
        _ path: inout [X509Certificate], to issuer: X509Certificate, _ judge: inout Judge, asAnchor: Bool
    ) -> Outcome {
        if !badEdges.isEmpty, let current = path.last, badEdges.contains(Edge(subject: current, issuer: issuer)) {
            return .exhausted
        }
        guard judge.admits(issuer, behind: path, asAnchor: asAnchor) else { return .exhausted }
        path.append(issuer)
        defer { path.removeLast() }
        return asAnchor ? yield(path, &judge) : walk(&path, &judge)
    }

    /// Whether an anchor stands above a certificate, were every signature good. Authorities that sign each other and
    /// nobody else make thousands of walks, none of which ends.
    private mutating func leadsToAnchor(_ certificate: X509Certificate) -> Bool {
        let names = leadingNames ?? findLeadingNames()
        leadingNames = names
        return names.contains(certificate.canonicalIssuer) || !store.issuers(of: certificate).isEmpty
    }

    private func findLeadingNames() -> Set<CanonicalName> {
        var names: Set<CanonicalName> = []
        var rest = presented
        while true {
            var others: [X509Certificate] = []
            for certificate in rest {
                if names.contains(certificate.canonicalIssuer) || !store.issuers(of: certificate).isEmpty {
                    names.insert(certificate.canonicalSubject)
                } else if !names.contains(certificate.canonicalSubject) {
                    others.append(certificate)
                }
            }
            guard others.count < rest.count else { return names }
            rest = others
        }
    }

    private mutating func yield<Judge: PathJudge>(_ path: [X509Certificate], _ judge: inout Judge) -> Outcome {
        guard judge.budget.spendCandidate() else { return .overBudget }
        switch judge.visit(path) {
        case .stop: return .stopped
        case .next: return .exhausted
        case .overBudget: return .overBudget
        case .badSignature(let depth):
            if path.indices.contains(depth + 1) {
                badEdges.insert(Edge(subject: path[depth], issuer: path[depth + 1]))
            }
            return .exhausted
        }
    }

    /// Anchors, then presented certificates; in each, those whose key identifier and validity fit first.
    private func issuers(of certificate: X509Certificate) -> [(X509Certificate, isAnchor: Bool)] {
        let anchors = store.issuers(of: certificate)
        let others = presented.filter {
            $0.canonicalSubject == certificate.canonicalIssuer && !anchors.contains($0)
        }
        return ordered(anchors, for: certificate).map { ($0, true) }
            + ordered(others, for: certificate).map { ($0, false) }
    }

    private func ordered(_ issuers: [X509Certificate], for certificate: X509Certificate) -> [X509Certificate] {
        guard issuers.count > 1 else { return issuers }
        let wanted = certificate.issuerKeyIdentifier
        func rank(_ issuer: X509Certificate) -> Int {
            let identifier = issuer.subjectKeyIdentifier
            let isOtherKey = wanted != nil && identifier != nil && identifier != wanted
            return (isOtherKey ? 2 : 0) + (issuer.validity.contains(time) ? 0 : 1)
        }
        return issuers.enumerated().map { (rank($0.element), $0.offset, $0.element) }
            .sorted { ($0.0, $0.1) < ($1.0, $1.1) }.map(\.2)
    }

    /// The same name with the same key twice in a path is a loop, whatever the rest of the certificate says.
    private func isRepeated(_ issuer: X509Certificate, in path: [X509Certificate]) -> Bool {
        path.contains {
            $0.canonicalSubject == issuer.canonicalSubject && $0.subjectPublicKeyInfo == issuer.subjectPublicKeyInfo
        }
    }
}

/// Who decides on what a ``PathBuilder`` finds.
protocol PathJudge {
    var budget: TrustBudget { get set }
    /// Whether `issuer` may stand behind `path`. Asked once a step, before anything is verified.
    mutating func admits(_ issuer: X509Certificate, behind path: [X509Certificate], asAnchor: Bool) -> Bool
    /// Judges a candidate, leaf first and anchor last.
    mutating func visit(_ path: [X509Certificate]) -> PathBuilder.Visit
}
