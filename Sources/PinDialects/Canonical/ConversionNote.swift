public import CertificatePinning

/// Something that a conversion changes, and which way security moves.
public struct ConversionNote: Sendable, Hashable {
    /// What changes.
    public var change: ConversionChange
    /// Which way security moves.
    public var direction: SecurityDirection
    /// What it means for this policy, in one line.
    public var message: String
    /// Where the cause stands.
    public var location: PolicyLocation?
    /// The lint rule that reports it; `nil` for a note that is no finding.
    public var rule: LintRule?

    /// Makes a note.
    public init(
        _ change: ConversionChange, _ direction: SecurityDirection, _ message: String, at location: PolicyLocation?,
        rule: LintRule? = nil
    ) {
        self.change = change
        self.direction = direction
        self.message = message
        self.location = location
        self.rule = rule
    }
}

/// What a conversion can change.
@nonexhaustive
public enum ConversionChange: String, Sendable, Hashable, CaseIterable {
    /// More hosts are pinned.
    case scopeWidened = "scope-widened"
    /// Fewer hosts are pinned.
    case scopeNarrowed = "scope-narrowed"
    /// Rules that overlap combine otherwise.
    case combinationChanged = "combine-changed"
    /// A pin counts in more places.
    case roleLost = "role-lost"
    /// One match is enough where several were required.
    case requirementLost = "roles-and-lost"
    /// A match in each of several places is required where one was enough.
    case requirementAdded = "roles-and-added"
    /// A rule never ends.
    case expiryLost = "expiry-lost"
    /// A rule ends some hours earlier or later.
    case expiryZone = "expiry-zone"
    /// What holds behind the end changes.
    case expiryEffect = "expiry-effect"
    /// A rule that only reported refuses.
    case modeLost = "mode-lost"
    /// The target wants a backup pin.
    case backupMissing = "backup-missing"
    /// A match that the target requires could only come from backups, which no server has.
    case backupsOnly = "backups-only"
    /// Failures are reported to nobody.
    case reportsLost = "reports-lost"
    /// Roots of a rule's own are the system's.
    case anchorsLost = "anchors-lost"
    /// Rules reach every port.
    case portsLost = "ports-lost"
    /// The list of denied pins is gone.
    case denyLost = "deny-lost"
    /// Hosts without a rule are trusted.
    case unlistedLost = "unlisted-lost"
    /// A digest that the target has not.
    case digestLost = "alg-lost"
    /// A pin of a certificate where the target pins keys.
    case certificatePin = "cert-pin"
    /// A rule that takes a host out.
    case exclusionForm = "exclusion-form"
    /// Several hosts or rules where the target has one.
    case splitLost = "hosts-lost"
    /// Something that its own system passes over, or takes otherwise than it looks.
    case quirk
}

/// Which way security moves.
@nonexhaustive
public enum SecurityDirection: String, Sendable, Hashable, CaseIterable {
    /// Something is accepted that was refused.
    case weaker
    /// Something is refused that was accepted.
    case stricter
    /// It can be either, or comes later.
    case either
    /// Nothing that decides.
    case unchanged
    /// The target cannot say it at all: nothing is written.
    case impossible
}

extension ConversionNote: CustomStringConvertible {
    /// `pins.jsonc:14:5: role-lost (weaker): …`, one line.
    public var description: String {
        (location.map { "\($0): " } ?? "") + "\(change.rawValue) (\(direction.rawValue)): \(message)"
    }
}
