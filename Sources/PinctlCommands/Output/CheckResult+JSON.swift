import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlTLSTransport

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
        if let proxy { members.append(("proxy", .string(proxy))) }
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
        if let rule = verdict.rule ?? (verdict.isGood || word == .notCovered ? nil : rule) {
            members += Self.place(of: rule)
        }
        if let rule = verdict.rule, word != .okPinsOff { members.append(("pins", pins(of: rule))) }
        members += verdict.members
        if !verdict.isGood { members.append(("reason", .string(verdict.reason))) }
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
        verdict.distrust != nil ? false : verdict.path != nil ? true : .null
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

    /// Returns the pins of the rule that decided.
    private func pins(of rule: PinningRule) -> JSON {
        .array(
            rule.pins.map { pin in
                [
                    "name": pin.name.map { .string($0) } ?? .null, "pin": .string(pin.fingerprint.description),
                    "role": .string(pin.role.rawValue), "backup": .bool(pin.isBackup),
                    "matched": .bool(verdict.isMatched(pin)),
                ]
            })
    }

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
