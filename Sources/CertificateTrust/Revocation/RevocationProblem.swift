/// The reason why a certificate is rejected: the rule, and a detail with the finding and its remedy.
struct RevocationProblem: Error, Hashable {
    let rule: TrustRule
    let detail: String
}

/// The combined answer of lists or a response about one certificate.
enum RevocationAnswer {
    case good
    /// There is no evidence, or it doesn't cover every revocation reason.
    case unknown
    case refused(RevocationProblem)
}

extension RevocationProblem {
    static func revoked(at time: Int64?, reason: UInt8) -> RevocationProblem {
        let when = time.map { "at \(timeText($0)), " } ?? ""
        let why = reasons.indices.contains(Int(reason)) ? reasons[Int(reason)] : "reason \(reason)"
        return RevocationProblem(
            rule: .revoked, detail: "certificate is revoked (\(when)\(why)): replace it and its key")
    }

    /// The texts for CRLReason (RFC 5280, section 5.3.1).
    private static let reasons = [
        "no reason given", "key compromise", "CA compromise", "affiliation changed", "superseded",
        "cessation of operation", "certificate hold", "reason 7", "removed from CRL", "privilege withdrawn",
        "AA compromise",
    ]

    static let unknown = RevocationProblem(
        rule: .revocationUnknown,
        detail: "its revocation status is unknown, but the policy requires it: "
            + "provide the CRL of its issuer, or have the server staple an OCSP response")

    static let overBudget = RevocationProblem(
        rule: .budget,
        detail: "the revocation check stopped after \(TrustBudget.maximumSignatures) signatures: "
            + "provide fewer CRLs, or have the server send only its chain")

    /// Returns the problem of a list or response outside its validity. `what` describes the list or response and its
    /// issuer.
    static func stale(_ what: String, from start: Int64, until end: Int64?, at now: Int64) -> RevocationProblem {
        let found =
            if now < start {
                "is not yet valid (valid from \(timeText(start)), current time \(timeText(now))): "
                    + "get the current one, or check the clock"
            } else if let end {
                "has expired (valid until \(timeText(end)), current time \(timeText(now))): "
                    + "get the current one, or check the clock"
            } else {
                "has no expiry date: have its issuer set nextUpdate"
            }
        return RevocationProblem(rule: .revocationStale, detail: "\(what) \(found)")
    }

    static func unusable(_ what: String, _ reason: String) -> RevocationProblem {
        RevocationProblem(
            rule: .revocationUnusable, detail: "\(what) is unusable because it \(reason): get another from its issuer")
    }

    static func signer(_ what: String, _ reason: String) -> RevocationProblem {
        RevocationProblem(
            rule: .revocationSigner, detail: "\(what) \(reason): get one from the certificate's issuer")
    }
}
