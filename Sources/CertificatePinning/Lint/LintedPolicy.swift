package import CertificateTrust
package import FoundationEssentials

/// What lint looks at: a policy of any dialect, its parts with their places.
package struct LintedPolicy: Sendable {
    package struct Host: Sendable {
        /// As the file has it; empty for every host.
        package var text: String
        package var includesSubdomains: Bool

        package init(_ text: String, includesSubdomains: Bool) {
            self.text = text
            self.includesSubdomains = includesSubdomains
        }
    }

    package struct Pin: Sendable {
        /// Nil for what is pinned as it is.
        package var algorithm: DigestText.Algorithm?
        package var isOfCertificate: Bool
        package var value: [UInt8]
        package var role: PinRole
        package var isBackup: Bool
        /// Its name, or itself.
        package var title: String
        package var location: PolicyLocation
        package var evidence: LintEvidence?
        /// Whether the policy denies it, wherever the pin can match.
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
        /// Whether a private public suffix among the hosts is the owner's own.
        package var ownsPublicSuffix: Bool
        package var ports: Set<Int>?
        package var pins: [Pin]
        package var requirement: PinRequirement
        package var mode: PinningMode
        /// The first instant that is too late; nil for never, or when it depends on the client.
        package var end: Date?
        /// Whether pinning is off from its end on.
        package var endsSilently: Bool
        /// Since when mode report is on; nil when nothing says.
        package var reportsSince: Date?
        /// Whether a slot stands for the backup, which is told by itself.
        package var hasBackupSlot: Bool
        /// Pins of other rules that count for every host of this one.
        package var unitedPins: [Pin]
        /// The certificates in the files of the rule's own anchors.
        package var anchors: [X509Certificate]
        /// Whether the operating system's anchors count too.
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

        /// What messages call it.
        var title: String {
            let name = hosts.first.map { $0.text.isEmpty ? "every host" : $0.text } ?? "no host"
            return hosts.count > 1 ? "\(name) and \(hosts.count - 1) more" : name
        }
    }

    /// Which of several rules that reach a host hold.
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
    /// Pins that are looked at although no rule has them.
    package var namedPins: [Pin] = []
    package var combination: Combination
    /// Whether backups can be told from other pins.
    package var marksBackups: Bool

    package init(rules: [Rule], combination: Combination, marksBackups: Bool) {
        self.rules = rules
        self.combination = combination
        self.marksBackups = marksBackups
    }

    /// Every finding, in the order of the file, as the settings and the file's own comments have it.
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
            // A pin with a name is looked at once, in however many rules it stands.
            for pin in rule.pins where seen.insert(["\(pin.location)", pin.title, pin.role.rawValue]).inserted {
                findings += pinFindings(pin, at: time)
            }
        }
        // What a reader notes is often what a rule finds too.
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
    /// As many days later.
    func adding(days: Double) -> Date { addingTimeInterval(days * 86_400) }
}
