import CertificateTrust
import PinctlBasics
import PinctlFoundation

// Findings about pins that a policy denies, and about a rule's own anchors.

extension PolicyLinter {
    private static let anchorNotice = 180.0
    private static let anchorLimit = 10

    func deniedFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard rule.mode != .off, rule.pins.contains(where: isDenied) else { return [] }
        // mutant lint-refuses-everything: rule.groups.first { _ in false } by LintRuleTests/allDenied
        let dead = rule.groups.first { !$0.pins.isEmpty && $0.pins.allSatisfy(isDenied) }
        if let dead {
            let pins = dead.role.map { "every pin of \(rule.lintTitle) that can match as \($0.rawValue)" }
            return [
                LintFinding(
                    .refusesEverything, at: location(of: rule),
                    "\(pins ?? "every pin of \(rule.lintTitle)") is denied, so every server is refused: "
                        + "add the pin of another key, or remove one from \"deny\"")
            ]
        }
        return rule.pins.filter(isDenied).map { pin in
            let remedy =
                pin.isBackup
                ? "so it isn't a backup: pin another key, or remove it from \"deny\""
                : "so it never matches: remove it from one of the two"
            return LintFinding(
                .deniedPin, pin.isBackup ? .error : .warning, at: location(of: pin, in: rule),
                "\(pin.lintTitle) of \(rule.lintTitle) is denied, \(remedy)")
        }
    }

    /// Returns whether the policy denies a pin at every position where it can match.
    private func isDenied(_ pin: CanonicalPin) -> Bool {
        policy.denied.contains { denied in
            denied.content == pin.content && denied.digest == pin.digest && denied.value == pin.value
                && (0..<3).allSatisfy { !pin.role.covers(index: $0, of: 3) || denied.role.covers(index: $0, of: 3) }
        }
    }

    /// Returns a finding for a rule that requires transparency of a CA that is hardly in any log.
    func transparencyFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard rule.certificateTransparency == .require, !rule.trustsSystem else { return [] }
        return [
            LintFinding(
                .refusesEverything, .warning, at: location(of: rule),
                "\(rule.lintTitle) requires Certificate Transparency but doesn't trust the system's roots, and the "
                    + "logs that browsers recognize don't accept certificates of other CAs: set "
                    + "\"certificateTransparency\" to ignore"
            )
        ]
    }

    func anchorFindings(_ rule: CanonicalRule) -> [LintFinding] {
        let anchors = facts(of: rule).anchors
        guard !anchors.isEmpty else { return [] }
        let ending = anchors.filter { $0.notAfter < time.adding(days: Self.anchorNotice) }
        // While another anchor is valid, servers can have a certificate below it.
        let isLast = ending.count == anchors.count && !rule.trustsSystem
        var findings = ending.prefix(Self.anchorLimit).map { anchor in
            LintFinding(
                .certificateExpiry, isLast ? .error : .warning, at: location(of: rule),
                "\(rule.lintTitle): the anchor \(anchor.subject) \(anchor.notAfter < time ? "expired" : "expires") on "
                    + "\(anchor.notAfter.day): add its successor to \"anchors\"")
        }
        guard !rule.trustsSystem else { return findings }
        let keys = Set(anchors.map { sha256Digest($0.subjectPublicKeyInfo.derBytes.span) })
        let certificates = Set(anchors.map { sha256Digest($0.derBytes.span) })
        for pin in rule.pins where knownRole(of: pin) == .root {
            guard !(pin.content == .certificate ? certificates : keys).contains(pin.value) else { continue }
            findings.append(
                LintFinding(
                    .unanchoredRoot, pin.role == .root ? .error : .warning, at: location(of: pin, in: rule),
                    "\(pin.lintTitle) is a root that isn't among the anchors of \(rule.lintTitle), so it never "
                        + "matches: add its certificate to \"anchors\", or remove the pin"))
        }
        return findings
    }
}
