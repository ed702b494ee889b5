public import CertificatePinning
import PinctlBasics

/// A note about something that a conversion changes, and its effect on security.
public struct ConversionNote: Sendable, Hashable {
    /// The kind of change.
    public var change: ConversionChange
    /// The effect on security.
    public var direction: SecurityDirection
    /// The effect on this policy, in one line.
    public var message: String
    /// The position of the cause.
    public var location: PolicyLocation?
    /// The lint rule that reports the note, or `nil` if the note isn't a finding.
    public var rule: LintRule?
    /// The severity of the finding, or `nil` for the rule's own.
    package var severity: LintFinding.Severity?

    /// Creates a note.
    package init(
        _ change: ConversionChange, _ direction: SecurityDirection, _ message: String, at location: PolicyLocation?,
        rule: LintRule? = nil, severity: LintFinding.Severity? = nil
    ) {
        self.change = change
        self.direction = direction
        self.message = message
        self.location = location
        self.rule = rule
        self.severity = severity
    }
}

/// A kind of change that a conversion can make.
@nonexhaustive
public enum ConversionChange: String, Sendable, Hashable, CaseIterable {
    /// More hosts are pinned.
    case scopeWidened = "scope-widened"
    /// Fewer hosts are pinned.
    case scopeNarrowed = "scope-narrowed"
    /// Overlapping rules combine differently, or are merged.
    case combinationChanged = "combine-changed"
    /// A pin counts at other positions in the chain, now needs a trusted chain, or is left out because of its role.
    case roleLost = "role-lost"
    /// One match is enough where several were required, or a required role has no pin left.
    case requirementLost = "roles-and-lost"
    /// A match for each of several roles is required where one match was enough.
    case requirementAdded = "roles-and-added"
    /// A rule never expires.
    case expiryLost = "expiry-lost"
    /// A rule expires at a different time, for example because of the time zone.
    case expiryZone = "expiry-zone"
    /// The effect of an expiry changes.
    case expiryEffect = "expiry-effect"
    /// A rule that only reported mismatches rejects them.
    case modeLost = "mode-lost"
    /// The target requires more pins, such as a backup.
    case backupMissing = "backup-missing"
    /// A match that the target requires could only come from backup pins, whose keys no server uses.
    case backupsOnly = "backups-only"
    /// Failures are no longer reported, or are reported to fewer addresses.
    case reportsLost = "reports-lost"
    /// A rule's own roots are replaced by the system's, or the system's no longer bypass the pins.
    case anchorsLost = "anchors-lost"
    /// A rule's setting for Certificate Transparency is left out.
    case transparencyLost = "transparency-lost"
    /// A rule applies to all ports.
    case portsLost = "ports-lost"
    /// Denied pins are left out.
    case denyLost = "deny-lost"
    /// Hosts without a rule are trusted.
    case unlistedLost = "unlisted-lost"
    /// A pin is left out because the target doesn't support its digest, or because it has the wrong length.
    case digestLost = "alg-lost"
    /// A certificate pin is left out because the target only pins keys.
    case certificatePin = "cert-pin"
    /// A rule that excludes a host or rejects every server can't be expressed that way.
    case exclusionForm = "exclusion-form"
    /// Hosts, rules or pins can't be expressed, for example because the target allows only one host, or are removed
    /// from a file because the policy has no rule for them.
    case splitLost = "hosts-lost"
    /// A setting is ignored by its own system, or read differently from how it looks.
    case quirk
}

/// The effect of a change on security.
@nonexhaustive
public enum SecurityDirection: String, Sendable, Hashable, CaseIterable {
    /// Something is accepted that was rejected.
    case weaker
    /// Something is rejected that was accepted.
    case stricter
    /// The change can have either effect, or takes effect later.
    case either
    /// No decision changes.
    case unchanged
    /// The target can't express the policy at all, so nothing is written.
    case impossible
}

extension ConversionNote: CustomStringConvertible {
    /// The note in one line: `pins.jsonc:14:5: role-lost (weaker): …`.
    public var description: String {
        (location.map { "\($0): " } ?? "") + "\(change.rawValue) (\(direction.rawValue)): \(message)"
    }
}

extension [ConversionNote] {
    /// The notes in the order of the file. Notes about the whole file come first.
    var inOrder: Self {
        sorted {
            ($0.location?.line ?? 0, $0.location?.column ?? 0) < ($1.location?.line ?? 0, $1.location?.column ?? 0)
        }
    }
}

extension PolicyFileError {
    /// Creates an error from the problems that make a file unreadable. Settings that the file's own system ignores are
    /// added, because a misspelled one may be the cause.
    init(_ problems: PolicyProblems, besides notes: [ConversionNote], known: [CanonicalRule] = []) {
        var problems = problems
        for note in notes where note.rule == .ignoredSetting || note.rule == .misplacedSetting {
            let position = SourcePosition(
                line: Int32(clamping: note.location?.line ?? 0), column: Int32(clamping: note.location?.column ?? 0))
            problems.add(note.message, at: position, rule: note.rule)
        }
        self.init(problems: problems.sorted, known: known)
    }
}
