import CertificatePinning
import CertificateTrust
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("TrustKit's configuration")
struct TrustKitTests {
    static let pins = [
        "TQEtdMbmwFgYUifM4LDF+xgEtd0z69mPGmkp014d6ZY=", "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=",
    ]
    static let hashes =
        "<key>TSKPublicKeyHashes</key><array>" + pins.map { "<string>\($0)</string>" }.joined() + "</array>"
    static let suffixes = PublicSuffixes { ["test", "co.test", "com"].contains($0.description) }

    static func list(_ domains: String, global: String = "") -> [UInt8] {
        Array(
            """
            <plist version="1.0"><dict><key>TSKConfiguration</key><dict>\(global)<key>TSKPinnedDomains</key>
            <dict>\(domains)</dict></dict></dict></plist>
            """.utf8)
    }

    static func domain(_ host: String, _ more: String) -> String { "<key>\(host)</key><dict>\(more)</dict>" }

    private func read(_ domains: String) throws -> DialectReading {
        try TrustKitConfiguration.read(Self.list(domains), path: "f", publicSuffixes: Self.suffixes)
    }

    private func problems(_ bytes: [UInt8]) -> [String] {
        PinDialectsTests.problems { () throws(PolicyFileError) in
            _ = try TrustKitConfiguration.read(bytes, path: "f", publicSuffixes: Self.suffixes)
        }
    }

    @Test(
        "TrustKit's own cases are accepted and rejected as in TrustKit",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func peerCases() throws {
        let cases = try #require(PeerCases.all).configs.trustkit_ios.cases.elements
        #expect(cases.count == 5)
        for row in cases {
            let text = PropertyList(json: try #require(row.cfg.json)).xmlDocument
            let found = problems(Array(text.utf8))
            #expect(found.isEmpty == row.valid.bool, "\(row.why.string ?? "")\(found)")
        }
    }

    @Test("Every key is read, with or without TSKConfiguration, and the defaults are TrustKit's")
    func keys() throws {
        let reading = try TrustKitConfiguration.read(
            Array(
                """
                <plist version="1.0"><dict><key>TSKPinnedDomains</key><dict>
                <key>a.test</key><dict>\(Self.hashes)</dict>
                <key>b.test</key><dict>\(Self.hashes)
                  <key>TSKEnforcePinning</key><false/> <key>TSKIncludeSubdomains</key><true/>
                  <key>TSKReportUris</key><array><string>https://r.test/</string></array>
                  <key>TSKDisableDefaultReportUri</key><true/> <key>TSKExpirationDate</key><string>2030-01-31</string>
                </dict>
                <key>out.b.test</key><dict><key>kSKExcludeSubdomainFromParentPolicy</key><true/></dict>
                </dict></dict></plist>
                """.utf8), path: "f", publicSuffixes: Self.suffixes)
        let pins = try Self.pins.map {
            CanonicalPin(.publicKey, .sha256, try #require(Base64.decodeCanonical(Array($0.utf8))))
        }
        #expect(
            reading.policy.placeless
                == CanonicalPolicy(
                    rules: [
                        CanonicalRule(patterns: [HostPattern("a.test", .exact)], pins: pins, usesDefaultReport: true),
                        CanonicalRule(
                            patterns: [HostPattern("b.test", .exactAndBelow)], pins: pins, mode: .report,
                            expiry: RuleExpiry(.instant(1_896_048_000), .stopPinning), reports: ["https://r.test/"]),
                        CanonicalRule(patterns: [HostPattern("out.b.test", .exact)], pins: [], mode: .off),
                    ], combination: .closest))
        #expect(reading.notes.isEmpty)
        #expect(reading.policy.rules[2].location == PolicyLocation(path: "f", line: 8, column: 1))
    }

    @Test("XI3: A configuration for which TrustKit raises an exception is an error", arguments: rejectedRows)
    func rejected(domains: String, problem: String) {
        #expect(problems(Self.list(domains)).joined(separator: "\n") == "f:2:7: error: \(problem)")
    }

    private static let parent = domain("z.test", hashes + "<key>TSKIncludeSubdomains</key><true/>")
    private static let excluded = "<key>kSKExcludeSubdomainFromParentPolicy</key><true/>"
    static let rejectedRows: [(String, String)] = [
        (domain("a.test", ""), "\"a.test\" has no TSKPublicKeyHashes: add at least 2"),
        (
            domain("a.z.test", "<key>TSKExcludeSubdomainFromParentPolicy</key><true/>") + parent,
            "\"a.z.test\" has no TSKPublicKeyHashes: add at least 2\nf:2:32: error: TrustKit ignores "
                + "\"TSKExcludeSubdomainFromParentPolicy\": write kSKExcludeSubdomainFromParentPolicy, "
                + "the key that it reads"
        ),
        (
            domain("a.test", hashes.replacing("TSKPublic", with: "kTSKPublic")),
            "\"a.test\" has no TSKPublicKeyHashes: add at least 2\nf:2:30: error: TrustKit ignores "
                + "\"kTSKPublicKeyHashes\", the name of the constant: write TSKPublicKeyHashes"
        ),
        (
            domain("a.test", "<key>TSKPublicKeyHashes</key><array><string>\(pins[0])</string></array>"),
            "\"a.test\" has 1 different pins, but TrustKit requires 2: add the pin of a backup key"
        ),
        (
            domain("a.test", "<key>TSKEnforcePinning</key><false/><key>TSKPublicKeyHashes</key><array/>"),
            "\"a.test\" has 0 different pins, but TrustKit requires 1: add the pin of a backup key"
        ),
        (domain("test", hashes), "\"test\" isn't below a public suffix, as TrustKit requires: write the full name"),
        (
            domain("192.0.2.1", hashes),
            "\"192.0.2.1\" isn't below a public suffix, as TrustKit requires: write the full name"
        ),
        (
            domain("co.test", hashes + "<key>TSKIncludeSubdomains</key><true/>"),
            "\"co.test\" is a public suffix and includes its subdomains: list your own hosts instead"
        ),
        ("<key>a.test</key><true/>", "\"a.test\" is a Boolean: make it a dictionary"),
        (
            domain("a.test", excluded) + domain("z.test", hashes),
            "\"a.test\" is excluded, but no parent includes it: add TSKIncludeSubdomains to one, or remove the host"
        ),
        (
            domain("a.z.test", excluded + hashes) + parent,
            "\"a.z.test\" is excluded, but has other keys: remove them"
        ),
    ]

    @Test("Errors in values have the position of the value")
    func values() {
        let found = problems(
            Self.list(
                Self.domain(
                    "a.test",
                    """
                    <key>TSKPublicKeyHashes</key><array><string>AAAA</string><string>?</string></array>
                    <key>TSKEnforcePinning</key><array/>
                    <key>TSKExpirationDate</key><date>2030-01-31T00:00:00Z</date>
                    <key>TSKReportUris</key><string>https://r.test/</string>
                    """) + Self.domain("b.test", "<key>TSKPublicKeyHashes</key><array><true/></array>")))
        #expect(
            found.map { String($0.prefix(40)) } == [
                "f:2:66: error: \"AAAA\" isn't the base64 o", "f:2:87: error: \"?\" isn't the base64 of 3",
                "f:3:1: error: TSKEnforcePinning is an ar", "f:4:1: error: TSKExpirationDate is a dat",
                "f:5:1: error: TSKReportUris isn't an arr",
                "f:5:87: error: TSKPublicKeyHashes isn't ",
            ])
    }

    @Test(
        "XI5, PE12: A property list without TrustKit's configuration is noted as having no pins",
        arguments: ["<dict/>", "<true/>", "<dict><key>kTSKConfiguration</key><dict/></dict>"])
    func empty(body: String) throws {
        let reading = try TrustKitConfiguration.read(Array("<plist>\(body)</plist>".utf8), path: "f")
        #expect(reading.policy.rules.isEmpty)
        #expect(reading.notes.contains { $0.rule == .pinsNothing && $0.message.hasPrefix("no pins: ") })
        #expect(reading.notes.contains { $0.rule == .ignoredSetting } == body.contains("kTSK"))
    }

    @Test("XI5: A configuration without hosts, for which TrustKit raises an exception, is an error")
    func hostless() {
        #expect(problems(Array("<plist><dict><key>TSKConfiguration</key><dict/></dict></plist>".utf8)).count == 1)
        #expect(
            problems(Self.list("")) == ["f:2:1: error: TSKPinnedDomains lists no hosts: make it a dictionary of hosts"])
    }

