import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// The lint checks of one policy, with what they need to know besides the policy itself.
struct PolicyLinter {
    /// The facts about a rule that no client needs, and that only a policy file of this project states.
    struct RuleFacts {
        /// The certificates in the files of the rule's own anchors.
        var anchors: [X509Certificate] = []
        /// The time since which report mode is on, or `nil` if unknown.
        var reportsSince: Date?
        /// Whether there is a slot for the backup, which has its own finding.
        var hasBackupSlot = false
        /// The value of `x-provider`, or `nil` if the rule names no provider of certificates.
        var provider: JSONValue?
    }

    private struct Place: Hashable {
        let rule: LintRule
        let location: PolicyLocation
    }

    let policy: CanonicalPolicy
    let path: String
    let time: Date
    let publicSuffixes: PublicSuffixes
    /// Whether backups can be distinguished from other pins.
    var marksBackups = false
    /// Pins to check although no rule uses them.
    var namedPins: [CanonicalPin] = []
    /// The facts about rules by their positions.
    var facts: [PolicyLocation: RuleFacts] = [:]
    /// The keys in the files that pins claim to come from, by path.
    var evidence: [String: LintEvidence] = [:]
    /// The changes of trust stores that are known.
    var calendar = RootCalendar()
    /// The roots of providers of certificates.
    var providers = ProviderPools.builtIn
    /// The renewals that issuance files configure, or `nil` if no files were given.
    var renewals: [KeyRenewal]?
    /// The enforced rules of a policy in which all rules that reach a host count together.
    private let united: RuleTable<CanonicalRule>?

    init(_ policy: CanonicalPolicy, path: String, at time: Date, publicSuffixes: PublicSuffixes) {
        self.policy = policy
        self.path = path
        self.time = time
        self.publicSuffixes = publicSuffixes
        united = policy.combination == .union ? RuleTable(policy.rules.filter { $0.mode == .enforce }) : nil
    }

    /// Returns every finding in file order, adjusted by the settings and by the allowances in the file's comments.
    func findings(
        allowing allowances: [LintAllowance], settings: LintSettings, besides others: [LintFinding]
    ) -> [LintFinding] {
        var findings = allowances.compactMap { $0.finding(in: path) } + shadowFindings
        var seen: Set<[String]> = []
        // A named pin is checked once, even if several rules use it.
        func add(_ pin: CanonicalPin, _ location: PolicyLocation) {
            guard seen.insert(["\(location)", pin.lintTitle, pin.role.rawValue]).inserted else { return }
            findings += pinFindings(pin, at: location)
        }
        for pin in namedPins { add(pin, location(of: pin)) }
        for rule in policy.rules {
            findings += hostFindings(rule) + endFindings(rule) + setFindings(rule)
            findings +=
                deniedFindings(rule) + anchorFindings(rule) + transparencyFindings(rule) + calendarFindings(rule)
                + renewalFindings(rule) + providerFindings(rule)
            for pin in rule.pins { add(pin, location(of: pin, in: rule)) }
        }
        // Findings of the reader often repeat those of a rule.
        let places = Set(findings.map { Place(rule: $0.rule, location: $0.location) })
        findings += others.filter { !places.contains(Place(rule: $0.rule, location: $0.location)) }
        return findings.without(allowances).compactMap(settings.adjust)
            .sorted {
                ($0.location.path, $0.location.line, $0.location.column, $0.rule.rawValue)
                    < ($1.location.path, $1.location.line, $1.location.column, $1.rule.rawValue)
            }
    }

    /// Returns the position of a rule, or the file if it is unknown.
    func location(of rule: CanonicalRule) -> PolicyLocation { rule.location ?? PolicyLocation(path: path) }

    /// Returns the position of a pin, or that of its rule.
    func location(of pin: CanonicalPin, in rule: CanonicalRule? = nil) -> PolicyLocation {
        pin.location ?? rule?.location ?? PolicyLocation(path: path)
    }

    func facts(of rule: CanonicalRule) -> RuleFacts { rule.location.flatMap { facts[$0] } ?? RuleFacts() }

    /// Returns the pins of other rules that also count for every host of this one.
    func unitedPins(of rule: CanonicalRule) -> [CanonicalPin] { united?.pins(besides: rule) ?? [] }
}

extension CanonicalRule {
    /// The name of the rule in findings.
    var lintTitle: String {
        let name = patterns.first?.name ?? "no host"
        return patterns.count > 1 ? "\(name) and \(patterns.count - 1) more" : name
    }

    /// Whether the operating system's anchors are trusted.
    package var trustsSystem: Bool { anchors?.contains { $0.source == "system" } ?? true }
}

extension HostPattern {
    /// The host in findings, with the wildcard of a pattern that doesn't include the host itself.
    var name: String { scope == .oneLabelBelow ? "*.\(host)" : scope == .every ? "every host" : host }
}

extension RuleExpiry {
    /// The instant by which the rule has expired everywhere, or `nil` if it depends on the client.
    var end: Date? {
        switch moment {
        case .instant(let seconds): Date(timeIntervalSince1970: Double(seconds))
        // Midnight comes up to twelve hours later west of Greenwich.
        case .localDay(let day): Date(rfc3339: day)?.addingTimeInterval(12 * 3600)
        case .age: nil
        }
    }

    /// The time of the expiry in findings. A day begins at different times, depending on the device.
    var endText: String {
        switch moment {
        case .instant: "on \(end?.rfc3339 ?? "")"
        case .localDay(let day):
            "on \(day) in the device's time zone" + (end.map { " (everywhere by \($0.rfc3339))" } ?? "")
        case .age(let seconds): "\(seconds) s after the last visit"
        }
    }
}

extension Date {
    /// Returns the date this many days later.
    func adding(days: Double) -> Date { addingTimeInterval(days * 86_400) }
}
