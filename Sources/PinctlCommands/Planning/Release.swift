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
    var namedHosts: [PlannedHost] {
        rules.flatMap { rule in
            rule.patterns.compactMap { pattern -> String? in
                switch pattern.scope {
                case .exact, .exactAndBelow, .exactAndOneLabelBelow: pattern.host
                case .oneLabelBelow, .every: nil
                }
            }
            .compactMap { try? ServerName($0) }
            .flatMap { name in (rule.ports?.sorted() ?? [443]).map { PlannedHost(name: name, port: $0) } }
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
