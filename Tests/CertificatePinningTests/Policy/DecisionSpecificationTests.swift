import CertificatePinning
import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import CertificateTrust

/// The decision on pins, compared with `DecisionSpecification`. Paths are put together from certificates of a few keys,
/// without a verification, so that every sequence of keys occurs.
@Suite("The specification of the pin decision")
struct DecisionSpecificationTests {
    typealias Model = DecisionSpecification

    /// A certificate for each key.
    private let certificates: [X509Certificate]

    init() throws {
        certificates = try (0..<4).map { try TestCertificate.root("Key \($0)").parsed }
    }

    @Test("Pins, roles and requirements decide as specified, for every path of up to four certificates")
    func pins() throws {
        let isFull = SpecificationSize(usual: 0).isFull
        let single = (0..<3).flatMap { key in PinRole.allCases.map { Model.ModelPin(key: key, role: $0) } }
        let sets = Self.subsets(of: single, upTo: 2).filter { !$0.isEmpty }
        let requirements = Self.subsets(of: PinRole.allCases, upTo: isFull ? 5 : 2)
        let paths = try Self.sequences(of: 3, upTo: isFull ? 4 : 3).map { ($0, try path($0)) }
        var comparison = Comparison()
        for pins in sets {
            for require in requirements {
                let model = Model.ModelPolicy(rules: [Model.ModelRule(host: Self.host, pins: pins, require: require)])
                guard let policy = try comparison.policy(for: model, self) else { continue }
                for (keys, path) in paths { comparison.compare(model, policy, keys, path) }
            }
        }
        #expect(comparison.differences == [])
        #expect(comparison.count == (isFull ? 308_160 : 57_915))
    }

