import CertificatePinning
import FoundationEssentials
import Testing

@testable import PinDialects

@Suite("Android's network security config")
struct AndroidTests {
    static let pin = "1HIpactkIAq2Y49orFOOQKurWxmmSFZhBCoQYcRhJ3Y="
    static let pinTag = "<pin digest=\"SHA-256\">\(pin)</pin>"
    static let otherTag = "<pin digest=\"SHA-256\">zCTnfLwLKbS9S2sbp+uFz4KZOocFvXxkV06Ce9O5M2w=</pin>"

    private func read(_ configs: String, target level: Int? = nil) throws -> DialectReading {
        try AndroidNetworkSecurityConfig.read(
            Array("<network-security-config>\(configs)</network-security-config>".utf8), path: "f",
            target: level.map { AndroidTarget(level: $0) })
    }

    private func domain(_ host: String, _ more: String) -> String {
        "<domain-config><domain>\(host)</domain>\(more)</domain-config>"
    }

    @Test(
        "AOSP's own cases are accepted and rejected as in AOSP",
        .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
    func peerCases() throws {
        let cases = try #require(PeerCases.all).configs.android_nsc.cases.elements
        #expect(cases.count == 10)
        for row in cases {
            let id = try #require(row.id.string)
            let xml = try #require(row.xml.string)
            let found = problems { () throws(PolicyFileError) in
                _ = try AndroidNetworkSecurityConfig.read(Array(xml.utf8), path: "f")
            }
            #expect(found.isEmpty == row.valid.bool, "\(id): \(found)")
        }
    }

    @Test("Whitespace around a host and a pin is ignored")
    func whiteSpace() throws {
        let reading = try read(
            "<domain-config><domain>android.com\n </domain><domain>  Developer.Android.com </domain>"
                + "<pin-set><pin digest=\"sha-256\">\n \(Self.pin) </pin></pin-set></domain-config>")
        #expect(
            reading.policy.rules.map(\.patterns) == [
                [HostPattern("android.com", .exact), HostPattern("developer.android.com", .exact)]
            ])
        #expect(reading.policy.rules[0].pins.map(\.description) == ["sha256/\(Self.pin)"])
        #expect(reading.notes.map(\.rule) == [.malformedHost], "the host has capitals")
    }

    @Test("XI3: A config that Android rejects is an error at its position", arguments: rejectedRows)
    func rejected(configs: String, problem: String) throws {
        let found = problems { () throws(PolicyFileError) in
            _ = try AndroidNetworkSecurityConfig.read(
                Array("<network-security-config>\n\(configs)</network-security-config>".utf8), path: "f")
        }
        #expect(found == [problem])
    }

    @Test("XI3: A document with another root element is an error")
    func otherRoot() throws {
        let found = problems { () throws(PolicyFileError) in
            _ = try AndroidNetworkSecurityConfig.read(Array("<resources></resources>".utf8), path: "f")
        }
        #expect(found == ["f:1:1: error: the root element isn't network-security-config: rename it"])
    }

