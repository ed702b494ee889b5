import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlTestPKI
import Testing

/// Settings that each dialect can't express, and whether the conversion makes security weaker or stricter.
struct ConversionTests {
    /// 2026-11-21T00:00:00Z.
    private static let suffixes = PublicSuffixes(
        list: Array(
            """
            // ===BEGIN ICANN DOMAINS===
            com
            example
            *.wild.example
            !www.wild.example
            // ===BEGIN PRIVATE DOMAINS===
            s3.amazonaws.com
            pages.example

            """.utf8))

    private static let now = Date(timeIntervalSince1970: 1_795_219_200)

    private static func pin(
        _ byte: UInt8, _ role: PinRole = .any, _ content: CanonicalPin.Content = .publicKey,
        _ digest: CanonicalPin.Digest = .sha256
    ) -> CanonicalPin {
        CanonicalPin(content, digest, Array(repeating: byte, count: digest == .sha1 ? 20 : 32), role: role)
    }

    private static func rule(
        _ host: String = "example.com", _ scope: HostPattern.Scope = .exact,
        _ pins: [CanonicalPin] = [pin(1), pin(2)], _ adjust: (inout CanonicalRule) -> Void = { _ in }
    ) -> CanonicalRule {
        var rule = CanonicalRule(patterns: [HostPattern(host, scope)], pins: pins)
        adjust(&rule)
        return rule
    }

    private static func ending(_ moment: RuleExpiry.Moment, _ effect: PinningExpiry.Action) -> CanonicalRule {
        rule { $0.expiry = RuleExpiry(moment, effect) }
    }

    private static func endingLeaf(_ effect: PinningExpiry.Action) -> CanonicalRule {
        rule("a.example", .exact, [pin(1, .leaf)]) { $0.expiry = RuleExpiry(.instant(1_800_000_000), effect) }
    }

    private static func endingReport(_ effect: PinningExpiry.Action) -> CanonicalRule {
        rule {
            ($0.mode, $0.reports) = (.report, ["https://r.example/"])
            $0.expiry = RuleExpiry(.instant(1_800_000_000), effect)
        }
    }

    private static func backup(_ byte: UInt8, _ role: PinRole) -> CanonicalPin {
        var pin = pin(byte, role)
        pin.isBackup = true
        return pin
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        var policy: CanonicalPolicy
        let dialect: PinDialect
        /// Each note as `change direction`, in order.
        let notes: [String]

        init(
            _ title: String, _ rules: [CanonicalRule], _ combination: RuleCombination = .closest,
            to dialect: PinDialect, _ notes: [String], adjust: (inout CanonicalPolicy) -> Void = { _ in }
        ) {
            testDescription = title
            self.dialect = dialect
            self.notes = notes
            policy = CanonicalPolicy(rules: rules, combination: combination)
            adjust(&policy)
        }
    }

