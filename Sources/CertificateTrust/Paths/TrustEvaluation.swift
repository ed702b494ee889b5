import OpenSSLBridge
import PinctlFoundation

/// The evaluation of one claim. It judges the paths of a ``PathBuilder``, keeps the best finding and spends a budget.
///
/// Cheap checks come first: single certificates, then name constraints. OpenSSL verifies the signatures after them.
struct TrustEvaluation: PathJudge {
    /// A chain to evaluate, with or without a server name.
    struct Claim: Sendable {
        let presented: PresentedChain
        let name: ServerName?
        let store: TrustStore
        let policy: TrustPolicy
        let revocation: RevocationEvidence
        let transparency: TransparencyEvidence
    }

    /// A valid path, leaf first.
    struct Path: Sendable {
        let certificates: [X509Certificate]
        /// The reason why the leaf isn't compliant with Certificate Transparency, if the policy only reports that.
        let transparencyFinding: TrustFinding?
    }

    /// The outcome of an evaluation.
    struct Result: Sendable {
        /// The accepted path.
        var accepted: Path?
        /// Whether there are valid paths, all of which `accepting` rejected.
        var isRefused = false
        /// The most useful finding.
        var finding: TrustFinding
        /// The budget that was spent.
        var budget: TrustBudget
    }

    /// A report to the caller, whose answer counts only for a valid path: whether the caller accepts it.
    enum Event {
        case valid(Path)
        case tried(TrustAttempt)
    }

    private struct Placed: Hashable {
        var certificate: X509Certificate
        var isAnchor: Bool
    }

    let claim: Claim
    /// Seconds since 1970.
    private let time: Int64
    var budget = TrustBudget()
    /// Whether a certificate is admitted at its position. Each is judged once per evaluation.
    private var admissions = [Placed: Bool](minimumCapacity: 3)
    private var namesRead: [X509Certificate: [ConstrainedName]] = [:]
    /// The revocation check. `nil` if the policy ignores revocation.
    private var revocation: RevocationCheck?
    private var finding: TrustFinding?
    private var isRefused = false
    private var accepted: Path?
    /// The finding about transparency for each issuer of the leaf. Timestamps are verified once for each.
    private var transparencyFindings: [X509Certificate: TrustFinding?] = [:]

    /// Searches for a path that is valid at `time` and that `accepting` accepts.
    static func run(
        _ claim: Claim, at time: Date, accepting: (Path) -> Bool = { _ in true },
        tracing: (TrustAttempt) -> Void
    ) -> Result {
        // No certificate is valid at an infinite Date.
        // mutant time-out-of-range: Int64(1_800_000_000) by ServerTrustTests/impossibleTime
        guard let seconds = Int64(exactly: time.timeIntervalSince1970.rounded(.down)) else {
            return Result(finding: noTime, budget: TrustBudget())
        }
        var evaluation = TrustEvaluation(claim: claim, time: seconds)
        func report(_ event: Event) -> Bool {
            switch event {
            case .valid(let path): return accepting(path)
            case .tried(let attempt): tracing(attempt)
            }
            return true
        }
        if let finding = evaluation.overSize {
            evaluation.note(finding, of: [claim.presented.leaf], report)
        } else {
            evaluation.search(report)
        }
        return Result(
            accepted: evaluation.accepted, isRefused: evaluation.isRefused, finding: evaluation.finding ?? overBudget,
            budget: evaluation.budget)
    }

    private init(claim: Claim, time: Int64) {
        self.claim = claim
        self.time = time
        if claim.policy.revocation != .ignore {
            revocation = RevocationCheck(
                evidence: claim.revocation, presented: claim.presented.intermediates, policy: claim.policy, time: time)
        }
    }

    private mutating func search(_ report: (Event) -> Bool) {
        let presented = claim.presented
        if let finding = nameFinding ?? certificateFinding(presented.leaf, depth: 0, place: .leaf) {
            return note(finding, of: [presented.leaf], report)
        }
        var builder = PathBuilder(
            leaf: presented.leaf, intermediates: presented.intermediates, store: claim.store, time: time)
        let outcome = builder.search(with: &self, report)
        guard accepted == nil else { return }
        // Also if a path was refused: whoever concludes something from the others has to know that they weren't all
        // seen.
        if outcome == .overBudget, finding?.rule != .budget { note(Self.overBudget, of: builder.longestWalk, report) }
        if finding == nil, !isRefused {
            note(
                builder.isCutShort ? Self.tooLong : missingIssuer(builder.longestWalk), of: builder.longestWalk, report)
        }
    }

