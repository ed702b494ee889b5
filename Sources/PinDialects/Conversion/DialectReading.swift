public import CertificatePinning
public import CertificateTrust
public import PinctlFoundation

/// The result of reading a file.
public struct DialectReading: Sendable {
    /// The policy that the file contains.
    public var policy: CanonicalPolicy
    /// Notes on settings that the dialect's own system ignores, or reads differently from how they look.
    public var notes: [ConversionNote]
    /// The other files of a project whose constants the policy has.
    package var constantFiles: Set<String> = []
    /// The lines with pins that the system ignores, of which one note tells.
    package var ignoredLines: Set<Int> = []

    /// Creates a reading.
    package init(_ policy: CanonicalPolicy, notes: [ConversionNote] = []) {
        self.policy = policy
        self.notes = notes
    }

    /// Creates the reading of a policy file.
    init(_ file: PolicyFile) {
        policy = CanonicalPolicy(file)
        notes = file.bundleNotes.map { ConversionNote(.quirk, .unchanged, $0, at: nil) }
    }
}

extension DialectReading {
    /// Returns all lint findings as of `time` for the file that was read, in the order of the file. They include the
    /// notes that have a rule.
    ///
    /// `bytes` are the contents of the file, whose comments can allow findings. Properties that only this project's own
    /// files can express, such as backups and where pins come from, aren't checked.
    public func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings = LintSettings(),
        publicSuffixes: PublicSuffixes = .system
    ) -> [LintFinding] {
        lint(bytes, path: path, at: time, settings: settings, publicSuffixes: publicSuffixes, calendar: RootCalendar())
    }

    /// Returns the findings, with those about the roots of a calendar.
    package func lint(
        _ bytes: [UInt8], path: String, at time: Date, settings: LintSettings,
        publicSuffixes: PublicSuffixes = .system, calendar: RootCalendar, renewals: [KeyRenewal]? = nil
    ) -> [LintFinding] {
        policy.lint(
            bytes, path: path, at: time, settings: settings, publicSuffixes: publicSuffixes, calendar: calendar,
            renewals: renewals, besides: findings(path: path))
    }

    /// The notes that have a rule, as findings.
    func findings(path: String) -> [LintFinding] {
        notes.compactMap { note in
            note.rule.map {
                LintFinding($0, note.severity, at: note.location ?? PolicyLocation(path: path), note.message)
            }
        }
    }
}
