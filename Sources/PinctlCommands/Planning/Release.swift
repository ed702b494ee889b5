import CertificatePinning
import CertificateTrust
import PinDialects

/// The pins of one release, as used by its apps in any system.
struct Release: Sendable {
    /// The tag or path, followed by the part in brackets if the file contains several policies.
    let name: String
    /// The tag or path. Users of a file with several policies have all of them.
    let source: String
    /// The tag that it is in, whose users have all of its files.
    var tag: String?
    let pins: ShippedPolicy
    /// The index of the first release with the same file contents, or `nil` for that release itself.
    var original: Int?
    /// Whether it is the file of the working tree, which can still be changed.
    let isCurrent: Bool
    /// The percentage of users that have it, or `nil` if not given.
    var share: Double?
    /// The signed bundle that it is in, if it is.
    var bundle: PolicyBundle?
    /// The exported files in other systems' formats, which are judged too.
    var exports: [Release] = []

    init(name: String, of source: String? = nil, pins: ShippedPolicy, isCurrent: Bool = false) {
        self.name = name
        self.source = source ?? name
        self.pins = pins
        self.isCurrent = isCurrent
    }

    /// Creates a release with the same pins as another, which is at index `place`.
    init(name: String, of source: String, equal other: Release, at place: Int) {
        self.name = name
        self.source = source
        pins = other.pins
        original = place
        isCurrent = false
        bundle = other.bundle
        exports = other.exports
    }

    /// The name of what its users have, a tag with all of its files or a file.
    var users: String { tag ?? source }

    /// Returns the rule for a host.
    func rule(for host: ServerName, port: Int) -> ReleaseRule {
        ReleaseRule(release: pins, rules: pins.rules(for: host.description, port: port))
    }

    /// Whether a file of the release has a rule for a host, or rejects hosts without one.
    func decides(_ host: PlannedHost) -> Bool {
        let rule = rule(for: host.name, port: host.port)
        return !rule.rules.isEmpty || rule.isPinned || exports.contains { $0.decides(host) }
    }

    private var rules: [CanonicalRule] { pins.policy.rules }

    /// The pins of every rule and file.
    var allPins: [CanonicalPin] { rules.flatMap(\.pins) + exports.flatMap(\.allPins) }

    /// The hosts that the rules name, each with a port that the rule covers.
    var namedHosts: [PlannedHost] { exports.flatMap(\.namedHosts) + rules.flatMap(\.namedHosts).map(\.host) }

    /// Whether the files neither pin nor reject any host.
    var pinsNothing: Bool {
        rules.allSatisfy { $0.mode == .off } && exports.allSatisfy(\.pinsNothing)
            // mutant plan-unlisted: true for `pins.policy.unlisted == .trust` by PlanSettingTests/unlisted
            && pins.policy.unlisted == .trust && pins.policy.denied.isEmpty
    }

    /// Returns whether a file denies the key of a pin at these positions of a chain, so that no client connects with
    /// it.
    ///
    /// The positions of a leaf, an intermediate and a root are 0, 1 and 2.
    func denies(_ pin: CanonicalPin, at positions: [Int]) -> Bool {
        let denied = pins.policy.denied.filter { $0.isSameKey(as: pin) }
        return positions.allSatisfy { index in denied.contains { $0.role.covers(index: index, of: 3) } }
            || exports.contains { $0.denies(pin, at: positions) }
    }

    /// Returns whether a file denies the key of a pin wherever the pin can match.
    func denies(_ pin: CanonicalPin) -> Bool {
        denies(pin, at: (0...2).filter { pin.role.covers(index: $0, of: 3) })
    }

    /// The hosts of rules whose pins apply, and whether the rules cover names below them.
    var pinnedHosts: [(host: PlannedHost, reachesBelow: Bool)] {
        exports.flatMap(\.pinnedHosts) + rules.filter { $0.mode != .off }.flatMap(\.namedHosts)
    }
}

extension CanonicalRule {
    fileprivate var namedHosts: [(host: PlannedHost, reachesBelow: Bool)] {
        patterns.flatMap { pattern -> [(host: PlannedHost, reachesBelow: Bool)] in
            let reachesBelow: Bool
            switch pattern.scope {
            case .exact: reachesBelow = false
            case .exactAndBelow, .exactAndOneLabelBelow: reachesBelow = true
            case .oneLabelBelow, .every: return []
            }
            guard let name = try? ServerName(pattern.host) else { return [] }
            return (ports?.sorted() ?? [443]).map { (PlannedHost(name: name, port: $0), reachesBelow) }
        }
    }
}

extension Sequence<Release> {
    /// The percentage of users that have one of these releases. No user is counted twice.
    var share: Double {
        Dictionary(map { ($0.users, $0.share ?? 0) }) { first, _ in first }.values.reduce(0, +)
    }
}

/// A host to judge, shown as a column of the matrix.
struct PlannedHost: Hashable, Sendable {
    let name: ServerName
    let port: Int
    /// The pattern that is shown if the hostname is one of many, such as `*.example.com`.
    var pattern: String?

    init(name: ServerName, port: Int, pattern: String? = nil) {
        self.name = name
        self.port = port
        self.pattern = pattern
    }