    mutating func admits(
        _ issuer: X509Certificate, behind path: [X509Certificate], asAnchor: Bool, _ report: (Event) -> Bool
    ) -> Bool {
        let place = Placed(certificate: issuer, isAnchor: asAnchor)
        if let isAdmitted = admissions[place] { return isAdmitted }
        let finding = certificateFinding(issuer, depth: path.count, place: asAnchor ? .anchor : .intermediate)
        // mutant issuer-admitted: true by PathologicalTests ServerTrustTests RevocationSignerTests
        admissions[place] = finding == nil
        if let finding { note(finding, of: path + [issuer], report) }
        return finding == nil
    }

    mutating func visit(_ path: [X509Certificate], _ report: (Event) -> Bool) -> PathBuilder.Visit {
        let valid: Path
        do throws(PathRefusal) {
            try checkDepth(path)
            try checkNames(path)
            // mutant checks-before-accepting: {} by ServerTrustTests/brokenSignature
            try checkSignatures(path)
            try checkKeyIdentifiers(path)
            try checkPublicLeaf(path)
            try checkRevocation(path)
            valid = Path(certificates: path, transparencyFinding: try checkTransparency(path))
        } catch {
            note(error.finding, of: path, report)
            return error.visit
        }
        // mutant accepting-narrows: true by ServerTrustTests/accepting
        guard report(.valid(valid)) else {
            _ = report(.tried(TrustAttempt(certificates: path, outcome: .refused)))
            isRefused = true
            return .next
        }
        _ = report(.tried(TrustAttempt(certificates: path, outcome: .accepted)))
        accepted = valid
        return .stop
    }

    private mutating func note(_ finding: TrustFinding, of path: [X509Certificate], _ report: (Event) -> Bool) {
        _ = report(.tried(TrustAttempt(certificates: path, outcome: .untrusted(finding))))
        if finding.rule.usefulness > (self.finding?.rule.usefulness ?? -1) { self.finding = finding }
    }

    private func certificateFinding(
        _ certificate: X509Certificate, depth: Int, place: CertificateRule.Place
    ) -> TrustFinding? {
        CertificateRule.finding(
            certificate, depth: depth,
            CertificateRule.Context(policy: claim.policy, time: time, name: claim.name, place: place))
    }
}

/// The reason why a candidate isn't valid, and how the search continues.
private struct PathRefusal: Error {
    var finding: TrustFinding
    var visit = PathBuilder.Visit.next
}

/// The checks of a whole path, in order of their cost.
extension TrustEvaluation {
    private func checkDepth(_ path: [X509Certificate]) throws(PathRefusal) {
        let count = path.dropFirst().dropLast().count { !$0.isSelfIssued }
        // mutant path-depth: false by ServerTrustTests/depth
        guard count > claim.policy.maximumIntermediates else { return }
        throw PathRefusal(
            finding: TrustFinding(
                rule: .pathLength, depth: nil, certificate: nil,
                detail: "certificate chain too long (\(count) intermediates, the policy allows "
                    + "\(claim.policy.maximumIntermediates)): have the server send a shorter chain"))
    }

    /// Checks the name constraints of each CA against every certificate below it, except self-issued intermediates (RFC
    /// 5280, section 6.1.3 (b)).
    private mutating func checkNames(_ path: [X509Certificate]) throws(PathRefusal) {
        // Names above the topmost CA with constraints aren't constrained.
        guard let top = path.lastIndex(where: { $0.extensions.nameConstraints != nil }) else { return }
        let names = path[..<top].enumerated().map { $0 == 0 || !$1.isSelfIssued ? constrainedNames(of: $1) : [] }
        for (depth, issuer) in path.enumerated() {
            guard let constraints = issuer.extensions.nameConstraints else { continue }
            for (below, names) in names[..<depth].enumerated() {
                // mutant names-budget: true by ServerTrustTests PathologicalTests
                guard budget.spend(comparisons: names.count * constraints.count) else {
                    throw PathRefusal(finding: Self.overBudget, visit: .overBudget)
                }
                // mutant name-constraints: nil by HostileNameTests ServerTrustTests/excludedWildcard
                guard let detail = constraints.violation(by: names) else { continue }
                throw PathRefusal(
                    finding: TrustFinding(
                        rule: .nameConstraints, depth: below, certificate: path[below],
                        detail: "\(detail) by the name constraints of \(issuer.subject): reissue it with other names"))
            }
        }
    }

    /// Returns the names of a certificate, which are parsed once per evaluation. A leaf may have thousands of names,
    /// and a search fifty candidates.
    private mutating func constrainedNames(of certificate: X509Certificate) -> [ConstrainedName] {
        if let names = namesRead[certificate] { return names }
        let names = certificate.constrainedNames
        namesRead[certificate] = names
        return names
    }

