import CertificatePinning
import CertificateTrust

extension CheckResult {
    /// The text that identifies the cause of a failure and is the same for all hosts that fail for that cause, or `nil`
    /// for a good verdict.
    ///
    /// It consists of the verdict, its causes, and the CAs and pins involved. A leaf belongs to a single host, so it is
    /// left out unless it matters.
    var failureKey: String? {
        guard !verdict.isGood else { return nil }
        let parts = [verdict.word.rawValue] + verdict.operands + causes.map { $0.key }
        return parts.joined(separator: " ")
    }

    /// The cause of a failure in the form that baselines compare. All unreachable targets have the same one, since the
    /// reason often changes.
    var failure: String? {
        switch verdict {
        case .unreachable: verdict.word.rawValue
        case .noCertificate(let rule, _): "\(verdict.word.rawValue) \(rule.host)"
        default: failureKey
        }
    }

    /// The key that failed, which baselines compare too, or `nil` if none was seen.
    ///
    /// A different key that fails in the same way is a new failure, because the connection may be intercepted.
    var failingKey: String? {
        guard failure != nil else { return nil }
        if case .keyStrange(let key, _) = verdict { return key.description }
        return presented.first?.spkiFingerprint.description
    }

    /// A one-line description of the failure that fits all hosts with the same cause.
    var failureTitle: String {
        switch verdict {
        case .unreachable(let failure): "unreachable: \(failure.groupTitle)"
        case .unlisted where causes.isEmpty: "not covered: the policy has no rule for them"
        case .untrusted(let finding) where causes.isEmpty: finding.groupTitle
        case .keyMismatch where !causes.isEmpty: "key mismatch: \(causeTitle)"
        default: causeTitle
        }
    }

    private var causeTitle: String {
        causes.isEmpty ? verdict.shortFinding : advice.map(\.finding).joined(separator: "; ")
    }

    /// The remedy for all hosts with the same cause.
    var failureRemedy: String {
        if let remedy = advice.first?.remedy { return remedy }
        switch verdict {
        case .unreachable(let failure): return failure.remedy
        // The remedies of the other verdicts about trust say more than the finding.
        case .untrusted(let finding)
        where verdict.word == .untrusted || verdict.word == .chainExpired && finding.depth != 0:
            return finding.remedy ?? remedy ?? ""
        default: return remedy ?? ""
        }
    }
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
            case .authorityChanged, .intermediateChanged, .leafRekeyed, .noKeyServed: false
            // Clients trust the root already, so to trust it isn't a remedy.
            case .inspected: word != .bypassed
            default: true
            }
        }
    }

    /// The details that distinguish failures with the same verdict and causes.
    fileprivate var operands: [String] {
        switch self {
        case .untrusted(let finding): [finding.rule.rawValue, finding.groupOperand]
        case .unreachable(let failure): [failure.groupTitle, failure.sharedRemedy]
        case .denied(let match, _, _): ["\(match.pin.fingerprint)"]
        case .keyDenied(let pin): ["\(pin.fingerprint)"]
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch):
            [mismatch.path.anchor.spkiFingerprint.description]
        case .exportRefused(let refusals, _, _): refusals.map(\.finding)
        case .otherGroup(let group, _, _): [group.name, group.used ?? group.version]
        case .expired(let rule, _, _), .keyExpired(let rule, _): [rule.host.description]
        case .keyStrange(_, let rule): rule.map { [$0.host.description] } ?? []
        case .matched, .trusted, .keyMatched, .unlisted, .wrongOrder, .noCertificate: []
        }
    }
}

extension TrustFinding {
    /// The certificate at fault, or for a leaf its issuer, since every host has a different leaf.
    fileprivate var groupOperand: String {
        guard let certificate else { return "" }
        return depth == 0 && rule != .nameMismatch
            ? "issued by \(certificate.issuer)" : certificate.spkiFingerprint.description
    }

    fileprivate var groupTitle: String {
        guard let certificate else { return "not trusted [\(rule.rawValue)]: \(detail)" }
        let subject = "\(certificate.subject)"
        return switch (depth, rule) {
        case (_, .nameMismatch):
            "not trusted [\(rule.rawValue)]: hostname mismatch, the certificate of \(subject) is for other names"
        case (0, _): "not trusted [\(rule.rawValue)]: leaf certificates issued by \(certificate.issuer)"
        default: "not trusted [\(rule.rawValue)]: \(self)"
        }
    }
}

extension PinFailureCause {
    /// The identifier with the details that aren't specific to a single host.
    fileprivate var key: String {
        let operands: [String] =
            switch self {
            case .clockBehind, .clockAhead, .leafRekeyed, .selfSigned: []
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