    var title: String { (pattern ?? name.description) + (port == 443 ? "" : ":\(port)") }
}

/// The rules for one host in one release.
struct ReleaseRule: Sendable {
    let release: ShippedPolicy
    /// The rules, empty if none reaches the host.
    let rules: [CanonicalRule]

    /// The trust anchors of this project's rule, which replace those of the stores.
    var anchors: TrustStore? { rules.lazy.compactMap(\.stores.anchors).first }

    /// The sources of roots that the file names for the host, or `nil` for the system's.
    var sources: [AnchorSet]? {
        guard anchors == nil, release.dialect != .policy else { return nil }
        guard !rules.isEmpty else { return release.policy.unlistedTrust.anchors }
        return rules.contains { $0.anchors != nil } ? rules.compactMap(\.anchors).flatMap { $0 } : nil
    }

    /// The sources whose roots aren't known.
    private var unreadSources: [String] {
        (sources ?? []).map(\.source).filter { $0 != "system" && release.roots[$0] == nil }
    }

    /// Returns the trust anchors of the release's clients, which have the roots of `stores` unless the file names
    /// others.
    func anchors(in stores: [(name: String?, store: TrustStore)]) -> [(name: String?, store: TrustStore)] {
        if let anchors { return [("its own roots", anchors)] }
        guard let sources else { return stores }
        let own = sources.compactMap { release.roots[$0.source] }
        // mutant plan-own-roots: true by PlanTrustTests
        guard sources.contains(where: { $0.source == "system" }) else {
            return [("its own roots", TrustStore(combining: own))]
        }
        return own.isEmpty ? stores : stores.map { ($0.name, TrustStore(combining: [$0.store] + own)) }
    }

    /// Whether no root that the user gives is trusted, because the release has its own.
    var trustsOnlyOwnRoots: Bool {
        anchors != nil || sources.map { !$0.contains { $0.source == "system" } } ?? false
    }

    /// The roots that clients trust if they are only those of the release, and all of them are known.
    var ownRoots: TrustStore? {
        // mutant plan-unread-roots: true for `unreadSources.isEmpty` by PlanRoleTests/ownRoots
        trustsOnlyOwnRoots && unreadSources.isEmpty ? anchors(in: []).first?.store : nil
    }

    /// Returns the source of a path's root, if it is one of those that the file names. A root in several of them is
    /// that of one that bypasses the pins, as on Android.
    func source(of path: [X509Certificate]) -> String? {
        guard let root = path.last, let sources else { return nil }
        // mutant plan-two-sources: [] for `sources.filter(\.bypassesPins)` by PlanTrustTests/rootOfTwoSources
        return (sources.filter(\.bypassesPins) + sources).first { release.roots[$0.source]?.contains(root) ?? false }?
            .source
    }

    /// The pins of enforced rules, or of reporting rules if none is enforced.
    var pins: [CanonicalPin] {
        let mode = rules.map(\.mode).reduce(.off, PinningMode.deciding)
        return rules.filter { $0.mode != .off && $0.mode == mode }.flatMap(\.pins)
    }

    /// Whether a rule with pinning on reaches the host, or hosts without a rule are rejected.
    var isPinned: Bool {
        rules.isEmpty ? release.policy.unlisted == .refuse : rules.contains { $0.mode != .off }
    }

    /// Whether clients reject a leaf without enough timestamps of Certificate Transparency logs.
    var requiresTransparency: Bool {
        rules.isEmpty
            ? release.policy.unlistedTrust.certificateTransparency == .require
            : rules.contains { $0.certificateTransparency == .require }
    }

    /// A description of the chains for which clients require no pin, if a setting exempts any.
    var bypass: String? {
        let rules = rules.filter { $0.mode != .off }
        if rules.contains(where: { $0.stores.pinsApplyOnlyUnder != nil }) {
            return "no pin is needed for chains to roots outside the system's (localAnchorsBypassPins)"
        }
        let sources = rules.compactMap(\.anchors).flatMap { $0 }.filter(\.bypassesPins)
        guard !sources.isEmpty else { return nil }
        return "no pin is needed for chains to \(sources.map(\.source).joined(separator: " or ")) roots (overridePins)"
    }

    /// Returns the remarks on clients in addition to the verdict on a chain.
    func remarks(isTrusted: Bool) -> [String] {
        let (unread, isAlone) = (unreadSources, sources?.contains { $0.source == "system" } == false)
        var remarks = bypass.map { [$0] } ?? []
        if !unread.isEmpty, isAlone || !isTrusted {
            let names = unread.joined(separator: ", ")
            remarks.append(
                "it trusts \(isAlone ? "only " : "")\(names), which isn't known: give these roots with "
                    + "\(Flag.store.dashed) \(unread[0])=FILE")
        }
        return remarks
    }

    /// The roles in which pins must match.
    var requiredRoles: [PinRole] {
        rules.filter { $0.mode == .enforce }.reduce(into: Set<PinRole>()) { $0.formUnion($1.requirement.roles) }
            .required
    }

    /// Whether clients try every path before they reject a chain, as those of this project do.
    var triesEveryPath: Bool { release.dialect == .policy || release.dialect == .swift }
}

extension CanonicalPin {
    /// The name of the pin, or else the pin itself.
    var title: String { name ?? description }
}
