import Basics
public import CertificatePinning
public import CertificateTrust
public import FoundationEssentials

extension DialectReading {
    /// Returns all lint findings as of `time` for the file that was read, in the order of the file.
    ///
    /// These are the findings of ``CanonicalPolicy/lint(_:path:at:settings:publicSuffixes:)`` and the notes that have a
    /// rule.
    public func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings = LintSettings(),
        publicSuffixes: PublicSuffixes = .system
    ) -> [LintFinding] {
        let findings = notes.compactMap { note in
            note.rule.map { LintFinding($0, at: note.location ?? PolicyLocation(path: path), note.message) }
        }
        return policy.lint(
            bytes, path: path, at: time, settings: settings, publicSuffixes: publicSuffixes, besides: findings)
    }
}

extension CanonicalPolicy {
    /// Returns all lint findings as of `time` for a file of another system, in the order of the file.
    ///
    /// `bytes` are the contents of the file, whose comments can allow findings. Properties that only this project's own
    /// files can express, such as backups and where pins come from, aren't checked.
    public func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings = LintSettings(),
        publicSuffixes: PublicSuffixes = .system
    ) -> [LintFinding] {
        lint(bytes, path: path, at: time, settings: settings, publicSuffixes: publicSuffixes, besides: [])
    }

    fileprivate func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings, publicSuffixes: PublicSuffixes,
        besides others: [LintFinding]
    ) -> [LintFinding] {
        let united = combination == .union ? UnitedRules(rules) : nil
        let linted = rulesInEffect(where: \.pins.isEmpty).map { rule in
            let location = rule.location ?? PolicyLocation(path: path)
            return LintedPolicy.Rule(
                hosts: rule.patterns.map {
                    .init($0.host, includesSubdomains: [.exactAndBelow, .exactAndOneLabelBelow].contains($0.scope))
                },
                ports: rule.ports, pins: rule.pins.map { LintedPolicy.Pin($0, at: $0.location ?? location) },
                requirement: rule.requirement, mode: rule.mode, end: rule.expiry?.end,
                endsSilently: rule.expiry?.effect == .stopPinning,
                unitedPins: (united?.pins(besides: rule) ?? []).map { LintedPolicy.Pin($0, at: location) },
                at: location)
        }
        let combination: LintedPolicy.Combination =
            switch combination {
            case .closest: .closest
            case .union: .union
            case .carveOut: .carveOut
            }
        return LintedPolicy(rules: linted, combination: combination, marksBackups: false)
            .findings(
                at: time, in: path, allowances: LintAllowance.all(in: bytes), settings: settings,
                publicSuffixes: publicSuffixes, besides: others)
    }
}

/// An index of rules by hostname, for policies in which all rules that reach a host count together.
private struct UnitedRules {
    /// The number of rules considered for a hostname. Further rules are ignored.
    private static let limit = 32
    private var rules: [String: [CanonicalRule]] = [:]

    init(_ all: [CanonicalRule]) {
        for rule in all where rule.mode == .enforce {
            for host in Set(rule.patterns.map(\.host)) where rules[host, default: []].count < Self.limit {
                rules[host, default: []].append(rule)
            }
        }
    }

    /// Returns the pins of other rules that count for every host and port of this rule.
    func pins(besides rule: CanonicalRule) -> [CanonicalPin] {
        let shared = rule.patterns.map { pattern in
            around(pattern.host).filter { other in
                let reachesPorts = other.ports.map { rule.ports?.isSubset(of: $0) ?? false } ?? true
                return reachesPorts
                    && other.patterns.contains { $0 == pattern || $0.covers(pattern) && $0.holdsWhole(pattern) }
            }
            .flatMap(\.pins)
        }
        let common = shared.dropFirst().reduce(Set(shared.first ?? [])) { $0.intersection($1) }
        return common.filter { !rule.pins.contains($0) }
    }

    private func around(_ host: String) -> [CanonicalRule] {
        var found = rules[host] ?? []
        guard host.utf8.count <= 253 else { return found }
        var rest = host[...]
        while let dot = rest.firstIndex(of: "."), found.count < Self.limit {
            rest = rest[rest.index(after: dot)...]
            found += rules[String(rest)] ?? []
        }
        return found
    }
}

extension RuleExpiry {
    /// The instant by which the rule has expired everywhere, or `nil` if it depends on the client.
    fileprivate var end: Date? {
        switch moment {
        case .instant(let seconds): Date(timeIntervalSince1970: Double(seconds))
        // Midnight comes up to twelve hours later west of Greenwich.
        case .localDay(let day): Date(rfc3339: day)?.addingTimeInterval(12 * 3600)
        case .age: nil
        }
    }
}

extension LintedPolicy.Pin {
    fileprivate init(_ pin: CanonicalPin, at location: PolicyLocation) {
        let algorithm: DigestText.Algorithm? =
            switch pin.digest {
            case .sha1: .sha1
            case .sha256: .sha256
            case .sha512: .sha512
            case .full: nil
            }
        self.init(
            pin.value, by: algorithm, isOfCertificate: pin.content == .certificate, role: pin.role,
            isBackup: pin.isBackup, title: pin.name ?? (algorithm == nil ? "a pin" : "\(pin)"), at: location)
    }
}
