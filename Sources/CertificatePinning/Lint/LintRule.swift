/// A lint rule, with an identifier that stays the same across versions.
@nonexhaustive
public enum LintRule: String, Sendable, Hashable, CaseIterable {
    /// A pin that isn't a digest of the right length, or isn't canonical base64.
    case malformedPin = "P001"
    /// The digest of empty input, or a placeholder.
    case placeholderPin = "P002"
    /// A rule, or a required role, with only one pin or with no pin marked as a backup.
    case noBackup = "P003"
    /// A backup whose key is already in use.
    case servedBackup = "P004"
    /// A duplicate pin, JSON key or host, or an unknown key.
    case duplicate = "P005"
    /// A rule that has expired, or expires within 30 days.
    case expiry = "P006"
    /// A rule that turns pinning off when it expires.
    case silentExpiry = "P007"
    /// A malformed host: a URL, or a host with a port, capitals, a trailing dot, a U-label or a misplaced wildcard.
    case malformedHost = "P008"
    /// A rule that overlaps, weakens or repeats another one.
    case shadowedRule = "P009"
    /// A rule for all names below a public suffix.
    case publicSuffix = "P010"
    /// Only pins of server keys, for certificates that are valid for less than 100 days.
    case shortLivedLeaf = "P011"
    /// Only pins of intermediates.
    case onlyIntermediates = "P012"
    /// A pin that matches no key in its `from` file, or a file that can't be read.
    case otherKey = "P013"
    /// A pin that is a digest of other bytes in its `from` file than its key.
    case wrongBytes = "P014"
    /// A SHA-1 pin.
    case sha1 = "P015"
    /// A pinned certificate or an anchor that has expired, or will expire before clients can be updated.
    case certificateExpiry = "P016"
    /// A weak key in a `from` file.
    case weakKey = "P017"
    /// An exported file that differs from the policy.
    case exportDrift = "P018"
    /// A rule in report mode for over 90 days, or for an unknown time.
    case oldReportMode = "P019"
    /// A slot for a backup key that hasn't been made yet.
    case emptyBackupSlot = "P020"
    /// Only pins of public roots.
    case onlyRoots = "P021"
    /// A pin of a whole certificate.
    case certificatePin = "P022"
    /// A comment that allows a finding without a reason, or names no known rule.
    case unreasonedAllowance = "P023"
    /// A file, host or setting that pins nothing.
    case pinsNothing = "P024"
    /// A rule that refuses every server.
    case refusesEverything = "P025"
    /// A key, element or value that looks familiar but is ignored by the system it is for.
    case ignoredSetting = "P026"
    /// A setting that accepts some connections without a pin.
    case bypassedPins = "P027"
    /// A setting that has another effect on its system than it appears to have.
    case misreadSetting = "P028"
    /// A pin in a rule that the policy also denies.
    case deniedPin = "P029"
    /// A pinned root that isn't among the rule's anchors.
    case unanchoredRoot = "P030"
    /// A pin whose `from` certificate can't have the pin's role.
    case impossibleRole = "P031"
    /// A rule, or a required role, with only backups.
    case onlyBackups = "P032"
    /// A root that a trust store distrusts, or will before clients can be updated.
    case leavingRoot = "P033"
    /// A rule with public roots only, one of which has signed another root that is about to enter trust stores.
    case arrivingRoot = "P034"
    /// A pin of a server's key that the program that renews the certificate replaces, or has replaced.
    case changingKey = "P035"
    /// A key or element of a pin format, in a place where its own system doesn't read it.
    case misplacedSetting = "P036"
    /// A certificate that its program refuses to renew, so it will expire.
    case stoppedRenewal = "P037"
    /// A rule whose pins don't match a chain that its provider of certificates may serve, or that names an unknown
    /// provider.
    case providerGap = "P038"
}

