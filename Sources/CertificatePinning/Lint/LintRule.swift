/// What lint looks for, by an identifier that stays the same across versions.
@nonexhaustive
public enum LintRule: String, Sendable, Hashable, CaseIterable {
    /// A pin that is no digest of its length, or not in canonical base64.
    case malformedPin = "P001"
    /// The digest of nothing, or a placeholder.
    case placeholderPin = "P002"
    /// A rule, or a required role, with one pin or without one that is marked as backup.
    case noBackup = "P003"
    /// A backup whose key is served already.
    case servedBackup = "P004"
    /// A pin, a key of JSON or a host that stands twice, or a key that nobody knows.
    case duplicate = "P005"
    /// A rule that has ended, or does within 30 days.
    case expiry = "P006"
    /// A rule whose end turns pinning off.
    case silentExpiry = "P007"
    /// A host that no connection has: a URL, a port, capitals, a trailing dot, a U-label, a stray wildcard.
    case malformedHost = "P008"
    /// A rule that takes hosts from another, or stands in its way.
    case shadowedRule = "P009"
    /// All names below a public suffix.
    case publicSuffix = "P010"
    /// Pins of servers' keys alone, for certificates that live under 100 days.
    case shortLivedLeaf = "P011"
    /// Pins of intermediates alone.
    case onlyIntermediates = "P012"
    /// A pin that is of no key in its `from` file, or a file that cannot be read.
    case otherKey = "P013"
    /// A pin that is a digest of other bytes of its `from` file than its key.
    case wrongBytes = "P014"
    /// A pin by SHA-1.
    case sha1 = "P015"
    /// A pinned certificate or an anchor that has expired, or will before clients can be changed.
    case certificateExpiry = "P016"
    /// A pinned key that is weak.
    case weakKey = "P017"
    /// An exported file that says something else than the policy.
    case exportDrift = "P018"
    /// A rule that has only reported for over 90 days.
    case oldReportMode = "P019"
    /// A slot for a backup key that is still to be made.
    case emptyBackupSlot = "P020"
    /// Pins of public roots alone.
    case onlyRoots = "P021"
    /// A pin of a whole certificate.
    case certificatePin = "P022"
    /// A comment that allows a finding, without a reason or of no rule.
    case unreasonedAllowance = "P023"
    /// A file, a host or a setting that pins nothing.
    case pinsNothing = "P024"
    /// A rule that refuses every server.
    case refusesEverything = "P025"
    /// A key, an element or a value that its own system ignores, although it looks like one that the system knows.
    case ignoredSetting = "P026"
    /// A setting that accepts some connections without a pin.
    case bypassedPins = "P027"
    /// A setting that its own system reads differently from how it looks.
    case misreadSetting = "P028"
    /// A pin of a rule that the policy denies.
    case deniedPin = "P029"
    /// A pinned root that is not among the rule's anchors.
    case unanchoredRoot = "P030"
    /// A pin whose `from` certificate cannot have the pin's role.
    case impossibleRole = "P031"
}

extension LintRule {
    /// How grave it is, unless told otherwise.
    public var severity: LintFinding.Severity {
        switch self {
        case .noBackup, .servedBackup, .duplicate, .silentExpiry, .shadowedRule, .oldReportMode, .onlyRoots,
            .certificatePin, .unreasonedAllowance, .bypassedPins, .misreadSetting:
            .warning
        default: .error
        }
    }

    /// What is looked for, in a few words.
    public var summary: String {
        switch self {
        case .malformedPin: "a pin of the wrong length, or not in canonical base64"
        case .placeholderPin: "a pin that is no key's: the digest of empty input, AAAA…="
        case .noBackup: "one pin, or none marked as backup, in a rule or in one of its required roles"
        case .servedBackup: "a backup whose key is in use already"
        case .duplicate: "a pin, key or host that stands twice; an unknown key"
        case .expiry: "a rule that has ended, or ends within 30 days"
        case .silentExpiry: "a rule whose end turns pinning off"
        case .malformedHost: "a host that is a URL, or has a port, capitals, a trailing dot, a U-label, a stray *"
        case .shadowedRule: "a rule that another one overlaps, weakens or repeats"
        case .publicSuffix: "all names below a public suffix"
        case .shortLivedLeaf: "only servers' keys, while the certificate lives under 100 days"
        case .onlyIntermediates: "only intermediates, and neither a root nor a backup"
        case .otherKey: "a pin that is of no key in its \"from\" file"
        case .wrongBytes: "a pin that is a digest of other bytes of its \"from\" file"
        case .sha1: "a pin by SHA-1"
        case .certificateExpiry: "a \"from\" certificate or an anchor that has expired, or soon will"
        case .weakKey: "a weak key in a \"from\" file"
        case .exportDrift: "an exported file that says something else"
        case .oldReportMode: "mode report for over 90 days, or since nobody knows when"
        case .emptyBackupSlot: "a slot for a backup key that is still to be made"
        case .onlyRoots: "only roots, any of whose certificates will do"
        case .certificatePin: "a pin of a whole certificate"
        case .unreasonedAllowance: "a pinctl-allow without a reason, or of no rule"
        case .pinsNothing: "a file, host or setting that pins nothing"
        case .refusesEverything: "a rule that refuses every server"
        case .ignoredSetting:
            "a key, element or value that its own system ignores: misspelled, misplaced, of a wrong type"
        case .bypassedPins: "a setting that accepts some connections without a pin"
        case .misreadSetting: "a setting that its own system reads differently from how it looks"
        case .deniedPin: "a pin that \"deny\" lists"
        case .unanchoredRoot: "a pinned root that is not among the rule's own anchors"
        case .impossibleRole: "a pin whose \"from\" certificate cannot have its role"
        }
    }
}

extension PinTextError {
    /// What lint calls it.
    package var lintRule: LintRule {
        switch reason {
        case .digestOf: .placeholderPin
        case .otherDigest(let digest) where digest.lowercased().hasSuffix("sha1"): .sha1
        default: .malformedPin
        }
    }
}

extension PolicyError {
    /// What lint calls it; nil for what is only wrong in a policy.
    var lintRule: LintRule? {
        switch self {
        case .overlap: .shadowedRule
        case .subdomainsOfPublicSuffix: .publicSuffix
        default: nil
        }
    }
}
