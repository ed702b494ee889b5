public import CertificateTrust
import FoundationEssentials

/// What a policy says of a verified path.
@nonexhaustive
public enum PinDecision: Sendable {
    /// Accepted: these pins match, leaf first.
    case matched([PinMatch], PinningRule)
    /// Accepted: no pins hold for the host. The rule, if there is one, has them off.
    case unpinned(PinningRule?)
    /// Accepted although the pins do not match, because the rule only reports.
    case forgiven(PinMismatch)
    /// Accepted although the pins do not match, because the path ends outside of the anchors that they hold under.
    case bypassed(PinMismatch)
    /// Accepted, and no pin was looked at: the rule has ended, and says to stop pinning then.
    case stopped(PinningRule)
    /// Refused: the pins do not match.
    case mismatch(PinMismatch)
    /// Refused: the path holds what the policy denies, here.
    case denied(PinMatch, VerifiedPath, port: Int)
    /// Refused: the rule has ended, and says to fail then.
    case expired(PinningRule, VerifiedPath, port: Int)
    /// Refused: no rule reaches the host, and the policy refuses such hosts.
    case unlisted(ServerName, port: Int)

    /// Whether a request may go to the server.
    public var isAccepted: Bool {
        switch self {
        case .matched, .unpinned, .forgiven, .bypassed, .stopped: true
        case .mismatch, .denied, .expired, .unlisted: false
        }
    }
}

/// A path that was verified and that a policy accepted.
public struct AcceptedPath: Sendable {
    /// The path; it ends at the rule's anchors where the rule has its own.
    public let path: VerifiedPath
    /// Why it is accepted.
    public let decision: PinDecision
}

/// Why a server is refused.
@nonexhaustive
public enum PinningError: Error, Sendable {
    /// Its chain is trusted, but the pins stand on no valid path; this is the best of them.
    case mismatch(PinMismatch)
    /// Its chain is trusted, but every valid path holds what the policy denies; this is the best of them.
    case denied(PinMatch, VerifiedPath, port: Int)
    /// Its rule has ended, and says to fail then.
    case expired(PinningRule, VerifiedPath, port: Int)
    /// No rule reaches the host, and the policy refuses such hosts.
    case unlisted(ServerName, port: Int)
    /// Its chain is not trusted; the pins were not asked.
    case untrusted(TrustError)
}

extension PinningError {
    /// The refusal that a decision is; nil for those that accept.
    init?(_ decision: PinDecision) {
        switch decision {
        case .mismatch(let mismatch): self = .mismatch(mismatch)
        case .denied(let match, let path, let port): self = .denied(match, path, port: port)
        case .expired(let rule, let path, let port): self = .expired(rule, path, port: port)
        case .unlisted(let name, let port): self = .unlisted(name, port: port)
        case .matched, .unpinned, .forgiven, .bypassed, .stopped: return nil
        }
    }

    /// The decision behind it; nil when the chain is not trusted, so that there was nothing to decide.
    public var decision: PinDecision? {
        switch self {
        case .mismatch(let mismatch): .mismatch(mismatch)
        case .denied(let match, let path, let port): .denied(match, path, port: port)
        case .expired(let rule, let path, let port): .expired(rule, path, port: port)
        case .unlisted(let name, let port): .unlisted(name, port: port)
        case .untrusted: nil
        }
    }
}

// MARK: - Text

extension PinningError: CustomStringConvertible {
    public var description: String {
        if case .untrusted(let error) = self { error.description } else { decision?.description ?? "" }
    }
}

extension PinDecision: CustomStringConvertible {
    /// What was decided and why; of a mismatch what is served and what is pinned, in lines.
    public var description: String {
        switch self {
        case .matched(let matches, let rule):
            let pins = matches.map {
                "\($0.pin.name.map { visibleText($0) } ?? "\($0.pin.object)") as \($0.role.rawValue)"
            }
            return "\(rule.title) matches: \(pins.joined(separator: ", "))"
        case .unpinned(let rule?): return "the pins of \(rule.title) are off"
        case .unpinned(nil): return "no rule of the policy reaches the host"
        case .forgiven(let mismatch), .mismatch(let mismatch): return mismatch.description
        case .bypassed(let mismatch):
            return "PINS ARE BYPASSED: the path ends outside of the system's anchors, and \(mismatch.rule.title) lets "
                + "such paths in: remove \"localAnchorsBypassPins\" where nobody debugs\n\(mismatch)"
        case .stopped(let rule):
            return "PINNING IS OFF: \(rule.ended), and says to stop pinning then: \(Self.renewal)"
        case .expired(let rule, let path, let port):
            return "\(path.name) port \(port) is refused: \(rule.ended), and says to fail then: \(Self.renewal)"
        case .denied(let match, let path, let port):
            let key = match.pin.name.map { "\(match.pin.object) (\(visibleText($0)))" } ?? "\(match.pin.object)"
            return
                "\(path.name) port \(port) is refused: the policy denies \(key), which is the \(match.role.rawValue) of "
                + "its path, \(path.certificates[match.index].subject): serve a chain without it"
        case .unlisted(let name, let port):
            return "no rule of the policy reaches \(name) port \(port), and it refuses unlisted hosts: add a rule"
        }
    }

    private static let renewal = "ship a policy with a later end"
}

extension PinningRule {
    /// `the rule at pins.jsonc:4:5 for api.example.com`.
    var title: String { "the rule\(location.map { " at \($0)" } ?? "") for \(host)" }

    fileprivate var ended: String { "\(title) ended \(expiry?.end.rfc3339 ?? "")" }
}
