import CertificateTrust
import FoundationEssentials

// What is wrong with the pins of a rule together, with its hosts, and with its end.

extension LintedPolicy {
    private static let shortLife = 100.0
    private static let endNotice = 30.0
    private static let longReport = 90.0

    func setFindings(_ rule: Rule, at time: Date) -> [LintFinding] {
        guard rule.mode != .off, !rule.pins.isEmpty else { return [] }
        var findings = backupFindings(rule) + roleFindings(rule)
        if rule.mode == .report, rule.reportsSince.map({ $0.adding(days: Self.longReport) < time }) ?? true {
            let since = rule.reportsSince.map { "since \($0.day)" } ?? "since nobody knows when"
            let note = marksBackups ? ", or write \"x-report-since\": \"\(time.day)\" for now" : ""
            findings.append(
                LintFinding(
                    .oldReportMode, at: rule.location,
                    "\(rule.title) only reports, \(since), and refuses nobody: enforce it\(note)"))
        }
        return findings
    }

    private func backupFindings(_ rule: Rule) -> [LintFinding] {
        var findings: [LintFinding] = []
        let values = Set(rule.pins.map(\.value))
        if !rule.hasBackupSlot, values.count == 1 || marksBackups && !rule.pins.contains(where: \.isBackup) {
            let found = values.count == 1 ? "one pin" : "no pin marked as backup"
            let mark = marksBackups ? ", with \"backup\": true" : ""
            findings.append(
                LintFinding(
                    .noBackup, at: rule.location,
                    "\(rule.title) has \(found): when that key is lost, every client is locked out; "
                        + "add the pin of a key that is kept offline\(mark)"))
        }
        var firsts: [PinRole: [[UInt8]: Bool]] = [:]
        for pin in rule.pins {
            let earlier = firsts[pin.role]?[pin.value]
            if earlier == nil { firsts[pin.role, default: [:]][pin.value] = pin.isBackup }
            if earlier == pin.isBackup {
                findings.append(
                    LintFinding(
                        .duplicate, at: pin.location,
                        "\(pin.title) stands twice in the rule for \(rule.title): remove one")
                )
            }
            guard pin.isBackup else { continue }
            let others = rule.pins.filter { !$0.isBackup }
            let place =
                others.contains { $0.value == pin.value }
                ? "another pin of the rule for \(rule.title)"
                : others.lazy.compactMap(\.evidence).first { pin.isHeld(by: $0) }.map { quoted($0.file) }
            guard let place else { continue }
            findings.append(
                LintFinding(
                    .servedBackup, at: pin.location,
                    "\(pin.title) is no backup, its key is in \(place) too: pin a key that no server has yet "
                        + "(RFC 7469, section 4.3)"))
        }
        return findings
    }

    private func roleFindings(_ rule: Rule) -> [LintFinding] {
        let primary = rule.pins.filter { !$0.isBackup }
        let roles = primary.map(\.knownRole)
        guard !primary.isEmpty, case .any = rule.requirement else { return [] }
        if roles.allSatisfy({ $0 == .intermediate }), primary.count == rule.pins.count {
            return [
                LintFinding(
                    .onlyIntermediates, at: rule.location,
                    "\(rule.title) pins intermediates alone, which authorities change without notice: "
                        + "pin their roots besides, or the key of a backup that you keep")
            ]
        }
        if roles.allSatisfy({ $0 == .root }) {
            return [
                LintFinding(
                    .onlyRoots, at: rule.location,
                    "\(rule.title) pins roots alone, so that every certificate for it from any of their customers' "
                        + "mistakes will do: pin a key of yours besides and require both")
            ]
        }
        let shortest = primary.compactMap(\.holder?.certificate)
            .map { $0.notAfter.timeIntervalSince($0.notBefore) / 86_400 }.min()
        if roles.allSatisfy({ $0 == .leaf }), let shortest, shortest < Self.shortLife {
            return [
                LintFinding(
                    .shortLivedLeaf, at: rule.location,
                    "\(rule.title) pins servers' keys alone, and its certificate lives \(Int(shortest)) days: renew with "
                        + "the same key (certbot --reuse-key), or pin the root besides")
            ]
        }
        return []
    }

    func endFindings(_ rule: Rule, at time: Date) -> [LintFinding] {
        guard rule.mode != .off, !rule.pins.isEmpty else { return [] }
        var findings: [LintFinding] = []
        if let end = rule.end, end <= time.adding(days: Self.endNotice) {
            let verb = end <= time ? "ended" : "ends"
            let effect = rule.endsSilently ? "its pins refuse nobody then" : "its servers are refused or told of then"
            findings.append(
                LintFinding(
                    .expiry, at: rule.location,
                    "\(rule.title) \(verb) on \(end.rfc3339), and \(effect): ship a later end"))
        }
        if rule.endsSilently {
            let end = rule.end.map { " on \($0.rfc3339)" } ?? ""
            findings.append(
                LintFinding(
                    .silentExpiry, at: rule.location,
                    "\(rule.title) stops pinning\(end) without a word: end it in fail or report, "
                        + "or ship a later end in time"))
        }
        return findings
    }

    func hostFindings(_ rule: Rule, _ publicSuffixes: PublicSuffixes) -> [LintFinding] {
        rule.hosts.compactMap { host in
            guard !host.text.isEmpty else { return nil }
            if let problem = Self.problem(ofHost: host.text) {
                return LintFinding(.malformedHost, at: rule.location, "host \(quoted(host.text)) \(problem)")
            }
            guard host.includesSubdomains, let name = try? ServerName(host.text), publicSuffixes.contains(name) else {
                return nil
            }
            return LintFinding(
                .publicSuffix, at: rule.location, PolicyError.subdomainsOfPublicSuffix(host: name).description)
        }
    }

    private static func problem(ofHost text: String) -> String? {
        if text.contains("://") || text.contains("/") { return "is a URL, which no host equals: write the host alone" }
        if text.contains("*") { return "has a * where none belongs: write the host without it" }
        if !text.utf8.allSatisfy({ $0 < 0x80 }) { return "is no A-label: write the one that starts with xn--" }
        if text.hasSuffix(".") { return "ends in a dot, which some systems hold against: remove it" }
        if text.contains(where: \.isUppercase) { return "has capitals, which some systems hold against: lower them" }
        guard (try? ServerName(text)) == nil else { return nil }
        return text.contains(":") ? "has a port, which no host has: remove it" : "is no host name: correct it"
    }
}

extension LintedPolicy.Pin {
    /// Whether its key is in a file.
    fileprivate func isHeld(by evidence: LintEvidence) -> Bool {
        evidence.keys.contains { (algorithm?.hash($0.key.derBytes) ?? $0.key.derBytes) == value }
    }
}
