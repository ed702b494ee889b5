import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import Testing

/// Any policy that is converted to a dialect, written and read again keeps its meaning.
struct RoundTripTests {
    private static let now = Date(timeIntervalSince1970: 1_795_219_200)
    private static let dialects = PinDialect.written

    /// Policies from a seed: overlapping hosts, and every scope, role, mode, expiry and digest.
    private struct Generator {
        private var state: UInt64

        init(seed: UInt64) { state = seed &* 0x9E37_79B9_7F4A_7C15 &+ 1 }

        private mutating func number(below limit: Int) -> Int {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return Int(state % UInt64(limit))
        }

        private mutating func one<Value>(_ values: [Value]) -> Value { values[number(below: values.count)] }

        private mutating func pin() -> CanonicalPin {
            let digest = one([CanonicalPin.Digest.sha256, .sha256, .sha256, .sha256, .sha1, .sha512])
            let count = digest == .sha1 ? 20 : digest == .sha512 ? 64 : 32
            let byte = UInt8(number(below: 200))
            return CanonicalPin(
                one([.publicKey, .publicKey, .publicKey, .certificate]), digest, (0..<count).map { byte &+ UInt8($0) },
                role: one(PinRole.allCases), isBackup: number(below: 4) == 0,
                name: one([nil, "pin-\(byte)", "Ünïcode <&> \"quoted\" */ --> \(byte)"]))
        }

        private mutating func rule(_ host: String) -> CanonicalRule {
            var rule = CanonicalRule(
                patterns: [HostPattern(host, one([.exact, .oneLabelBelow, .exactAndOneLabelBelow, .exactAndBelow]))],
                ports: one([nil, nil, [443], [8443, 9443]]), pins: (0...number(below: 4)).map { _ in pin() },
                mode: one([.enforce, .enforce, .enforce, .report, .off]),
                note: one([nil, "line 1\nline 2 \u{7F} é </string> -->"]))
            switch number(below: 5) {
            case 0:
                rule.expiry = RuleExpiry(.instant(1_800_000_000 + Int64(number(below: 90_000))), one([.fail, .report]))
            case 1: rule.expiry = RuleExpiry(.localDay("2027-02-28"), .stopPinning)
            case 2: rule.expiry = RuleExpiry(.age(Int64(number(below: 5_000_000))), .stopPinning)
            default: break
            }
            rule.certificateTransparency = one([nil, nil, .ignore, .report, .require])
            if number(below: 3) == 0 { rule.reports = ["https://r.example/a?b=c&d=e", "https://s.example/"] }
            return rule
        }

        mutating func policy() -> CanonicalPolicy {
            let hosts = ["example.com", "a.example.com", "b.a.example.com", "xn--bcher-kva.example", "other.test"]
            let chosen = hosts.filter { _ in number(below: 2) == 0 }
            return CanonicalPolicy(
                rules: (chosen.isEmpty ? ["example.com"] : chosen).map { rule($0) },
                combination: one(RuleCombination.allCases), denied: number(below: 4) == 0 ? [pin()] : [],
                unlisted: one([.trust, .trust, .refuse]))
        }
    }

    @Test("A policy that a dialect can express is unchanged after a round trip", arguments: dialects)
    func roundTrip(dialect: PinDialect) throws {
        var count = 0
        for seed in 0..<400 {
            var generator = Generator(seed: UInt64(seed))
            let policy = generator.policy()
            let host = [.hpkp, .curl].contains(dialect) ? policy.rules[0].patterns[0].host : nil
            let (converted, notes) = policy.converted(to: dialect, host: host, at: Self.now)
            guard !notes.contains(where: { $0.direction == .impossible }) else { continue }
            count += 1
            let text = try dialect.write(converted)
            let read: DialectReading
            do {
                read = try dialect.read(text, path: "written")
            } catch {
                Issue.record("seed \(seed): \(error)\n\(String(decoding: text, as: UTF8.self))")
                continue
            }
            var expected = converted
            // A header belongs to the host that sends it.
            if dialect == .hpkp, read.policy.rules[0].patterns[0].host.isEmpty {
                expected.rules[0].patterns = read.policy.rules[0].patterns
            }
            let differences = expected.differences(in: read.policy)
            #expect(differences == [], "seed \(seed): \(String(decoding: text, as: UTF8.self))")
        }
        #expect(count > 20, "\(dialect) could say \(count) of 400")
    }

    @Test("A written policy is recognized as its own dialect", arguments: dialects)
    func recognition(dialect: PinDialect) throws {
        let pins = [1, 2].map { CanonicalPin(.publicKey, .sha256, Array(repeating: UInt8($0), count: 32), role: .leaf) }
        let policy = CanonicalPolicy(
            rules: [CanonicalRule(patterns: [HostPattern("example.com", .exact)], pins: pins)], combination: .closest)
        let text = try dialect.write(policy.converted(to: dialect, at: Self.now).policy)
        #expect(PinDialect.recognized(in: text) == dialect)
    }
}
