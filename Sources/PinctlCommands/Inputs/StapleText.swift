import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The status in a stapled OCSP response for the server's leaf, verified as in an evaluation.
struct StapleText {
    let line: String
    let json: JSON

    private static let rules: [TrustRule] = [
        .revoked, .revocationUnknown, .revocationStale, .revocationSigner, .revocationUnusable,
    ]

    init(_ response: [UInt8], of presented: PresentedChain, by judge: ChainJudge) {
        let summary: StapleSummary
        do throws(DERError) {
            summary = try StapleSummary(response, of: presented.leaf)
        } catch {
            line = "  stapled OCSP: cannot be read: \(error)"
            json = ["status": "unreadable", "reason": .string(error.description)]
            return
        }
        var policy = judge.policy
        policy.revocation = .require
        let trust = ChainTrust(
            presented: presented, store: judge.store, policy: policy,
            revocation: RevocationEvidence(stapledOCSP: response))
        var problem: String?
        do throws(TrustFinding) {
            _ = try trust.evaluate(at: judge.time)
        } catch {
            // The status of CA certificates comes from CRLs, which can't be stapled, so findings about them are
            // ignored.
            let isOfResponse = Self.rules.contains(error.rule)
            if !isOfResponse { problem = "not verified because the chain is not trusted" }
            if isOfResponse, error.depth == 0 { problem = error.detail }
        }
        let until = summary.nextUpdate.map { " until \($0.rfc3339)" } ?? ""
        line = "  stapled OCSP: \(summary.status)\(until)" + (problem.map { "; \($0)" } ?? "")
        json = .object(
            [
                ("status", .string(summary.status)),
                ("this_update", summary.thisUpdate.map { .string($0.rfc3339) } ?? .null),
            ]
                + [("next_update", summary.nextUpdate.map { .string($0.rfc3339) } ?? .null)]
                + (problem.map { [("problem", .string($0))] } ?? []))
    }
}