    @Test("XI3: Settings that TrustKit ignores or interprets differently are noted", arguments: quirkRows)
    func quirks(domains: String, direction: SecurityDirection, note: String) throws {
        let reading = try read(domains)
        #expect(reading.notes.map(\.message) == [note])
        #expect(reading.notes.map(\.direction) == [direction])
        #expect(reading.policy.rules[0].pins.count == (reading.policy.rules[0].mode == .off ? 0 : 2))
        // A setting that TrustKit ignores has no effect.
        if note.contains("the name of the constant") {
            #expect(reading.policy.rules[0].mode == .enforce && reading.policy.rules[0].expiry == nil)
            #expect(reading.policy.rules[0].patterns[0].scope == .exact)
            #expect(reading.notes.map(\.rule) == [.ignoredSetting])
        }
    }

    static let quirkRows: [(String, SecurityDirection, String)] = [
        (
            domain("a.test", hashes + "<key>kTSKIncludeSubdomains</key><true/>"), .weaker,
            "TrustKit ignores \"kTSKIncludeSubdomains\", the name of the constant: write TSKIncludeSubdomains"
        ),
        (
            domain("a.test", hashes + "<key>kTSKEnforcePinning</key><false/>"), .weaker,
            "TrustKit ignores \"kTSKEnforcePinning\", the name of the constant: write TSKEnforcePinning"
        ),
        (
            domain("a.test", hashes + "<key>kTSKExpirationDate</key><string>2020-01-31</string>"), .weaker,
            "TrustKit ignores \"kTSKExpirationDate\", the name of the constant: write TSKExpirationDate"
        ),
        (
            domain("a.z.test", hashes + "<key>kTSKExcludeSubdomainFromParentPolicy</key><true/>") + parent, .stricter,
            "TrustKit ignores \"kTSKExcludeSubdomainFromParentPolicy\", the name of the constant: "
                + "write kSKExcludeSubdomainFromParentPolicy"
        ),
        (
            domain("a.z.test", hashes + "<key>TSKExcludeSubdomainFromParentPolicy</key><true/>") + parent, .stricter,
            "TrustKit ignores \"TSKExcludeSubdomainFromParentPolicy\": "
                + "write kSKExcludeSubdomainFromParentPolicy, the key that it reads"
        ),
        (
            domain("a.test", hashes + "<key>TSKIncludeSubdomains</key><string>YES</string>"), .unchanged,
            "TSKIncludeSubdomains is a string and is read as true: make it a Boolean"
        ),
        (
            domain("a.test", hashes + "<key>TSKIncludeSubdomains</key><integer>0</integer>"), .unchanged,
            "TSKIncludeSubdomains is a number and is read as false: make it a Boolean"
        ),
        (
            domain("a.test", hashes + "<key>TSKExpirationDate</key><string>31.1.2030</string>"), .stricter,
            "\"31.1.2030\" isn't a date, so the pins never expire: write it as 2026-12-31"
        ),
        (
            domain("a.test", hashes + "<key>TSKIncludeSubdomain</key><true/>"), .weaker,
            "TrustKit ignores \"TSKIncludeSubdomain\", an unknown key: write TSKIncludeSubdomains"
        ),
        (
            domain("A.test", hashes), .weaker, "\"A.test\" is compared as written and matches no host: write a.test"
        ),
    ]

