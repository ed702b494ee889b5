/// The findings that are made without a path, and those for a search that found no path.
extension TrustEvaluation {
    var overSize: TrustFinding? {
        let presented = claim.presented
        let bytes = presented.intermediates.reduce(presented.leaf.derBytes.count) { $0 + $1.derBytes.count }
        guard
            // mutant presented-size: false by ServerTrustTests PathologicalTests
            presented.intermediates.count >= TrustBudget.maximumPresented || bytes > TrustBudget.maximumPresentedBytes
        else { return nil }
        return TrustFinding(
            rule: .budget, depth: nil, certificate: nil,
            detail: "\(presented.intermediates.count + 1) certificates of \(bytes) bytes were presented, limits are "
                + "\(TrustBudget.maximumPresented) and \(TrustBudget.maximumPresentedBytes): "
                + "have the server send only its chain")
    }

    var nameFinding: TrustFinding? {
        guard let name = claim.name else { return nil }
        let leaf = claim.presented.leaf
        let names = leaf.subjectAlternativeNames
        // mutant name-match: false by ServerTrustTests/names
        guard !names.contains(where: { name.matches($0) }) else { return nil }
        let proved = names.filter { if case .other = $0 { false } else { true } }
        let found =
            "valid for " + proved.prefix(10).map(\.description).joined(separator: ", ")
            + (proved.count > 10 ? " and \(proved.count - 10) more" : "")
        let (reason, remedy): (String, String) =
            // mutant name-miss: nil as NameMiss? by TrustSituationTests/names ServerTrustTests
            if let miss = NameMiss(name, in: leaf) {
                (miss.reason, "reissue it with subjectAltName \(name.entryText)")
            } else if proved.isEmpty {
                (
                    "no DNS name or IP address in subjectAltName, and the common name is ignored",
                    "reissue it with subjectAltName \(name.entryText)"
                )
            } else {
                (
                    "certificate is \(found), not \(name)",
                    "connect to one of its names, or serve a certificate for \(name)"
                )
            }
        return TrustFinding(
            rule: .nameMismatch, depth: 0, certificate: leaf, detail: "hostname mismatch (\(reason)): \(remedy)")
    }

    static let noTime = TrustFinding(
        rule: .notYetValid, depth: nil, certificate: nil,
        detail: "the evaluation time is out of range: check the clock")

    static let overBudget = TrustFinding(
        rule: .budget, depth: nil, certificate: nil,
        detail: "the search for a path stopped after \(TrustBudget.maximumCandidates) candidates, "
            + "\(TrustBudget.maximumSignatures) signatures, \(TrustBudget.maximumSteps) steps or "
            + "\(TrustBudget.maximumComparisons) name comparisons: have the server send only its chain")

    static let outOfMemory = TrustFinding(
        rule: .outOfMemory, depth: nil, certificate: nil,
        detail: "OpenSSL ran out of memory, so nothing is known about the chain: free some memory, and try again")

    static let tooLong = TrustFinding(
        rule: .pathLength, depth: nil, certificate: nil,
        detail: "certificate chain too long (no trust anchor within \(TrustBudget.maximumPathLength) certificates): "
            + "have the server send a shorter chain, or add its root to the trust store")

    func missingIssuer(_ walk: [X509Certificate]) -> TrustFinding {
        let last = walk.last ?? claim.presented.leaf
        let detail =
            last.isSelfIssued
            ? "self-signed certificate\(walk.count > 1 ? " in certificate chain" : "") is not a trust anchor: "
                + "add it to the trust store if it should be trusted"
            : "unable to get local issuer certificate (\(last.issuer) was not presented and is not a trust anchor): "
                + "have the server send its intermediates, or add the root to the trust store"
        return TrustFinding(rule: .unknownIssuer, depth: max(walk.count - 1, 0), certificate: last, detail: detail)
    }
}
