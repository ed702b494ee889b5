public import CertificatePinning
public import CertificateTrust
public import FoundationEssentials

extension CanonicalPolicy {
    /// Everything that lint finds as of `time` in a file of another system, in the order of the file.
    ///
    /// `bytes` are the file's contents, for the comments in it that allow findings. What only this project's own files
    /// can say, backups and where pins come from, is not asked for.
    public func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings = LintSettings(),
        publicSuffixes: PublicSuffixes = .system
    ) -> [LintFinding] {
        let linted = rulesInEffect(where: \.pins.isEmpty).map { rule in
            let location = rule.location ?? PolicyLocation(path: path)
            return LintedPolicy.Rule(
                hosts: rule.patterns.map {
                    .init($0.host, includesSubdomains: [.exactAndBelow, .exactAndOneLabelBelow].contains($0.scope))
                },
                ports: rule.ports, pins: rule.pins.map { LintedPolicy.Pin($0, at: $0.location ?? location) },
                requirement: rule.requirement, mode: rule.mode, end: rule.expiry?.end,
                endsSilently: rule.expiry?.effect == .stopPinning, at: location)
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
                publicSuffixes: publicSuffixes)
    }
}

extension RuleExpiry {
    /// The first instant that is too late, at the latest; nil when it depends on the client.
    fileprivate var end: Date? {
        switch moment {
        case .instant(let seconds): Date(timeIntervalSince1970: Double(seconds))
        // Midnight comes to the west of Greenwich up to twelve hours later.
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