    static let hosts: [Row] = [
        Row("a plain rule, Android", [rule()], to: .android, []),
        Row("a plain rule, TrustKit", [rule()], to: .trustkit, []),
        Row("a plain rule, OkHttp", [rule()], to: .okhttp, []),
        Row("a plain rule, Swift", [rule()], to: .swift, []),
        Row("all below, OkHttp", [rule("example.com", .exactAndBelow)], to: .okhttp, []),
        Row("OkHttp's *. here", [rule("example.com", .oneLabelBelow)], to: .policy, ["scope-widened stricter"]),
        Row(
            "Apple's subdomains here", [rule("example.com", .exactAndOneLabelBelow)], to: .policy,
            ["scope-widened stricter"]),
        Row("Apple's subdomains, OkHttp", [rule("example.com", .exactAndOneLabelBelow)], to: .okhttp, []),
        Row(
            "all below, Apple", [rule("example.com", .exactAndBelow, [pin(1, .leaf)])], to: .apple,
            ["scope-narrowed weaker"]),
        Row("all below, TLSA", [rule("example.com", .exactAndBelow)], to: .tlsa, ["scope-narrowed weaker"]),
        Row(
            "overlap, OkHttp", [rule("example.com", .exactAndBelow), rule("a.example.com", .exact, [pin(3)])],
            to: .okhttp, ["combine-changed weaker"]),
        Row(
            "overlap with the same pins, OkHttp", [rule("example.com", .exactAndBelow), rule("a.example.com")],
            to: .okhttp, []),
        Row(
            "overlap with one of the pins, OkHttp",
            [rule("example.com", .exactAndBelow, [pin(1)]), rule("a.example.com", .exact, [pin(2), pin(1)])],
            to: .okhttp,
            []),
        Row(
            "overlap with one of the parent's pins, OkHttp",
            [rule("example.com", .exactAndBelow), rule("a.example.com", .exact, [pin(1)])], to: .okhttp,
            ["combine-changed weaker"]),
        Row(
            "overlap with another parent of the same pins, OkHttp",
            [
                rule("example.com", .exactAndBelow, [pin(3)]), rule("a.example.com", .exactAndBelow),
                rule("b.a.example.com"),
            ], to: .okhttp, ["combine-changed weaker", "combine-changed weaker"]),
        Row(
            "overlap with the same pins, a header's exception",
            [rule("example.com", .exactAndBelow), rule("a.example.com")], .carveOut, to: .policy,
            ["combine-changed stricter"]),
        Row(
            "overlap from OkHttp", [rule("example.com", .exactAndBelow), rule("a.example.com", .exact, [pin(3)])],
            .union, to: .policy, []),
        Row(
            "a header's exception here", [rule("example.com", .exactAndBelow), rule("a.example.com")], .carveOut,
            to: .policy, ["combine-changed stricter"]),
        Row("ports, OkHttp", [rule { $0.ports = [8443] }], to: .okhttp, ["ports-lost stricter"]),
        Row("the usual port, OkHttp", [rule { $0.ports = [443] }], to: .okhttp, ["ports-lost stricter"]),
        Row("the usual port, Android", [rule { $0.ports = [443] }], to: .android, ["ports-lost stricter"]),
        Row("the usual port, TrustKit", [rule { $0.ports = [443] }], to: .trustkit, ["ports-lost stricter"]),
        Row(
            "a port below a parent's rule, Android",
            [rule("example.com", .exactAndBelow), rule("a.example.com", .exact, [pin(3)]) { $0.ports = [8443] }],
            to: .android, ["ports-lost either"]),
        Row(
            "a port below a parent's rule, TrustKit",
            [rule("example.com", .exactAndBelow), rule("a.example.com") { $0.ports = [8443] }], to: .trustkit,
            ["ports-lost either"]),
        Row(
            "a port that the parent's rule is for too, Android",
            [
                rule("example.com", .exactAndBelow) { $0.ports = [8443] },
                rule("a.example.com") { $0.ports = [443, 8443] },
            ], to: .android, ["ports-lost stricter", "ports-lost stricter"]),
        Row(
            "a port below a parent's rule that reports, TrustKit",
            [rule("example.com", .exactAndBelow) { $0.mode = .report }, rule("a.example.com") { $0.ports = [8443] }],
            to: .trustkit, ["ports-lost stricter"]),
        Row(
            "a port that reports below a parent's rule, TrustKit",
            [rule("example.com", .exactAndBelow), rule("a.example.com") { ($0.mode, $0.ports) = (.report, [8443]) }],
            to: .trustkit, ["ports-lost weaker"]),
        Row(
            "a port below a parent's rule, OkHttp",
            [rule("example.com", .exactAndBelow), rule("a.example.com") { $0.ports = [8443] }], to: .okhttp,
            ["ports-lost weaker"]),
        Row(
            "a port, curl", [rule("a.example", .exact, [pin(1, .leaf)]) { $0.ports = [8443] }], to: .curl,
            ["ports-lost unchanged"]),
        Row(
            "two hosts, curl",
            [rule("a.example", .exact, [pin(1, .leaf)]), rule("b.example", .exact, [pin(1, .leaf)])],
            to: .curl, ["hosts-lost impossible"]),
        Row(
            "a host with a dot behind it here", [rule("Example.com.")], to: .policy, ["scope-widened stricter"]),
        Row(
            "a host with a port here", [rule("example.com:443"), rule("b.example")], to: .policy,
            ["hosts-lost weaker"]),
        Row(
            "all below an address here", [rule("192.0.2.1", .exactAndBelow)], to: .policy,
            ["scope-narrowed unchanged"]),
        Row("curl's here", [rule("", .every, [pin(1, .leaf)])], to: .policy, ["hosts-lost impossible"]),
        Row(
            "one host twice, Android",
            [rule("example.com", .exact, [pin(1)]), rule("example.com", .oneLabelBelow, [pin(2)])], .union,
            to: .android, ["scope-widened stricter", "combine-changed weaker"]),
        Row(
            "*. with fewer pins than its host",
            [rule("example.com", .oneLabelBelow, [pin(1)]), rule("example.com", .exact, [pin(1), pin(2)])], .union,
            to: .policy, ["scope-widened stricter", "combine-changed weaker"]),
        Row(
            "**. with fewer pins than its host",
            [rule("example.com", .exact, [pin(1), pin(2)]), rule("example.com", .exactAndBelow, [pin(1)])], .union,
            to: .policy, ["combine-changed weaker"]),
        Row(
            "one host twice with the same pins in the end",
            [rule("example.com", .exact, [pin(1)]), rule("example.com", .exact, [pin(2)])], .union, to: .policy, []),
        Row(
            "labels below a host that a rule above reaches alone",
            [
                rule("example.com", .exactAndOneLabelBelow, [pin(1)]),
                rule("a.example.com", .exactAndOneLabelBelow, [pin(2)]),
            ], .union, to: .policy, ["combine-changed weaker", "scope-widened stricter", "scope-widened either"]),
        Row(
            "pins by port, OkHttp",
            [
                rule("example.com", .exact, [pin(1)]) { $0.ports = [443] },
                rule("example.com", .exact, [pin(2)]) { $0.ports = [8443] },
            ], to: .okhttp, ["combine-changed weaker", "ports-lost stricter", "ports-lost stricter"]),
        Row(
            "roots by port, Android",
            [
                rule { ($0.ports, $0.anchors) = ([443], [AnchorSet("user", bypassesPins: true)]) },
                rule { $0.ports = [8443] },
            ], to: .android, ["hosts-lost impossible", "ports-lost stricter"]),
    ]

