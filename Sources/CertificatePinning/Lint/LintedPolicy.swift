package import CertificateTrust
package import FoundationEssentials

/// A policy of any dialect in the form that lint checks, with the locations of its parts.
package struct LintedPolicy: Sendable {
    package struct Host: Sendable {
        /// The host as written in the file. Empty means every host.
        package var text: String
        package var includesSubdomains: Bool

        package init(_ text: String, includesSubdomains: Bool) {
            self.text = text
            self.includesSubdomains = includesSubdomains
        }
    }

    package struct Pin: Sendable {
        /// The digest algorithm, or nil if the bytes themselves are pinned.
        package var algorithm: DigestText.Algorithm?
        package var isOfCertificate: Bool
        package var value: [UInt8]
        package var role: PinRole
        package var isBackup: Bool
        /// The pin's name, or the pin itself.
        package var title: String
        package var location: PolicyLocation
        package var evidence: LintEvidence?
        /// Whether the policy denies the pin at every position where it can match.
        package var isDenied: Bool

        package init(
            _ value: [UInt8], by algorithm: DigestText.Algorithm?, isOfCertificate: Bool, role: PinRole, isBackup: Bool,
            title: String, at location: PolicyLocation, evidence: LintEvidence? = nil, isDenied: Bool = false
        ) {
            self.value = value
            self.algorithm = algorithm
            self.isOfCertificate = isOfCertificate
            self.role = role
            self.isBackup = isBackup
            self.title = title
            self.location = location
            self.evidence = evidence
            self.isDenied = isDenied
        }
    }

    package struct Rule: Sendable {
        package var hosts: [Host]
        /// Whether private public suffixes among the hosts belong to the owner.
        package var ownsPublicSuffix: Bool
        package var ports: Set<Int>?
        package var pins: [Pin]
        package var requirement: PinRequirement
        package var mode: PinningMode
        /// The first instant after the rule's end, or nil if the rule has no end or it depends on the client.
        package var end: Date?
        /// Whether pinning is off after the end.
        package var endsSilently: Bool
        /// The time since which report mode is on, or nil if unknown.
        package var reportsSince: Date?
        /// Whether there is a slot for the backup, which has its own finding.
        package var hasBackupSlot: Bool
        /// Pins of other rules that also count for every host of this one.
        package var unitedPins: [Pin]
        /// The certificates in the files of the rule's own anchors.
        package var anchors: [X509Certificate]
        /// Whether the operating system's anchors are trusted too.
        package var trustsSystem: Bool
        package var location: PolicyLocation

        package init(
            hosts: [Host], ownsPublicSuffix: Bool = false, ports: Set<Int>? = nil, pins: [Pin],
            requirement: PinRequirement, mode: PinningMode,
            end: Date?, endsSilently: Bool, reportsSince: Date? = nil, hasBackupSlot: Bool = false,
            unitedPins: [Pin] = [], anchors: [X509Certificate] = [], trustsSystem: Bool = true,
            at location: PolicyLocation
        ) {
            self.hosts = hosts
            self.ownsPublicSuffix = ownsPublicSuffix
            self.ports = ports
            self.pins = pins
            self.requirement = requirement
            self.mode = mode
            self.end = end
            self.endsSilently = endsSilently
            self.reportsSince = reportsSince
            self.hasBackupSlot = hasBackupSlot
            self.unitedPins = unitedPins
            self.anchors = anchors
            self.trustsSystem = trustsSystem
            self.location = location
        }

        /// The name of the rule in messages.
        var title: String {
            let name = hosts.first.map { $0.text.isEmpty ? "every host" : $0.text } ?? "no host"
            return hosts.count > 1 ? "\(name) and \(hosts.count - 1) more" : name
        }
    }

    /// The way in which several rules that cover the same host are combined.
    package enum Combination: Sendable {
        case closest
        case union
        case carveOut
    }

    private struct Place: Hashable {
        let rule: LintRule
        let location: PolicyLocation
    }

    package var rules: [Rule]
    /// Pins to check although no rule uses them.
    package var namedPins: [Pin] = []
    package var combination: Combination
    /// Whether backups can be distinguished from other pins.
    package var marksBackups: Bool

    package init(rules: [Rule], combination: Combination, marksBackups: Bool) {
        self.rules = rules
        self.combination = combination
        self.marksBackups = marksBackups
    }

    /// Returns every finding in file order, adjusted by the settings and by the allowances in the file's comments.
    package func findings(
        at time: Date, in path: String, allowances: [LintAllowance], settings: LintSettings,
        publicSuffixes: PublicSuffixes, besides others: [LintFinding] = []
    ) -> [LintFinding] {
        var findings = allowances.compactMap { $0.finding(in: path) } + shadowFindings
        var seen: Set<[String]> = []
        for pin in namedPins where seen.insert(["\(pin.location)", pin.title, pin.role.rawValue]).inserted {
            findings += pinFindings(pin, at: time)
        }
        for rule in rules {
            findings += hostFindings(rule, publicSuffixes) + endFindings(rule, at: time) + setFindings(rule, at: time)
            findings += deniedFindings(rule) + anchorFindings(rule, at: time)
            // A named pin is checked once, even if several rules use it.
            for pin in rule.pins where seen.insert(["\(pin.location)", pin.title, pin.role.rawValue]).inserted {
                findings += pinFindings(pin, at: time)
            }
        }
        // Findings of the reader often repeat those of a rule.
        let places = Set(findings.map { Place(rule: $0.rule, location: $0.location) })
        findings += others.filter { !places.contains(Place(rule: $0.rule, location: $0.location)) }
        let allowed = Dictionary(grouping: allowances, by: \.line)
        return findings.filter { finding in
            let line = finding.location.line
            return ![line, line - 1].contains { allowed[$0]?.contains { $0.allows(finding.rule) } ?? false }
        }
        .compactMap(settings.adjust)
        .sorted {
            ($0.location.path, $0.location.line, $0.location.column, $0.rule.rawValue)
                < ($1.location.path, $1.location.line, $1.location.column, $1.rule.rawValue)
        }
    }
}

extension Date {
    /// Returns the date this many days later.
    func adding(days: Double) -> Date { addingTimeInterval(days * 86_400) }
}