    private mutating func checkSignatures(_ path: [X509Certificate]) throws(PathRefusal) {
        // mutant signature-budget: true by ServerTrustTests/signatures PathologicalTests
        guard budget.spend(signatures: path.count - 1) else {
            throw PathRefusal(finding: Self.overBudget, visit: .overBudget)
        }
        let known = claim.store.verifiedSignatures.known(of: path)
        var parsed: [OpenSSLCertificate] = []
        parsed.reserveCapacity(path.count)
        for (depth, certificate) in known.certificates.enumerated() {
            do throws(OpenSSLError) {
                parsed.append(try certificate.openSSLCertificate())
            } catch {
                throw PathRefusal(
                    finding: error.isOutOfMemory
                        ? Self.outOfMemory
                        : TrustFinding(
                            rule: .malformed, depth: depth, certificate: certificate,
                            detail: "OpenSSL cannot parse it (\(error.reason)): reissue it"))
            }
        }
        let verdict = verify(
            path: parsed, verifiedSignatures: known.verified, securityLevel: Int32(claim.policy.strength.rawValue),
            policies: policyProcessing(path))
        switch verdict {
        case .verified:
            guard !(0..<path.count - 1).allSatisfy(known.verified.contains) else { return }
            claim.store.verifiedSignatures.insert(known.certificates)
        case .refused(let code, let depth):
            let rule = TrustRule(code)
            throw PathRefusal(
                finding: TrustFinding(
                    rule: rule, depth: depth, certificate: path.indices.contains(depth) ? path[depth] : nil,
                    detail: Self.words(code, rule)),
                visit: rule == .badSignature ? .badSignature(depth: depth) : .next)
        case .failed(let error) where error.isOutOfMemory: throw PathRefusal(finding: Self.outOfMemory)
        case .failed(let error):
            throw PathRefusal(
                finding: TrustFinding(
                    rule: .other, depth: nil, certificate: nil,
                    detail: "OpenSSL could not verify the path (\(error.reason)): check the chain and the anchors"))
        }
    }

    /// Returns a description of what OpenSSL found, with a remedy. The description is OpenSSL's own unless the rule has
    /// one here.
    private static func words(_ code: VerifyCode, _ rule: TrustRule) -> String {
        switch rule {
        case .pathLength:
            "path length constraint exceeded (more CA certificates below it than it allows): have another CA issue"
        case .badSignature:
            "certificate signature failure (not signed by the key of the certificate above it): "
                + "send the certificate of its issuer"
        case .certificatePolicies:
            "no explicit policy (a policy is required, but the path is valid for none): reissue it with the policy"
        default: "\(code.reason): reissue it, or check the chain and the anchors"
        }
    }

    /// Returns the inputs of policy processing. Returns `nil` if policies can't make the path invalid because neither
    /// the caller nor a certificate requires one, which is so for nearly every path on the Web.
    private func policyProcessing(_ path: [X509Certificate]) -> PolicyProcessing? {
        let requirements = claim.policy.certificatePolicies
        let asking: CertificateExtensions.Kinds = [.policyConstraints, .policyMappings, .inhibitAnyPolicy]
        guard
            requirements != CertificatePolicyRequirements()
                || path.contains(where: { !$0.extensions.present.isDisjoint(with: asking) })
        else { return nil }
        return PolicyProcessing(
            initialPolicies: requirements.initialPolicies.sorted(), requiresExplicit: requirements.requireExplicit,
            inhibitsMapping: requirements.inhibitMapping, inhibitsAnyPolicy: requirements.inhibitAnyPolicy)
    }

    private static let keyIdentifierRules = CertificateRule.selection(of: .authorityKeyIdentifier)

    /// Checks that the key identifier a certificate gives for its issuer matches the issuer's own. Strict.
    private func checkKeyIdentifiers(_ path: [X509Certificate]) throws(PathRefusal) {
        guard claim.policy.activeRules.isSuperset(of: Self.keyIdentifierRules) else {
            return
        }
        for (depth, (certificate, issuer)) in zip(path, path.dropFirst()).enumerated() {
            guard let wanted = certificate.issuerKeyIdentifier,
                // mutant strict-key-identifiers: false for 2 by RuleTests ServerTrustTests AuthorityKeyIdentifierTests
                let own = issuer.subjectKeyIdentifier, wanted != own
            else { continue }
            throw PathRefusal(
                finding: TrustFinding(
                    rule: .authorityKeyIdentifier, depth: depth, certificate: certificate,
                    detail: "its authorityKeyIdentifier does not match its issuer's subjectKeyIdentifier: reissue it "
                        + "(RFC 5280, section 4.2.1.1)"))
        }
    }
}

