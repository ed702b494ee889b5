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
        let when = time.map { " at \(timeText($0))" } ?? ""
        let why = reasons.indices.contains(Int(reason)) ? reasons[Int(reason)] : "reason \(reason)"
        return RevocationProblem(
            rule: .revoked, detail: "was revoked by its issuer\(when) (\(why)): replace it, with a new key")
    }

    /// The texts for CRLReason (RFC 5280, section 5.3.1).
    private static let reasons = [
        "no reason given", "key compromise", "compromise of the authority", "affiliation changed", "superseded",
        "cessation of operation", "on hold", "reason 7", "removed from the list", "privilege withdrawn",
        "compromise of the attribute authority",
    ]

    static let unknown = RevocationProblem(
        rule: .revocationUnknown,
        detail: "nothing at hand says whether it is revoked, and the policy requires that: "
            + "give the lists of its issuer, or have the server staple an OCSP response")

    static let overBudget = RevocationProblem(
        rule: .budget,
        detail: "the look at its revocation was stopped after \(TrustBudget.maximumSignatures) signatures: "
            + "give fewer lists, or have the server send its chain alone")

    /// Returns the problem of a list or response outside its validity. `what` describes the list or response and its
    /// issuer.
    static func stale(_ what: String, from start: Int64, until end: Int64?, at now: Int64) -> RevocationProblem {
        let found =
            if now < start {
                "is from \(timeText(start)), it is \(timeText(now)): get the current one, or check the clock"
            } else if let end {
                "ended at \(timeText(end)), it is \(timeText(now)): get the current one, or check the clock"
            } else {
                "does not say when it ends: have its issuer set nextUpdate"
            }
        return RevocationProblem(rule: .revocationStale, detail: "\(what) \(found)")
    }

    static func unusable(_ what: String, _ reason: String) -> RevocationProblem {
        RevocationProblem(
            rule: .revocationUnusable, detail: "\(what) cannot be used, it \(reason): get another from its issuer")
    }

    static func signer(_ what: String, _ reason: String) -> RevocationProblem {
        RevocationProblem(
            rule: .revocationSigner, detail: "\(what) \(reason): get one from the certificate's issuer")
    }
}
