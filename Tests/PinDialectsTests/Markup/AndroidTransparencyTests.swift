import CertificatePinning
import CertificateTrust
import FoundationEssentials
import Testing

@testable import PinDialects

@Suite("certificateTransparency of Android's network security config")
struct AndroidTransparencyTests {
    private static let pins = "<pin-set>\(AndroidTests.pinTag)</pin-set>"
    private static let on = "<certificateTransparency enabled=\"true\"/>"
    private static let off = "<certificateTransparency enabled=\"false\"/>"
    private static let ours = "<trust-anchors><certificates src=\"@raw/ours\"/></trust-anchors>"
    private static let system = "<trust-anchors><certificates src=\"system\"/></trust-anchors>"

    struct Row: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let configs: String
        let expected: CertificateTransparencyMode?

        init(_ sentence: String, _ expected: CertificateTransparencyMode?, base: String = "", domain: String = "") {
            testDescription = sentence
            self.expected = expected
            configs =
                "<base-config>\(base)</base-config>"
                + "<domain-config><domain>a.test</domain>\(domain)\(pins)</domain-config>"
        }
    }

    static let rows: [Row] = [
        .init("nowhere", nil),
        .init("on for the host", .require, domain: on),
        .init("off for the host", .ignore, domain: off),
        .init("without enabled, which means off", .ignore, domain: "<certificateTransparency/>"),
        .init("as a number, which Android reads", .require, domain: "<certificateTransparency enabled=\"1\"/>"),
        .init("on for all", .require, base: on),
        .init("on for all and off for the host", .ignore, base: on, domain: off),
        .init("off for all and on for the host", .require, base: off, domain: on),
        .init("on for all, and the host has roots of its own", .ignore, base: on, domain: ours),
        .init("on for the host, which has roots of its own", .require, domain: on + ours),
        .init("on for all, and the host names the system's roots", .require, base: on, domain: system),
        .init("on for all, who have roots of their own", .require, base: on + ours),
        .init("nowhere, with roots of its own", nil, domain: ours),
    ]

    private func read(_ configs: String) throws -> DialectReading {
        try PinDialect.android.read(
            Array("<network-security-config>\(configs)</network-security-config>".utf8), path: "f")
    }

    @Test("The setting is read as Android evaluates it", arguments: rows)
    func setting(_ row: Row) throws {
        let reading = try read(row.configs)
        #expect(reading.policy.rules.map(\.certificateTransparency) == [row.expected])
        let policy = reading.policy.converted(to: .policy, at: Date(timeIntervalSince1970: 0)).policy
        let text = String(decoding: try PinDialect.policy.write(policy), as: UTF8.self)
        let key = row.expected.map { "\"certificateTransparency\": \"\($0.rawValue)\"" }
        #expect(text.contains(key ?? "\"host\"") && (key != nil || !text.contains("certificateTransparency")))
    }

    @Test("A second element, and one in a place without effect, aren't ignored in silence")
    func repeated() throws {
        let twice = "<domain-config><domain>a.test</domain>\(Self.on)\(Self.off)\(Self.pins)</domain-config>"
        #expect(throws: PolicyFileError.self) { try read(twice) }
        // Android refuses the file.
        #expect(throws: PolicyFileError.self) {
            try read("<debug-overrides>\(Self.on)</debug-overrides>" + Row("", nil).configs)
        }
    }

    private func policy(_ mode: CertificateTransparencyMode?, _ host: String = "a.test") -> CanonicalPolicy {
        var rule = CanonicalRule(
            patterns: [HostPattern(host, .exact)],
            pins: [CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 1, count: 32))])
        rule.certificateTransparency = mode
        return CanonicalPolicy(rules: [rule], combination: .closest)
    }

    @Test("Android gets what it can express, and a note says what it can't")
    func written() throws {
        for (mode, enabled) in [(CertificateTransparencyMode.require, "true"), (.ignore, "false")] {
            let (converted, notes) = policy(mode).converted(to: .android, at: .now)
            let text = String(decoding: try PinDialect.android.write(converted), as: UTF8.self)
            #expect(text.contains("        <certificateTransparency enabled=\"\(enabled)\" />\n") && notes.isEmpty)
        }
        let (converted, notes) = policy(.report).converted(to: .android, at: .now)
        #expect(notes.map(\.change) == [.transparencyLost] && notes.map(\.direction) == [.either])
        #expect(converted.rules[0].certificateTransparency == nil)
        let (_, lost) = policy(.require).converted(to: .curl, at: .now)
        #expect(lost.contains { $0.change == .transparencyLost && $0.direction == .weaker })
    }

    @Test("A config keeps its setting if the policy has none, and gets the policy's otherwise")
    func replaced() throws {
        let there = """
            <network-security-config>
                <base-config>\(Self.on)</base-config>
                <domain-config>
                    <domain includeSubdomains="false">a.test</domain>
                    \(Self.pins)
                    \(Self.off)
                </domain-config>
            </network-security-config>
            """
        func result(_ policy: CanonicalPolicy) throws -> String {
            String(
                decoding: try PinDialect.android.replacing(Array(there.utf8), path: "f", with: policy), as: UTF8.self)
        }
        let kept = try result(policy(nil))
        #expect(kept.contains(Self.off) && kept.contains(Self.on))
        let required = try result(policy(.require))
        #expect(required.contains("<certificateTransparency enabled=\"true\" />") && !required.contains("\"false\"/>"))
        // A host that the file doesn't have yet follows the file's base-config.
        var two = policy(nil)
        two.rules += policy(nil, "b.test").rules
        #expect(try result(two).contains("b.test"))
    }

    @Test("A file with another setting than the policy's isn't the same")
    func compared() {
        #expect(policy(.require).differences(in: policy(.ignore)).count == 1)
        #expect(policy(.require).differences(in: policy(nil)).count == 1)
        #expect(policy(nil).differences(in: policy(.ignore)).isEmpty)
    }
}
