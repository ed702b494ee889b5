import CertificatePinning
import CertificateTrust
import PinDialects

/// The pins of one release: what apps in the field judge by, whatever system they use.
struct Release: Sendable {
    enum Pins: Sendable {
        /// This project's own, judged as its clients do.
        case policy(PinningPolicy)
        case dialect(PinDialect, CanonicalPolicy)
    }

    /// The tag or the path, and in brackets the part of a file that holds several policies.
    let name: String
    /// The tag or the path. The users of a file with several policies have all of them.
    let source: String
    let pins: Pins
    /// The place of the first release with the same pins in the same words; nil for that one.
    var original: Int?
    /// Whether it is the file of the work tree, which can still be changed.
    let isCurrent: Bool
    /// How many of a hundred users have it; nil when nobody said.
    var share: Double?
    /// The files in other systems' formats that are made of it, which are judged beside it.
    var exports: [Release] = []
    /// The rules in no system's words.
    private let rules: [CanonicalRule]
    /// The same by the places where they stand.
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

    /// A release with the pins of another one, which stands at a place.
    init(name: String, of source: String, equal other: Release, at place: Int) {
        self.name = name
        self.source = source
        pins = other.pins
        original = place
        isCurrent = false
        exports = other.exports
        (rules, rulesByPlace) = (other.rules, other.rulesByPlace)
    }

    /// What holds for a host.
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

    /// The hosts that its rules name, each with a port that the rule reaches.
    var namedHosts: [PlannedHost] { exports.flatMap(\.namedHosts) + rules.flatMap(\.namedHosts).map(\.host) }

    /// Whether its files pin no host and refuse none.
    var pinsNothing: Bool {
        guard rules.allSatisfy({ $0.mode == .off }), exports.allSatisfy(\.pinsNothing) else { return false }
        return switch pins {
        case .policy(let policy): policy.unlisted == .trust && policy.deny.isEmpty
        case .dialect(_, let policy): policy.unlisted == .trust && policy.denied.isEmpty
        }
    }

    /// The same of rules whose pins count, and whether names below the host are meant too.
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
    /// The users who have one of these releases, of a hundred; nobody is counted twice.
    var share: Double {
        Dictionary(map { ($0.source, $0.share ?? 0) }) { first, _ in first }.values.reduce(0, +)
    }
}

/// A host that is judged: a column of the matrix.
struct PlannedHost: Hashable, Sendable {
    let name: ServerName
    let port: Int
    /// What stands for it in texts, where its name is one of many: `*.example.com`.
    var pattern: String?

    init(name: ServerName, port: Int, pattern: String? = nil) {
        self.name = name
        self.port = port
        self.pattern = pattern
    }

    var title: String { (pattern ?? name.description) + (port == 443 ? "" : ":\(port)") }
}

/// What holds for one host in one release.
struct ReleaseRule: Sendable {
    enum System: Sendable {
        case policy(PinningPolicy, port: Int, isListed: Bool)
        case dialect(PinDialect, CanonicalPolicy)
    }

    let system: System
    /// In no system's words; empty when no rule reaches the host.
    let rules: [CanonicalRule]
    /// Roots that count instead of the stores'.
    let anchors: TrustStore?

    /// The pins of rules that are enforced, else of those that report.
    var pins: [CanonicalPin] {
        let enforced = rules.filter { $0.mode == .enforce }
        return (enforced.isEmpty ? rules.filter { $0.mode != .off } : enforced).flatMap(\.pins)
    }

    /// Whether some rule reaches the host and its pins aren't off, or hosts that none reaches are refused.
    var isPinned: Bool {
        guard rules.isEmpty else { return rules.contains { $0.mode != .off } }
        return switch system {
        case .policy(let policy, _, _): policy.unlisted == .refuse
        case .dialect(_, let policy): policy.unlisted == .refuse
        }
    }

    /// Of which chains its clients ask for no pin, where a setting says so.
    var bypass: String? {
        if case .policy(let policy, _, _) = system {
            let isBypassed = policy.rules.contains { rule in
                rule.pinsBypassedOutside != nil && rules.contains { $0.location == rule.location }
            }
            return isBypassed && isPinned
                ? "no pin is needed for chains to roots outside the system's (localAnchorsBypassPins)" : nil
        }
        let sources = rules.filter { $0.mode != .off }.compactMap(\.anchors).flatMap { $0 }.filter(\.bypassesPins)
        guard !sources.isEmpty else { return nil }
        return "no pin is needed for chains to \(sources.map(\.source).joined(separator: " or ")) roots (overridePins)"
    }

    /// What a row says of clients besides its verdict.
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

    /// Whether its clients try every path before they refuse, as this project's do.
    var triesEveryPath: Bool { if case .policy = system { true } else { false } }
}

extension CanonicalPin {
    /// Its name, or itself.
    var title: String { name ?? description }
}
