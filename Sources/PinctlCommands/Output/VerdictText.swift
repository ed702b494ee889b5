import Basics
import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import TLSTransport

/// The text of a verdict. The first line is the verdict.
///
/// After a pin mismatch follows all that is needed in an emergency: the served and the pinned keys side by side, ready
/// to be copied, then what to do.
struct VerdictText {
    var verdict: Verdict
    /// The subject of the verdict, such as `host:port`.
    let subject: String
    /// The source of certificates that came with the chain. All others come from the trust store.
    let source: String
    let presented: [X509Certificate]
    let now: Date
    /// The possible causes.
    var causes: [PinFailureCause] = []
    /// The variant if the subject was checked several times, such as `203.0.113.7:443, ECDSA`.
    var variant = ""
    /// The warnings about a good verdict that won't stay good by itself.
    var warnings: [CheckWarning] = []
    /// The exported files that reject the chain.
    var refusals: [ExportRefusal] = []
    /// Whether the baseline contains this failure.
    var isKnown = false

    /// The verdict as a word that takes the warnings into account.
    var word: VerdictWord {
        verdict.status == .good && warnings.contains { $0.kind == .somePaths } ? .okSomePaths : verdict.word
    }

    /// The first line: the verdict as a word, the subject and the reason.
    var headline: String {
        let word =
            switch verdict.status {
            case _ where isKnown: "old "
            case .good: warnings.isEmpty ? "ok  " : "ok* "
            case .couldNotCheck: "??  "
            default: "FAIL"
            }
        return "\(word)  \(subject)\(variant.isEmpty ? "" : " (\(variant))")  \(isKnown ? "known: " : "")\(finding)"
    }

    /// The finding in one line.
    var finding: String {
        switch verdict {
        case .matched(_, let matches, _):
            let names = matches.map { "\($0.pin.title) (\($0.role.rawValue))" }.joined(separator: ", ")
            let isOnlyBackup = matches.allSatisfy(\.pin.isBackup)
            return "matched \(names)" + (isOnlyBackup ? ", a backup only: pin the key after it as the next backup" : "")
        case .trusted(_, nil): return "trusted"
        case .trusted(_, let rule?): return "trusted; its pins are off (\(rule.origin))"
        case .mismatch(let mismatch): return "pin mismatch: \(mismatch.finding) \(Self.rule(of: mismatch))"
        case .keyMismatch(let mismatch):
            return "key mismatch: another key of the server matches, and of this one \(mismatch.finding) "
                + Self.rule(of: mismatch)
        case .exportRefused(let refusals, _, let rule):
            let place = rule.map { " (\($0.origin))" } ?? ""
            return "refused by \(refusals.map(\.finding).joined(separator: "; ")), and accepted by the policy\(place)"
        case .bypassed(let mismatch):
            return
                "pins bypassed: \(mismatch.finding), and clients go on as the path ends outside of the system's roots "
                + Self.rule(of: mismatch)
        case .keyMatched(let pins, let rule):
            return "key matches \(pins.map { "\($0.title) (\($0.role.rawValue))" }.joined(separator: ", ")) "
                + "(\(rule.origin))"
        case .keyStrange(let key, let rule?):
            return "pin mismatch: \(key) is none of \(rule.pins.count) pins (\(rule.origin))"
        case .keyStrange(let key, nil): return "pin mismatch: \(key) is no pin of any rule"
        case .keyDenied(let pin): return "the policy denies this key, \(pin.title): make another one"
        case .keyExpired(let rule, let expiry):
            return "the rule has ended at \(expiry.end.rfc3339) (\(rule.origin)): ship a policy with a later end"
        case .denied(let match, let path, let port): return "\(PinningError.denied(match, path, port: port))"
        case .expired(_, _, let reason): return reason
        case .unlisted(let policy): return "not covered: \(policy) has no rule for it: add one"
        case .noCertificate(let rule, let names):
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            let valid = names.isEmpty ? "" : ", only for \(names.prefix(5).joined(separator: ", "))\(more)"
            return
                "no certificate of the files is valid for it\(valid) (\(rule.origin)): have one issued for this name too, "
                + "or check the host's own certificate with the others"
        case .untrusted(let finding): return "not trusted [\(finding.rule.rawValue)]: \(finding)"
        case .unreachable(let reason): return "unreachable: \(reason)"
        }
    }

    private static func rule(of mismatch: PinMismatch) -> String {
        let isForgiven = mismatch.rule.mode == .report || mismatch.expiry != nil
        return "(\(mismatch.rule.origin))" + (isForgiven ? "; mode report: clients tell and go on" : "")
    }

