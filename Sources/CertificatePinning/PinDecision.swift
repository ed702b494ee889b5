public import CertificateTrust

/// What a policy says of a verified path.
@nonexhaustive
public enum PinDecision: Sendable {
    /// Accepted: these pins match, leaf first.
    case matched([PinMatch], PinningRule)
    /// Accepted: no pins hold for the host. The rule, if there is one, has them off.
    case unpinned(PinningRule?)
    /// Accepted although the pins do not match, because the rule only reports.
    case forgiven(PinMismatch)
    /// Refused: the pins do not match.
    case mismatch(PinMismatch)
    /// Refused: no rule reaches the host, and the policy refuses such hosts.
    case unlisted(ServerName, port: Int)

    /// Whether a request may go to the server.
    public var isAccepted: Bool {
        switch self {
        case .matched, .unpinned, .forgiven: true
        case .mismatch, .unlisted: false
        }
    }
}

/// A path that was verified and that a policy accepted.
public struct AcceptedPath: Sendable {
    /// The path; it ends at the rule's anchors where the rule has its own.
    public let path: VerifiedPath
    /// Why it is accepted: matched, unpinned or forgiven.
    public let decision: PinDecision
}

/// Why a server is refused.
@nonexhaustive
public enum PinningError: Error, Sendable {
    /// Its chain is trusted, but the pins stand on no valid path; this is the best of them.
    case mismatch(PinMismatch)
    /// No rule reaches the host, and the policy refuses such hosts.
    case unlisted(ServerName, port: Int)
    /// Its chain is not trusted; the pins were not asked.
    case untrusted(TrustError)
}

extension PinningError: CustomStringConvertible {
    public var description: String {
        switch self {
        case .mismatch(let mismatch): mismatch.description
        case .unlisted(let name, let port):
            "no rule of the policy reaches \(name) port \(port), and it refuses unlisted hosts: add a rule"
        case .untrusted(let error): error.description
        }
    }
}