    static let pins: [Row] = [
        Row("a leaf pin, OkHttp", [rule("a.example", .exact, [pin(1, .leaf)])], to: .okhttp, ["role-lost weaker"]),
        Row("a root pin, Apple", [rule("a.example", .exact, [pin(1, .root)])], to: .apple, ["role-lost weaker"]),
        Row(
            "a pin anywhere, Apple", [rule("a.example", .exact, [pin(1)])], to: .apple,
            ["role-lost impossible", "hosts-lost impossible"]),
        Row("a pin anywhere, TLSA", [rule("a.example", .exact, [pin(1)])], to: .tlsa, []),
        Row("a pin anywhere, curl", [rule("a.example", .exact, [pin(1)])], to: .curl, ["role-lost stricter"]),
        Row(
            "leaf or ca, Apple", [rule("a.example", .exact, [pin(1, .leaf), pin(2, .ca)])], to: .apple,
            ["roles-and-added stricter"]),
        Row(
            "leaf and ca from Apple",
            [rule("a.example", .exact, [pin(1, .leaf), pin(2, .ca)]) { $0.requirement = .eachOf([.leaf, .ca]) }],
            .union, to: .okhttp, ["roles-and-lost weaker", "role-lost weaker", "role-lost weaker"]),
        Row(
            "an issuer's pin, curl", [rule("a.example", .exact, [pin(1, .ca)])], to: .curl,
            ["role-lost stricter", "hosts-lost impossible"]),
        Row("one pin, TrustKit", [rule("example.com", .exact, [pin(1)])], to: .trustkit, ["backup-missing impossible"]),
        Row("an unlisted suffix, TrustKit", [rule("api.internal")], to: .trustkit, ["hosts-lost impossible"]),
        Row("a name of a local domain, TrustKit", [rule("db.corp.local")], to: .trustkit, ["hosts-lost impossible"]),
        Row("a name above suffixes, TrustKit", [rule("amazonaws.com")], to: .trustkit, ["hosts-lost impossible"]),
        Row("a name below those, TrustKit", [rule("x.amazonaws.com")], to: .trustkit, ["hosts-lost impossible"]),
        Row("a suffix of a company, TrustKit", [rule("pages.example")], to: .trustkit, []),
        Row("a name below a wildcard, TrustKit", [rule("a.b.wild.example")], to: .trustkit, []),
        Row("an exception of a wildcard, TrustKit", [rule("www.wild.example")], to: .trustkit, []),
        Row(
            "a name without its suffix, TrustKit", [rule("xn--bcher-kva.xn--none")], to: .trustkit,
            ["hosts-lost impossible"]),
        Row(
            "off below an unlisted suffix, TrustKit", [rule("example.com"), rule("b.internal") { $0.mode = .off }],
            to: .trustkit, []),
        Row(
            "roots of its own, Cert Spotter",
            [rule("example.com", .exact, [pin(1, .leaf)]) { $0.anchors = [AnchorSet("r.pem")] }], to: .certspotter, []),
        Row("an address, TrustKit", [rule("192.0.2.1")], to: .trustkit, ["hosts-lost impossible"]),
        Row(
            "one required role, TLSA",
            [rule("a.example", .exact, [pin(1, .leaf)]) { $0.requirement = .eachOf([.leaf]) }], .union, to: .tlsa, []),
        Row("no expiry, HPKP", [rule()], to: .hpkp, ["expiry-zone weaker"]),
        Row(
            "*. alone, TLSA", [rule("example.com", .oneLabelBelow), rule("b.example")], .union, to: .tlsa,
            ["scope-narrowed weaker"]),
        Row(
            "off with roots, OkHttp",
            [rule(), rule("b.example") { ($0.mode, $0.anchors) = (.off, [AnchorSet("r.pem")]) }], to: .okhttp,
            ["anchors-lost either"]),
        Row(
            "off with roots, TrustKit",
            [rule(), rule("b.example") { ($0.mode, $0.anchors) = (.off, [AnchorSet("r.pem")]) }], to: .trustkit,
            ["anchors-lost either"]),
        Row(
            "off with roots, TLSA",
            [rule(), rule("b.example") { ($0.mode, $0.anchors) = (.off, [AnchorSet("r.pem")]) }], to: .tlsa,
            ["anchors-lost either"]),
        Row(
            "SHA-1 from OkHttp", [rule("a.example", .exact, [pin(1), pin(2, .any, .publicKey, .sha1)])], .union,
            to: .policy, ["alg-lost stricter"]),
        Row(
            "a certificate, OkHttp", [rule("a.example", .exact, [pin(1), pin(2, .any, .certificate)])], to: .okhttp,
            ["cert-pin stricter"]),
        Row(
            "a required role whose pins are left out, Apple",
            [
                rule("a.example", .exact, [pin(1, .leaf), pin(2, .ca, .certificate)]) {
                    $0.requirement = .eachOf([.leaf, .ca])
                }
            ], to: .apple, ["cert-pin stricter", "roles-and-lost impossible"]),
        Row(
            "a root and a backup leaf, Apple", [rule("a.example", .exact, [pin(1, .root), backup(2, .leaf)])],
            to: .apple, ["roles-and-added stricter", "role-lost weaker", "backups-only impossible"]),
        Row(
            "a leaf, a root and a backup leaf, Apple",
            [rule("a.example", .exact, [pin(1, .root), pin(3, .leaf), backup(2, .leaf)])], to: .apple,
            ["roles-and-added stricter", "role-lost weaker"]),
        Row(
            "a root and a backup leaf, curl", [rule("a.example", .exact, [pin(1, .root), backup(2, .leaf)])],
            to: .curl, ["role-lost stricter", "backups-only impossible"]),
        Row(
            "a root and a backup leaf, OkHttp", [rule("a.example", .exact, [pin(1, .root), backup(2, .leaf)])],
            to: .okhttp, ["role-lost weaker", "role-lost weaker"]),
        Row(
            "a root and a backup leaf that only report, HPKP",
            [
                rule("a.example", .exact, [backup(1, .any), backup(2, .any)]) {
                    ($0.mode, $0.reports) = (.report, ["https://r.example/"])
                }
            ], to: .hpkp, []),
        Row(
            "a certificate in use and the backup of a key, Android",
            [rule("a.example", .exact, [pin(1, .any, .certificate), backup(2, .any)])], to: .android,
            ["cert-pin stricter", "backups-only impossible"]),
        Row(
            "a root and an intermediate that are both required, Apple",
            [
                rule("a.example", .exact, [pin(1, .root), pin(2, .intermediate)]) {
                    $0.requirement = .eachOf([.root, .intermediate])
                }
            ], to: .apple, ["roles-and-lost weaker", "role-lost weaker", "role-lost weaker"]),
        Row("no pins, policy", [rule("a.example", .exact, [])], to: .policy, ["exclusion-form impossible"]),
        Row("denied, OkHttp", [rule()], to: .okhttp, ["deny-lost weaker"]) { $0.denied = [pin(9)] },
    ]

