/// Why a server is not trusted.
@nonexhaustive
public enum TrustError: Error, Hashable, Sendable {
    /// No valid path leads to an anchor; the finding is the most useful reason of all that were met.
    case untrusted(TrustFinding)
    /// Valid paths exist and the caller accepted none; `best` is the first of them.
    case refused(best: VerifiedPath)
}

extension TrustError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .untrusted(let finding): finding.description
        case .refused(let best): "the verified path to \(best.anchor.subject) was refused: see the pins of \(best.name)"
        }
    }
}

/// One reason to refuse: the rule, the certificate it failed at, and what that certificate does say.
public struct TrustFinding: Error, Hashable, Sendable {
    /// The rule that was not met.
    public let rule: TrustRule
    /// Where in the path: 0 is the leaf. Nil when no certificate is to blame.
    public let depth: Int?
    /// The certificate at that place.
    public let certificate: X509Certificate?
    /// What was wanted and what was found, and what to do.
    public let detail: String
}

extension TrustFinding: CustomStringConvertible {
    public var description: String {
        guard let depth, let certificate else { return detail }
        let name = certificate.subject.description
        let position = depth == 0 ? "leaf" : "certificate \(depth)"
        return "\(position) (\(name.isEmpty ? "no subject" : name)): \(detail)"
    }
}