    @Test("Settings of the whole configuration are noted")
    func global() throws {
        let reading = try TrustKitConfiguration.read(
            Self.list(
                Self.domain("a.test", Self.hashes),
                global: "<key>TSKSwizzleNetworkDelegates</key><true/>"
                    + "<key>TSKIgnorePinningForUserDefinedTrustAnchors</key><true/><key>Other</key><true/>"),
            path: "f", publicSuffixes: Self.suffixes)
        #expect(
            reading.notes.map(\.message) == [
                "on macOS, pins are ignored for chains that end at a root the user added: set "
                    + "TSKIgnorePinningForUserDefinedTrustAnchors to false", "\"Other\" is ignored",
            ])
    }

    @Test("A policy that TrustKit can't express is not written")
    func writeErrors() {
        let pins = [1, 2].map { CanonicalPin(.publicKey, .sha256, [UInt8](repeating: $0, count: 32)) }
        let rule = CanonicalRule(patterns: [HostPattern("a.test", .exactAndBelow)], pins: pins)
        let changes: [(inout CanonicalPolicy) -> Void] = [
            { $0.combination = .union }, { $0.unlisted = .refuse }, { $0.denied = pins },
            { $0.rules.append($0.rules[0]) }, { $0.rules[0].ports = [443] }, { $0.rules[0].pins.removeLast() },
            { $0.rules[0].pins[1] = $0.rules[0].pins[0] }, { $0.rules[0].pins[0].role = .leaf },
            { $0.rules[0].patterns[0].scope = .oneLabelBelow }, { $0.rules[0].anchors = [] },
            { $0.rules[0].requirement = .eachOf([.leaf]) },
            { $0.rules[0].expiry = RuleExpiry(.instant(1), .stopPinning) },
            { $0.rules[0].expiry = RuleExpiry(.instant(0), .fail) },
            { policy in
                policy.rules.append(
                    CanonicalRule(patterns: [HostPattern("b.a.test", .exactAndBelow)], pins: [], mode: .off))
            },
        ]
        for (index, change) in changes.enumerated() {
            var policy = CanonicalPolicy(rules: [rule], combination: .closest)
            #expect((try? TrustKitConfiguration.write(policy)) != nil)
            change(&policy)
            #expect(throws: DialectWriteError.self, "\(index)") { try TrustKitConfiguration.write(policy) }
        }
    }

    @Test("A rule that is off and has no parent rule is omitted")
    func idleExclusion() throws {
        let pins = [1, 2].map { CanonicalPin(.publicKey, .sha256, [UInt8](repeating: $0, count: 32)) }
        let rules = [
            CanonicalRule(patterns: [HostPattern("a.test", .exact), HostPattern("b.test", .exact)], pins: pins),
            CanonicalRule(patterns: [HostPattern("c.test", .exactAndBelow)], pins: [], mode: .off),
        ]
        let text = try TrustKitConfiguration.write(CanonicalPolicy(rules: rules, combination: .closest))
        let reading = try TrustKitConfiguration.read(Array(text.utf8), path: "f", publicSuffixes: Self.suffixes)
        #expect(reading.policy.rules.map { $0.patterns[0].host } == ["a.test", "b.test"])
    }
}
