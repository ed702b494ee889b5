/// A depth-first search for paths from a leaf to an anchor. Issuers are found by name, and the most promising are tried
/// first.
///
/// The search doesn't check validity. `admits` decides whether a certificate may be at its position, and `visit`
/// receives every candidate that reaches an anchor. All work is limited by a ``TrustBudget``.
struct PathBuilder {
    /// The decision about a candidate.
    enum Visit {
        /// The search ends.
        case stop
        /// The search continues, because another candidate may be better.
        case next
        /// The signature of the certificate at this depth doesn't verify with the next certificate's key. The search
        /// skips every candidate with both.
        case badSignature(depth: Int)
        case overBudget
    }

    enum Outcome {
        /// `visit` ended the search.
        case stopped
        /// Every path within the limits was visited.
        case exhausted
        /// A limit ended the search.
        case overBudget
    }

    private struct Edge: Hashable {
        var subject: X509Certificate
        var issuer: X509Certificate
    }

    private let leaf: X509Certificate
    /// The certificates presented with the leaf, each once. There are a few or at most a hundred, so a linear search
    /// costs no more than a dictionary.
    private let presented: [X509Certificate]
    private let store: TrustStore
    private let time: Int64
    private var badEdges: Set<Edge> = []
    /// The subjects of presented certificates that have an anchor above them at any distance. Computed only if the
    /// search takes longer than usual.
    private var leadingNames: Set<CanonicalName>?
    /// The number of steps after which certificates that lead to no anchor are skipped. A chain in use takes three.
    private static let patience = 16
    /// The longest path so far, which shows where an issuer is missing.
    private(set) var longestWalk: [X509Certificate] = []
    /// Whether the search abandoned a path because it reached the maximum length.
    private(set) var isCutShort = false

    /// Creates a search. `time` is in seconds since 1970 and affects only the order of the search.
    init(leaf: X509Certificate, intermediates: [X509Certificate], store: TrustStore, time: Int64) {
        self.leaf = leaf
        var seen: Set<X509Certificate> = []
        presented = intermediates.count < 2 ? intermediates : intermediates.filter { seen.insert($0).inserted }
        self.store = store
        self.time = time
    }

    /// Visits candidates, leaf first and anchor last, until `visit` ends the search. The leaf itself isn't checked by
    /// `admits`. The judge is given `report` with each question.
    mutating func search<Judge: PathJudge>(with judge: inout Judge, _ report: (Judge.Event) -> Bool) -> Outcome {
        var path = [leaf]
        path.reserveCapacity(4)
        return walk(&path, &judge, report)
    }

    /// Whether this path is the only one that a search could visit: going by names, each certificate has no issuer
    /// other than the next one in the path.
    func isOnlyWay(_ path: [X509Certificate]) -> Bool {
        path.indices.allSatisfy { index in
            let issuers = issuers(of: path[index]).map(\.0).filter { $0 != path[index] }
            return issuers == (index + 1 < path.count ? [path[index + 1]] : [])
        }
    }

    private mutating func walk<Judge: PathJudge>(
        _ path: inout [X509Certificate], _ judge: inout Judge, _ report: (Judge.Event) -> Bool
    ) -> Outcome {
        let outcome = extend(&path, &judge, report)
        // A path that is accepted isn't copied.
        if outcome != .stopped, path.count > longestWalk.count { longestWalk = path }
        return outcome
    }

    private mutating func extend<Judge: PathJudge>(
        _ path: inout [X509Certificate], _ judge: inout Judge, _ report: (Judge.Event) -> Bool
    ) -> Outcome {
        guard let current = path.last else { return .exhausted }
        // mutant anchored-leaf: true for 2 by ServerTrustTests/unanchored
        if path.count == 1, store.contains(current) {
            let outcome = yield(path, &judge, report)
            guard outcome == .exhausted, !current.isSelfIssued else { return outcome }
        }
        // mutant path-length-limit: true by ServerTrustTests PathologicalTests
        guard path.count < TrustBudget.maximumPathLength else {
            isCutShort = true
            return .exhausted
        }
        for (issuer, isAnchor) in issuers(of: current) {
            // A loop counts as a step too: a peer can present hundreds of certificates that are found and then skipped.
            // mutant step-budget: true by PathologicalTests
            guard judge.budget.spendStep() else { return .overBudget }
            // mutant path-loops: true by ServerTrustTests PathologicalTests
            guard !isRepeated(issuer, in: path) else { continue }
            if isAnchor {
                let outcome = step(&path, to: issuer, &judge, report, asAnchor: true)
                guard outcome == .exhausted else { return outcome }
            }
            // A path ends at the first anchor. If the path was rejected there and the anchor isn't a root, the search
            // continues above it.
            if !isAnchor || !issuer.isSelfIssued, judge.budget.steps <= Self.patience || leadsToAnchor(issuer) {
                let outcome = step(&path, to: issuer, &judge, report, asAnchor: false)
                guard outcome == .exhausted else { return outcome }
            }
        }
        return .exhausted
    }

