import CertificatePinning
import CertificateTrust
import PinDialects

/// The pins of one release, as used by its apps in any system.
struct Release: Sendable {
    enum Pins: Sendable {
        /// A policy of this project, judged as its clients do.
        case policy(PinningPolicy)
        case dialect(PinDialect, CanonicalPolicy)
    }

    /// The tag or path, followed by the part in brackets if the file contains several policies.
    let name: String
    /// The tag or path. Users of a file with several policies have all of them.
    let source: String
    let pins: Pins
    /// The index of the first release with the same file contents, or `nil` for that release itself.
    var original: Int?
    /// Whether it is the file of the working tree, which can still be changed.
    let isCurrent: Bool
    /// The percentage of users that have it, or `nil` if not given.
    var share: Double?
    /// The exported files in other systems' formats, which are judged too.
    var exports: [Release] = []
    /// The rules in canonical form.
    private let rules: [CanonicalRule]
    /// The rules by their position in the file.
    private let rulesByPlace: [PolicyLocation?: CanonicalRule]

    init(name: String, of source: String? = nil, pins: Pins, isCurrent: Bool = false) {
        self.name = name
        self.source = source ?? name
        self.pins = pins
        self.isCurrent = isCurrent
        rules =
            switch pins {
            case .policy(let policy): CanonicalPolicy(policy).rules
            case .dialect(_, let policy): policy.rules
            }
        rulesByPlace = Dictionary(rules.map { ($0.location, $0) }) { first, _ in first }
    }

    /// Creates a release with the same pins as another, which is at index `place`.
    init(name: String, of source: String, equal other: Release, at place: Int) {
        self.name = name
        self.source = source
        pins = other.pins
        original = place
        isCurrent = false
        exports = other.exports
        (rules, rulesByPlace) = (other.rules, other.rulesByPlace)
    }

    /// Returns the rule for a host.
    func rule(for host: ServerName, port: Int) -> ReleaseRule {
        switch pins {
        case .policy(let policy):
            let rule = policy.rule(for: host, port: port)
            return ReleaseRule(
                system: .policy(policy, port: port, isListed: rule != nil),
                rules: rule.flatMap { rulesByPlace[$0.location] }.map { [$0] } ?? [], anchors: rule?.anchors)
        case .dialect(let dialect, let policy):
            let rules = dialect.rules(for: host.description, port: port, in: policy)
            return ReleaseRule(system: .dialect(dialect, policy), rules: rules, anchors: nil)
        }
    }

    /// The hosts that the rules name, each with a port that the rule covers.
    var namedHosts: [PlannedHost] { exports.flatMap(\.namedHosts) + rules.flatMap(\.namedHosts).map(\.host) }

    /// Whether the files neither pin nor reject any host.
    var pinsNothing: Bool {
        guard rules.allSatisfy({ $0.mode == .off }), exports.allSatisfy(\.pinsNothing) else { return false }
        return switch pins {
        case .policy(let policy): policy.unlisted == .trust && policy.deny.isEmpty
        case .dialect(_, let policy): policy.unlisted == .trust && policy.denied.isEmpty
        }
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
        Dictionary(map { ($0.source, $0.share ?? 0) }) { first, _ in first }.values.reduce(0, +)
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
    enum System: Sendable {
        case policy(PinningPolicy, port: Int, isListed: Bool)
        case dialect(PinDialect, CanonicalPolicy)
    }

    let system: System
    /// The rules in canonical form, empty if none reaches the host.
    let rules: [CanonicalRule]
    /// The roots that replace those of the stores.
    let anchors: TrustStore?

    /// The pins of enforced rules, or of reporting rules if none is enforced.
    var pins: [CanonicalPin] {
        let enforced = rules.filter { $0.mode == .enforce }
        return (enforced.isEmpty ? rules.filter { $0.mode != .off } : enforced).flatMap(\.pins)
    }

    /// Whether a rule with pinning on reaches the host, or hosts without a rule are rejected.
    var isPinned: Bool {
        guard rules.isEmpty else { return rules.contains { $0.mode != .off } }
        return switch system {
        case .policy(let policy, _, _): policy.unlisted == .refuse
        case .dialect(_, let policy): policy.unlisted == .refuse
        }
    }

    /// A description of the chains for which clients require no pin, if a setting exempts any.
    var bypass: String? {
        if case .policy(let policy, _, _) = system {
            let isBypassed = policy.rules.contains { rule in
                rule.pinsApplyOnlyUnder != nil && rules.contains { $0.location == rule.location }
            }
            return isBypassed && isPinned
                ? "no pin is needed for chains to roots outside the system's (localAnchorsBypassPins)" : nil
        }
        let sources = rules.filter { $0.mode != .off }.compactMap(\.anchors).flatMap { $0 }.filter(\.bypassesPins)
        guard !sources.isEmpty else { return nil }
        return "no pin is needed for chains to \(sources.map(\.source).joined(separator: " or ")) roots (overridePins)"
    }

    /// The remarks on clients in addition to the verdict.
    var remarks: [String] {
        guard case .dialect = system, isPinned else { return [bypass].compactMap(\.self) }
        let sources = rules.compactMap(\.anchors).flatMap { $0 }.map(\.source)
        let isStrange = !sources.isEmpty && !sources.contains("system")
        let roots =
            "it trusts only \(sources.joined(separator: ", ")), which isn't read: give these roots with --ca-file"
        return [bypass, isStrange ? roots : nil].compactMap(\.self)
    }

    /// The roles in which pins must match.
    var requiredRoles: [PinRole] {
        var named: Set<PinRole> = []
        for case .eachOf(let roles) in rules.filter({ $0.mode == .enforce }).map(\.requirement) {
            named.formUnion(roles)
        }
        return named.isEmpty ? [.any] : PinRole.allCases.filter(named.contains)
    }

    /// Whether clients try every path before they reject a chain, as those of this project do.
    var triesEveryPath: Bool { if case .policy = system { true } else { false } }
}

extension CanonicalPin {
    /// The name of the pin, or else the pin itself.
    var title: String { name ?? description }
}
