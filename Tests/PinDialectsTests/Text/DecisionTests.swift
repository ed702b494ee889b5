import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinDialects

@Suite("Decisions of other systems")
struct DecisionTests {
    private let path: [X509Certificate]
    private static let time = Date(timeIntervalSince1970: 1_800_000_000)

    init() throws {
        let root = try TestCertificate.root("Root")
        let intermediate = try root.intermediate("Intermediate")
        path = try [intermediate.leaf("a.example"), intermediate, root].map {
            try X509Certificate(derBytes: $0.derBytes)
        }
    }

    private func pin(_ index: Int, _ role: PinRole = .any) -> CanonicalPin {
        CanonicalPin(.publicKey, .sha256, Array(copying: path[index].spkiFingerprint.bytes.span), role: role)
    }

    private static let other = CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 0, count: 32))

    private func rule(
        _ pins: [CanonicalPin], _ requirement: PinRequirement = .any, mode: PinningMode = .enforce,
        expiry: RuleExpiry? = nil, anchors: [AnchorSet]? = nil
    ) -> CanonicalRule {
        CanonicalRule(
            patterns: [HostPattern("a.example", .exact)], pins: pins, requirement: requirement, mode: mode,
            expiry: expiry, anchors: anchors)
    }

    private func verdict(
        _ rules: [CanonicalRule], denied: [CanonicalPin] = [], unlisted: UnlistedHosts = .trust,
        _ circumstances: DecisionCircumstances = DecisionCircumstances(at: time)
    ) -> CanonicalDecision.Verdict {
        CanonicalPolicy(rules: rules, combination: .union, denied: denied, unlisted: unlisted)
            .decide(path, by: rules, under: circumstances).verdict
    }

    @Test("A pin matches by every digest, of the key or the certificate, at the position of its role")
    func matches() throws {
        let leaf = path[0]
        let (key, certificate) = (leaf.subjectPublicKeyInfo.derBytes, leaf.derBytes)
        for (content, bytes) in [(CanonicalPin.Content.publicKey, key), (.certificate, certificate)] {
            for (digest, command) in [(CanonicalPin.Digest.sha1, "sha1"), (.sha256, "sha256"), (.sha512, "sha512")] {
                let file = try TestDirectory()
                let name = try file.add(bytes, name: "bytes")
                let output = try TestCommand.run(["openssl", "dgst", "-\(command)", "-binary", name])
                try #require(output.status == 0 && output.output.count == digest.length)
                #expect(CanonicalPin(content, digest, output.output).matches(leaf))
                #expect(!CanonicalPin(content, digest, output.output).matches(path[1]))
            }
            #expect(CanonicalPin(content, .full, bytes).matches(leaf))
        }
        for (index, role, expected) in [
            (0, PinRole.leaf, true), (1, .leaf, false), (1, .intermediate, true), (2, .ca, true),
            (2, .intermediate, false),
            (0, .ca, false), (2, .root, true), (0, .any, true),
        ] {
            #expect((verdict([rule([pin(index, role)])]) == .matched) == expected, "\(index) \(role)")
        }
    }

    @Test("The pins of several rules are combined, and so are their required roles")
    func union() {
        #expect(verdict([rule([Self.other]), rule([pin(2)])]) == .matched)
        let leaf = rule([pin(0, .leaf)], .eachOf([.leaf]))
        #expect(verdict([leaf, rule([pin(1, .ca)], .eachOf([.ca]))]) == .matched)
        #expect(verdict([leaf, rule([Self.other], .eachOf([.ca]))]) == .refused)
        let decision = CanonicalPolicy(rules: [], combination: .union).decide(
            path, by: [rule([pin(0, .leaf)], .eachOf([.leaf, .ca]))], under: DecisionCircumstances(at: Self.time))
        #expect(decision.unmetRoles == [.ca])
        #expect(decision.matches.map(\.index) == [0])
    }

    @Test("A missing rule, a rule without pins, each mode and a denied key give the expected verdict")
    func modes() {
        #expect(verdict([]) == .unpinned)
        #expect(verdict([], unlisted: .refuse) == .unlisted)
        #expect(verdict([rule([])]) == .refused)
        #expect(verdict([rule([Self.other], mode: .off)]) == .unpinned)
        #expect(verdict([rule([Self.other], mode: .report)]) == .forgiven)
        #expect(verdict([rule([pin(0)], mode: .report), rule([Self.other])]) == .refused)
        #expect(verdict([rule([pin(0)])], denied: [pin(2)]) == .denied)
        #expect(verdict([], denied: [pin(2)]) == .denied)
    }

    @Test("A chain to an anchor that bypasses pins needs no pin")
    func bypass() {
        let rules = [rule([Self.other], anchors: [AnchorSet("system"), AnchorSet("user", bypassesPins: true)])]
        for (source, expected) in [(nil, "refused"), ("system", "refused"), ("user", "bypassed")] as [(String?, String)]
        {
            let circumstances = DecisionCircumstances(at: Self.time, anchorSource: source)
            #expect(verdict(rules, circumstances).rawValue == expected)
        }
    }

    @Test(
        "An expired rule takes its expiry action",
        arguments: [
            (PinningExpiry.Action.fail, PinningMode.enforce, "ended"), (.report, .enforce, "forgiven"),
            (.stopPinning, .enforce, "stopped"), (.fail, .report, "ended"),
        ])
    func ends(_ effect: PinningExpiry.Action, _ mode: PinningMode, _ expected: String) {
        let now = Int64(Self.time.timeIntervalSince1970)
        let before = mode == .report ? "forgiven" : "refused"
        for (moment, verdict) in [(now - 1, expected), (now, expected), (now + 1, before)] {
            let rules = [rule([Self.other], mode: mode, expiry: RuleExpiry(.instant(moment), effect))]
            #expect(self.verdict(rules).rawValue == verdict)
        }
    }

    @Test("A day begins in the device's time zone, and an age when the policy was seen")
    func moments() {
        // 2027-01-15T08:00:00Z.
        let day = [rule([Self.other], expiry: RuleExpiry(.localDay("2027-01-15"), .stopPinning))]
        for (offset, expected) in [(0, "stopped"), (-8 * 3_600, "refused"), (-8 * 3_600 + 1, "stopped")] {
            #expect(verdict(day, DecisionCircumstances(at: Self.time, offset: offset)).rawValue == expected)
        }
        let age = [rule([Self.other], expiry: RuleExpiry(.age(60), .stopPinning))]
        for (seconds, expected) in [(0.0, "refused"), (59, "refused"), (60, "stopped")] {
            let circumstances = DecisionCircumstances(at: Self.time, noted: Self.time - seconds)
            #expect(verdict(age, circumstances).rawValue == expected)
        }
        #expect(verdict([rule([Self.other], expiry: RuleExpiry(.age(0), .stopPinning))]) == .stopped)
    }
}
