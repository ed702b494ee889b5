public import CertificateTrust
public import PinctlFoundation

/// The pins for a host, and the requirement for its verified path.
public struct PinningRule: Sendable {
    /// The host, a DNS name or an IP address.
    public let host: ServerName
    /// Whether the rule also covers names below the host, at any depth.
    public let includesSubdomains: Bool
    /// Whether the host is a public suffix that the owner of the policy owns. A rule for the subdomains of a suffix in
    /// the private section of the public suffix list (`github.io`) requires it. A rule for the subdomains of a
    /// registry's suffix is always invalid.
    public let ownsPublicSuffix: Bool
    /// The ports that the rule covers, 1 to 65535. `nil` means all ports.
    public let ports: Set<Int>?
    /// The keys and certificates that may appear in the path. At least one.
    public let pins: [Pin]
    /// The number of pins that must match.
    public let requirement: PinRequirement
    /// The behavior on a mismatch.
    public let mode: PinningMode
    /// The time when the rule expires and its behavior from then on. `nil` means never.
    public let expiry: PinningExpiry?
    /// The trust anchors for this host. `nil` means the evaluator's trust store.
    public let anchors: TrustStore?
    /// The extent to which Certificate Transparency is checked for this host. `nil` means the evaluator's setting,
    /// `TrustPolicy.certificateTransparency`. It is a condition on the path, whatever the ``mode`` of the pins is.
    public let certificateTransparency: CertificateTransparencyMode?
    /// The anchors under which the pins apply. A chain whose valid paths all end at other anchors is accepted without a
    /// match, for example that of a debugging proxy with its own CA. `nil` means that the pins always apply.
    public let pinsApplyOnlyUnder: TrustStore?
    /// The URLs that receive failure reports: `https`, and not a host that this rule covers.
    public let reports: [URL]
    /// A note for readers of the policy.
    public let note: String?
    /// The location of the rule in a file, or `nil` if it was created in code.
    public let location: PolicyLocation?
    /// The settings of `pinctl check` for the rule.
    package internal(set) var check = CheckSettings()

    /// Creates a rule. ``PinningPolicy/init(rules:unlisted:deny:publicSuffixes:)`` checks whether it is valid.
    public init(
        host: ServerName, includesSubdomains: Bool = false, ownsPublicSuffix: Bool = false, ports: Set<Int>? = nil,
        pins: [Pin],
        requirement: PinRequirement = .any, mode: PinningMode = .enforce,
        expiry: PinningExpiry? = nil, anchors: TrustStore? = nil,
        certificateTransparency: CertificateTransparencyMode? = nil, pinsApplyOnlyUnder: TrustStore? = nil,
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
        self.certificateTransparency = certificateTransparency
        self.pinsApplyOnlyUnder = pinsApplyOnlyUnder
        self.reports = reports
        self.note = note
        self.location = location
    }
}

extension PinningRule {
    /// Returns whether the rule covers a host at some port.
    func covers(_ name: ServerName) -> Bool { name == host || includesSubdomains && name.isSubdomain(of: host) }
}

/// The number of pins of a rule that a path must match.
@nonexhaustive
public enum PinRequirement: Sendable, Hashable {
    /// One match, at any position that the pin's role allows.
    case any
    /// One match in each of these roles.
    case eachOf(Set<PinRole>)

    /// The roles in which a match is required. Empty if one match in any role is enough.
    package var roles: Set<PinRole> { if case .eachOf(let roles) = self { roles } else { [] } }
}

/// The behavior on a mismatch. The chain is verified in every mode.
@nonexhaustive
public enum PinningMode: String, Sendable, Hashable, CaseIterable {
    /// The server is refused.
    case enforce
    /// The mismatch is reported and the connection is allowed.
    case report
    /// Pins aren't compared.
    case off
}

/// The behavior for a host that no rule covers.
@nonexhaustive
public enum UnlistedHosts: String, Sendable, Hashable, CaseIterable {
    /// The host is accepted if its chain is trusted.
    case trust
    /// The host is refused.
    case refuse
}

extension PinRequirement: CustomStringConvertible {
    /// `any`, or the roles that each need a match, such as `each of ca, leaf`.
    public var description: String {
        roles.isEmpty ? "any" : "each of " + roles.map(\.rawValue).sorted().joined(separator: ", ")
    }
}

extension PinningRule: CustomStringConvertible {
    /// The hosts, the ports, the number of pins and the mode, such as `api.example.com and subdomains, 2 pins,
    /// enforce`.
    public var description: String {
        let ports = ports.map { " port \($0.sorted().map(String.init).joined(separator: ", "))" } ?? ""
        return "\(host)\(includesSubdomains ? " and subdomains" : "")\(ports), \(pins.count) "
            + "pin\(pins.count == 1 ? "" : "s"), \(mode.rawValue)" + (expiry.map { ", until \($0)" } ?? "")
    }
}

extension PinningRule {
    /// Parses a rule from a host and pins such as `sha256/BASE64`. Backup pins are listed separately.
    ///
    ///     let policy = try PinningPolicy(rules: [
    ///         PinningRule("api.example.com", pins: ["sha256/…"], backups: ["sha256/…"]),
    ///         PinningRule("example.com", includesSubdomains: true, pins: ["sha256/…"], mode: .report),
    ///     ])
    ///
    /// Throws ``PolicyError/invalidHost(_:)`` or ``PolicyError/invalidPin(_:)`` if a text isn't a host or pin.
    public init(
        _ host: String, includesSubdomains: Bool = false, ports: Set<Int>? = nil, pins: [String],
        backups: [String] = [], role: PinRole = .any, mode: PinningMode = .enforce, expiry: PinningExpiry? = nil,
        note: String? = nil
    ) throws(PolicyError) {
        let name: ServerName
        do throws(ServerNameError) { name = try ServerName(host) } catch { throw .invalidHost(error) }
        var parsed: [Pin] = []
        do throws(PinTextError) {
            for text in pins { parsed.append(try Pin(text, role: role)) }
            for text in backups { parsed.append(try Pin(text, role: role, isBackup: true)) }
        } catch {
            throw .invalidPin(error)
        }
        self.init(
            host: name, includesSubdomains: includesSubdomains, ports: ports, pins: parsed, mode: mode, expiry: expiry,
            note: note)
    }
}
