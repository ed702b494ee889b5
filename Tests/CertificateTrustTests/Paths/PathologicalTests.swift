import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// Tests of CB18: for any chain that a peer presents, evaluation ends within its limits and with a verdict.
@Suite("CB18: pathological chains")
struct PathologicalTests {
    @Test("Pathological chains get the expected verdict within the limits", arguments: PathologicalChain.all)
    func verdict(_ chain: PathologicalChain) throws {
        let claim = try chain.claim()
        let result = try evaluate(claim)
        #expect((result.accepted == nil ? result.finding.rule.rawValue : "accepted") == chain.verdict)
        #expect(isWithinLimits(result.budget))

        // A caller that rejects every path makes the search try all of them.
        let refusal = try evaluate(claim, accepting: false)
        #expect(refusal.accepted == nil)
        #expect(refusal.isRefused == (chain.verdict == "accepted"))
        #expect(isWithinLimits(refusal.budget))
    }

    private func evaluate(_ claim: Claim, accepting: Bool = true) throws -> TrustEvaluation.Result {
        let date = Date(timeIntervalSince1970: Double(claim.time))
        return try claim.trust().evaluation(at: date, accepting: { _ in accepting })
    }

    /// Returns whether the documented limits are kept, independent of the limits in the budget itself.
    private func isWithinLimits(_ budget: TrustBudget) -> Bool {
        budget.signatures <= 100 && budget.candidates <= 50 && budget.steps <= 1_000 && budget.comparisons <= 250_000
    }
}

extension PathologicalChain: CustomTestStringConvertible {
    var testDescription: String { description }
}
