import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation
import PinctlTLSTransport

extension ReportEntry {
    /// Creates the report entry of a result.
    init(_ result: CheckResult) {
        self.init(
            outcome: result.severity, subject: result.subject, variant: result.qualifier, address: result.address,
            key: result.key?.rawValue, verdict: result.word.rawValue, finding: result.finding,
            details: result.details, warnings: result.warnings.map { ($0.kind.rawValue, $0.text) },
            // mutant report-rule: result.verdict.rule?.location for `(result.verdict.rule ?? result.rule)?.location` by
            //   FailedRunTests/distrusted FailedRunTests/lines
            location: (result.verdict.rule ?? result.rule)?.location, causes: result.advice,
            // mutant report-chain: result.verdict.path == nil ? [] : result.reportedChain for `result.reportedChain` by
            //   FailedRunTests/distrusted AlertTests
            chain: result.reportedChain, pins: result.reportedPins, duration: result.duration,
            group: result.isKnown ? nil : result.failureKey, json: result.json)
    }
}

extension ReportEntry {
    /// Creates an entry for input that couldn't be read. Without it, a report would look like that of a successful run.
    init(problem message: String, _ members: [(String, JSON)]) {
        self.init(
            outcome: .badInput, subject: message, verdict: Severity.badInput.rawValue, finding: message,
            json: .object(members + [("error", .string(message))]))
    }
}

extension CheckResult {
    fileprivate var reportedChain: [ReportCertificate] {
        let matches = verdict.matches
        return certificates.enumerated().map { index, place in
            let (role, certificate) = place
            return ReportCertificate(
                role: role.rawValue, subject: certificate.subject.description, issuer: certificate.issuer.description,
                key: certificate.subjectPublicKeyInfo.keyKind.description, pin: certificate.spkiFingerprint.description,
                notBefore: certificate.notBefore, notAfter: certificate.notAfter,
                lifetimeLeft: certificate.lifetimeLeft(at: now), source: origin(of: certificate),
                matched: matches.first { $0.index == index }?.pin.title)
        }
    }

    fileprivate var reportedPins: [ReportPin] {
        guard let rule = verdict.rule else { return [] }
        return rule.pins.map { pin in
            ReportPin(
                title: pin.title, pin: pin.fingerprint.description, role: pin.role.rawValue, isBackup: pin.isBackup,
                standing: standing(of: pin), isMatched: verdict.isMatched(pin))
        }
    }
}

extension Report {
    /// The verdicts and warnings of `check`, for formats that explain them.
    static var checkRules: [ReportRule] {
        VerdictWord.allCases.filter { $0.row.severity != .ok }.map {
            ReportRule(identifier: $0.rawValue, summary: $0.row.meaning)
        }
            + CheckWarning.Kind.allCases.map {
                ReportRule(identifier: $0.rawValue, summary: $0.meaning, isWarning: true)
            }
    }
}