extension LintRule {
    /// The default severity.
    public var severity: LintFinding.Severity {
        switch self {
        case .noBackup, .servedBackup, .duplicate, .silentExpiry, .shadowedRule, .oldReportMode, .onlyRoots,
            .certificatePin, .unreasonedAllowance, .bypassedPins, .misreadSetting, .leavingRoot, .arrivingRoot:
            .warning
        default: .error
        }
    }

    /// A short description of the problem.
    public var summary: String {
        switch self {
        case .malformedPin: "a pin of the wrong length, or not in canonical base64"
        case .placeholderPin: "a placeholder: the digest of empty input, or AAAA…="
        case .noBackup: "a rule, or one of its required roles, with a single pin or without a backup"
        case .servedBackup: "a backup whose key is already in use"
        case .duplicate: "a duplicate pin, key or host, or an unknown key"
        case .expiry: "a rule that has expired, or expires within 30 days"
        case .silentExpiry: "a rule that stops pinning when it expires"
        case .malformedHost: "an invalid host: a URL, a port, capitals, a trailing dot, a U-label or a stray *"
        case .shadowedRule: "a rule that another one overlaps, weakens or repeats"
        case .publicSuffix: "a rule for all names below a public suffix"
        case .shortLivedLeaf: "a rule with end-entity keys only, while the certificate is valid for less than 100 days"
        case .onlyIntermediates: "a rule with intermediates only, without a root or a backup"
        case .otherKey: "a pin that matches no key in its \"from\" file"
        case .wrongBytes: "a pin that is the digest of other bytes of its \"from\" file"
        case .sha1: "a SHA-1 pin"
        case .certificateExpiry: "a \"from\" certificate or an anchor that has expired, or soon will"
        case .weakKey: "a weak key in a \"from\" file"
        case .exportDrift: "an exported file that doesn't match the policy"
        case .oldReportMode: "a rule in report mode for over 90 days, or since an unknown day"
        case .emptyBackupSlot: "a slot for a backup key that hasn't been created"
        case .onlyRoots: "a rule with roots only, so any certificate issued below them matches"
        case .certificatePin: "a pin of a whole certificate"
        case .unreasonedAllowance: "a pinctl-allow without a reason, or for an unknown rule"
        case .pinsNothing: "a file, host or setting that pins nothing"
        case .refusesEverything: "a rule that refuses every server"
        case .ignoredSetting:
            "a key, element or value that its own system ignores: misspelled, or of the wrong type"
        case .bypassedPins: "a setting that accepts some connections without a pin"
        case .misreadSetting: "a setting that its own system reads differently from how it looks"
        case .deniedPin: "a pin that is listed in \"deny\""
        case .unanchoredRoot: "a pinned root that isn't among the rule's own anchors"
        case .impossibleRole: "a pin whose \"from\" certificate can't have its role"
        case .onlyBackups: "a rule, or one of its required roles, with backups only, so no key in use is pinned"
        case .leavingRoot: "a root that a trust store distrusts, or soon will"
        case .arrivingRoot: "a rule with public roots only, whose CA has another root that enters trust stores"
        case .changingKey:
            "a pin of a server's key that changes when the certificate is renewed, or has changed (--issuance)"
        case .misplacedSetting: "a pinning key or element in a place where its own system doesn't read it"
        case .stoppedRenewal: "a certificate that its program refuses to renew, so it expires (--issuance)"
        case .providerGap: "a rule whose pins don't match every chain of its \"x-provider\", or an unknown provider"
        }
    }
}

extension PinTextError {
    /// The lint rule that covers the error.
    package var lintRule: LintRule {
        switch reason {
        case .digestOf: .placeholderPin
        case .otherDigest(let digest) where digest.lowercased().hasSuffix("sha1"): .sha1
        default: .malformedPin
        }
    }
}

extension PolicyError {
    /// The lint rule that covers the error, or nil for an error that only a policy can have.
    var lintRule: LintRule? {
        switch self {
        case .overlap: .shadowedRule
        case .subdomainsOfPublicSuffix, .subdomainsOfPrivateSuffix: .publicSuffix
        default: nil
        }
    }
}
