import CertificatePinning
import CertificateTrust
import PinctlBasics

extension CheckResult {
    /// The text that identifies the cause of a failure and is the same for all hosts that fail for that cause, or `nil`
    /// for a good verdict.
    ///
    /// It consists of the verdict, its causes, and the CAs and pins involved. A leaf belongs to a single host, so it is
    /// left out unless it matters.
    var failureKey: String? { verdict.isGood ? nil : failureKey(verdict.operands) }

    /// The cause of a failure in the form that baselines compare.
    var failure: String? { verdict.isGood ? nil : failureKey(verdict.baselineOperands ?? verdict.operands) }

    private func failureKey(_ operands: [String]) -> String {
        ([verdict.word.rawValue] + operands + causes.map { $0.key }).joined(separator: " ")
    }

    /// The key that failed, which baselines compare too, or `nil` if none was seen.
    ///
    /// A different key that fails in the same way is a new failure, because the connection may be intercepted.
    var failingKey: String? {
        verdict.isGood ? nil : (verdict.key?.fingerprint ?? presented.first?.spkiFingerprint)?.description
    }

    /// A one-line description of the failure that fits all hosts with the same cause.
    var failureTitle: String {
        let title =
            causes.isEmpty || verdict.also != nil
            ? verdict.groupTitle ?? verdict.shortFinding : advice.map(\.finding).joined(separator: "; ")
        return word == .keyMismatch && !causes.isEmpty ? "key mismatch: \(title)" : title
    }

    /// The remedy for all hosts with the same cause.
    var failureRemedy: String { filesRemedy ?? chainRemedy }

    /// The remedy for the chain.
    var chainRemedy: String { advice.first?.remedy ?? verdict.remedy ?? remedy ?? "" }
}

extension Verdict {
    /// Returns the causes that can explain the verdict.
    ///
    /// If another key of the server matches, or if clients bypass the pins because of the root, then nothing changed at
    /// the server, and the remedies for such a change would mislead.
    func causes(among causes: [PinFailureCause]) -> [PinFailureCause] {
        guard [.keyMismatch, .bypassed].contains(word) else { return causes }
        return causes.filter {
            switch $0 {
            case .authorityChanged, .intermediateChanged, .leafRekeyed, .leafReplaced, .noKeyServed: false
            // Clients trust the root already, so to trust it isn't a remedy.
            case .inspected: word != .bypassed
            default: true
            }
        }
    }
}

extension TrustFinding {
    /// The certificate at fault, or for a leaf its issuer, since every host has a different leaf.
    var groupOperand: String {
        guard let certificate else { return "" }
        return depth == 0 && rule != .nameMismatch
            ? "issued by \(certificate.issuer)" : certificate.spkiFingerprint.description
    }

    /// Returns the finding for all hosts with the same cause. `text` is the one for a single host.
    func groupTitle(_ text: ProblemText) -> String {
        guard let certificate else { return "\(label): \(text)" }
        return switch (depth, rule) {
        case (_, .nameMismatch):
            "\(label): hostname mismatch, the certificate of \(certificate.subject) is for other names"
        case (0, _): "\(label): leaf certificates issued by \(certificate.issuer)"
        default: "\(label): \(text)"
        }
    }
}

extension PinFailureCause {
    /// The identifier with the details that aren't specific to a single host.
    fileprivate var key: String {
        let operands: [String] =
            switch self {
            case .clockBehind, .clockAhead, .leafRekeyed, .leafReplaced, .selfSigned: []
            case .defaultCertificate(_, let product): [product ?? ""]
            case .noKeyServed(let anchor): [anchor.spkiFingerprint.description]
            case .inspected(let name), .issuerMissing(let name): ["\(name)"]
            case .wrongPosition(let pin, let role): ["\(pin.fingerprint)", role.rawValue]
            case .wrongBytes(let pin, let input, _): ["\(pin.fingerprint)", input.rawValue]
            case .offPath(let pin, _, let finding): ["\(pin.fingerprint)", finding?.rule.rawValue ?? ""]
            case .authorityChanged(_, let anchor): [anchor.spkiFingerprint.description]
            case .intermediateChanged(let issuer): [issuer.spkiFingerprint.description]
            case .ruleEnded(let rule, _): [rule.host.description]
            case .denied(let pin): ["\(pin.fingerprint)"]
            case .hostMissed(_, let miss, let rule): [miss.rawValue, rule.host.description]
            case .onlyBackup(let pins): pins.map { "\($0.fingerprint)" }
            }
        return ([identifier] + operands).joined(separator: " ")
    }
}