extension TrustEvaluation {
    /// Checks the rules that bind only the leaves of public CAs. Strict.
    private func checkPublicLeaf(_ path: [X509Certificate]) throws(PathRefusal) {
        guard !claim.policy.activeRules.isDisjoint(with: CertificateRule.ofPublicLeaves) else { return }
        guard claim.policy.isOfPublicCA(path), let finding = certificateFinding(path[0], depth: 0, place: .publicLeaf)
        else { return }
        throw PathRefusal(finding: finding)
    }
}

/// The revocation check, which may need a second search for the path of a certificate that signed a list.
extension TrustEvaluation {
    private mutating func checkRevocation(_ path: [X509Certificate]) throws(PathRefusal) {
        let (claim, time) = (claim, time)
        let finding = revocation?.finding(for: path, budget: &budget) { signer, budget in
            guard let anchor = path.last else { return nil }
            return Self.path(from: signer, to: anchor, claim, at: time, &budget)
        }
        guard let finding else { return }
        throw PathRefusal(finding: finding, visit: finding.rule == .budget ? .overBudget : .next)
    }

    /// Returns a valid path from another certificate to the same anchor, at the expense of the same budget. The caller
    /// checks the revocation of that path.
    private static func path(
        from signer: X509Certificate, to anchor: X509Certificate, _ claim: Claim, at time: Int64,
        _ budget: inout TrustBudget
    ) -> [X509Certificate]? {
        var policy = claim.policy
        policy.purpose = .any
        policy.revocation = .ignore
        // Certificates that sign lists aren't published in logs.
        policy.certificateTransparency = .ignore
        let presented = PresentedChain(
            leaf: signer, intermediates: claim.presented.intermediates + claim.revocation.certificates)
        var evaluation = TrustEvaluation(
            claim: Claim(
                presented: presented, name: nil, store: TrustStore(certificates: [anchor]), policy: policy,
                revocation: .none, transparency: .none),
            time: time)
        evaluation.budget = budget
        evaluation.search { _ in true }
        budget = evaluation.budget
        return evaluation.accepted?.certificates
    }
}

/// The check of Certificate Transparency, which is about the leaf and the key of its issuer.
extension TrustEvaluation {
    /// Returns the reason why the leaf isn't compliant, if the policy only reports it. Throws it if the policy requires
    /// compliance.
    private mutating func checkTransparency(_ path: [X509Certificate]) throws(PathRefusal) -> TrustFinding? {
        let mode = claim.policy.certificateTransparency
        guard mode != .ignore, let leaf = path.first else { return nil }
        let issuer = path.dropFirst().first
        let finding: TrustFinding?
        if let known = transparencyFindings[issuer ?? leaf] {
            finding = known
        } else {
            let now = Date(timeIntervalSince1970: Double(time))
            let check = TimestampCheck(
                of: leaf, claim.transparency, stapledOCSP: claim.revocation.stapledOCSP, at: now)
            guard budget.spend(signatures: check.signatureCount) else {
                throw PathRefusal(finding: Self.overBudget, visit: .overBudget)
            }
            finding = check.finding(check.timestamps(issuer: issuer))
            transparencyFindings[issuer ?? leaf] = .some(finding)
        }
        // mutant transparency-required: false for 2 by ComplianceTests/require
        guard let finding, mode == .require else { return finding }
        throw PathRefusal(finding: finding)
    }
}

extension TrustEvaluation {
    /// Returns the best valid path. Throws the most useful finding if there is none.
    static func bestPath(
        _ claim: Claim, at time: Date, tracing: (TrustAttempt) -> Void
    ) throws(TrustFinding) -> Path {
        let result = run(claim, at: time, tracing: tracing)
        guard let path = result.accepted else { throw result.finding }
        return path
    }

    /// Returns every valid path, best first, up to `limit`, and whether there are surely no others. Throws the most
    /// useful finding if there is none.
    static func allPaths(
        _ claim: Claim, at time: Date, limit: Int
    ) throws(TrustFinding) -> (paths: [Path], isWhole: Bool) {
        guard limit > 0 else { return ([], false) }
        var paths: [Path] = []
        var isWhole = true
        let result = run(
            claim, at: time,
            accepting: { path in
                paths.append(path)
                isWhole = isWhole && paths.count < limit
                return paths.count >= limit
            }, tracing: { isWhole = isWhole && $0.limit == nil })
        guard !paths.isEmpty else { throw result.finding }
        return (paths, isWhole)
    }
}
