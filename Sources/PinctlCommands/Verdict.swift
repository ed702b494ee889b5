import CertificatePinning
import CertificateTrust
import PinctlFoundation
import TLSTransport

/// The verdict on one server or one chain.
enum Verdict: Sendable {
    /// The chain is trusted, and these pins match.
    case matched(VerifiedPath, [PinMatch], PinningRule)
    /// The chain is trusted, and there are no pins to check. If there is a rule, its pins are off.
    case trusted(VerifiedPath, PinningRule?)
    /// The chain is trusted, but the pins don't match. This includes rules in report mode.
    case mismatch(PinMismatch)
    /// The pins don't match this key of the server, but they match another of its keys.
    case keyMismatch(PinMismatch)
    /// The pins don't match, but clients accept the server because its path ends outside of the system's anchors.
    case bypassed(PinMismatch)
    /// The chain is trusted and the policy accepts it, but files exported from the policy reject it.
    case exportRefused([ExportRefusal], VerifiedPath, PinningRule?)
    /// The chain is trusted and accepted, but the server uses another key exchange group than the required one, or one
    /// that isn't known.
    case otherGroup(RequiredGroup, VerifiedPath, PinningRule?)
    /// A key without a chain that matches these pins.
    case keyMatched([Pin], PinningRule)
    /// A key without a chain that matches no pin of the rule, or of any rule if none is given.
    case keyStrange(SPKIFingerprint, PinningRule?)
    /// A key without a chain that the policy denies.
    case keyDenied(Pin)
    /// A key without a chain whose rule has expired.
    case keyExpired(PinningRule, PinningExpiry)
    /// No certificate in the files is valid for the rule's host. `names` are the names in the certificates.
    case noCertificate(PinningRule, names: [String])
    /// The chain is good, but the file begins with another certificate, which servers would present as their own.
    case wrongOrder(WrongOrder, VerifiedPath?, PinningRule?)
    /// The chain is trusted, but contains a denied key or certificate.
    case denied(PinMatch, VerifiedPath, port: Int)
    /// The chain is trusted, but its rule has expired, so clients reject the server or no longer pin.
    case expired(PinningRule, VerifiedPath, reason: String)
    /// The policy has no rule for the server. Nothing else was checked.
    case unlisted(policy: String)
    /// The chain isn't trusted. Pins weren't checked.
    case untrusted(TrustFinding)
    /// There was no chain to evaluate.
    case unreachable(ProbeFailure)

    /// The severity, without the warnings about a good verdict.
    var severity: Severity { word.severity }

    var isGood: Bool { severity == .ok }

    /// The verdict as a word in JSON.
    var word: VerdictWord {
        switch self {
        case .matched(_, let matches, _): matches.allSatisfy(\.pin.isBackup) ? .okBackupOnly : .ok
        case .trusted(_, nil): .ok
        case .trusted: .okPinsOff
        case .keyMatched: .keyMatched
        case .mismatch, .keyStrange: .pinMismatch
        case .keyMismatch: .keyMismatch
        case .exportRefused: .exportMismatch
        case .otherGroup: .groupMismatch
        case .wrongOrder: .wrongOrder
        case .bypassed: .bypassed
        case .denied, .keyDenied: .denied
        case .expired, .keyExpired: .expired
        case .unlisted: .notCovered
        case .noCertificate: .noCertificate
        case .untrusted(let finding) where finding.rule == .nameMismatch: .nameMismatch
        case .untrusted(let finding) where finding.rule == .expired: .chainExpired
        case .untrusted: .untrusted
        case .unreachable: .unreachable
        }
    }

    /// The verified path, if there is one.
    var path: VerifiedPath? {
        switch self {
        case .matched(let path, _, _), .trusted(let path, _), .denied(_, let path, _), .expired(_, let path, _),
            .exportRefused(_, let path, _), .otherGroup(_, let path, _):
            path
        case .wrongOrder(_, let path, _): path
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch): mismatch.path
        case .keyMatched, .keyStrange, .keyDenied, .keyExpired, .noCertificate, .unlisted, .untrusted, .unreachable: nil
        }
    }

    /// The rule that decided, if there is one.
    var rule: PinningRule? {
        switch self {
        case .matched(_, _, let rule), .expired(let rule, _, _), .keyMatched(_, let rule), .keyExpired(let rule, _),
            .noCertificate(let rule, _):
            rule
        case .trusted(_, let rule), .keyStrange(_, let rule), .exportRefused(_, _, let rule),
            .otherGroup(_, _, let rule), .wrongOrder(_, _, let rule):
            rule
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch): mismatch.rule
        case .denied, .keyDenied, .unlisted, .untrusted, .unreachable: nil
        }
    }

    /// The mismatch, if the pins don't match.
    var mismatch: PinMismatch? {
        switch self {
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch): mismatch
        default: nil
        }
    }
}

extension Verdict {
    /// Evaluates a presented chain: first its trust, then its pins.
    init(on trust: ServerTrust, port: UInt16, expecting expectation: Expectation, time: Date) {
        switch expectation {
        case .unlisted(let file): self = .unlisted(policy: file.path)
        case .trust:
            do throws(TrustFinding) {
                self = .trusted(try trust.evaluate(at: time), nil)
            } catch {
                self = .untrusted(error)
            }
        case .pins(let policy): self.init(on: trust, port: Int(port), by: policy, time: time)
        }
    }

    private init(on trust: ServerTrust, port: Int, by policy: PinningPolicy, time: Date) {
        do throws(PinningError) {
            self.init(try policy.evaluate(trust, port: port, at: time))
        } catch {
            switch error {
            case .untrusted(let error): self = .untrusted(error)
            case .mismatch(let mismatch): self = .mismatch(mismatch)
            case .denied(let match, let path, let port): self = .denied(match, path, port: port)
            case .expired(let rule, let path, _): self = .expired(rule, path, reason: error.description)
            case .unlisted: self = .unlisted(policy: "the policy")
            }
        }
    }

    private init(_ decision: PinDecision) {
        switch decision {
        case .matched(let path, let matches, let rule): self = .matched(path, matches, rule)
        case .forgiven(let mismatch): self = .mismatch(mismatch)
        case .bypassed(let mismatch): self = .bypassed(mismatch)
        case .unpinned(let path, let rule): self = .trusted(path, rule)
        case .stopped(let path, let rule): self = .expired(rule, path, reason: decision.description)
        }
    }
}
