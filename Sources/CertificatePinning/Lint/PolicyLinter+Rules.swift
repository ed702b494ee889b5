import CertificateTrust
import PinctlBasics
import PinctlFoundation

// Findings about a rule's pins as a whole, its hosts and its expiry.

extension PolicyLinter {
    private static let shortLife = 100.0
    private static let endNotice = 30.0
    private static let longReport = 90.0

    func setFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard rule.mode != .off, !rule.pins.isEmpty else { return [] }
        var findings = backupFindings(rule) + onlyBackupFindings(rule) + roleFindings(rule)
        let reportsSince = facts(of: rule).reportsSince
        if rule.mode == .report, reportsSince.map({ $0.adding(days: Self.longReport) < time }) ?? true {
            let since = reportsSince.map { "since \($0.day)" } ?? "for an unknown time"
            let note = marksBackups ? ", or write \"x-report-since\": \"\(time.day)\" for now" : ""
            findings.append(
                LintFinding(
                    .oldReportMode, at: location(of: rule),
                    "\(rule.lintTitle) has been in report mode \(since), so mismatches are allowed: enforce it\(note)"))
        }
        return findings
    }

    private func backupFindings(_ rule: CanonicalRule) -> [LintFinding] {
        var findings = facts(of: rule).hasBackupSlot ? [] : missingBackups(rule)
        let primaries = rule.pins.filter { !$0.isBackup }
        let primaryValues = Set(primaries.map(\.value))
        let files = filesByPin(primaries)
        var seen: Set<SeenPin> = []
        for pin in rule.pins {
            if !seen.insert(SeenPin(value: pin.value, role: pin.role, isBackup: pin.isBackup)).inserted {
                findings.append(
                    LintFinding(
                        .duplicate, at: location(of: pin, in: rule),
                        "\(pin.lintTitle) is listed twice in the rule for \(rule.lintTitle): remove one")
                )
            }
            let place =
                primaryValues.contains(pin.value)
                ? "that of another pin of the rule for \(rule.lintTitle)" : files[pin.value].map { "in \(quoted($0))" }
            // mutant lint-served-backup: false for 1 by CertificatePinningTests.LintTests/servedBackup
            guard pin.isBackup, let place else { continue }
            findings.append(
                LintFinding(
                    .servedBackup, at: location(of: pin, in: rule),
                    "\(pin.lintTitle) isn't a backup, because its "
                        + "\(pin.content == .certificate ? "certificate" : "key") is also \(place): pin a key that no "
                        + "server uses yet (RFC 7469, section 4.3)"))
        }
        return findings
    }

    /// Returns a finding for each group of pins without a backup. A group is all pins of a rule, or those of one
    /// required role.
    private func missingBackups(_ rule: CanonicalRule) -> [LintFinding] {
        let groups = rule.groups
        let unitedPins = unitedPins(of: rule)
        return groups.compactMap { group in
            let united = unitedPins.filter { group.role?.overlaps($0.role) ?? true }
            let values = Set((group.pins + united).map(\.value))
            // mutant lint-no-backup: false by LintRuleTests CertificatePinningTests.LintTests
            guard values.count == 1 || marksBackups && !group.pins.contains(where: \.isBackup) else { return nil }
            let found = values.count == 1 ? "only one pin" : "no pin marked as a backup"
            let role = groups.count > 1 ? group.role.map { " for the required role \($0.rawValue)" } ?? "" : ""
            let mark = marksBackups ? ", with \"backup\": true" : ""
            // The key of a server can't stand in for a CA in systems that keep the two kinds of pins apart.
            let danger =
                group.pins.allSatisfy(isAuthority)
                ? "if that CA can't be used any more, every client is locked out: add the pin of a second CA that you "
                    + "can get a certificate from"
                : "if that key is lost, every client is locked out: add the pin of a key that is kept offline"
            return LintFinding(
                .noBackup, at: location(of: rule), "\(rule.lintTitle) has \(found)\(role), and \(danger)\(mark)")
        }
    }

    /// Returns whether a pin is one of a CA's key. Without a role or a file, only the public roots are known.
    private func isAuthority(_ pin: CanonicalPin) -> Bool {
        switch knownRole(of: pin) {
        case .root, .ca, .intermediate: true
        case .leaf: false
        case .any, nil:
            calendar.root(of: pin) != nil
                // mutant lint-second-ca: false for `pin.spkiFingerprint…false` by LintRuleTests/backupOfAuthority
                || pin.spkiFingerprint.map { PublicRoots.names[$0] != nil } ?? false
        }
    }

    private func onlyBackupFindings(_ rule: CanonicalRule) -> [LintFinding] {
        // mutant lint-only-backups: [] for `rule.rolesOfBackupsOnly` by LintRuleTests/onlyBackups
        rule.rolesOfBackupsOnly.map { role in
            let place = role == .any ? "" : " as \(role.rawValue)"
            return LintFinding(
                .onlyBackups, at: location(of: rule),
                "\(rule.lintTitle) pins only backups\(place), which no server uses yet, so every server is refused: "
                    + "also pin a key in use\(place)")
        }
    }

    private struct SeenPin: Hashable {
        let value: [UInt8]
        let role: PinRole
        let isBackup: Bool
    }

    /// Returns the file of each key in the files of these pins.
    private func filesByPin(_ pins: [CanonicalPin]) -> [[UInt8]: String] {
        var files: [[UInt8]: String] = [:]
        var seen: Set<String> = []
        for evidence in pins.compactMap(evidence(of:)) where seen.insert(evidence.file).inserted {
            for holder in evidence.keys { files[sha256Digest(holder.key.derBytes.span)] = evidence.file }
        }
        return files
    }

    private func roleFindings(_ rule: CanonicalRule) -> [LintFinding] {
        let primary = rule.pins.filter { !$0.isBackup }
        let roles = primary.map(knownRole(of:))
        guard !primary.isEmpty, case .any = rule.requirement else { return [] }
        if roles.allSatisfy({ $0 == .intermediate }), primary.count == rule.pins.count {
            return [
                LintFinding(
                    .onlyIntermediates, at: location(of: rule),
                    "\(rule.lintTitle) pins only intermediates, which CAs change without notice: "
                        + "also pin their roots, or a backup key of your own")
            ]
        }
        if roles.allSatisfy({ $0 == .root }) {
            return [
                LintFinding(
                    .onlyRoots, at: location(of: rule),
                    "\(rule.lintTitle) pins only roots, so any certificate that they issue for the host matches, even "
                        + "by mistake or fraud: also pin a key of your own, and require both")
            ]
        }
        // Both ends are part of the validity period (RFC 5280, section 4.1.2.5).
        let shortest = primary.compactMap { holder(of: $0)?.certificate }
            .map { Double($0.validity.upperBound - $0.validity.lowerBound + 1) / 86_400 }.min()
        // mutant lint-short-lived: false for 3 by LintRuleTests/shortLived
        if roles.allSatisfy({ $0 == .leaf }), let shortest, shortest < Self.shortLife, !hasKnownRenewals(rule) {
            return [
                LintFinding(
                    .shortLivedLeaf, at: location(of: rule),
                    "\(rule.lintTitle) pins only end-entity keys, and its certificate is valid for \(Int(shortest)) "
                        + "days: renew with the same key (certbot --reuse-key), or also pin the root")
            ]
        }
        return []
    }

    func endFindings(_ rule: CanonicalRule) -> [LintFinding] {
        guard rule.mode != .off, !rule.pins.isEmpty, let expiry = rule.expiry else { return [] }
        var findings: [LintFinding] = []
        // mutant lint-expiry: false for 2 by CertificatePinningTests.LintTests/expiry
        if let end = expiry.end, end <= time.adding(days: Self.endNotice) {
            let verb = end <= time ? "expired" : "expires"
            let effect =
                switch expiry.effect {
                case .stopPinning: "its pins are ignored from then on"
                case .report: "mismatches are only reported from then on"
                case .fail: "every server is refused from then on"
                }
            findings.append(
                LintFinding(
                    .expiry, at: location(of: rule),
                    "\(rule.lintTitle) \(verb) \(expiry.endText), and \(effect): ship a later expiry"))
        }
        if expiry.effect == .stopPinning {
            findings.append(
                LintFinding(
                    .silentExpiry, at: location(of: rule),
                    "\(rule.lintTitle) silently stops pinning \(expiry.endText): let it fail or report then, "
                        + "or ship a later expiry in time"))
        }
        return findings
    }

    func hostFindings(_ rule: CanonicalRule) -> [LintFinding] {
        rule.patterns.compactMap { host in
            guard !host.host.isEmpty else { return nil }
            if let problem = HostPattern.problem(ofHost: host.host) {
                return LintFinding(.malformedHost, at: location(of: rule), "host \(quoted(host.host)) \(problem)")
            }
            // mutant lint-suffix: host.scope == .exactAndBelow for 1 by CertificatePinningTests.LintTests/suffixes
            //   PinctlTests.LintTests/identifiers
            guard host.scope != .exact, let name = try? ServerName(host.host),
                let section = publicSuffixes.section(of: name), section == .icann || !rule.ownsPublicSuffix
            else { return nil }
            return LintFinding(
                .publicSuffix, at: location(of: rule), PolicyError.subdomainsOfPublicSuffix(host: name).description)
        }
    }
}

