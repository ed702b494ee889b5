/// The revocation check for the paths of one evaluation (RFC 5280, section 6.3.3; RFC 6960).
///
/// Results are reused across paths: each list's signature is verified once for each key, and a certificate is looked up
/// in a list once.
struct RevocationCheck {
    /// A function that returns a valid path from a certificate to the anchor of the path being checked, or `nil`. The
    /// evaluation provides it.
    typealias PathSearch = (X509Certificate, inout TrustBudget) -> [X509Certificate]?

    let evidence: RevocationEvidence
    let policy: TrustPolicy
    /// Seconds since 1970.
    let time: Int64
    /// Certificates outside the path that may have signed a list, by subject.
    private let besides: [CanonicalName: [X509Certificate]]

    private var budget = TrustBudget()
    private var verified: [SignedList: Bool] = [:]
    private var points: [X509Certificate: [DistributionPoint]] = [:]
    private var entries: [ListedCertificate: RevocationEntry?] = [:]
    /// Paths to signers that aren't on the path being checked.
    private var signerPaths: [X509Certificate: [X509Certificate]?] = [:]
    /// Signers whose own revocation is being checked.
    private var signersInQuestion: [X509Certificate] = []

    /// The limit on certificates outside the path that are tried for a list. Configured certificates are tried before
    /// those the peer presents, because a peer can present any number with the name of a signer.
    private static let maximumCandidates = 8
    /// The limit on nesting when the list that covers a list signer is signed by another list signer. Three is more
    /// than any PKI has.
    private static let maximumNesting = 3

    private struct SignedList: Hashable {
        var list: Int
        var key: SubjectPublicKeyInfo
    }

    private struct ListedCertificate: Hashable {
        var list: Int
        var certificate: X509Certificate
    }

    /// Creates the check. Certificates in `presented` may also have signed lists.
    init(evidence: RevocationEvidence, presented: [X509Certificate], policy: TrustPolicy, time: Int64) {
        self.evidence = evidence
        self.policy = policy
        self.time = time
        besides = Dictionary(
            grouping: (evidence.certificates + presented).filter {
                evidence.listsByIssuer[$0.canonicalSubject] != nil
            }, by: \.canonicalSubject)
    }

    /// Returns the reason why a path, leaf first and anchor last, is rejected, or `nil` if it isn't. The anchor itself
    /// is never checked.
    mutating func finding(
        for path: [X509Certificate], budget: inout TrustBudget, pathTo search: PathSearch
    ) -> TrustFinding? {
        self.budget = budget
        defer { budget = self.budget }
        signerPaths = [:]
        for depth in path.indices.dropLast() {
            let certificate = path[depth]
            var answer = answerOfLists(on: certificate, under: path[(depth + 1)...], pathTo: search)
            if depth == 0 {
                answer = answerOfStaple(on: certificate, under: path[1...], beside: answer, pathTo: search)
            }
            let problem: RevocationProblem
            switch answer {
            case .good: continue
            case .unknown:
                // mutant list-required: false by RevocationListTests
                guard policy.revocation == .require else { continue }
                problem = .unknown
            case .refused(let found): problem = found
            }
            return TrustFinding(
                rule: problem.rule, depth: depth, certificate: certificate, detail: problem.detail)
        }
        return nil
    }

    /// Spends one signature verification from the budget, or throws.
    mutating func spendSignature() throws(RevocationProblem) {
        guard budget.spend(signatures: 1) else { throw .overBudget }
    }

    // MARK: Lists

