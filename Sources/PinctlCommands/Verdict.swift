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
        case .mismatch, .unlisted: .finding
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
        case .unlisted: "not_covered"
        case .untrusted: "untrusted"
        case .unreachable: "unreachable"
        }
    }

    /// The verified path, where there is one.
    var path: VerifiedPath? {
        switch self {
        case .matched(let path, _, _), .trusted(let path, _): path
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
            switch accepted.decision {
            case .matched(let matches, let rule): self = .matched(accepted.path, matches, rule)
            case .forgiven(let mismatch), .mismatch(let mismatch): self = .mismatch(mismatch)
            case .unpinned(let rule): self = .trusted(accepted.path, rule)
            case .unlisted: self = .unlisted(policy: "the policy")
            }
        } catch {
            switch error {
            case .mismatch(let mismatch): self = .mismatch(mismatch)
            case .unlisted: self = .unlisted(policy: "the policy")
            case .untrusted(let error): self = .untrusted(error)
            }
        }
    }
}