    static let effects: [Row] = [
        Row("an end in fail, OkHttp", [ending(.instant(1_800_000_000), .fail)], to: .okhttp, ["expiry-lost weaker"]),
        Row("an end in fail, Apple", [endingLeaf(.fail)], to: .apple, ["expiry-lost weaker"]),
        Row("an end in fail, curl", [endingLeaf(.fail)], to: .curl, ["expiry-lost weaker"]),
        Row("an end in silence, Apple", [endingLeaf(.stopPinning)], to: .apple, ["expiry-lost stricter"]),
        Row("an end in report, Apple", [endingLeaf(.report)], to: .apple, ["expiry-lost stricter"]),
        Row(
            "report that ends in fail, HPKP", [endingReport(.fail)], to: .hpkp, ["expiry-lost weaker"]),
        Row(
            "report that ends in silence, HPKP", [endingReport(.stopPinning)], to: .hpkp, ["expiry-lost unchanged"]),
        Row(
            "an end, Android", [ending(.instant(1_800_000_000), .fail)], to: .android,
            ["expiry-zone either", "expiry-effect weaker"]),
        Row(
            "Android's end here", [ending(.localDay("2027-01-01"), .stopPinning)], to: .policy, ["expiry-zone either"]),
        Row("a day's end, TrustKit", [ending(.instant(1_800_057_600), .stopPinning)], to: .trustkit, []),
        Row(
            "an hour's end, TrustKit", [ending(.instant(1_800_057_601), .stopPinning)], to: .trustkit,
            ["expiry-zone weaker"]),
        Row("report, Android", [rule { $0.mode = .report }], to: .android, ["mode-lost stricter"]),
        Row("report, TrustKit", [rule { $0.mode = .report }], to: .trustkit, []),
        Row("reports, OkHttp", [rule { $0.reports = ["https://r.example/"] }], to: .okhttp, ["reports-lost unchanged"]),
        Row(
            "the system's roots without pins here",
            [rule { $0.anchors = [AnchorSet("system", bypassesPins: true)] }], to: .policy, ["anchors-lost stricter"]),
        Row(
            "the system's roots without pins, Apple",
            [
                rule("a.example", .exact, [pin(1, .leaf)]) {
                    $0.anchors = [AnchorSet("system", bypassesPins: true)]
                }
            ], to: .apple, ["anchors-lost stricter"]),
        Row(
            "the system's roots without pins, Android",
            [rule { $0.anchors = [AnchorSet("system", bypassesPins: true)] }], to: .android, []),
        Row("no roots at all here", [rule { $0.anchors = [] }], to: .policy, ["anchors-lost weaker"]),
        Row(
            "a report without TLS here",
            [rule { $0.reports = ["http://r.example/", "https://r.example/", "https://example.com/", "r"] }],
            to: .policy, ["reports-lost unchanged", "reports-lost unchanged", "reports-lost unchanged"]),
        Row("roots, OkHttp", [rule { $0.anchors = [AnchorSet("ca.pem")] }], to: .okhttp, ["anchors-lost either"]),
        Row(
            "roots that Android names", [rule { $0.anchors = [AnchorSet("wfa")] }], to: .policy,
            ["anchors-lost either"]),
        Row("roots that Android names, Android", [rule { $0.anchors = [AnchorSet("wfa")] }], to: .android, []),
        Row("refuse, OkHttp", [rule()], to: .okhttp, ["unlisted-lost weaker"]) { $0.unlisted = .refuse },
        Row(
            "off below, Android", [rule("example.com", .exactAndBelow), rule("a.example.com") { $0.mode = .off }],
            to: .android, []),
        Row(
            "off below, OkHttp", [rule("example.com", .exactAndBelow), rule("a.example.com") { $0.mode = .off }],
            to: .okhttp, ["combine-changed weaker", "exclusion-form stricter"]),
        Row("off alone, OkHttp", [rule(), rule("b.example") { $0.mode = .off }], to: .okhttp, []),
    ]