    @Test("Modes, expiry, denied keys, anchors and unlisted hosts decide as specified, in every combination")
    func settings() throws {
        let isFull = SpecificationSize(usual: 0).isFull
        let paths = try Self.sequences(of: 3, upTo: isFull ? 3 : 2).map { ($0, try path($0)) }
        let expiries = [nil] + PinningExpiry.Action.allCases.map { Model.ModelExpiry(end: 100, action: $0) }
        let denied: [[Model.ModelPin]] = [
            [], [.init(key: 0)], [.init(key: 0, role: .leaf)], [.init(key: 1, role: .root)],
            [.init(key: 2), .init(key: 1, role: .ca)],
        ]
        let pins: [[Model.ModelPin]] = [[.init(key: 0)], [.init(key: 1, role: .leaf)], [.init(key: 2, role: .root)]]
        let ends = denied.flatMap { pins in UnlistedHosts.allCases.map { (pins, $0) } }
        var comparison = Comparison()
        for mode in PinningMode.allCases {
            for expiry in expiries {
                for anchors in [nil, [], [0], [1, 2]] as [[Int]?] {
                    for pins in pins {
                        for ports in [nil, [443]] as [[Int]?] {
                            let rule = Model.ModelRule(
                                host: Self.host, ports: ports, pins: pins, mode: mode, expiry: expiry, anchors: anchors)
                            for (deny, unlisted) in ends {
                                let model = Model.ModelPolicy(rules: [rule], unlisted: unlisted, deny: deny)
                                guard let policy = try comparison.policy(for: model, self) else { continue }
                                for (keys, path) in paths {
                                    for port in [443, 8443] {
                                        for time in [99, 100, 101] {
                                            comparison.compare(model, policy, keys, path, port: port, time: time)
                                        }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
        #expect(comparison.differences == [])
        #expect(comparison.count == 3 * 4 * 4 * 3 * 2 * 5 * 2 * 2 * 3 * (isFull ? 39 : 12))
    }

    @Test("The rule for a host and port is the specified one, for every two rules")
    func rules() throws {
        let isFull = SpecificationSize(usual: 0).isFull
        let hosts = Self.hosts(labels: ["a", "b"], upTo: isFull ? 3 : 2)
        let rules = hosts.flatMap { host in
            [false, true].flatMap { subdomains in
                ([nil, [1], [2]] as [[Int]?]).flatMap { ports in
                    [PinningMode.enforce, .report].map { mode in
                        Model.ModelRule(
                            host: host, subdomains: subdomains, ports: ports, pins: [.init(key: 0)], mode: mode)
                    }
                }
            }
        }
        let queries = try Self.hosts(labels: ["a", "b"], upTo: isFull ? 4 : 3).map { ($0, try Self.name($0)) }
        var comparison = Comparison()
        for chosen in Self.subsets(of: Array(rules.indices), upTo: 2) where !chosen.isEmpty {
            let model = Model.ModelPolicy(rules: chosen.map { rules[$0] }, unlisted: .refuse)
            guard let policy = try comparison.policy(for: model, self) else { continue }
            for (host, name) in queries {
                for port in [1, 2, 3] { comparison.compareRule(model, policy, host, name, port: port) }
                comparison.compareCleartext(model, policy, host, name)
            }
        }
        #expect(comparison.differences == [])
        #expect(comparison.count == (isFull ? 1_619_520 : 130_368))
    }

    @Test("Random policies, paths and hosts decide as specified")
    func random() throws {
        let wanted = SpecificationSize(usual: 20_000).cases
        var numbers = SeededGenerator(seed: 20)
        var comparison = Comparison()
        while comparison.count < wanted {
            let model = Self.randomPolicy(&numbers)
            guard let policy = try comparison.policy(for: model, self) else { continue }
            for _ in 0..<10 {
                let length = Int.random(in: 1...4, using: &numbers)
                let keys = (0..<length).map { _ in Int.random(in: 0..<4, using: &numbers) }
                let host = Self.randomHost(&numbers)
                let port = Int.random(in: 1...3, using: &numbers)
                let path = try path(keys, host: host)
                let time = Int.random(in: 97...103, using: &numbers)
                comparison.compare(model, policy, keys, path, host: host, port: port, time: time)
                comparison.compareRule(model, policy, host, path.name, port: port)
                comparison.compareCleartext(model, policy, host, path.name)
            }
        }
        #expect(comparison.differences == [])
        #expect(Set(comparison.verdicts.keys) == Comparison.allVerdicts)
    }
}

// MARK: - Comparing

extension DecisionSpecificationTests {
    /// The comparison of many cases. Keeps the first differences only.
    private struct Comparison {
        static let allVerdicts: Set<String> = [
            "accepted: matched", "accepted: unpinned", "accepted: forgiven", "accepted: bypassed", "accepted: stopped",
            "refused: denied", "refused: expired", "refused: mismatch", "refused: unlisted",
        ]

        private(set) var count = 0
        private(set) var differences: [String] = []
        private(set) var verdicts: [String: Int] = [:]

        /// Returns the real policy. Returns `nil` if it is invalid, which the model must say as well.
        mutating func policy(
            for model: Model.ModelPolicy, _ tests: DecisionSpecificationTests
        ) throws -> PinningPolicy? {
            do throws(PolicyError) {
                let policy = try tests.policy(model)
                if !Model.isValid(model) { note("accepted an invalid policy", model) }
                return policy
            } catch {
                if Model.isValid(model) { note("rejected a valid policy: \(error)", model) }
                return nil
            }
        }

        mutating func compare(
            _ model: Model.ModelPolicy, _ policy: PinningPolicy, _ keys: [Int], _ path: VerifiedPath,
            host: [String] = host, port: Int = 443, time: Int = 0
        ) {
            count += 1
            let expected = Model.verdict(model, path: keys, host: host, port: port, time: time)
            let date = Date(timeIntervalSince1970: Double(time))
            let found = policy.outcome(path, port: port, at: date).verdict
            verdicts[found, default: 0] += 1
            if found != expected { note("\(found), not \(expected): \(keys) \(host) \(port) \(time)", model) }
        }

        mutating func compareRule(
            _ model: Model.ModelPolicy, _ policy: PinningPolicy, _ host: [String], _ name: ServerName, port: Int
        ) {
            count += 1
            let expected = Model.rule(model, host: host, port: port).map(String.init)
            let found = policy.rule(for: name, port: port)?.note
            if found != expected { note("rule \(found ?? "-"), not \(expected ?? "-"): \(host) \(port)", model) }
        }

        mutating func compareCleartext(
            _ model: Model.ModelPolicy, _ policy: PinningPolicy, _ host: [String], _ name: ServerName
        ) {
            count += 1
            let expected = Model.permitsCleartext(model, host: host)
            let found = policy.permitsCleartext(to: name)
            if found != expected { note("cleartext \(found), not \(expected): \(host)", model) }
        }

        private mutating func note(_ difference: String, _ model: Model.ModelPolicy) {
            if differences.count < 5 { differences.append("\(difference) under \(model)") }
        }
    }

    private func path(_ keys: [Int], host: [String] = host) throws -> VerifiedPath {
        VerifiedPath(
            certificates: keys.map { certificates[$0] }, leaf: certificates[keys[0]], name: try Self.name(host),
            transparencyFinding: nil)
    }

    private func policy(_ model: Model.ModelPolicy) throws(PolicyError) -> PinningPolicy {
        var rules: [PinningRule] = []
        for (index, rule) in model.rules.enumerated() {
            guard let host = try? Self.name(rule.host) else { continue }
            rules.append(
                PinningRule(
                    host: host, includesSubdomains: rule.subdomains, ports: rule.ports.map(Set.init),
                    pins: rule.pins.map(pin), requirement: rule.require.isEmpty ? .any : .eachOf(Set(rule.require)),
                    mode: rule.mode,
                    expiry: rule.expiry.map {
                        PinningExpiry(at: Date(timeIntervalSince1970: Double($0.end)), then: $0.action)
                    },
                    pinsApplyOnlyUnder: rule.anchors.map { keys in
                        TrustStore(certificates: keys.map { certificates[$0] })
                    },
                    note: String(index)))
        }
        return try PinningPolicy(
            rules: rules, unlisted: model.unlisted, deny: model.deny.map(pin), publicSuffixes: Self.noSuffixes)
    }

    private func pin(_ pin: Model.ModelPin) -> Pin {
        Pin(.publicKey(certificates[pin.key].spkiFingerprint), role: pin.role)
    }

    private static let noSuffixes = PublicSuffixes { _ in false }
    private static let host = ["a", "test"]
    private static func name(_ host: [String]) throws -> ServerName { try ServerName(host.joined(separator: ".")) }
}

// MARK: - Cases

extension DecisionSpecificationTests {
    private static func subsets<Element>(of elements: [Element], upTo size: Int) -> [[Element]] {
        guard let last = elements.last else { return [[]] }
        let without = subsets(of: Array(elements.dropLast()), upTo: size)
        return without + without.filter { $0.count < size }.map { $0 + [last] }
    }

    /// All sequences of 1 to `length` numbers below `count`.
    private static func sequences(of count: Int, upTo length: Int) -> [[Int]] {
        guard length > 1 else { return (0..<count).map { [$0] } }
        let shorter = sequences(of: count, upTo: length - 1)
        return shorter + shorter.filter { $0.count == length - 1 }.flatMap { path in (0..<count).map { path + [$0] } }
    }

    /// All hosts with 1 to `length` of these labels below "test".
    private static func hosts(labels: [String], upTo length: Int) -> [[String]] {
        sequences(of: labels.count, upTo: length).map { $0.map { labels[$0] } + ["test"] }
    }

    private static func randomHost(_ numbers: inout SeededGenerator) -> [String] {
        (0..<Int.random(in: 1...3, using: &numbers)).map { _ in Bool.random(using: &numbers) ? "a" : "b" } + ["test"]
    }

    private static func randomPins(_ numbers: inout SeededGenerator, _ count: ClosedRange<Int>) -> [Model.ModelPin] {
        (0..<Int.random(in: count, using: &numbers)).map { _ in
            Model.ModelPin(
                key: Int.random(in: 0..<4, using: &numbers),
                role: PinRole.allCases.randomElement(using: &numbers) ?? .any)
        }
    }

    private static func randomPolicy(_ numbers: inout SeededGenerator) -> Model.ModelPolicy {
        let rules = (0..<Int.random(in: 1...4, using: &numbers)).map { _ in
            Model.ModelRule(
                host: randomHost(&numbers), subdomains: Bool.random(using: &numbers),
                ports: Bool.random(using: &numbers) ? nil : [Int.random(in: 1...3, using: &numbers)],
                pins: randomPins(&numbers, 1...3),
                require: Int.random(in: 0..<3, using: &numbers) > 0
                    ? [] : Array(Set((0..<2).compactMap { _ in PinRole.allCases.randomElement(using: &numbers) })),
                mode: PinningMode.allCases.randomElement(using: &numbers) ?? .enforce,
                expiry: Bool.random(using: &numbers)
                    ? nil
                    : Model.ModelExpiry(
                        end: 100, action: PinningExpiry.Action.allCases.randomElement(using: &numbers) ?? .fail),
                anchors: Bool.random(using: &numbers)
                    ? nil : (0..<4).filter { _ in Bool.random(using: &numbers) })
        }
        return Model.ModelPolicy(
            rules: rules, unlisted: Bool.random(using: &numbers) ? .trust : .refuse,
            deny: Int.random(in: 0..<4, using: &numbers) > 0 ? [] : randomPins(&numbers, 1...2))
    }
}
