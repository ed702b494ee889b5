import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlTestPKI
import Testing

/// A conversion never accepts more, at any host and port, without a note that security becomes weaker.
struct WeakeningTests {
    private static let sources: [PinDialect] = [.policy, .android, .trustkit, .apple, .okhttp, .tlsa]
    private static let hosts = [
        "test.example", "a.test.example", "b.test.example", "x.a.test.example", "y.x.a.test.example", "other.example",
    ]

    private static let portSets: [Set<Int>?] = [nil, [443], [8443]]

    /// The pins and roles that a host must match at a port; nil if nothing is required.
    private struct Demand {
        var pins: Set<String> = []
        var roles: Set<PinRole> = []

        init?(_ rules: [CanonicalRule]) {
            let rules = rules.filter { $0.mode == .enforce }
            guard !rules.isEmpty else { return nil }
            for pin in rules.flatMap(\.pins) {
                // A pin with the role any matches as leaf and as issuer.
                for role in pin.role == .any ? ["leaf", "ca"] : [pin.role.rawValue] {
                    pins.insert("\(pin.value[0]) as \(role)")
                }
            }
            for case .eachOf(let named) in rules.map(\.requirement) { roles.formUnion(named) }
            // One match of pins that all have one role is a match in that role.
            let only = Set(rules.flatMap(\.pins).map(\.role))
            if roles.isEmpty, only.count == 1, !only.contains(.any) { roles = only }
        }
    }

    private static func policy(for source: PinDialect, by numbers: inout SeededGenerator) -> CanonicalPolicy {
        let combination: RuleCombination = [.apple, .okhttp, .tlsa].contains(source) ? .union : .closest
        let scopes: [HostPattern.Scope] =
            switch source {
            case .apple: [.exact, .exactAndOneLabelBelow]
            case .okhttp: [.exact, .oneLabelBelow, .exactAndBelow]
            case .tlsa: [.exact]
            default: [.exact, .exactAndBelow]
            }
        var rules: [CanonicalRule] = []
        for _ in 0..<Int.random(in: 1...4, using: &numbers) {
            let pattern = HostPattern(
                hosts[Int.random(in: 0...3, using: &numbers)], scopes.randomElement(using: &numbers) ?? .exact)
            let hasPorts = source == .policy || source == .tlsa
            let ports: Set<Int>? = hasPorts ? (portSets.randomElement(using: &numbers) ?? nil) : nil
            // A host appears once in a file, except for other ports.
            guard
                source == .okhttp
                    || !rules.contains(where: {
                        $0.patterns[0].host == pattern.host && ($0.ports == ports || $0.ports == nil || ports == nil)
                    })
            else { continue }
            let hasRoles =
                source == .apple || source == .tlsa || source == .policy && Int.random(in: 0...2, using: &numbers) == 0
            let roles: [PinRole] = hasRoles ? [.leaf, .ca] : [.any]
            let pins = (0..<Int.random(in: 1...3, using: &numbers)).map { _ in
                CanonicalPin(
                    .publicKey, .sha256, [UInt8](repeating: UInt8.random(in: 1...4, using: &numbers), count: 32),
                    role: roles.randomElement(using: &numbers) ?? .any)
            }
            var rule = CanonicalRule(patterns: [pattern], ports: ports, pins: pins)
            if source == .apple { rule.requirement = .eachOf(Set(pins.map(\.role))) }
            if source == .policy, Int.random(in: 0...3, using: &numbers) == 0 { rule.mode = .off }
            if source == .policy, hasRoles, Bool.random(using: &numbers) {
                rule.requirement = .eachOf(Set(pins.map(\.role)))
            }
            rules.append(rule)
        }
        return CanonicalPolicy(rules: rules, combination: combination)
    }

    private static func text(_ policy: CanonicalPolicy) -> String {
        policy.rules.map { rule in
            "\(rule.mode) \(rule.patterns[0].host) \(rule.patterns[0].scope) \(rule.ports ?? []) "
                + "\(rule.pins.map { "\($0.value[0]) \($0.role)" }) \(rule.requirement)"
        }.joined(separator: "; ")
    }

    @Test("A conversion never accepts more without a note", arguments: sources, sources)
    func silence(source: PinDialect, target: PinDialect) {
        var numbers = SeededGenerator(seed: 5)
        for _ in 0..<400 {
            let before = Self.policy(for: source, by: &numbers)
            let (after, notes) = before.converted(
                to: target, at: Date(timeIntervalSince1970: 1_795_219_200),
                publicSuffixes: PublicSuffixes { $0.description == "example" })
            guard !notes.contains(where: { [.weaker, .either, .impossible].contains($0.direction) }) else { continue }
            for host in Self.hosts {
                for port in [443, 8443, 9443] {
                    guard let old = Demand(source.rules(for: host, port: port, in: before)) else { continue }
                    let new = Demand(target.rules(for: host, port: port, in: after))
                    let isAsStrict = new.map { $0.pins.isSubset(of: old.pins) && $0.roles.isSuperset(of: old.roles) }
                    #expect(isAsStrict == true, "\(host):\(port) \(Self.text(before)) became \(Self.text(after))")
                    guard isAsStrict == true else { return }
                }
            }
        }
    }

    @Test("A conversion never refuses more without a note that security becomes stricter", arguments: sources, sources)
    func silentRefusal(source: PinDialect, target: PinDialect) {
        var numbers = SeededGenerator(seed: 6)
        for _ in 0..<400 {
            let before = Self.policy(for: source, by: &numbers)
            let (after, notes) = before.converted(
                to: target, at: Date(timeIntervalSince1970: 1_795_219_200),
                publicSuffixes: PublicSuffixes { $0.description == "example" })
            guard !notes.contains(where: { [.stricter, .either, .impossible].contains($0.direction) }) else { continue }
            for host in Self.hosts {
                for port in [443, 8443, 9443] {
                    guard let new = Demand(target.rules(for: host, port: port, in: after)) else { continue }
                    let old = Demand(source.rules(for: host, port: port, in: before))
                    let isAsLenient = old.map { $0.pins.isSubset(of: new.pins) && $0.roles.isSuperset(of: new.roles) }
                    #expect(isAsLenient == true, "\(host):\(port) \(Self.text(before)) became \(Self.text(after))")
                    guard isAsLenient == true else { return }
                }
            }
        }
    }
}
