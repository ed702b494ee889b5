import CertificateTrust
import PinctlBasics

/// The origin of a chain, which decides who can complete it.
enum ChainOrigin: Sendable {
    case server
    case file
}

extension TrustFinding {
    /// The finding with a remedy for this origin, in the words of pinctl's flags. The remedy of the library is for
    /// programs, which have a trust store and a server.
    ///
    /// `flag` is the one that gives roots, or `nil` if the roots can't be changed, because a release has its own.
    func text(from origin: ChainOrigin, trustedBy flag: Flag? = .caFile) -> String {
        guard let advice = advice(origin, flag) else { return description }
        return "\(ProblemText(description).problem): \(advice)"
    }

    private func advice(_ origin: ChainOrigin, _ flag: Flag?) -> String? {
        let isSelfIssued = certificate?.isSelfIssued == true
        let way = flag.map { "give it with \($0.dashed)" }
        let isMissing = rule == .unknownIssuer
        switch origin {
        case .server where isMissing && isSelfIssued:
            return "if that \(depth == 0 ? "certificate" : "CA") is yours, \(way ?? Self.otherAuthority); if not, the "
                + "connection may be intercepted"
        case .server where isMissing:
            return "have the server send its intermediates, or, if that issuer is a private root of yours, "
                + (way ?? Self.otherAuthority)
        case .server where rule == .nameMismatch && isSelfIssued:
            return remedy.map {
                "configure the certificate for this hostname on the server, or, if this self-signed one is meant, \($0)"
            }
        case .file where isMissing && isSelfIssued:
            guard let way else { return Self.otherAuthority }
            return depth == 0
                ? "have the certificate issued by a CA, or, if clients trust it as it is, \(way)"
                : "if that CA is yours, \(way); if not, have the certificate issued by another CA"
        case .file where isMissing:
            return "add the intermediate certificates to the file, or"
                + (way.map { ", if that issuer is a private root of yours, \($0)" } ?? " \(Self.otherAuthority)")
        case .file where remedy?.hasPrefix("have the server send") == true:
            return "leave only the server's chain in the file, leaf first"
        default: return nil
        }
    }

    private static let otherAuthority = "have the certificate issued by a CA that the release trusts"
}
