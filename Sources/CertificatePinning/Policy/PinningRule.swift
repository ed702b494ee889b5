public import CertificateTrust
public import FoundationEssentials

/// What a host's verified path must hold.
public struct PinningRule: Sendable {
    /// The host, a name or an address.
    public let host: ServerName
    /// Whether names below the host are reached too, at any depth.
    public let includesSubdomains: Bool
    /// Whether the host is a public suffix that the owner of the policy owns. Subdomains of a suffix in the private
    /// section of the public suffix list (`github.io`) need it; those of a registry's suffix are refused all the same.
    public let ownsPublicSuffix: Bool
    /// The ports that are reached, 1 to 65535; nil for all.
    public let ports: Set<Int>?
    /// What may stand on the path, at least one.
    public let pins: [Pin]
    /// How many of the pins must.
    public let requirement: PinRequirement
    /// What a mismatch leads to.
    public let mode: PinningMode
    /// When the rule ends, and what happens then; nil for never.
    public let expiry: PinningExpiry?
    /// The roots for this host; nil for those of whoever verifies.
    public let anchors: TrustStore?
    /// The anchors that the pins hold under. A path that ends at any other is accepted without them, which is how a
    /// debugging proxy with an authority of its own is let in; nil lets in none.
    public let pinsBypassedOutside: TrustStore?
    /// Where failures are to be reported: `https`, and none of the servers that the rule reaches.
    public let reports: [URL]
    /// A remark for people.
    public let note: String?
    /// Where it stands in a file; nil when it was made in code.
    public let location: PolicyLocation?
    /// How `pinctl check` looks at it.
    package internal(set) var check = CheckSettings()

    /// Makes a rule; ``PinningPolicy/init(rules:unlisted:deny:publicSuffixes:)`` says whether it can hold.
    public init(
        host: ServerName, includesSubdomains: Bool = false, ownsPublicSuffix: Bool = false, ports: Set<Int>? = nil,
        pins: [Pin],
        requirement: PinRequirement = .any, mode: PinningMode = .enforce,
        expiry: PinningExpiry? = nil, anchors: TrustStore? = nil, pinsBypassedOutside: TrustStore? = nil,
        reports: [URL] = [], note: String? = nil, location: PolicyLocation? = nil
    ) {
        self.host = host
        self.includesSubdomains = includesSubdomains
        self.ownsPublicSuffix = ownsPublicSuffix
        self.ports = ports
        self.pins = pins
        self.requirement = requirement
        self.mode = mode
        self.expiry = expiry
        self.anchors = anchors
        self.pinsBypassedOutside = pinsBypassedOutside
        self.reports = reports
        self.note = note
        self.location = location
    }
}

/// How many pins of a rule a path must hold.
@nonexhaustive
public enum PinRequirement: Sendable, Hashable {
    /// One, anywhere its role allows.
    case any
    /// One in each of these roles.
    case eachOf(Set<PinRole>)

    /// The roles in which a match is required; empty where one anywhere is enough.
    package var roles: Set<PinRole> { if case .eachOf(let roles) = self { roles } else { [] } }
}

/// What a mismatch leads to. The chain is verified in every mode.
@nonexhaustive
public enum PinningMode: String, Sendable, Hashable, CaseIterable {
    /// The server is refused.
    case enforce
    /// The mismatch is told and forgiven.
    case report
    /// Pins are not looked at.
    case off
}

/// What happens to a host that no rule reaches.
@nonexhaustive
public enum UnlistedHosts: String, Sendable, Hashable, CaseIterable {
    /// Its chain is verified, and that is enough.
    case trust
    /// It is refused.
    case refuse
}