    static let rejectedRows: [(String, String)] = [
        (
            "<domain-config><domain>a.test</domain><pin-set>"
                + "<pin digest=\"SHA-1\">\(pin)</pin></pin-set></domain-config>",
            "f:2:53: error: Android doesn't support the digest \"SHA-1\" for pins: write SHA-256, and hash the key "
                + "with it"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set><pin>\(pin)</pin></pin-set></domain-config>",
            "f:2:48: error: this pin has no digest: add digest=\"SHA-256\""
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set>"
                + "<pin digest=\"SHA-256\">AAAA</pin></pin-set></domain-config>",
            "f:2:48: error: \"AAAA\" has 3 bytes, but SHA-256 has 32: hash the key again"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set>"
                + "<pin digest=\"SHA-256\">pin?</pin></pin-set></domain-config>",
            "f:2:48: error: \"pin?\" isn't base64: write the 44 characters of a SHA-256"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set><pin digest=\"SHA-256\"> </pin></pin-set></domain-config>",
            "f:2:48: error: this pin is empty: fill it or remove it"
        ),
        (
            "<domain-config><domain>a.test</domain>"
                + "<pin-set expiration=\"2027-02-29\">\(pinTag)</pin-set></domain-config>",
            "f:2:48: error: \"2027-02-29\" isn't a valid date: write it as 2026-12-31"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set/><pin-set>\(pinTag)</pin-set></domain-config>",
            "f:2:49: error: duplicate pin-set: keep one"
        ),
        (
            "<domain-config><pin-set>\(pinTag)</pin-set></domain-config>",
            "f:2:1: error: this domain-config has no domain: add one"
        ),
        (
            "<domain-config><domain>a.test</domain><domain>A.test</domain><pin-set>\(pinTag)</pin-set></domain-config>",
            "f:2:39: error: \"a.test\" is already listed at 2:16, and a host may be listed only once: keep one"
        ),
        (
            "<base-config><pin-set>\(pinTag)</pin-set></base-config>",
            "f:2:14: error: pin-set isn't allowed in base-config: move it to a domain-config"
        ),
        (
            "<domain-config><domain>a<b/></domain><pin-set>\(pinTag)</pin-set></domain-config>",
            "f:2:16: error: a domain may contain only text: remove the elements in it"
        ),
        (
            "<domain-config><domain>a.test</domain><trust-anchors><certificates src=\"mine\"/></trust-anchors>"
                + "<pin-set>\(pinTag)</pin-set></domain-config>",
            "f:2:68: error: \"mine\" isn't a source of roots: write system, user or @raw/NAME"
        ),
        (
            "<base-config/><base-config/><domain-config><domain>a.test</domain>"
                + "<pin-set>\(pinTag)</pin-set></domain-config>",
            "f:2:15: error: duplicate base-config: keep one"
        ),
    ]

