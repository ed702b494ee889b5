import CertificatePinning
import CertificateTrust
import FoundationEssentials

/// How a verdict reads. The first line is the verdict; what follows a pin mismatch is for somebody at three in the
/// morning: what is served and what is pinned side by side, each to be pasted, then what to do.
struct VerdictText {
    let verdict: Verdict
    /// What was asked about, `host:port`.
    let subject: String
    /// What a certificate that came with the chain is said to come from; the others come from the trust store.
    let source: String
    let presented: [X509Certificate]
    let now: Date
    /// What may be behind it.
    var causes: [PinFailureCause] = []

    /// The first line: the verdict in a word, what it is about, and why.
    var headline: String {
        let word =
            switch verdict.status {
            case .good: "ok  "
            case .couldNotCheck: "??  "
            default: "FAIL"
            }
        return "\(word)  \(subject)  \(finding)"
    }

    /// What was found, in one line.
    var finding: String {
        switch verdict {
        case .matched(_, let matches, _):
            let names = matches.map { "\($0.pin.title) (\($0.role.rawValue))" }.joined(separator: ", ")
            let isOnlyBackup = matches.allSatisfy(\.pin.isBackup)
            return "matched \(names)" + (isOnlyBackup ? ", a backup only: pin the key after it as the next backup" : "")
        case .trusted(_, nil): return "trusted"
        case .trusted(_, let rule?): return "trusted; its pins are off (\(rule.origin))"
        case .mismatch(let mismatch):
            let isForgiven = mismatch.rule.mode == .report || mismatch.expiry != nil
            let mode = isForgiven ? "; mode report: clients tell and go on" : ""
            return "pin mismatch: \(mismatch.finding) (\(mismatch.rule.origin))\(mode)"
        case .denied(let match, let path, let port): return "\(PinDecision.denied(match, path, port: port))"
        case .expired(let decision, _, _): return "\(decision)"
        case .unlisted(let policy): return "not covered: \(policy) has no rule for it: add one"
        case .untrusted(.untrusted(let finding)): return "not trusted [\(finding.rule.rawValue)]: \(finding)"
        case .untrusted(let error): return "not trusted: \(error)"
        case .unreachable(let reason): return "unreachable: \(reason)"
        }
    }

    /// The verified path, leaf first; what was presented when there is none.
    var chain: [String] {
        guard let path = verdict.path else {
            guard !presented.isEmpty else { return [] }
            return ["  presented, not verified:"] + presented.map { "  " + certificateLine($0) }
        }
        return path.roles.map { role, certificate in
            "  \(padded(role.rawValue, 12))  \(certificateLine(certificate))  \(origin(of: certificate))"
        }
    }

    private func origin(of certificate: X509Certificate) -> String {
        presented.contains(certificate) ? source : "store"
    }

    private func certificateLine(_ certificate: X509Certificate) -> String {
        "\(certificate.spkiFingerprint)  \(certificate.subjectPublicKeyInfo.keyKind)  \(certificate.subject)  "
            + expiry(certificate, now: now)
    }

    /// Below the headline of what failed; empty for the other verdicts.
    var explanation: [String] {
        guard case .mismatch(let mismatch) = verdict else { return verdict.status == .good ? [] : causeLines }
        return sideBySide(mismatch) + certificates(mismatch) + causeLines + advice(mismatch)
    }

    /// The same with the chain, where the explanation does not show it.
    var details: [String] {
        if case .mismatch = verdict { explanation } else { chain + explanation }
    }

    private var causeLines: [String] { causes.map { "  cause: \($0)" } }

    private func sideBySide(_ mismatch: PinMismatch) -> [String] {
        let served = mismatch.path.roles.map { role, certificate in
            "\(padded(role.rawValue, 12))  \(certificate.spkiFingerprint)"
        }
        let nameWidth = mismatch.rule.pins.map { $0.name?.count ?? 0 }.max() ?? 0
        let pinned = mismatch.rule.pins.map { pin in
            let name = nameWidth > 0 ? padded(pin.name ?? "", nameWidth) + "  " : ""
            let backup = pin.isBackup ? "backup, " : ""
            return "\(pin.object)  \(padded(pin.role.rawValue, 12))  \(name)\(backup)\(mismatch.standing(of: pin))"
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
            "  if the served keys are yours: serve \(key) again, or pin one of the keys served and ship that first",
            "  if they are not: somebody stands between you and the server; do not pin them",
        ]
    }
}

