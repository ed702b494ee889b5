import CertificatePinning
import CertificateTrust
import PinDialects
import PinctlBasics
import PinctlFoundation
import TLSTransport

extension Verdict {
    /// The finding in one line.
    var finding: String {
        switch self {
        case .matched(_, let matches, _):
            let names = matches.map { "\($0.pin.title) (\($0.role.rawValue))" }.joined(separator: ", ")
            let isOnlyBackup = matches.allSatisfy(\.pin.isBackup)
            return "matched \(names)" + (isOnlyBackup ? ", a backup only: ship the pin of the next backup key" : "")
        case .trusted(_, nil): return "trusted"
        case .trusted(_, let rule?): return "trusted; pinning is off for this rule (\(rule.origin))"
        case .mismatch(let mismatch): return "pin mismatch: \(mismatch.finding) \(Self.rule(of: mismatch))"
        case .keyMismatch(let mismatch):
            return "key mismatch: another key of the server matches, but for this key \(mismatch.finding) "
                + Self.rule(of: mismatch)
        case .exportRefused(let refusals, _, let rule):
            let position = rule.map { " (\($0.origin))" } ?? ""
            let files = refusals.map(\.finding).joined(separator: "; ")
            return "rejected by \(files), but accepted by the policy\(position)"
        case .otherGroup(let group, _, let rule):
            return group.finding + (rule.map { " (\($0.origin))" } ?? "")
        case .wrongOrder(let order, _, let rule):
            let position = rule.map { " (\($0.origin))" } ?? ""
            return "wrong order: the file begins with \(order.first.subject), and the leaf is certificate "
                + "\(order.position)\(position)"
        case .bypassed(let mismatch):
            return
                "pins bypassed: \(mismatch.finding), but clients connect because the root isn't one of the system roots "
                + Self.rule(of: mismatch)
        case .keyMatched(let pins, let rule):
            return "key matches \(pins.map { "\($0.title) (\($0.role.rawValue))" }.joined(separator: ", ")) "
                + "(\(rule.origin))"
        case .keyStrange(let key, let rule?):
            let roles = rule.pins.filter { $0.fingerprint == .publicKey(key) }.map(\.role)
            if !roles.isEmpty {
                let isLeaf = roles.contains(.leaf)
                let pinned = roles.map(\.rawValue).joined(separator: " and ")
                return "pin mismatch: \(key) is pinned as \(pinned), not as the key of a \(isLeaf ? "CA" : "leaf") "
                    + "(\(rule.origin)): \(isLeaf ? "" : "give its CA certificate, or ")correct the role of the pin"
            }
            return "pin mismatch: \(key) isn't one of \(rule.pins.count) pins (\(rule.origin))"
        case .keyStrange(let key, nil): return "pin mismatch: \(key) isn't a pin of any rule"
        case .keyDenied(let pin): return "the policy denies this key, \(pin.title): generate another key"
        case .keyExpired(let rule, let expiry):
            return "the rule expired at \(expiry.end.rfc3339) (\(rule.origin)): ship a policy with a later expiry"
        case .denied(let match, let path, let port): return "\(PinningError.denied(match, path, port: port))"
        case .expired(_, _, let reason): return reason
        case .unlisted(let policy): return "not covered: \(policy) has no rule for it: add one"
        case .noCertificate(let rule, let names):
            let more = names.count > 5 ? " and \(names.count - 5) more" : ""
            let valid = names.isEmpty ? "" : ", only for \(names.prefix(5).joined(separator: ", "))\(more)"
            return
                "no certificate in the files is valid for this host\(valid) (\(rule.origin)): \(word.remedy ?? "")"
        case .untrusted(let finding): return "not trusted [\(finding.rule.rawValue)]: \(finding)"
        case .unreachable(let reason): return "unreachable: \(reason)"
        }
    }

    /// The finding in one line, without its remedy if it has one.
    var problem: String {
        switch self {
        case .unreachable(let failure): "unreachable: \(failure.located(failure.problem))"
        case .untrusted(let finding) where finding.remedy == nil: self.finding
        case .untrusted, .keyDenied, .keyExpired, .denied, .expired, .unlisted, .noCertificate:
            ProblemText(finding).problem
        default: finding
        }
    }

    private static func rule(of mismatch: PinMismatch) -> String {
        let isForgiven = mismatch.rule.mode == .report || mismatch.expiry != nil
        return "(\(mismatch.rule.origin))" + (isForgiven ? "; mode report: clients report it and connect" : "")
    }

    /// The finding without the position of the rule.
    var shortFinding: String {
        switch self {
        case .mismatch(let mismatch): "pin mismatch: \(mismatch.finding)"
        case .keyMismatch: "key mismatch: only another key of the server matches"
        case .bypassed(let mismatch): "pins bypassed: \(mismatch.finding)"
        case .untrusted(let finding): "not trusted: \(finding)"
        case .keyStrange: "pin mismatch: the key isn't pinned by the rules for it"
        case .noCertificate: "no certificate in the files is valid for the host"
        case .exportRefused(let refusals, _, _): "rejected by \(refusals.map(\.finding).joined(separator: "; "))"
        case .otherGroup(let group, _, _): group.finding
        case .wrongOrder: "wrong order: the leaf isn't the first certificate in the file"
        default: word.rawValue
        }
    }
}

extension RequiredGroup {
    /// The finding in one line.
    var finding: String {
        let found =
            used.map { "the key exchange uses \($0)" }
            ?? "\(version) is used, in which the key exchange isn't known in time"
        return "\(found), but \(name) is required"
    }
}

extension VerifiedPath {
    /// The certificates with the roles of their positions, leaf first.
    var roles: [(PinRole, X509Certificate)] {
        certificates.enumerated().map { (PinRole(index: $0, of: certificates.count), $1) }
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
}