    /// The lines of the verified path, leaf first, or of the presented certificates if there is none.
    var chain: [String] {
        guard let path = verdict.path else {
            guard !presented.isEmpty else { return [] }
            return ["  presented, not verified:"] + presented.map { "  " + certificateLine($0) }
        }
        return path.roles.map { role, certificate in
            "  \(padded(role.rawValue, 12))  \(certificateLine(certificate))  \(origin(of: certificate))"
        }
    }

    /// Returns the source of a certificate: `served`, `store` or `file`.
    func origin(of certificate: X509Certificate) -> String {
        presented.contains(certificate) ? source : "store"
    }

    private func certificateLine(_ certificate: X509Certificate) -> String {
        "\(certificate.spkiFingerprint)  \(certificate.subjectPublicKeyInfo.keyKind)  \(certificate.subject)  "
            + expiry(certificate, now: now)
    }

    /// The lines below the headline of a failure or warning, empty for other verdicts.
    var explanation: [String] {
        guard let mismatch = verdict.mismatch else {
            return verdict.status == .good ? warnings.map { "  warning: \($0.text)" } : causeLines
        }
        return sideBySide(mismatch) + certificates(mismatch) + refusals.map { "  refused too by \($0.finding)" }
            + causeLines + advice(mismatch)
    }

    /// The explanation, with the chain in front unless it is already included.
    var details: [String] {
        verdict.mismatch == nil ? chain + explanation : explanation
    }

    private var causeLines: [String] { causes.map { "  cause: \($0)" } }

    /// Returns the lines with served and pinned keys side by side.
    private func sideBySide(_ mismatch: PinMismatch) -> [String] {
        let served = mismatch.path.roles.map { role, certificate in
            "\(padded(role.rawValue, 12))  \(certificate.spkiFingerprint)"
        }
        let nameWidth = mismatch.rule.pins.map { $0.name?.count ?? 0 }.max() ?? 0
        let pinned = mismatch.rule.pins.map { pin in
            let name = nameWidth > 0 ? padded(pin.name ?? "", nameWidth) + "  " : ""
            let backup = pin.isBackup ? "backup, " : ""
            return "\(pin.fingerprint)  \(padded(pin.role.rawValue, 12))  \(name)\(backup)\(mismatch.standing(of: pin))"
        }
        let width = served.map(\.count).max() ?? 0
        return ["  \(padded("served, and trusted", width))  pinned"]
            + (0..<max(served.count, pinned.count)).map { row in
                guard row < pinned.count else { return "  \(served[row])" }
                return "  \(padded(row < served.count ? served[row] : "", width))  \(pinned[row])"
            }
    }

    private func certificates(_ mismatch: PinMismatch) -> [String] {
        mismatch.path.roles.map { role, certificate in
            "  \(padded(role.rawValue, 12))  \(certificate.subject), since \(certificate.notBefore.day), "
                + "until \(expiry(certificate, now: now)), \(origin(of: certificate))"
        }
    }

    private func advice(_ mismatch: PinMismatch) -> [String] {
        let backups = mismatch.rule.pins.filter(\.isBackup).map(\.title)
        let key = backups.isEmpty ? "a pinned key" : "a pinned key (backup: \(backups.joined(separator: ", ")))"
        return [
            "  if the served keys are yours (\(PinFailureCause.confirmation)): serve \(key) again now, as released apps keep "
                + "their pins; then ship the pin of the next key before it is served",
            "  if they are not: the connection may be intercepted; pin nothing that is served here",
        ]
    }
}

extension Verdict {
    /// The finding without the position of the rule.
    var shortFinding: String {
        switch self {
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch):
            "pin mismatch: \(mismatch.finding)"
        case .untrusted(let finding): "not trusted: \(finding)"
        case .keyStrange: "pin mismatch: the key is no pin of the rules for it"
        case .noCertificate: "no certificate of the files is valid for the host"
        case .exportRefused(let refusals, _, _): "refused by \(refusals.map(\.finding).joined(separator: "; "))"
        default: word.rawValue
        }
    }
}

