import CertificatePinning
import CertificateTrust

/// What is behind a failure, as a text that is the same for all hosts which fail for it: the verdict, its causes, the
/// authorities and pins in question. A leaf is of one host, and is not named where that says nothing.
struct FailureKey: Hashable, Sendable {
    let text: String
}

extension VerdictText {
    /// Nil for what is good.
    var failureKey: FailureKey? {
        guard verdict.status != .good else { return nil }
        let parts = [verdict.word.rawValue] + verdict.operands + causes.map { $0.key }
        return FailureKey(text: parts.joined(separator: " "))
    }

    /// The failure in a line, for all hosts that share it.
    var failureTitle: String {
        switch verdict {
        case .unreachable(let error): "unreachable: \(error.reasonWord)"
        case .unlisted where causes.isEmpty: "not covered: no rule of the policy reaches them"
        case .untrusted(let finding) where causes.isEmpty: finding.groupTitle
        case .keyMismatch: "key mismatch: \(causeTitle)"
        default: causeTitle
        }
    }

    private var causeTitle: String {
        causes.isEmpty ? verdict.shortFinding : causes.map(\.finding).joined(separator: "; ")
    }

    /// What to do, for all of them.
    var failureRemedy: String {
        if let cause = causes.first { return cause.remedy }
        return verdict.word.remedy ?? ""
    }
}

extension Verdict {
    /// What tells failures with the same verdict apart, besides their causes.
    fileprivate var operands: [String] {
        switch self {
        case .untrusted(let finding): [finding.rule.rawValue, finding.groupOperand]
        case .unreachable(let error): [error.reasonWord]
        case .denied(let match, _, _): ["\(match.pin.object)"]
        case .keyDenied(let pin): ["\(pin.object)"]
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch):
            [mismatch.path.anchor.spkiFingerprint.description]
        case .exportRefused(let refusals, _, _): refusals.map(\.finding)
        case .expired(let rule, _, _), .keyExpired(let rule, _), .noCertificate(let rule, _): [rule.host.description]
        case .keyStrange(_, let rule): rule.map { [$0.host.description] } ?? []
        case .matched, .trusted, .keyMatched, .unlisted: []
        }
    }
}

extension TrustFinding {
    /// The certificate to blame, or the issuer of a leaf: leaves are as many as hosts.
    fileprivate var groupOperand: String {
        guard let certificate else { return "" }
        return depth == 0 && rule != .nameMismatch
            ? "issued by \(certificate.issuer)" : certificate.spkiFingerprint.description
    }

    fileprivate var groupTitle: String {
        guard let certificate else { return "not trusted [\(rule.rawValue)]: \(detail)" }
        let subject = "\(certificate.subject)"
        return switch (depth, rule) {
        case (_, .nameMismatch): "not trusted [\(rule.rawValue)]: the certificate of \(subject) is for other names"
        case (0, _): "not trusted [\(rule.rawValue)]: leaves issued by \(certificate.issuer)"
        default: "not trusted [\(rule.rawValue)]: \(self)"
        }
    }
}

extension PinFailureCause {
    /// The identifier, and what it is about where that is not of one host alone.
    fileprivate var key: String {
        let operands: [String] =
            switch self {
            case .clockBehind, .clockAhead, .leafRekeyed: []
            case .inspected(let name), .issuerMissing(let name): ["\(name)"]
            case .wrongPosition(let pin, let role): ["\(pin.object)", role.rawValue]
            case .wrongBytes(let pin, let input, _): ["\(pin.object)", input.rawValue]
            case .offPath(let pin, _, let finding): ["\(pin.object)", finding?.rule.rawValue ?? ""]
            case .authorityChanged(_, let anchor): [anchor.spkiFingerprint.description]
            case .intermediateChanged(let issuer): [issuer.spkiFingerprint.description]
            case .ruleEnded(let rule, _): [rule.host.description]
            case .denied(let pin): ["\(pin.object)"]
            case .hostMissed(_, let miss, let rule): [miss.rawValue, rule.host.description]
            case .onlyBackup(let pins): pins.map { "\($0.object)" }
            }
        return ([identifier] + operands).joined(separator: " ")
    }
}