    /// Returns the answer of the lists about a certificate. `issuers` are the certificates above it on a path, its own
    /// issuer first and the anchor last.
    mutating func answerOfLists(
        on certificate: X509Certificate, under issuers: ArraySlice<X509Certificate>, pathTo search: PathSearch
    ) -> RevocationAnswer {
        guard !evidence.lists.isEmpty else { return .unknown }
        let points: [DistributionPoint]
        do throws(DERError) {
            points = try distributionPoints(of: certificate)
        } catch {
            return .refused(.unusable("its cRLDistributionPoints", "is malformed (\(error))"))
        }
        var covered: ReasonSet = []
        // Among lists signed by the same key, the newest decides. A list signed by another key also decides if it
        // revokes the certificate. Two CAs under one root may have the same name, and the newer list must not override
        // the other CA's revocation.
        var told: [SubjectPublicKeyInfo: ReasonSet] = [:]
        var problem: RevocationProblem?
        for point in points {
            for issuer in point.listIssuers ?? [certificate.canonicalIssuer] {
                for index in evidence.listsByIssuer[issuer] ?? [] where evidence.lists[index].baseNumber == nil {
                    let reasons = point.reasons(
                        of: evidence.lists[index], isAuthority: certificate.isCertificateAuthority,
                        issuer: certificate.canonicalIssuer)
                    guard let reasons else { continue }
                    do throws(RevocationProblem) {
                        // mutant list-namesake: !reasons.isSubset(of: covered) by
                        //   RevocationSignerTests/namesakeAuthority
                        guard !reasons.isSubset(of: covered) || names(certificate, in: index) else { continue }
                        let (entry, key) = try entry(on: certificate, in: index, under: issuers, pathTo: search)
                        // mutant list-revoked: false for 2 by RevocationListTests/lists
                        if let entry, !reasons.isSubset(of: told[key] ?? []) {
                            return .refused(.revoked(at: entry.time, reason: entry.reason))
                        }
                        told[key, default: []].formUnion(reasons)
                        covered.formUnion(reasons)
                    } catch {
                        guard error.rule != .budget else { return .refused(error) }
                        problem = problem ?? error
                    }
                }
            }
        }
        if covered == .all { return .good }
        return problem.map { .refused($0) } ?? .unknown
    }

    /// Whether a list, or one of its deltas, says that a certificate is revoked. The lists aren't verified.
    private mutating func names(_ certificate: X509Certificate, in index: Int) -> Bool {
        // mutant list-delta: [] for `deltas(of: evidence.lists[index])` by RevocationSignerTests
        for list in [index] + deltas(of: evidence.lists[index]) {
            if let entry = lookUp(certificate, in: list), !entry.isRemoval { return true }
        }
        return false
    }

    /// Returns the points that the certificate names, and the implicit point that every certificate has.
    private mutating func distributionPoints(of certificate: X509Certificate) throws(DERError) -> [DistributionPoint] {
        if let known = points[certificate] { return known }
        let all =
            try RevocationFields(certificate).distributionPoints()
            + [DistributionPoint(issuer: certificate.canonicalIssuer)]
        points[certificate] = all
        return all
    }

    /// Returns the entry that revokes a certificate, from a complete list and the newest delta CRL for it, and the key
    /// that signed the list.
    private mutating func entry(
        on certificate: X509Certificate, in index: Int, under issuers: ArraySlice<X509Certificate>,
        pathTo search: PathSearch
    ) throws(RevocationProblem) -> (RevocationEntry?, SubjectPublicKeyInfo) {
        let list = evidence.lists[index]
        // mutant list-unusable: nil by RevocationListTests/lists
        if let reason = list.unusable { throw .unusable(list.name, reason) }
        let isFresh = list.isFresh(at: time)
        let deltas = list.issued <= time ? self.deltas(of: list) : []
        let time = time
        let stale = { RevocationProblem.stale(list.name, from: list.issued, until: list.due, at: time) }
        guard isFresh || !deltas.isEmpty else { throw stale() }
        let key = try signer(of: index, under: issuers, pathTo: search)
        for delta in deltas where try verifies(delta, by: key) {
            if let entry = lookUp(certificate, in: delta) { return (entry.isRemoval ? nil : entry, key) }
            return (lookUp(certificate, in: index), key)
        }
        guard isFresh else { throw stale() }
        return (lookUp(certificate, in: index), key)
    }

    /// Returns the delta CRLs for a complete list, newest first. They have the same issuer, scope and authority key
    /// identifier, and a base that isn't newer than the list (RFC 5280, section 5.2.4).
    private func deltas(of list: CertificateRevocationList) -> [Int] {
        guard let number = list.number else { return [] }
        return (evidence.listsByIssuer[list.canonicalIssuer] ?? []).filter { index in
            let delta = evidence.lists[index]
            guard let baseNumber = delta.baseNumber, let deltaNumber = delta.number else { return false }
            return baseNumber <= number && number < deltaNumber && delta.scope == list.scope
                && delta.authorityKeyIdentifier == list.authorityKeyIdentifier && delta.unusable == nil
                && delta.isFresh(at: time)
        }
    }

    private mutating func lookUp(_ certificate: X509Certificate, in index: Int) -> RevocationEntry? {
        let key = ListedCertificate(list: index, certificate: certificate)
        if let known = entries[key] { return known }
        let entry = evidence.lists[index].entry(
            serialNumber: certificate.serialNumber, issuer: certificate.canonicalIssuer)
        entries[key] = .some(entry)
        return entry
    }