extension VerdictText {
    /// Returns the result as JSON, beginning with `members`.
    func json(_ members: [(String, JSON)]) -> JSON {
        var members = members + [("verdict", .string(word.rawValue)), ("trusted", isTrusted)]
        switch verdict {
        case .matched(_, let matches, let rule): members += Self.members(of: rule, matches)
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch):
            members += Self.members(of: mismatch.rule, mismatch.matches)
        case .exportRefused(_, _, let rule): members += rule.map { Self.members(of: $0, []) } ?? []
        case .keyMatched(_, let rule), .keyStrange(_, let rule?), .keyExpired(let rule, _):
            members += Self.members(of: rule, [])
        case .keyDenied(let pin): members.append(("denied", .string("\(pin.fingerprint)")))
        case .keyStrange(_, nil): break
        case .denied(let match, _, _): members.append(("denied", .string("\(match.pin.fingerprint)")))
        case .expired(let rule, _, _): members += Self.members(of: rule, [])
        case .untrusted(let finding): members += finding.members
        case .unreachable(let error):
            members += [("reason", .string(error.description)), ("unreachable", .string(error.reasonWord))]
        case .unlisted(let policy): members.append(("policy", .string(policy)))
        case .noCertificate(let rule, let names):
            members += Self.members(of: rule, []) + [("names", .array(names.map { .string($0) }))]
        case .trusted: break
        }
        if !refusals.isEmpty {
            members.append(
                (
                    "exports",
                    .array(
                        refusals.map {
                            [
                                "file": .string($0.path), "to": .string($0.dialect.rawValue),
                                "reason": .string($0.reason),
                            ]
                        })
                ))
        }
        if !causes.isEmpty { members.append(("diagnosis", .array(causes.map(Self.element)))) }
        if !warnings.isEmpty {
            members.append(
                (
                    "warnings",
                    .array(warnings.map { ["warning": .string($0.kind.rawValue), "text": .string($0.text)] })
                ))
        }
        if let path = verdict.path { members.append(("chain", .array(path.roles.map(element)))) }
        return .object(members)
    }

    /// Whether the chain is trusted, or null if no chain was evaluated.
    private var isTrusted: JSON {
        switch verdict {
        case .matched, .trusted, .mismatch, .keyMismatch, .exportRefused, .bypassed, .denied, .expired: true
        case .untrusted: false
        case .keyMatched, .keyStrange, .keyDenied, .keyExpired, .noCertificate, .unlisted, .unreachable: .null
        }
    }

    private func element(_ role: PinRole, _ certificate: X509Certificate) -> JSON {
        [
            "role": .string(role.rawValue), "pin": .string(certificate.spkiFingerprint.description),
            "subject": .string(certificate.subject.description), "source": .string(origin(of: certificate)),
            "not_after": .string(certificate.notAfter.rfc3339),
        ]
    }

    private static func element(_ cause: PinFailureCause) -> JSON {
        [
            "cause": .string(cause.identifier), "finding": .string(cause.finding), "remedy": .string(cause.remedy),
        ]
    }

    private static func members(of rule: PinningRule, _ matches: [PinMatch]) -> [(String, JSON)] {
        let pins = rule.pins.map { pin -> JSON in
            [
                "name": pin.name.map { .string($0) } ?? .null, "pin": .string(pin.fingerprint.description),
                "role": .string(pin.role.rawValue), "backup": .bool(pin.isBackup),
                "matched": .bool(matches.contains { $0.pin == pin }),
            ]
        }
        return [("rule", .string(rule.origin)), ("mode", .string(rule.mode.rawValue)), ("pins", .array(pins))]
    }
}

extension VerifiedPath {
    /// The certificates with the roles of their positions, leaf first.
    var roles: [(PinRole, X509Certificate)] {
        certificates.enumerated().map { (PinRole(index: $0, of: certificates.count), $1) }
    }
}

extension TrustFinding {
    /// The failed rule, its position in the chain, and the message.
    var members: [(String, JSON)] {
        [
            ("rule", .string(rule.rawValue)), ("depth", depth.map { .integer($0) } ?? .null),
            ("reason", .string(description)),
        ]
    }
}

extension Pin {
    /// The name of the pin, or else the pin itself.
    var title: String { name ?? fingerprint.description }
}

extension PinningRule {
    /// The position of the rule, or `--pin`.
    var origin: String { location.map { "policy \($0)" } ?? "--pin" }
}

extension PinMismatch {
    /// The number of matching pins, and the required roles without a match.
    var finding: String {
        let count = "\(Set(matches.map(\.pin)).count) of \(rule.pins.count) pins match"
        return unmetRoles == [.any]
            ? count : "no match as \(unmetRoles.map(\.rawValue).joined(separator: " and ")), \(count)"
    }

    /// Returns how a pin relates to the path.
    func standing(of pin: Pin) -> String {
        if let match = matches.first(where: { $0.pin == pin }) { return "matches as \(match.role.rawValue)" }
        // The most confusing mismatch is a pinned key that is served, but not at the position where its pin counts.
        let place = path.certificates.firstIndex { rule.pins.fingerprints(of: $0).contains(pin.fingerprint) }
        guard let place else { return "not served" }
        return "served as \(PinRole(index: place, of: path.certificates.count).rawValue)"
    }
}