    @Test(
        "A setting that a dialect can't express is noted, with the direction in which security changes",
        arguments: hosts + pins + effects)
    func notes(row: Row) {
        let (_, notes) = row.policy.converted(to: row.dialect, at: Self.now, publicSuffixes: Self.suffixes)
        #expect(notes.map { "\($0.change.rawValue) \($0.direction.rawValue)" } == row.notes)
        #expect(notes.allSatisfy { !$0.message.isEmpty })
    }

    @Test("A converted policy needs no further conversion", arguments: hosts + pins + effects)
    func stable(row: Row) {
        let first = row.policy.converted(to: row.dialect, at: Self.now, publicSuffixes: Self.suffixes)
        guard !first.notes.contains(where: { $0.direction == .impossible }) else { return }
        let second = first.policy.converted(to: row.dialect, at: Self.now, publicSuffixes: Self.suffixes)
        #expect(second.policy == first.policy)
        #expect(second.notes.isEmpty)
    }

    @Test("Pins of rules that applied together become pins of the closest rule")
    func union() {
        let parent = Self.rule("example.com", .exactAndBelow)
        let child = Self.rule("a.example.com", .exact, [Self.pin(3)])
        let union = CanonicalPolicy(rules: [parent, child], combination: .union)
        let rules = union.converted(to: .policy, at: Self.now).policy.rules
        #expect(rules.map(\.pins) == [parent.pins, [Self.pin(3), Self.pin(1), Self.pin(2)]])
    }