    @Test(
        "XI5, PE12: A well-formed config that pins nothing is noted as having no pins",
        arguments: [
            "", "<base-config/>", "  ",
            "<debug-overrides><trust-anchors><certificates src=\"system\"/></trust-anchors></debug-overrides>",
        ])
    func pinsNothing(configs: String) throws {
        let reading = try read(configs)
        #expect(reading.policy.rules.isEmpty)
        #expect(
            reading.notes.filter { $0.rule == .pinsNothing }.map(\.description) == [
                "f:1:1: quirk (unchanged): no pins: the config doesn't pin any host: add a pin-set to a domain-config"
            ])
    }

    @Test("An empty pin-set pins nothing, unless it excludes its host from a parent rule")
    func emptyPinSets() throws {
        func notes(_ configs: String) throws -> [String] {
            try read(configs + domain("z.test", "<pin-set>\(Self.pinTag)</pin-set>")).notes
                .filter { $0.rule == .pinsNothing }.map { "\($0.location?.column ?? 0)" }
        }
        #expect(try notes(domain("a.test", "<pin-set/>")) == ["64"])
        let parent =
            "<domain-config><domain includeSubdomains=\"true\">a.test</domain><pin-set>\(Self.pinTag)</pin-set>"
        #expect(try notes(parent + "</domain-config>" + domain("b.a.test", "<pin-set/>")) == [])
        #expect(try notes(parent + domain("b.test", "<pin-set/>") + "</domain-config>") == [])
    }

    @Test("All problems of a config are reported in one run")
    func manyProblems() {
        let found = problems { () throws(PolicyFileError) in
            _ = try AndroidNetworkSecurityConfig.read(
                Array(
                    """
                    <network-security-config>
                      <base-config><domain>a.test</domain></base-config>
                      <domain-config>
                        <domain>b.test</domain>
                        <pin-set expiration="soon">
                          <pin digest="MD5">AAAA</pin>
                          <pin digest="SHA-256"></pin>
                        </pin-set>
                        <pin-set/>
                      </domain-config>
                      <domain-config/>
                    </network-security-config>
                    """.utf8), path: "f")
        }
        #expect(
            found.map { $0.prefix { $0 != " " } } == ["f:2:16:", "f:5:14:", "f:6:12:", "f:7:7:", "f:9:5:", "f:11:3:"])
    }

    @Test("XI3: A nested config inherits pins and trust anchors, and an empty pin-set excludes it")
    func nesting() throws {
        let reading = try read(
            """
            <base-config><trust-anchors><certificates src="@raw/ours"/></trust-anchors></base-config>
            <domain-config>
              <domain includeSubdomains="true">a.test</domain>
              <domain-config><domain>heir.a.test</domain></domain-config>
              <domain-config><domain>own.a.test</domain><pin-set>\(Self.otherTag)</pin-set></domain-config>
              <domain-config><domain>out.a.test</domain><pin-set/>
                <trust-anchors><certificates src="user" overridePins="true"/></trust-anchors></domain-config>
              <pin-set expiration="2030-01-31">\(Self.pinTag)</pin-set>
            </domain-config>
            """)
        let rules = reading.policy.rules
        #expect(rules.map { $0.patterns[0].host } == ["a.test", "heir.a.test", "own.a.test", "out.a.test"])
        #expect(rules.map(\.mode) == [.enforce, .enforce, .enforce, .off])
        #expect(rules[1].pins == rules[0].pins && rules[2].pins != rules[0].pins)
        #expect(rules[0].expiry == RuleExpiry(.localDay("2030-01-31"), .stopPinning))
        #expect(rules[1].expiry == rules[0].expiry && rules[2].expiry == nil)
        #expect(rules[1].anchors == [AnchorSet("@raw/ours")])
        #expect(rules[3].anchors == [AnchorSet("user", bypassesPins: true)])
        #expect(reading.policy.combination == .closest)
        // The anchors that bypass pins belong to the config without pins.
        #expect(reading.notes == [])
    }

    @Test("XI3: Settings that Android ignores or that weaken pins are noted", arguments: passedOverRows)
    func passedOver(configs: String, direction: SecurityDirection, note: String) throws {
        let reading = try read(configs + domain("z.test", "<pin-set>\(Self.pinTag)</pin-set>"))
        #expect(reading.notes.map(\.message).joined(separator: "\n") == note)
        #expect(reading.notes.allSatisfy { $0.direction == direction })
        #expect(reading.notes.allSatisfy { $0.change == .quirk && ($0.location?.line ?? 0) == 1 })
    }

    static let passedOverRows: [(String, SecurityDirection, String)] = [
        (
            "<debug-overrides><trust-anchors><certificates src=\"user\"/></trust-anchors></debug-overrides>", .weaker,
            "in debuggable builds, pins are ignored for chains that end at \"user\""
        ),
        (
            "<debug-overrides><trust-anchors><certificates src=\"user\" overridePins=\"false\"/></trust-anchors>"
                + "</debug-overrides>", .unchanged, "debug-overrides applies only to debuggable builds"
        ),
        (
            "<domain-config><domain>a.test</domain><pinset>\(pinTag)</pinset></domain-config>", .weaker,
            "\"pinset\" in domain-config is ignored with all of its contents: did you mean pin-set?"
        ),
        (
            "<domain-config><domain>a.test</domain>\(pinTag)</domain-config>", .either,
            "\"pin\" in domain-config is ignored with all of its contents: move it to \"pin-set\""
        ),
        (
            "<domain-config><domain>a.test</domain><public-keys>\(pinTag)</public-keys></domain-config>", .weaker,
            "\"public-keys\" in domain-config is ignored with all of its contents: move it to the right element"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set>\(pin)</pin-set></domain-config>", .weaker,
            "the text in this pin-set is ignored: put it into an element\n"
                + "this pin-set has no pins, so nothing is pinned: add pins, or remove it"
        ),
        (
            "<domain-config><domain includeSubdomains=\"yes\">a.test</domain></domain-config>", .weaker,
            "includeSubdomains=\"yes\" is read as false: write true or false"
        ),
        (
            "<domain-config><domain includesubdomains=\"true\">a.test</domain></domain-config>", .weaker,
            "\"includesubdomains\" is ignored: did you mean includeSubdomains?"
        ),
        (
            "<domain-config includeSubdomains=\"true\"><domain>a.test</domain></domain-config>", .either,
            "\"includeSubdomains\" of domain-config is ignored: move it to domain"
        ),
        (
            "<domain-config cleartextTrafficPermited=\"false\"><domain>a.test</domain></domain-config>", .weaker,
            "\"cleartextTrafficPermited\" is ignored: did you mean cleartextTrafficPermitted?"
        ),
        (
            "<domain-config><domain cleartextTrafficPermitted=\"false\">a.test</domain></domain-config>", .either,
            "\"cleartextTrafficPermitted\" of domain is ignored: move it to base-config or domain-config"
        ),
        (
            "<domain-config cleartextTrafficPermitted=\"true\"><domain>a.test</domain></domain-config>", .unchanged,
            "\"cleartextTrafficPermitted\" doesn't affect pins"
        ),
        (
            "<domain-config cleartextTrafficPermitted=\"false\"><domain>a.test</domain></domain-config>", .unchanged,
            "\"cleartextTrafficPermitted\" doesn't affect pins"
        ),
        (
            "<base-config cleartextTrafficPermitted=\"false\" hstsEnforced=\"true\"/>", .unchanged,
            "\"cleartextTrafficPermitted\" doesn't affect pins\n\"hstsEnforced\" doesn't affect pins"
        ),
        (
            "<debug-overrides cleartextTrafficPermitted=\"true\"/>", .unchanged,
            "debug-overrides applies only to debuggable builds\n\"cleartextTrafficPermitted\" doesn't affect pins"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set expiration=\"2030-1-1, or later\">\(pinTag)</pin-set>"
                + "</domain-config>", .weaker, "\"2030-1-1, or later\" is read as 2030-01-01: write the full date"
        ),
        (
            "<domain-config><domain>a.test</domain><trust-anchors/></domain-config>", .stricter,
            "trust-anchors lists no roots, so every chain is rejected: add certificates, or remove it"
        ),
        (
            "<domain-config><domain>a.test</domain><pin-set>\(pinTag)</pin-set><trust-anchors>"
                + "<certificates src=\"@raw/own\" overridePins=\"true\"/>"
                + "<certificates src=\"system\" overridePins=\"true\"/></trust-anchors></domain-config>", .weaker,
            "pins are ignored for chains that end at \"@raw/own\", \"system\": remove overridePins"
        ),
        (
            "<xi:include xmlns:xi=\"http://www.w3.org/2001/XInclude\" href=\"/etc/passwd\"/>", .unchanged,
            "\"include\" in network-security-config is ignored with all of its contents: remove it"
        ),
    ]

    @Test("A pinned host that inherits the permission for cleartext requests is noted once", arguments: cleartextRows)
    func cleartext(row: CleartextRow) throws {
        let reading = try read("\n" + row.configs, target: row.level)
        let found = reading.notes.filter { $0.rule == .bypassedPins }.map { note in
            "\(note.location?.line ?? 0):\(note.location?.column ?? 0): \(note.message)"
        }
        #expect(found == row.notes)
        #expect(reading.notes.allSatisfy { $0.rule == .bypassedPins || $0.direction == .unchanged })
    }

    struct CleartextRow: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var level: Int?
        let configs: String
        var notes: [String] = []
    }

    private static let own =
        "\"cleartextTrafficPermitted\" allows cleartext requests, which have no pins: set it to false"
    private static let remedy = "which have no pins: set cleartextTrafficPermitted to false"
    private static let allows = "cleartextTrafficPermitted=\"true\""
    private static let denies = "cleartextTrafficPermitted=\"false\""
    private static let pins = "<pin-set>\(pinTag)</pin-set>"

    static let cleartextRows: [CleartextRow] = [
        CleartextRow(
            testDescription: "own pins, own setting",
            configs: "<domain-config \(allows)><domain>a.test</domain>\(pins)</domain-config>",
            notes: ["2:16: \(own)"]),
        CleartextRow(
            testDescription: "inherited pins, own setting",
            configs: "<domain-config><domain>a.test</domain>\(pins)\n"
                + "<domain-config \(allows)><domain>b.test</domain></domain-config></domain-config>",
            notes: ["3:16: \(own)"]),
        CleartextRow(
            testDescription: "own pins, the setting of an enclosing config without pins, two levels up",
            configs: "<domain-config \(allows)><domain>a.test</domain>\n"
                + "<domain-config><domain>b.test</domain>\n"
                + "<domain-config><domain>c.test</domain>\(pins)</domain-config>\n"
                + "<domain-config><domain>d.test</domain>\(pins)</domain-config></domain-config></domain-config>",
            notes: [4, 5].map { "\($0):1: the enclosing domain-config allows cleartext requests, \(remedy)" }),
        CleartextRow(
            testDescription: "own and inherited pins, the base-config's setting",
            configs: "<domain-config><domain>a.test</domain>\(pins)\n"
                + "<domain-config><domain>b.test</domain></domain-config></domain-config><base-config \(allows)/>",
            notes: ["2:1", "3:1"].map { "\($0): the base-config allows cleartext requests, \(remedy)" }),
        CleartextRow(
            testDescription: "pins and setting of the enclosing config",
            configs: "<domain-config \(allows)><domain>a.test</domain>\(pins)\n"
                + "<domain-config><domain>b.test</domain></domain-config>\n"
                + "<domain-config><domain>c.test</domain>"
                + "<pin-set>\(otherTag)</pin-set></domain-config></domain-config>",
            notes: ["2:16: \(own)"]),
        CleartextRow(
            testDescription: "an inner false in an outer true",
            configs: "<base-config \(allows)/><domain-config \(allows)><domain>a.test</domain>\n"
                + "<domain-config \(denies)><domain>b.test</domain>\(pins)</domain-config></domain-config>"),
        CleartextRow(
            testDescription: "an outer false in the base-config's true, inherited",
            configs: "<base-config \(allows)/><domain-config \(denies)><domain>a.test</domain>\n"
                + "<domain-config><domain>b.test</domain>\(pins)</domain-config></domain-config>"),
        CleartextRow(
            testDescription: "an empty pin-set that excludes the host",
            configs: "<domain-config><domain>a.test</domain>\(pins)\n"
                + "<domain-config \(allows)><domain>b.test</domain><pin-set/></domain-config></domain-config>"),
        CleartextRow(
            testDescription: "a setting of debug-overrides, which Android doesn't read",
            configs: "<debug-overrides \(allows)/><domain-config><domain>a.test</domain>\(pins)</domain-config>"),
        CleartextRow(
            testDescription: "an app before Android 9", level: 27,
            configs: "<base-config/><domain-config><domain>a.test</domain>\(pins)</domain-config>",
            notes: ["2:15: apps that target API level 27 may send cleartext requests, \(remedy)"]),
        CleartextRow(
            testDescription: "an app before Android 9 whose base-config denies cleartext", level: 27,
            configs: "<base-config \(denies)/><domain-config><domain>a.test</domain>\(pins)</domain-config>"),
        CleartextRow(
            testDescription: "an app for Android 9", level: 28,
            configs: "<domain-config><domain>a.test</domain>\(pins)</domain-config>"),
    ]

    @Test(
        "The permission for cleartext requests is read as Android reads it",
        arguments: [
            ("true", true, nil), ("TRUE", true, nil), ("True", true, nil), (" true&#10;", true, nil),
            ("false", false, nil), ("\tFALSE ", false, nil), ("1", true, .misreadSetting),
            ("0", false, .misreadSetting), ("0xffffffff", true, .misreadSetting), ("+0", true, .ignoredSetting),
            ("0x-0", true, .ignoredSetting), ("0x", true, .ignoredSetting), ("tRue", true, .ignoredSetting),
            ("no", true, .ignoredSetting), ("", true, .ignoredSetting), ("@bool/debug", true, .ignoredSetting),
        ] as [(String, Bool, LintRule?)])
    func cleartextSpelling(value: String, isAllowed: Bool, rule: LintRule?) throws {
        for place in ["base-config", "domain-config"] {
            let setting = " cleartextTrafficPermitted=\"\(value)\""
            let base = "<base-config\(place == "base-config" ? setting : "")/>"
            let reading = try read(
                base + "<domain-config\(place == "domain-config" ? setting : "")><domain>a.test</domain>\(Self.pins)"
                    + "</domain-config>")
            #expect(reading.notes.contains { $0.rule == .bypassedPins } == isAllowed, "\(place)")
            #expect(reading.notes.compactMap(\.rule).filter { $0 != .bypassedPins } == [rule].compactMap(\.self))
            #expect(!reading.notes.contains { $0.rule == .ignoredSetting && $0.direction != .weaker })
        }
    }

    @Test("TrustKit-Android's elements are read, and what it handles differently is noted")
    func trustKit() throws {
        let reading = try read(
            """
            <domain-config><domain>a.test</domain><domain> b.test</domain><pin-set>\(Self.pinTag)</pin-set>
            <trustkit-config disableDefaultReportUri="true"><report-uri>https://r.test/</report-uri></trustkit-config>
            </domain-config>
            """)
        #expect(reading.policy.rules[0].reports == ["https://r.test/"])
        #expect(!reading.policy.rules[0].usesDefaultReport)
        #expect(reading.policy.rules[0].mode == .enforce)
        #expect(
            reading.notes.map(\.message) == [
                "TrustKit-Android reads only the last domain of a domain-config and ignores this one: give it a "
                    + "domain-config of its own",
                "TrustKit-Android keeps the white space in this domain: remove it",
                "Android 7 and later reject a mismatch regardless of trustkit-config: set enforcePinning to true",
            ])
    }

    @Test("A policy that Android can't express is not written")
    func writeErrors() {
        let rule = CanonicalRule(
            patterns: [HostPattern("a.test", .exact)],
            pins: [CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 1, count: 32))])
        let changes: [(inout CanonicalPolicy) -> Void] = [
            { $0.combination = .union }, { $0.unlisted = .refuse }, { $0.denied = $0.rules[0].pins },
            { $0.rules[0].ports = [443] }, { $0.rules[0].mode = .report }, { $0.rules[0].pins = [] },
            { $0.rules[0].patterns = [] }, { $0.rules[0].patterns[0].scope = .oneLabelBelow },
            { $0.rules[0].pins[0].role = .leaf }, { $0.rules[0].pins[0].digest = .sha1 },
            { $0.rules[0].requirement = .eachOf([.leaf]) },
            { $0.rules[0].expiry = RuleExpiry(.instant(0), .stopPinning) },
            { $0.rules[0].expiry = RuleExpiry(.localDay("2030-01-01"), .fail) },
        ]
        for (index, change) in changes.enumerated() {
            var policy = CanonicalPolicy(rules: [rule], combination: .closest)
            #expect((try? AndroidNetworkSecurityConfig.write(policy)) != nil)
            change(&policy)
            #expect(throws: DialectWriteError.self, "\(index)") { try AndroidNetworkSecurityConfig.write(policy) }
        }
    }

    @Test("A policy that exceeds the reader's limits is not written")
    func limits() throws {
        func policy(nameLength: Int) -> CanonicalPolicy {
            var rule = CanonicalRule(
                patterns: [HostPattern("a.example", .exact)],
                pins: [CanonicalPin(.publicKey, .sha256, [UInt8](repeating: 7, count: 32))])
            rule.anchors = [AnchorSet("@raw/" + String(repeating: "r", count: nameLength))]
            return CanonicalPolicy(rules: [rule], combination: .closest)
        }
        let bytes = try PinDialect.android.write(policy(nameLength: 60_000))
        #expect(try PinDialect.android.read(bytes, path: "nsc.xml").policy.rules.count == 1)
        let error = #expect(throws: DialectWriteError.self) {
            try PinDialect.android.write(policy(nameLength: XMLReader.maximumTokenSize))
        }
        #expect(error?.message.contains("can't be read again: ") == true, "\(String(describing: error))")
    }
}
