public import CertificateTrust
package import PinctlBasics
import PinctlFoundation

/// A verified path that a policy accepts, with the reason. A policy that refuses one throws ``PinningError``.
@nonexhaustive
public enum PinDecision: Sendable {
    /// These pins match, leaf first.
    case matched(VerifiedPath, [PinMatch], PinningRule)
    /// No pins apply to the host. The rule, if there is one, turns them off.
    case unpinned(VerifiedPath, PinningRule?)
    /// The pins don't match, and the rule only reports.
    case forgiven(PinMismatch)
    /// The pins don't match, and every valid path ends outside the anchors under which they apply.
    case bypassed(PinMismatch)
    /// The rule has expired and stops pinning then. No pin was compared.
    case stopped(VerifiedPath, PinningRule)

    /// The path. It ends at the rule's anchors if the rule has its own.
    public var path: VerifiedPath {
        switch self {
        case .matched(let path, _, _), .unpinned(let path, _), .stopped(let path, _): path
        case .forgiven(let mismatch), .bypassed(let mismatch): mismatch.path
        }
    }

    /// The rule that decided, if any.
    public var rule: PinningRule? {
        switch self {
        case .matched(_, _, let rule), .stopped(_, let rule): rule
        case .unpinned(_, let rule): rule
        case .forgiven(let mismatch), .bypassed(let mismatch): mismatch.rule
        }
    }
}

/// The reason why a server is refused.
@nonexhaustive
public enum PinningError: Error, Sendable {
    /// The chain is trusted, but no valid path has the pins. This is the mismatch of the best path.
    case mismatch(PinMismatch)
    /// The chain is trusted, but every valid path has a certificate or key that the policy denies. This is the match on
    /// the best path.
    case denied(PinMatch, VerifiedPath, port: Int)
    /// The rule has expired, and refuses every server then.
    case expired(PinningRule, VerifiedPath, port: Int)
    /// No rule covers the host, and the policy refuses such hosts.
    case unlisted(ServerName, port: Int)
    /// The chain isn't trusted. No pin was compared.
    case untrusted(TrustFinding)
}

extension PinningError {
    /// Returns the same error, whose text for a mismatch is the first line alone or the whole.
    package func summarized(_ isSummarized: Bool) -> PinningError {
        guard case .mismatch(var mismatch) = self else { return self }
        mismatch.isSummarized = isSummarized
        return .mismatch(mismatch)
    }
}

// MARK: - Text

extension PinningError: CustomStringConvertible {
    /// The reason. For a mismatch, the served and the pinned keys in lines.
    public var description: String { "\(text)" }

    /// The reason and the remedy. For a mismatch, whose lines have several remedies, everything is the reason.
    package var text: ProblemText {
        switch self {
        case .mismatch(let mismatch): return ProblemText(mismatch.description, remedy: nil)
        case .expired(let rule, let path, let port):
            return ProblemText(
                "certificate pinning failure for \(path.name) port \(port): \(rule.expired), so it rejects every "
                    + "server",
                remedy: PinningRule.renewal)
        case .denied(let match, let path, let port):
            let fingerprint = match.pin.fingerprint
            let key = match.pin.name.map { "\(fingerprint) (\(visibleText($0)))" } ?? "\(fingerprint)"
            let subject = path.certificates[match.index].subject.description
            return ProblemText(
                "certificate pinning failure for \(path.name) port \(port): the policy denies \(key), the "
                    + "\(match.role.rawValue) of its path\(subject.isEmpty ? "" : ", " + subject)",
                remedy: "serve a chain without it")
        case .unlisted(let name, let port):
            return ProblemText(
                "certificate pinning failure for \(name) port \(port): the policy has no rule for it and refuses "
                    + "unlisted hosts", remedy: "add a rule")
        case .untrusted(let finding): return finding.text
        }
    }
}

extension PinDecision: CustomStringConvertible {
    /// The decision and the reason. For a mismatch, the served and the pinned keys in lines.
    public var description: String {
        switch self {
        case .matched(_, let matches, let rule):
            let pins = matches.map {
                "\($0.pin.name.map { visibleText($0) } ?? "\($0.pin.fingerprint)") as \($0.role.rawValue)"
            }
            return "\(rule.title) matches: \(pins.joined(separator: ", "))"
        case .unpinned(_, let rule?): return "the pins of \(rule.title) are off"
        case .unpinned(_, nil): return "no rule of the policy covers the host"
        case .forgiven(let mismatch): return mismatch.description
        case .bypassed(let mismatch):
            return "PINS ARE BYPASSED: the path doesn't end at a system root, and \(mismatch.rule.title) accepts "
                + "such paths: remove \"localAnchorsBypassPins\" unless you are debugging\n\(mismatch)"
        case .stopped(_, let rule): return "\(rule.stop)"
        }
    }
}

extension PinningRule {
    /// `the rule at pins.jsonc:4:5 for api.example.com`.
    var title: String { "the rule\(location.map { " at \($0)" } ?? "") for \(host)" }

    /// The text about a rule that no longer pins.
    package var stop: ProblemText {
        ProblemText("PINNING IS OFF: \(expired), so its pins are no longer checked", remedy: Self.renewal)
    }

    fileprivate static let renewal = "ship a policy with a later expiry"

    fileprivate var expired: String { "\(title) expired at \(expiry?.end.rfc3339 ?? "")" }
}