extension HostPattern {
    /// The reason why no server has the host, with the remedy, or `nil`.
    package var fault: String? {
        let name = host.hasSuffix(".") ? String(host.dropLast()) : host
        return name.isEmpty ? nil : Self.problem(ofHost: name.lowercased())
    }

    fileprivate static func problem(ofHost text: String) -> String? {
        if text.contains("://") || text.contains("/") { return "is a URL: write only the hostname" }
        if text.contains("*") { return "has a * in the wrong position: write the host without it" }
        if !text.utf8.allSatisfy({ $0 < 0x80 }) { return "isn't in ASCII: write the A-label, which starts with xn--" }
        if text.hasSuffix(".") { return "ends with a dot, which some systems don't match: remove it" }
        if text.contains(where: \.isUppercase) {
            return capitals
        }
        guard (try? ServerName(text)) == nil else { return nil }
        return text.contains(":") ? "has a port: remove it" : "isn't a hostname: correct it"
    }

    fileprivate static let capitals = "has capitals, which some systems don't match: write it in lower case"

    /// Returns the message about a host with capitals, or `nil` for other hosts.
    package static func capitals(in host: String) -> String? {
        // mutant lint-capitals: false for `host.utf8.contains { (0x41...0x5A).contains($0) }` by AppleTests/capitals
        //   ScriptTests
        host.utf8.contains { (0x41...0x5A).contains($0) } ? "host \(quoted(host)) \(capitals)" : nil
    }
}
