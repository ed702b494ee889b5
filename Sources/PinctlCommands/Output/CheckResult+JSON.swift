import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import TLSTransport

extension CheckResult {
    /// The element of the JSON document.
    var json: JSON {
        var members: [(String, JSON)] = [("type", "check"), ("target", .string(subject))]
        if let endpoint {
            members += [("host", .string(endpoint.name.description)), ("port", .integer(Int(endpoint.port)))]
        }
        if let input { members.append(("input", .string(input))) }
        if let file { members.append(("file", .string(file))) }
        if let address { members.append(("address", .string(address))) }
        if let key { members.append(("key", .string(key.rawValue))) }
        if let version, !version.isEmpty { members.append(("tls", .string(version))) }
        if let cipherSuite { members.append(("cipher", .string(cipherSuite))) }
        if let group { members.append(("group", .string(group))) }
        if let duration { members.append(("duration_ms", .integer(duration.milliseconds))) }
        if isKnown { members.append(("known", true)) }
        if let failure { members.append(("failure", .string(failure))) }
        if let failingKey { members.append(("failing_key", .string(failingKey))) }
        return json(members)
    }

    /// Returns the verdict as JSON, beginning with `members`.
    func json(_ members: [(String, JSON)]) -> JSON {
        var members = members + [("verdict", .string(word.rawValue)), ("trusted", isTrusted)]
        switch verdict {
        case .matched(_, let matches, let rule): members += Self.members(of: rule, matches)
        case .mismatch(let mismatch), .keyMismatch(let mismatch), .bypassed(let mismatch):
            members += Self.members(of: mismatch.rule, mismatch.matches)
        case .otherGroup(let group, _, let rule):
            members += [("required_group", .string(group.name))] + (rule.map { Self.members(of: $0, []) } ?? [])
        case .exportRefused(_, _, let rule?), .wrongOrder(_, _, let rule?), .keyMatched(_, let rule),
            .keyStrange(_, let rule?), .keyExpired(let rule, _), .expired(let rule, _, _):
            members += Self.members(of: rule, [])
        case .noCertificate(let rule, let names):
            members += Self.members(of: rule, []) + [("names", .array(names.map { .string($0) }))]
        case .keyDenied(let pin): members.append(("denied", .string("\(pin.fingerprint)")))
        case .denied(let match, _, _):
            members += place + [("denied", .string("\(match.pin.fingerprint)"))]
        case .untrusted(let finding): members += place + finding.members
        case .unreachable(let failure): members += place + [("unreachable", .string(failure.reasonWord))]
        case .unlisted(let policy): members.append(("policy", .string(policy)))
        case .trusted(_, let rule): members += rule.map(Self.place(of:)) ?? []
        case .keyStrange(_, nil), .exportRefused(_, _, nil), .wrongOrder(_, _, nil): break
        }
        if let reason = verdict.reason { members.append(("reason", .string(reason))) }
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
        if !causes.isEmpty { members.append(("diagnosis", .array(advice.map(\.json)))) }
        if !warnings.isEmpty {
            members.append(
                (
                    "warnings",
                    .array(warnings.map { ["warning": .string($0.kind.rawValue), "text": .string($0.text)] })
                ))
        }
        if !certificates.isEmpty { members.append(("chain", .array(certificates.map(element)))) }
        return .object(members)
    }

    /// Whether the chain is trusted, or null if no chain was evaluated.
    private var isTrusted: JSON {
        switch verdict {
        case .matched, .trusted, .mismatch, .keyMismatch, .exportRefused, .otherGroup, .wrongOrder, .bypassed, .denied,
            .expired:
            true
        case .untrusted: false
        case .keyMatched, .keyStrange, .keyDenied, .keyExpired, .noCertificate, .unlisted, .unreachable: .null
        }
    }

    private func element(_ role: PinRole, _ certificate: X509Certificate) -> JSON {
        [
            "role": .string(role.rawValue), "pin": .string(certificate.spkiFingerprint.description),
            "key": .string(certificate.subjectPublicKeyInfo.keyKind.description),
            "subject": .string(certificate.subject.description), "issuer": .string(certificate.issuer.description),
            "source": .string(origin(of: certificate)),
            "not_before": .string(certificate.notBefore.rfc3339), "not_after": .string(certificate.notAfter.rfc3339),
            "lifetime_left_percent": .integer(Int(certificate.lifetimeLeft(at: now) * 100)),
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
        return place(of: rule) + [("pins", .array(pins))]
    }

    /// The rule that names the host, of a chain whose pins weren't checked.
    private var place: [(String, JSON)] { rule.map(Self.place(of:)) ?? [] }

    /// Returns the rule of the policy, its position and its mode.
    private static func place(of rule: PinningRule) -> [(String, JSON)] {
        let place = rule.location.map { location -> (String, JSON) in
            (
                "rule_place",
                [
                    "file": .string(location.path), "line": .integer(location.line),
                    "column": .integer(location.column),
                ]
            )
        }
        return [("rule", .string(rule.origin))] + [place].compactMap(\.self) + [("mode", .string(rule.mode.rawValue))]
    }
}

extension Verdict {
    /// The reason for a failure, or `nil` for a good verdict.
    fileprivate var reason: String? {
        switch self {
        case .matched, .trusted, .keyMatched: nil
        case .untrusted(let finding): finding.description
        case .unreachable(let error): error.description
        default: finding
        }
    }
}

extension ReportCause {
    /// The element of a `diagnosis`.
    var json: JSON {
        ["cause": .string(identifier), "finding": .string(finding), "remedy": .string(remedy)]
    }
}

extension TrustFinding {
    /// The failed rule of trust, and its position in the chain.
    var members: [(String, JSON)] {
        [("trust_rule", .string(rule.rawValue)), ("depth", depth.map { .integer($0) } ?? .null)]
    }
}

extension Duration {
    fileprivate var milliseconds: Int {
        let (seconds, attoseconds) = components
        return Int(clamping: seconds).multipliedReportingOverflow(by: 1_000).partialValue
            &+ Int(attoseconds / 1_000_000_000_000_000)
    }
}