    @Test("A host of TLSA has the pins of each rule that covered it, which TLSA can't extend to it")
    func unionForHosts() {
        let parents: [HostPattern.Scope: Bool] = [
            .exactAndBelow: true, .oneLabelBelow: true, .exactAndOneLabelBelow: true, .exact: false,
        ]
        for (scope, isCovered) in parents {
            let parent = Self.rule("example.com", scope, [Self.pin(1), Self.pin(2)])
            let child = Self.rule("a.example.com", .exact, [Self.pin(3)])
            let union = CanonicalPolicy(rules: [parent, child], combination: .union)
            let rules = union.converted(to: .tlsa, at: Self.now).policy.rules
            let own = rules.filter { $0.patterns.contains { $0.host == "a.example.com" } }.flatMap(\.pins)
            #expect(Set(own.map(\.value)) == Set((isCovered ? [1, 2, 3] : [3]).map { Self.pin($0).value }), "\(scope)")
        }
    }

    @Test("A policy whose rules are all off says so in place of a missing pin")
    func off() {
        for mode in [PinningMode.off, .enforce] {
            let rule = Self.rule("example.com", .exact, [Self.pin(1, .any, .publicKey, .sha1)]) { $0.mode = mode }
            let policy = CanonicalPolicy(rules: [rule], combination: .closest)
            for dialect in [PinDialect.trustkit, .android, .map] {
                let notes = policy.converted(to: dialect, at: Self.now, publicSuffixes: Self.suffixes).notes
                let isNamed = notes.contains { $0.message.hasPrefix("the mode of every rule is off") }
                #expect(isNamed == (mode == .off), "\(notes)")
                #expect(notes.contains { $0.direction == .impossible })
            }
        }
    }

