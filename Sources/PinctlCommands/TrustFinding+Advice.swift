import CertificatePinning
import CertificateTrust
import PinctlBasics

/// The origin of a chain, which decides who can complete it. The raw values are those of JSON and reports.
enum ChainOrigin: String, Sendable {
    case served
    case file
}

extension ChainOrigin {
    /// The step that completes a chain without the certificate of an issuer.
    var completion: String {
        switch self {
        case .served: PinFailureCause.sendIntermediates
        case .file: "add the intermediate certificates to the file"
        }
    }
}

extension TrustFinding {
    /// The violated rule, as the start of a line.
    var label: String { "not trusted [\(rule.rawValue)]" }

    /// Returns the finding with a remedy for this origin, in the words of pinctl's flags. The remedy of the library is
    /// for programs, which have a trust store and a server.
    ///
    /// `flag` is the one that gives roots, or `nil` if the roots can't be changed, because a release has its own.
    func text(
        from origin: ChainOrigin, trustedBy flag: Flag? = .caFile, under pins: PinningRule? = nil
    ) -> ProblemText {
        ProblemText(
            text.problem,
            remedy: renewal(under: pins).map { "\($0), or check the clock" } ?? advice(origin, flag) ?? text.remedy)
    }

    /// Returns how to renew a leaf that has expired so that a rule accepts it, or `nil` for another finding.
    func renewal(under pins: PinningRule?) -> String? {
        guard rule == .expired, depth == 0, let certificate else { return nil }
        return pins?.renewal(of: certificate)
    }

    private func advice(_ origin: ChainOrigin, _ flag: Flag?) -> String? {
        let isSelfIssued = certificate?.isSelfIssued == true
        let way = flag.map { "give it with \($0.dashed)" }
        let isMissing = rule == .unknownIssuer
        switch origin {
        case _ where isMissing && !isSelfIssued:
            return way.map { PinFailureCause.remedy(completingChain: origin.completion, orTrusting: $0) }
                ?? "\(origin.completion), or \(Self.otherAuthority)"
        case .served where isMissing:
            return "if that \(depth == 0 ? "certificate" : "CA") is yours, \(way ?? Self.otherAuthority); if not, the "
                + "connection may be intercepted"
        case .served where rule == .nameMismatch && isSelfIssued:
            return text.remedy.map {
                "configure the certificate for this hostname on the server, or, if this self-signed one is meant, \($0)"
            }
        case .file where isMissing:
            guard let way else { return Self.otherAuthority }
            return depth == 0
                ? "have the certificate issued by a CA, or, if clients trust it as it is, \(way)"
                : "if that CA is yours, \(way); if not, have the certificate issued by another CA"
        // These findings are about the presented certificates as a whole.
        case .file where [.budget, .pathLength].contains(rule) && depth == nil:
            return "leave only the server's chain in the file, leaf first"
        default: return nil
        }
    }

    private static let otherAuthority = "have the certificate issued by a CA that the release trusts"
}

extension PinningRule {
    /// Returns how to renew the certificate of a server so that the rule accepts it, or `nil` if one pin isn't enough.
    func renewal(of leaf: X509Certificate) -> String? {
        guard !pins.isEmpty, requirement == .any else { return nil }
        let held = pins.fingerprints(of: leaf)
        let isPinned = pins.contains { pin in
            pin.kind == .publicKey && pin.role.covers(index: 0, of: 3) && held.contains(pin.fingerprint)
        }
        // mutant expired-key: true for `isPinned` by TrustSituationTests/expiredKey
        return isPinned
            ? "renew it with the same key, which is pinned"
            : "renew it with a pinned key or from a pinned CA, because its own key isn't pinned"
    }
}