    private mutating func step<Judge: PathJudge>(
        _ path: inout [X509Certificate], to issuer: X509Certificate, _ judge: inout Judge,
        _ report: (Judge.Event) -> Bool, asAnchor: Bool
    ) -> Outcome {
        if !badEdges.isEmpty, let current = path.last, badEdges.contains(Edge(subject: current, issuer: issuer)) {
            return .exhausted
        }
        // mutant issuer-refused: true by RuleTests/breach
        guard judge.admits(issuer, behind: path, asAnchor: asAnchor, report) else { return .exhausted }
        path.append(issuer)
        defer { path.removeLast() }
        return asAnchor ? yield(path, &judge, report) : walk(&path, &judge, report)
    }

    /// Whether an anchor is above a certificate, if every signature were valid. CAs that sign only each other produce
    /// thousands of paths that never reach an anchor.
    private mutating func leadsToAnchor(_ certificate: X509Certificate) -> Bool {
        let names = leadingNames ?? findLeadingNames()
        leadingNames = names
        return names.contains(certificate.canonicalIssuer) || !store.issuers(of: certificate).isEmpty
    }

    private func findLeadingNames() -> Set<CanonicalName> {
        var names: Set<CanonicalName> = []
        var rest: [X509Certificate]
        var others = presented
        repeat {
            rest = others
            others = []
            for certificate in rest {
                if names.contains(certificate.canonicalIssuer) || !store.issuers(of: certificate).isEmpty {
                    names.insert(certificate.canonicalSubject)
                } else if !names.contains(certificate.canonicalSubject) {
                    others.append(certificate)
                }
            }
        } while others.count < rest.count
        return names
    }

    private mutating func yield<Judge: PathJudge>(
        _ path: [X509Certificate], _ judge: inout Judge, _ report: (Judge.Event) -> Bool
    ) -> Outcome {
        // mutant candidate-budget: true by PathologicalTests RevocationSignerTests
        guard judge.budget.spendCandidate() else { return .overBudget }
        switch judge.visit(path, report) {
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

    /// Returns the anchors first, then the presented certificates. Within each group, those whose key identifier and
    /// validity match come first.
    private func issuers(of certificate: X509Certificate) -> [(X509Certificate, isAnchor: Bool)] {
        let anchors = store.issuers(of: certificate)
        let others = presented.filter {
            $0.canonicalSubject == certificate.canonicalIssuer && !anchors.contains($0)
        }
        var issuers: [(X509Certificate, isAnchor: Bool)] = []
        issuers.reserveCapacity(anchors.count + others.count)
        for anchor in ordered(anchors, for: certificate) { issuers.append((anchor, true)) }
        // mutant anchors-only: true for `false` by ServerTrustTests/unanchored
        for other in ordered(others, for: certificate) { issuers.append((other, false)) }
        return issuers
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

    /// Whether the path already has a certificate with this name and key, which would be a loop whatever else differs.
    private func isRepeated(_ issuer: X509Certificate, in path: [X509Certificate]) -> Bool {
        path.contains {
            $0.canonicalSubject == issuer.canonicalSubject && $0.subjectPublicKeyInfo == issuer.subjectPublicKeyInfo
        }
    }
}

/// The decisions about the paths that a ``PathBuilder`` finds.
protocol PathJudge {
    /// A report to the caller of the search. The caller's closure is passed on and never stored, so it needn't escape.
    associatedtype Event
    var budget: TrustBudget { get set }
    /// Whether `issuer` may follow `path`. Called once for each step, before any signature is verified.
    mutating func admits(
        _ issuer: X509Certificate, behind path: [X509Certificate], asAnchor: Bool, _ report: (Event) -> Bool
    ) -> Bool
    /// Judges a candidate, leaf first and anchor last.
    mutating func visit(_ path: [X509Certificate], _ report: (Event) -> Bool) -> PathBuilder.Visit
}
