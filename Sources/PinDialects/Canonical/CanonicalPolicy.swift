public import CertificatePinning

/// A pinning policy that doesn't depend on any system. It can represent everything that a dialect can express, so that
/// reading a file loses nothing.
public struct CanonicalPolicy: Sendable, Hashable {
    /// The rules, in the order of the file.
    public var rules: [CanonicalRule]
    /// The way in which several rules that reach a host combine.
    public var combination: RuleCombination
    /// The denied pins. A path that contains one is rejected before anything else is checked.
    public var denied: [CanonicalPin]
    /// The treatment of a host that no rule reaches.
    public var unlisted: UnlistedHosts

    /// Creates a policy without checking it.
    public init(
        rules: [CanonicalRule], combination: RuleCombination, denied: [CanonicalPin] = [],
        unlisted: UnlistedHosts = .trust
    ) {
        self.rules = rules
        self.combination = combination
        self.denied = denied
        self.unlisted = unlisted
    }
}

/// The way in which several rules that reach a host combine.
@nonexhaustive
public enum RuleCombination: String, Sendable, Hashable, CaseIterable {
    /// The rule of the exact host applies, or else that of the longest parent that includes subdomains. Used by this
    /// project, Android and TrustKit.
    case closest
    /// All rules apply, and their pins count together. Used by OkHttp and Apple.
    case union
    /// The entry with the longest name applies, or none if that entry doesn't include subdomains. Used by RFC 7469.
    case carveOut
}

/// A rule that maps hosts to the pins they must match.
public struct CanonicalRule: Sendable, Hashable {
    /// The hosts, at least one.
    public var patterns: [HostPattern]
    /// The ports that the rule covers, or `nil` for all.
    public var ports: Set<Int>?
    /// The pins. An enforced rule without pins rejects every server.
    public var pins: [CanonicalPin]
    /// The matches that are required.
    public var requirement: PinRequirement
    /// The treatment of a mismatch.
    public var mode: PinningMode
    /// The expiry of the rule, or `nil` if it never expires.
    public var expiry: RuleExpiry?
    /// The roots that chains may end at, or `nil` for the system's default.
    public var anchors: [AnchorSet]?
    /// The absolute URLs that failures are reported to.
    public var reports: [String]
    /// Whether failures are also reported to the default address of the system's vendor.
    public var usesDefaultReport: Bool
    /// A remark for people.
    public var note: String?
    /// Whether the policy's author owns the private public suffix among the hosts. Only policies of this project can
    /// state this.
    package var ownsPublicSuffix = false
    /// The position of the rule in its file.
    public var location: PolicyLocation?

    /// Creates a rule without checking it.
    public init(
        patterns: [HostPattern], ports: Set<Int>? = nil, pins: [CanonicalPin], requirement: PinRequirement = .any,
        mode: PinningMode = .enforce, expiry: RuleExpiry? = nil, anchors: [AnchorSet]? = nil, reports: [String] = [],
        usesDefaultReport: Bool = false, note: String? = nil, location: PolicyLocation? = nil
    ) {
        self.patterns = patterns
        self.ports = ports
        self.pins = pins
        self.requirement = requirement
        self.mode = mode
        self.expiry = expiry
        self.anchors = anchors
        self.reports = reports
        self.usesDefaultReport = usesDefaultReport
        self.note = note
        self.location = location
    }
}

extension CanonicalRule {
    /// The roles in which an enforced rule requires a match but has only backup pins, or only `any` if one match
    /// anywhere is enough.
    ///
    /// Such a rule rejects every server until a backup key is in use. The list is empty for a rule that a server can
    /// satisfy.
    package var rolesOfBackupsOnly: [PinRole] {
        guard mode == .enforce else { return [] }
        let required: [PinRole] =
            if case .eachOf(let roles) = requirement { PinRole.allCases.filter(roles.contains) } else { [.any] }
        return required.filter { role in
            let meant = pins.filter { $0.role.overlaps(role) }
            return !meant.isEmpty && meant.allSatisfy(\.isBackup)
        }
    }
}

/// A set of hosts given by a hostname and a scope.
public struct HostPattern: Sendable, Hashable {
    /// The hostname as written in the file, without the part that `scope` represents. Empty if the scope is
    /// ``Scope-swift.enum/every``.
    public var host: String
    /// The names at and below the host that the pattern includes.
    public var scope: Scope

    /// The set of names that a pattern includes.
    @nonexhaustive
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// Only the host.
        case exact
        /// Only the names one label below the host: OkHttp's `*.`.
        case oneLabelBelow
        /// The host and the names one label below it: Apple's NSIncludesSubdomains.
        case exactAndOneLabelBelow
        /// The host and all names below it, at any depth.
        case exactAndBelow
        /// Every host. Used by curl, whose pins are for whichever server it connects to.
        case every
    }

    /// Creates a pattern.
    public init(_ host: String, _ scope: Scope) {
        self.host = host
        self.scope = scope
    }

    /// Returns the name of the hosts in messages. `ports`, such as `:8443`, follows the hostname.
    package func title(ports: String = "") -> String {
        switch scope {
        case .exact: host + ports
        case .oneLabelBelow: "*." + host + ports
        case .exactAndOneLabelBelow: "\(host)\(ports) and one label below"
        case .exactAndBelow: "\(host)\(ports) and all below"
        case .every: "every host\(ports)"
        }
    }
}

/// The expiry of a rule and its effect.
public struct RuleExpiry: Sendable, Hashable {
    /// The moment at which the rule expires.
    public var moment: Moment
    /// The effect of the expiry.
    public var effect: PinningExpiry.Action

    /// A moment as dialects express it.
    @nonexhaustive
    public enum Moment: Sendable, Hashable {
        /// The number of seconds since 1970-01-01T00:00:00Z.
        case instant(Int64)
        /// The beginning of a day, such as `2026-12-01`, in the device's time zone. Used by Android.
        case localDay(String)
        /// The number of seconds after the client last saw the policy: the max-age of RFC 7469.
        case age(Int64)
    }

    /// Creates an expiry.
    public init(_ moment: Moment, _ effect: PinningExpiry.Action) {
        self.moment = moment
        self.effect = effect
    }
}

/// A set of roots that a rule names.
public struct AnchorSet: Sendable, Hashable {
    /// The source: `system`, `user`, or the dialect's name for a file, which is a path or `@raw/name`.
    public var source: String
    /// Whether a chain that ends at one of the roots needs no pin.
    public var bypassesPins: Bool

    /// Creates a set of roots.
    public init(_ source: String, bypassesPins: Bool = false) {
        self.source = source
        self.bypassesPins = bypassesPins
    }
}