extension VerdictText {
    /// The result as JSON, with `members` in front.
    func json(_ members: [(String, JSON)]) -> JSON {
        var members = members + [("verdict", .string(verdict.word)), ("trusted", isTrusted)]
        switch verdict {
        case .matched(_, let matches, let rule): members += Self.members(of: rule, matches)
        case .mismatch(let mismatch): members += Self.members(of: mismatch.rule, mismatch.matches)
        case .denied(let match, _, _): members.append(("denied", .string("\(match.pin.object)")))
        case .expired(_, let rule, _): members += Self.members(of: rule, [])
        case .untrusted(let error): members += Self.members(of: error)
        case .unreachable(let reason): members.append(("reason", .string(reason)))
        case .unlisted(let policy): members.append(("policy", .string(policy)))
        case .trusted: break
        }
        if !causes.isEmpty { members.append(("diagnosis", .array(causes.map(Self.element)))) }
        if let path = verdict.path { members.append(("chain", .array(path.roles.map(element)))) }
        return .object(members)
    }

    /// Null where no chain was judged.
    private var isTrusted: JSON {
        switch verdict {
        case .matched, .trusted, .mismatch, .denied, .expired: true
        case .untrusted: false
        case .unlisted, .unreachable: .null
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

    private static func members(of error: TrustError) -> [(String, JSON)] {
        guard case .untrusted(let finding) = error else { return [("reason", .string(error.description))] }
        return finding.members
    }

    private static func members(of rule: PinningRule, _ matches: [PinMatch]) -> [(String, JSON)] {
        let pins = rule.pins.map { pin -> JSON in
            [
                "name": pin.name.map { .string($0) } ?? .null, "pin": .string(pin.object.description),
                "role": .string(pin.role.rawValue), "backup": .bool(pin.isBackup),
                "matched": .bool(matches.contains { $0.pin == pin }),
            ]
        }
        return [("rule", .string(rule.origin)), ("mode", .string(rule.mode.rawValue)), ("pins", .array(pins))]
    }
}

extension VerifiedPath {
    /// Each certificate with the role of its place, leaf first.
    fileprivate var roles: [(PinRole, X509Certificate)] {
        certificates.enumerated().map { (PinRole(index: $0, of: certificates.count), $1) }
    }
}

extension TrustFinding {
    /// The rule, where it was broken, and the words.
    var members: [(String, JSON)] {
        [
            ("rule", .string(rule.rawValue)), ("depth", depth.map { .integer($0) } ?? .null),
            ("reason", .string(description)),
        ]
    }
}

extension Pin {
    /// Its name, or itself.
    fileprivate var title: String { name ?? object.description }
}

extension PinningRule {
    /// Where it is written.
    var origin: String { location.map { "policy \($0)" } ?? "--pin" }
}

extension PinMismatch {
    /// How far the pins are from what the rule asks for.
    fileprivate var finding: String {
        let count = "\(Set(matches.map(\.pin)).count) of \(rule.pins.count) pins match"
        return unmetRoles == [.any]
            ? count : "no match as \(unmetRoles.map(\.rawValue).joined(separator: " and ")), \(count)"
    }

    /// What a pin has to do with the path.
    fileprivate func standing(of pin: Pin) -> String {
        if let match = matches.first(where: { $0.pin == pin }) { return "matches as \(match.role.rawValue)" }
        // The most puzzling mismatch is a key that is there, but not where its pin counts.
        let place = path.certificates.firstIndex { rule.pins.objects(of: $0).contains(pin.object) }
        guard let place else { return "not served" }
        return "served as \(PinRole(index: place, of: path.certificates.count).rawValue)"
    }
}