    private mutating func verifies(_ index: Int, by key: SubjectPublicKeyInfo) throws(RevocationProblem) -> Bool {
        let pair = SignedList(list: index, key: key)
        if let known = verified[pair] { return known }
        try spendSignature()
        let list = evidence.lists[index]
        let der = list.derBytes
        let isValid = list.signature.isSigned(der.span, by: key)
        verified[pair] = isValid
        return isValid
    }

    // MARK: Signers of lists

    /// Returns the key that signed a list. It belongs to a certificate that has the name of the list's issuer and may
    /// sign lists. The certificate is on the path, or leads to the same anchor and isn't revoked itself (RFC 5280,
    /// section 6.3.3 (f)).
    private mutating func signer(
        of index: Int, under issuers: ArraySlice<X509Certificate>, pathTo search: PathSearch
    ) throws(RevocationProblem) -> SubjectPublicKeyInfo {
        let list = evidence.lists[index]
        let onPath = issuers.filter { $0.canonicalSubject == list.canonicalIssuer }
        let besides = (besides[list.canonicalIssuer] ?? []).prefix(Self.maximumCandidates)
        var problem: RevocationProblem?
        for candidate in onPath + besides where candidate.keyWeakness(at: policy.strength) == nil {
            let key = candidate.subjectPublicKeyInfo
            // mutant list-signature: true by RevocationListTests
            guard try verifies(index, by: key) else { continue }
            // RFC 5280, section 4.2.1.3: the keyUsage of a list signer includes cRLSign. An issuer on the path may omit
            // keyUsage altogether. Any other certificate with that name may not.
            let isOnPath = onPath.contains(candidate)
            // mutant list-signer-usage: true by RevocationListTests/keyUsage RevocationSignerTests
            guard candidate.extensions.keyUsage?.contains(.listSigning) ?? isOnPath else {
                problem = .signer(list.name, "is signed by a key that may not sign CRLs (keyUsage)")
                continue
            }
            if isOnPath { return key }
            do throws(RevocationProblem) {
                // mutant list-signer-path: {} by RevocationSignerTests
                try checkSigner(candidate, of: list, under: issuers, pathTo: search)
                return key
            } catch {
                problem = error
            }
        }
        throw problem ?? .signer(list.name, "is not signed by a known CRL issuer")
    }

    private mutating func checkSigner(
        _ signer: X509Certificate, of list: CertificateRevocationList, under issuers: ArraySlice<X509Certificate>,
        pathTo search: PathSearch
    ) throws(RevocationProblem) {
        // A signer that is already being checked has a path. A CA's list signer may also sign the list that covers
        // itself.
        guard !signersInQuestion.contains(signer) else { return }
        guard signersInQuestion.count < Self.maximumNesting else {
            throw .signer(list.name, "is signed by one of too many signers that depend on each other")
        }
        guard let path = self.path(to: signer, search) else {
            throw .signer(list.name, "is signed by a certificate without a valid path to the same anchor")
        }
        signersInQuestion.append(signer)
        defer { signersInQuestion.removeLast() }
        for (depth, certificate) in path.enumerated().dropLast() where !issuers.contains(certificate) {
            switch answerOfLists(on: certificate, under: path[(depth + 1)...], pathTo: search) {
            case .good: break
            case .unknown:
                guard policy.revocation == .use else {
                    throw .signer(list.name, "is signed by a certificate whose revocation status is unknown")
                }
            case .refused(let problem):
                throw .signer(
                    list.name, "depends on \(certificate.subject), which is rejected (\(problem.rule.rawValue))")
            }
        }
    }

    private mutating func path(to signer: X509Certificate, _ search: PathSearch) -> [X509Certificate]? {
        if let known = signerPaths[signer] { return known }
        let path = search(signer, &budget)
        signerPaths[signer] = .some(path)
        return path
    }
}

extension CertificateRevocationList {
    /// The description of the list in messages.
    var name: String { "the CRL of \(issuer)" }

    // mutant list-fresh: true for `due.map { time <= $0 } ?? false` by RevocationListTests/freshness
    // mutant list-future: true for `issued <= time` by RevocationListTests/freshness
    /// Whether the list is current. Both ends are inclusive. A list without nextUpdate is never fresh: RFC 5280,
    /// section 5.1.2.5 requires it.
    func isFresh(at time: Int64) -> Bool { issued <= time && due.map { time <= $0 } ?? false }
}
