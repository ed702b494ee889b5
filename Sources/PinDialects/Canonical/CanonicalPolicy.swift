public import CertificatePinning

/// A pin policy in no system's words: it holds what every dialect can say, so that reading one loses nothing.
public struct CanonicalPolicy: Sendable, Hashable {
    /// The rules, in the order of the file.
    public var rules: [CanonicalRule]
    /// Which of several rules that reach a host hold.
    public var combination: RuleCombination
    /// A path that holds one of these is refused, before anything else.
    public var denied: [CanonicalPin]
    /// What happens to a host that no rule reaches.
    public var unlisted: UnlistedHosts

    /// Makes a policy; nothing is checked.
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

/// Which of several rules that reach a host hold.
@nonexhaustive
public enum RuleCombination: String, Sendable, Hashable, CaseIterable {
    /// The exact host's, else that of the longest parent which includes subdomains: this project's own way, Android's
    /// and TrustKit's.
    case closest
    /// All of them, and their pins count together: OkHttp and Apple.
    case union
    /// The entry of the longest name, and none at all if that one does not include subdomains: RFC 7469.
    case carveOut
}

/// Hosts, and what they must prove.
public struct CanonicalRule: Sendable, Hashable {
    /// The hosts; at least one.
    public var patterns: [HostPattern]
    /// The ports it reaches; nil for all.
    public var ports: Set<Int>?
    /// The pins. With none of them an enforced rule refuses every server.
    public var pins: [CanonicalPin]
    /// How many of them must match.
    public var requirement: PinRequirement
    /// What a mismatch leads to.
    public var mode: PinningMode
    /// When the rule ends; nil for never.
    public var expiry: RuleExpiry?
    /// The roots that chains may end at; nil for the system's way.
    public var anchors: [AnchorSet]?
    /// Where failures are reported to, absolute URLs.
    public var reports: [String]
    /// Whether failures are also reported to where the system's makers want them.
    public var usesDefaultReport: Bool
    /// A remark for people.
    public var note: String?
    /// Whether a private public suffix among its hosts is the owner's own; policies of this project say it.
    package var ownsPublicSuffix = false
    /// Where it stands.
    public var location: PolicyLocation?

    /// Makes a rule; nothing is checked.
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
    /// The roles in which an enforced rule requires a match and has no pin but backups, so that every server is refused
    /// until a backup key is in use; `any` alone where one match anywhere is enough. Empty for a rule that a server can
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

/// Hosts that are named together.
public struct HostPattern: Sendable, Hashable {
    /// The host as its file has it, without what `scope` says; empty when the scope is ``Scope-swift.enum/every``.
    public var host: String
    /// Which names below it are meant too.
    public var scope: Scope

    /// Which hosts a name stands for.
    @nonexhaustive
    public enum Scope: String, Sendable, Hashable, CaseIterable {
        /// That one.
        case exact
        /// Not that one, but those one label below: OkHttp's `*.`.
        case oneLabelBelow
        /// That one and those one label below: Apple's NSIncludesSubdomains.
        case exactAndOneLabelBelow
        /// That one and all below, at any depth.
        case exactAndBelow
        /// Every host: curl, which is told of one server.
        case every
    }

    /// Names hosts.
    public init(_ host: String, _ scope: Scope) {
        self.host = host
        self.scope = scope
    }

    /// What messages call the hosts; `ports`, `:8443`, stand behind the name.
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

/// When a rule ends, and what holds then.
public struct RuleExpiry: Sendable, Hashable {
    /// The first moment at which the rule does not hold any more.
    public var moment: Moment
    /// What holds behind it.
    public var effect: PinningExpiry.Action

    /// A moment as dialects say it.
    @nonexhaustive
    public enum Moment: Sendable, Hashable {
        /// Seconds since 1970-01-01T00:00:00Z.
        case instant(Int64)
        /// The beginning of a day, `2026-12-01`, wherever the device says it is: Android.
        case localDay(String)
        /// As many seconds behind the moment at which the client last saw the policy: RFC 7469's max-age.
        case age(Int64)
    }

    /// Makes an end.
    public init(_ moment: Moment, _ effect: PinningExpiry.Action) {
        self.moment = moment
        self.effect = effect
    }
}

/// Roots that a rule names.
public struct AnchorSet: Sendable, Hashable {
    /// `system`, `user`, or what the dialect calls a file: a path, `@raw/name`.
    public var source: String
    /// Whether a chain that ends at one of them needs no pin.
    public var bypassesPins: Bool

    /// Names roots.
    public init(_ source: String, bypassesPins: Bool = false) {
        self.source = source
        self.bypassesPins = bypassesPins
    }
}
