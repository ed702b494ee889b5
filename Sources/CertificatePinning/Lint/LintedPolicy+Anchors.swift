import Basics
import CertificateTrust
import FoundationEssentials

// Findings about pins that a policy denies, and about a rule's own anchors.

extension LintedPolicy.Rule {
    /// The groups of pins that each need a match: all pins together, or those of each required role.
    var groups: [(role: PinRole?, pins: [LintedPolicy.Pin])] {
        guard case .eachOf(let roles) = requirement else { return [(nil, pins)] }
        return PinRole.allCases.filter(roles.contains).map { role in
            (role, pins.filter { $0.role.overlaps(role) })
        }
    }
}

extension LintedPolicy {
    private static let anchorNotice = 180.0
    private static let anchorLimit = 10

    func deniedFindings(_ rule: Rule) -> [LintFinding] {
        guard rule.mode != .off, rule.pins.contains(where: \.isDenied) else { return [] }
        let dead = rule.groups.first { !$0.pins.isEmpty && $0.pins.allSatisfy(\.isDenied) }
        if let dead {
            let pins = dead.role.map { "every pin of \(rule.title) that can match as \($0.rawValue)" }
            return [
                LintFinding(
                    .refusesEverything, at: rule.location,
                    "\(pins ?? "every pin of \(rule.title)") is denied, so every server is refused: "
                        + "add the pin of another key, or remove the keys from \"deny\"")
            ]
        }
        return rule.pins.filter(\.isDenied).map { pin in
            let remedy =
                pin.isBackup
                ? "so it is no backup: pin another key, or remove it from \"deny\""
                : "so it never matches: remove it from one of the two"
            return LintFinding(
                .deniedPin, pin.isBackup ? .error : .warning, at: pin.location,
                "\(pin.title) of \(rule.title) is denied, \(remedy)")
        }
    }

    func anchorFindings(_ rule: Rule, at time: Date) -> [LintFinding] {
        guard !rule.anchors.isEmpty else { return [] }
        let ending = rule.anchors.filter { $0.notAfter < time.adding(days: Self.anchorNotice) }
        // While another anchor is valid, servers can have a certificate below it.
        let isLast = ending.count == rule.anchors.count && !rule.trustsSystem
        var findings = ending.prefix(Self.anchorLimit).map { anchor in
            LintFinding(
                .certificateExpiry, isLast ? .error : .warning, at: rule.location,
                "\(rule.title): the anchor \(anchor.subject) \(anchor.notAfter < time ? "expired" : "expires") on "
                    + "\(anchor.notAfter.day): add its successor to \"anchors\"")
        }
        guard !rule.trustsSystem else { return findings }
        let keys = Set(rule.anchors.map { sha256Digest($0.subjectPublicKeyInfo.derBytes.span) })
        let certificates = Set(rule.anchors.map { sha256Digest($0.derBytes.span) })
        for pin in rule.pins where pin.knownRole == .root {
            guard !(pin.isOfCertificate ? certificates : keys).contains(pin.value) else { continue }
            findings.append(
                LintFinding(
                    .unanchoredRoot, pin.role == .root ? .error : .warning, at: pin.location,
                    "\(pin.title) is a root that is not among the anchors of \(rule.title), so it never matches: "
                        + "add its certificate to \"anchors\", or remove the pin"))
        }
        return findings
    }
}
