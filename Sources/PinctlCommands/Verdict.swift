import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// What became of one server, or of one chain.
enum Verdict: Sendable {
    /// The chain is trusted and these pins match.
    case matched(VerifiedPath, [PinMatch], PinningRule)
    /// The chain is trusted, and no pins were to be judged; the rule, if there is one, has them off.
    case trusted(VerifiedPath, PinningRule?)
    /// The chain is trusted and the pins do not match; a rule in report mode is broken all the same.
    case mismatch(PinMismatch)
    /// The chain is trusted, and holds what the policy denies.
    case denied(PinMatch, VerifiedPath, port: Int)
    /// The chain is trusted, and its rule has ended: clients refuse the server, or pin no more.
    case expired(PinDecision, PinningRule, VerifiedPath)
    /// The policy has no rule for it. Nothing else was looked at.
    case unlisted(policy: String)
    /// The chain is not trusted; pins were not judged.
    case untrusted(TrustError)
    /// There was no chain to judge.
    case unreachable(String)

    /// The outcome it counts as.
    var status: ExitCode {
        switch self {
        case .matched, .trusted: .good
        case .mismatch, .denied, .expired, .unlisted: .finding
        case .untrusted: .notTrusted
        case .unreachable: .couldNotCheck
        }
    }

    /// The verdict of JSON.
    var word: String {
        switch self {
        case .matched(_, let matches, _): matches.allSatisfy(\.pin.isBackup) ? "ok_backup_only" : "ok"
        case .trusted(_, nil): "ok"
        case .trusted: "ok_pins_off"
        case .mismatch: "pin_mismatch"
        case .denied: "denied"
        case .expired: "expired"
        case .unlisted: "not_covered"
        case .untrusted: "untrusted"
        case .unreachable: "unreachable"
        }
    }

    /// The verified path, where there is one.
    var path: VerifiedPath? {
        switch self {
        case .matched(let path, _, _), .trusted(let path, _), .denied(_, let path, _), .expired(_, _, let path): path
        case .mismatch(let mismatch): mismatch.path
        case .unlisted, .untrusted, .unreachable: nil
        }
    }
}

extension Verdict {
    /// Judges a presented chain: first its trust, then its pins.
    init(on trust: ServerTrust, port: UInt16, expecting expectation: Expectation, time: Date) {
        switch expectation {
        case .unlisted(let file): self = .unlisted(policy: file.path)
        case .trust:
            do throws(TrustError) {
                self = .trusted(try trust.evaluate(at: time), nil)
            } catch {
                self = .untrusted(error)
            }
        case .pins(let policy): self.init(on: trust, port: Int(port), by: policy, time: time)
        }
    }

    private init(on trust: ServerTrust, port: Int, by policy: PinningPolicy, time: Date) {
        do throws(PinningError) {
            let accepted = try policy.evaluate(trust, port: port, at: time)
            self.init(accepted.decision, accepted.path)
        } catch {
            switch error {
            case .untrusted(let error): self = .untrusted(error)
            case .mismatch(let mismatch): self = .mismatch(mismatch)
            case .denied(let match, let path, let port): self = .denied(match, path, port: port)
            case .expired(let rule, let path, let port): self = .expired(.expired(rule, path, port: port), rule, path)
            case .unlisted: self = .unlisted(policy: "the policy")
            }
        }
    }

    private init(_ decision: PinDecision, _ path: VerifiedPath) {
        switch decision {
        case .matched(let matches, let rule): self = .matched(path, matches, rule)
        case .forgiven(let mismatch), .bypassed(let mismatch), .mismatch(let mismatch): self = .mismatch(mismatch)
        case .unpinned(let rule): self = .trusted(path, rule)
        case .stopped(let rule), .expired(let rule, _, _): self = .expired(decision, rule, path)
        case .denied(let match, let path, let port): self = .denied(match, path, port: port)
        case .unlisted: self = .unlisted(policy: "the policy")
        }
    }
}
