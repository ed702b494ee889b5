import FoundationEssentials
import TestPKI
import Testing

@testable import CertificateTrust

/// CB18: whatever a peer presents, evaluation ends within its limits and with a verdict.
@Suite("CB18: pathological chains")
struct PathologicalTests {
    @Test("get the verdict they deserve, or the one that says that a limit was met", arguments: PathologicalChain.all)
    func verdict(_ chain: PathologicalChain) throws {
        let claim = try chain.claim()
        let result = try evaluate(claim)
        #expect((result.accepted == nil ? result.finding.rule.rawValue : "accepted") == chain.verdict)
        #expect(isWithinLimits(result.budget))

        // A caller that refuses every path makes the search go through all of them.
        let refusal = try evaluate(claim, accepting: false)
        #expect(refusal.accepted == nil)
        #expect((refusal.refused == nil) == (chain.verdict != "accepted"))
        #expect(isWithinLimits(refusal.budget))
    }

    private func evaluate(_ claim: Claim, accepting: Bool = true) throws -> TrustEvaluation.Result {
        let date = Date(timeIntervalSince1970: Double(claim.time))
        return try claim.trust().evaluation(at: date, accepting: { _ in accepting })
    }

    /// The limits as they were promised, whatever the budget says that they are.
    private func isWithinLimits(_ budget: TrustBudget) -> Bool {
        budget.signatures <= 100 && budget.candidates <= 50 && budget.steps <= 1_000 && budget.comparisons <= 250_000
    }
}

extension PathologicalChain: CustomTestStringConvertible {
    var testDescription: String { description }
}