    @Test("The rule for a host is chosen as this project chooses rules")
    func chosen() {
        let rules = [Self.rule("example.com", .exactAndBelow, [Self.pin(1, .leaf)]), Self.rule("b.example")]
        let policy = CanonicalPolicy(rules: rules, combination: .closest)
        let (chosen, notes) = policy.converted(to: .curl, host: "www.example.com", at: Self.now)
        #expect(notes.isEmpty)
        #expect(chosen.rules.map(\.pins) == [[Self.pin(1, .leaf)]])
    }
}

struct DialectDocumentTests {
    @Test("The bypass for local roots reaches the formats that have it, and is a note for the others")
    func localBypass() throws {
        let now = Date(timeIntervalSince1970: 1_795_219_200)
        let host = try ServerName("a.example")
        let pins = [
            Pin(.publicKey(SPKIFingerprint(hashing: [1].span))), Pin(.publicKey(SPKIFingerprint(hashing: [2].span))),
        ]
        let rule = PinningRule(host: host, pins: pins, pinsApplyOnlyUnder: TrustStore(certificates: []))
        let policy = CanonicalPolicy(try PinningPolicy(rules: [rule]))
        let plain = CanonicalPolicy(try PinningPolicy(rules: [PinningRule(host: host, pins: pins)]))
        for dialect in [PinDialect.policy, .swift] {
            let (converted, notes) = policy.converted(to: dialect, at: now)
            #expect(notes.isEmpty, "\(notes)")
            let text = String(decoding: try dialect.write(converted), as: UTF8.self)
            #expect(
                text.contains(dialect == .policy ? "\"localAnchorsBypassPins\": true" : "pinsApplyOnlyUnder:"),
                "\(text)")
            #expect(
                converted.differences(in: plain.converted(to: dialect, at: now).policy).map(\.message) == [
                    "doesn't let local roots bypass the pins"
                ])
            #expect(plain.differences(in: policy).map(\.message) == ["lets local roots bypass the pins"])
        }
        for dialect in [PinDialect.android, .apple, .okhttp, .trustkit, .envoy] {
            let (converted, notes) = policy.converted(to: dialect, at: now)
            let found = notes.filter { $0.change == .anchorsLost }
            #expect(found.map(\.direction) == [.stricter], "\(dialect): \(notes)")
            #expect(converted.rules.allSatisfy { $0.stores.pinsApplyOnlyUnder == nil })
        }
    }

    @Test("The article names every change and has a table row for every dialect")
    func article() throws {
        let path = "\(Repository.root)/Sources/PinDialects/PinDialects.docc/PinDialects.md"
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for change in ConversionChange.allCases { #expect(text.contains("`\(change.rawValue)`")) }
        for dialect in PinDialect.allCases { #expect(text.contains("| \(dialect.rawValue) |")) }
    }
}
