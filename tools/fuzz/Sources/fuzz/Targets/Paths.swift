import FoundationEssentials

@testable import CertificateTrust

extension FuzzTarget {
    /// Chains and anchors of a pool, in any order, for a name, a time and a policy. An accepted path is valid by a
    /// second implementation of the rules, and where that one finds a path in a small chain, one is accepted.
    static let paths = FuzzTarget(name: "paths") { bytes in
        let pool = CertificatePool.shared
        var script = Script(bytes)
        let time = script.element(of: times)
        let host = script.element(of: ["a.test", "b.test", "c.a.test", "c.test", "192.0.2.1"])
        guard let name = try? ServerName(host) else { preconditionFailure("a name was refused") }
        var policy = script.isChosen() ? TrustPolicy.strict : .default
        let isStrict = policy != .default
        policy.maximumIntermediates = script.element(of: [10, 0, 1, 2, 200])
        let certificates = pool.authorities + pool.leaves
        let anchors = (0..<script.number(below: 8)).map { _ in script.element(of: certificates) }
        let leaf = script.element(of: pool.leaves + pool.authorities.prefix(4))
        var others: [CertificatePool.Entry] = []
        // Three times as many as an evaluation takes.
        while !script.isAtEnd, others.count < 3 * TrustBudget.maximumPresented {
            others.append(script.element(of: certificates))
        }

        let trust = ServerTrust(
            presented: PresentedChain(leaf: leaf.certificate, intermediates: others.map(\.certificate)), name: name,
            store: TrustStore(certificates: anchors.map(\.certificate)), policy: policy)
        let date = Date(timeIntervalSince1970: Double(time))
        let result = trust.evaluation(at: date)
        let budget = result.budget
        precondition(
            budget.candidates <= TrustBudget.maximumCandidates && budget.steps <= TrustBudget.maximumSteps
                && budget.signatures <= TrustBudget.maximumSignatures, "above the budget")
        if let accepted = result.accepted { check(accepted.certificates, of: trust, host, time) }
        let all = (try? trust.allPaths(at: date, limit: 8)) ?? []
        for path in all { check(path.certificates, of: trust, host, time) }
        precondition(
            all.first?.certificates == result.accepted?.certificates, "another path when all are requested")
        guard !isStrict, others.count <= 6 else { return }
        var search = NaiveSearch(
            pool: pool, others: others, anchors: anchors, host: host, time: time,
            maximumIntermediates: policy.maximumIntermediates)
        let exists = search.finds(from: [leaf])
        precondition(
            exists == (result.accepted != nil) || result.finding.rule == .budget,
            "a valid path exists: \(exists), but the evaluation says \(result.finding)")
    }

    /// Before, at and after the ends of the pool's validities.
    private static let times: [Int64] = [
        1_740_000_000, 1_800_000_000, 1_700_000_000, 1_699_999_999, 1_750_000_000, 1_750_000_001, 1_900_000_000,
        1_900_000_001, .min, .max,
    ]

    private static func check(_ path: [X509Certificate], of trust: ServerTrust, _ host: String, _ time: Int64) {
        let pool = CertificatePool.shared
        precondition(path.first == trust.presented.leaf, "the path doesn't begin with the leaf")
        guard let anchor = path.last, trust.store.contains(anchor) else {
            preconditionFailure("the path doesn't end in an anchor")
        }
        let presented = Set(trust.presented.certificates)
        // An anchor that isn't a root can be in the middle of a path that ends above it.
        precondition(
            path.allSatisfy { presented.contains($0) || trust.store.contains($0) }, "a certificate from elsewhere")
        let entries = path.compactMap { pool.entries[$0] }
        precondition(
            entries.count == path.count
                && pool.isValid(
                    entries, for: host, at: time, maximumIntermediates: trust.policy.maximumIntermediates),
            "accepted, but not valid: \(path)")
    }
}

/// A search for a valid path that knows no order and no budget.
private struct NaiveSearch {
    let pool: CertificatePool
    let others: [CertificatePool.Entry]
    let anchors: [CertificatePool.Entry]
    let host: String
    let time: Int64
    let maximumIntermediates: Int

    mutating func finds(from path: [CertificatePool.Entry]) -> Bool {
        guard let last = path.last, path.count <= 12 else { return false }
        let isAnchor = anchors.contains { $0.certificate == last.certificate }
        if isAnchor, pool.isValid(path, for: host, at: time, maximumIntermediates: maximumIntermediates) {
            return true
        }
        // A search ends at a root that is an anchor.
        if isAnchor, last.subject == last.issuer { return false }
        for next in others + anchors
        where next.subject == last.issuer && next.key == last.signer
            && !path.contains(where: { $0.subject == next.subject && $0.key == next.key })
        {
            if finds(from: path + [next]) { return true }
        }
        return false
    }
}
