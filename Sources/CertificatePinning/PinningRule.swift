public import CertificateTrust

/// What a host's verified path must hold.
public struct PinningRule: Sendable {
    /// The host, a name or an address.
    public let host: ServerName
    /// Whether names below the host are reached too, at any depth.
    public let includesSubdomains: Bool
    /// The ports that are reached, 1 to 65535; nil for all.
    public let ports: Set<Int>?
    /// What may stand on the path, at least one.
    public let pins: [Pin]
    /// How many of the pins must.
    public let requirement: PinRequirement
    /// What a mismatch leads to.
    public let mode: PinningMode
    /// The roots for this host; nil for those of whoever verifies.
    public let anchors: TrustStore?
    /// A remark for people.
    public let note: String?
    /// Where it stands in a file; nil when it was made in code.
    public let location: PolicyLocation?

    /// Makes a rule; ``PinningPolicy/init(rules:unlisted:publicSuffixes:)`` says whether it can hold.
    public init(
        host: ServerName, includesSubdomains: Bool = false, ports: Set<Int>? = nil, pins: [Pin],
        requirement: PinRequirement = .any, mode: PinningMode = .enforce, anchors: TrustStore? = nil,
        note: String? = nil, location: PolicyLocation? = nil
    ) {
        self.host = host
        self.includesSubdomains = includesSubdomains
        self.ports = ports
        self.pins = pins
        self.requirement = requirement
        self.mode = mode
        self.anchors = anchors
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
