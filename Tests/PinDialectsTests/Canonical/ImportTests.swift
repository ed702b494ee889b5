import CertificatePinning
import FoundationEssentials
import PinDialects
import PinctlTestPKI
import Testing

/// Policies of other systems, converted to policies of this project. Every policy that is written loads.
struct ImportTests {
    /// 2026-11-21T00:00:00Z.
    private static let now = Date(timeIntervalSince1970: 1_795_219_200)

    /// Whether the policy loads once it is written. A policy that no policy file can express isn't written.
    private static func isRefusedOrLoads(_ policy: CanonicalPolicy) throws -> Bool {
        let (converted, notes) = policy.converted(to: .policy, at: now)
        guard !notes.contains(where: { $0.direction == .impossible }) else { return false }
        let text = try PinDialect.policy.write(converted)
        do throws(PolicyFileError) {
            _ = try PolicyFile(bytes: text, path: "/nowhere/imported.jsonc")
        } catch {
            Issue.record("\(error)\n\(String(decoding: text, as: UTF8.self))")
        }
        return true
    }

    private static func policy(by numbers: inout SeededGenerator) -> CanonicalPolicy {
        func one<T>(_ values: [T]) -> T { values[Int.random(in: 0..<values.count, using: &numbers)] }
        let hosts = [
            "a.example", "A.example.", "b.a.example", "a.example:443", "https://a.example/", "192.0.2.1", "2001:db8::1",
            "ü.example", "", ".", "a..example", "*.a.example", "b.example.", "_dmarc.a.example", "local.example",
        ]
        let rules = (0..<Int.random(in: 1...4, using: &numbers)).map { _ in
            var rule = CanonicalRule(
                patterns: (0..<Int.random(in: 1...2, using: &numbers)).map { _ in
                    HostPattern(one(hosts), one(HostPattern.Scope.allCases.filter { $0 != .every }))
                },
                pins: (0..<Int.random(in: 0...3, using: &numbers)).map { _ in
                    let digest = one(CanonicalPin.Digest.allCases)
                    let count = [.sha1: 20, .sha256: one([32, 32, 32, 3])][digest] ?? 64
                    return CanonicalPin(
                        one(CanonicalPin.Content.allCases), digest,
                        [UInt8](repeating: UInt8.random(in: 1...4, using: &numbers), count: count),
                        role: one(PinRole.allCases), name: one([nil, nil, "a/b", "key"]))
                })
            rule.ports = one([nil, nil, [443], [443, 8443]])
            rule.mode = one(PinningMode.allCases)
            rule.requirement = one([.any, .any, .eachOf([.leaf]), .eachOf([.leaf, .ca]), .eachOf([.root])])
            rule.expiry = one([
                nil, RuleExpiry(.localDay("2027-01-01"), .stopPinning), RuleExpiry(.age(1), .stopPinning),
                RuleExpiry(.age(.max), .stopPinning), RuleExpiry(.instant(.max), .fail),
                RuleExpiry(.instant(.min), .fail), RuleExpiry(.localDay("2027-13-01"), .stopPinning),
            ])
            rule.anchors = one([
                nil, [], [AnchorSet("system")], [AnchorSet("system", bypassesPins: true)],
                [AnchorSet("user", bypassesPins: true), AnchorSet("system")], [AnchorSet("@raw/ca")],
            ])
            rule.reports = one([
                [], ["http://r.example/"], ["https://r.example/", "https://a.example/", "https://c.b.a.example/"],
                ["r", "", "https://", "https://[::1/", "https://r.example:99999/", "https://u:p@r.example/ ?"],
            ])
            rule.usesDefaultReport = one([true, false])
            return rule
        }
        return CanonicalPolicy(rules: rules, combination: one(RuleCombination.allCases))
    }

    @Test("Every generated policy that can be imported loads")
    func generated() throws {
        var numbers = SeededGenerator(seed: 23)
        var written = 0
        for _ in 0..<3_000 where try Self.isRefusedOrLoads(Self.policy(by: &numbers)) { written += 1 }
        #expect((100..<3_000).contains(written))
    }

    @Test(
        "Every imported policy from the peers' own cases loads",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func peerCases() throws {
        let cases = try #require(PeerCases.all).configs.android_nsc.cases.elements
        var written = 0
        for row in cases {
            let xml = try #require(row.xml.string)
            guard let reading = try? PinDialect.android.read(Array(xml.utf8), path: "f") else { continue }
            if try Self.isRefusedOrLoads(reading.policy) { written += 1 }
        }
        #expect(written > 0)
    }
}
