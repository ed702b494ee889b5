import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import Testing

@Suite("Rule selection")
struct RuleChoiceTests {
    static let pin = Pin(.publicKey(SPKIFingerprint(bytes: [32 of UInt8](repeating: 7))))

    private static func rule(
        _ host: String, subdomains: Bool = false, ports: Set<Int>? = nil, mode: PinningMode = .enforce
    ) throws -> PinningRule {
        PinningRule(
            host: try ServerName(host), includesSubdomains: subdomains, ports: ports, pins: [pin], mode: mode)
    }

    /// Each name is looked up in one policy. It has rules with subdomains for `example.com` and `deep.example.com`, the
    /// exception `out.example.com`, an exact name, and addresses.
    @Test(
        "PE14, PE25: the rule for the exact host applies, or else that of the longest parent with subdomains",
        arguments: [
            ("example.com", "example.com"), ("EXAMPLE.COM", "example.com"), ("example.com.", "example.com"),
            ("www.example.com", "example.com"), ("WwW.ExAmPlE.cOm.", "example.com"), ("a.b.example.com", "example.com"),
            ("a.b.c.d.e.f.g.example.com", "example.com"), ("xn--bcher-kva.example.com", "example.com"),
            ("_x.example.com", "example.com"), ("deep.example.com", "deep.example.com"),
            ("www.deep.example.com", "deep.example.com"), ("a.b.deep.example.com", "deep.example.com"),
            ("xdeep.example.com", "example.com"), ("out.example.com", "out.example.com"),
            // An exact rule without subdomains hides its parent only for itself.
            ("www.out.example.com", "example.com"), ("notexample.com", nil), ("example.com.evil.com", nil),
            ("example.co", nil), ("com", nil), ("xample.com", nil), ("example.com.example.com", "example.com"),
            ("example.org", "example.org"), ("www.example.org", nil), ("org", nil), ("192.0.2.1", "192.0.2.1"),
            ("192.0.2.10", nil), ("1.192.0.2.1.example.com", "example.com"), ("2001:db8::1", "2001:db8::1"),
            ("[2001:DB8:0:0::1]", "2001:db8::1"), ("2001:db8::2", nil), ("localhost", nil),
        ] as [(String, String?)])
    func choice(name: String, host: String?) throws {
        let policy = try PinningPolicy(rules: [
            Self.rule("example.com", subdomains: true), Self.rule("deep.example.com", subdomains: true),
            Self.rule("out.example.com", mode: .off), Self.rule("example.org"), Self.rule("192.0.2.1"),
            Self.rule("2001:db8::1"),
        ])
        #expect(policy.rule(for: try ServerName(name), port: 443)?.host.description == host)
    }

    @Test(
        "PE14, PE16: a rule that doesn't cover the port is skipped",
        arguments: [
            ("api.example.com", 8443, "api.example.com"), ("api.example.com", 443, "example.com"),
            ("www.example.com", 443, "example.com"), ("www.example.com", 8443, nil), ("api.example.com", 80, nil),
        ] as [(String, Int, String?)])
    func ports(name: String, port: Int, expected: String?) throws {
        let policy = try PinningPolicy(rules: [
            Self.rule("api.example.com", ports: [8443, 9443]), Self.rule("example.com", subdomains: true, ports: [443]),
            Self.rule("example.com", ports: [8443]),
        ])
        #expect(policy.rule(for: try ServerName(name), port: port)?.host.description == expected)
    }

    @Test(
        "Cleartext is permitted only to a host without an enforced rule on any port",
        arguments: [
            ("both.example.com", false), ("reporting.example.com", true), ("off.example.com", true),
            ("www.parent.example.com", false), ("other.example.org", true),
        ])
    func cleartext(host: String, isPermitted: Bool) throws {
        let policy = try PinningPolicy(rules: [
            Self.rule("both.example.com", ports: [443]), Self.rule("both.example.com", ports: [8443], mode: .report),
            Self.rule("reporting.example.com", mode: .report), Self.rule("off.example.com", mode: .off),
            Self.rule("parent.example.com", subdomains: true),
            Self.rule("www.parent.example.com", ports: [8443], mode: .report),
        ])
        #expect(policy.permitsCleartext(to: try ServerName(host)) == isPermitted)
        let reversed = try PinningPolicy(rules: policy.rules.reversed())
        #expect(reversed.permitsCleartext(to: try ServerName(host)) == isPermitted)
    }

    @Test("A host can have one rule for each port")
    func rulesByPort() throws {
        let policy = try PinningPolicy(rules: [
            Self.rule("example.com", ports: [443]), Self.rule("example.com", ports: [8443, 9443], mode: .report),
        ])
        let name = try ServerName("example.com")
        #expect(policy.rule(for: name, port: 443)?.mode == .enforce)
        #expect(policy.rule(for: name, port: 9443)?.mode == .report)
        #expect(policy.rule(for: name, port: 80) == nil)
    }

    @Test("Invalid rules are rejected when the policy is created")
    func invalidRules() throws {
        let host = try ServerName("example.com")
        let address = try ServerName("192.0.2.1")
        let leaf = Pin(Self.pin.fingerprint, role: .leaf)
        let rows: [([PinningRule], PolicyError)] = [
            ([], .noRules),
            ([PinningRule(host: host, pins: [])], .noPins(host: host)),
            ([try Self.rule("example.com", ports: [])], .noPorts(host: host)),
            ([try Self.rule("example.com", ports: [443, 0])], .invalidPort(0, host: host)),
            ([try Self.rule("example.com", ports: [65536])], .invalidPort(65536, host: host)),
            ([try Self.rule("192.0.2.1", subdomains: true)], .subdomainsOfAddress(host: address)),
            (
                [PinningRule(host: host, pins: [Self.pin], requirement: .eachOf([]))], .noRequiredRoles(host: host)
            ),
            (
                [PinningRule(host: host, pins: [leaf], requirement: .eachOf([.leaf, .root]))],
                .unmatchableRole(.root, host: host)
            ),
            ([try Self.rule("example.com"), try Self.rule("EXAMPLE.com.")], .overlap(host: host, earlier: nil)),
            (
                [try Self.rule("example.com", ports: [443]), try Self.rule("example.com")],
                .overlap(host: host, earlier: nil)
            ),
            (
                [try Self.rule("example.com"), try Self.rule("example.com", ports: [443])],
                .overlap(host: host, earlier: nil)
            ),
            (
                [try Self.rule("example.com", ports: [1, 2]), try Self.rule("example.com", ports: [2, 3])],
                .overlap(host: host, earlier: nil)
            ),
        ]
        for (rules, expected) in rows {
            #expect(throws: expected) { try PinningPolicy(rules: rules) }
        }
    }

    @Test("PE14: subdomains of a public suffix can't be pinned", arguments: ["com", "co.uk", "xn--p1ai", "internal"])
    func publicSuffix(host: String) throws {
        let suffixes = PublicSuffixes(list: Array("com\nuk\nco.uk\nрф\n".utf8))
        #expect(throws: PolicyError.subdomainsOfPublicSuffix(host: try ServerName(host))) {
            try PinningPolicy(rules: [Self.rule(host, subdomains: true)], publicSuffixes: suffixes)
        }
        _ = try PinningPolicy(rules: [Self.rule(host)], publicSuffixes: suffixes)
        _ = try PinningPolicy(rules: [Self.rule("example.\(host)", subdomains: true)], publicSuffixes: suffixes)
    }

    @Test(
        "Only the owner of a private public suffix can pin its subdomains, and nobody can pin those of an ICANN suffix")
    func ownSuffix() throws {
        let list = "// ===BEGIN ICANN DOMAINS===\nio\n// ===BEGIN PRIVATE DOMAINS===\npages.io\n"
        let suffixes = PublicSuffixes(list: Array(list.utf8))
        func policy(_ host: String, isOwned: Bool) throws -> PinningPolicy {
            let name = try ServerName(host)
            return try PinningPolicy(
                rules: [
                    PinningRule(host: name, includesSubdomains: true, ownsPublicSuffix: isOwned, pins: [Self.pin])
                ], publicSuffixes: suffixes)
        }
        #expect(throws: PolicyError.subdomainsOfPrivateSuffix(host: try ServerName("pages.io"))) {
            try policy("pages.io", isOwned: false)
        }
        let owned = try policy("pages.io", isOwned: true)
        #expect(owned.rule(for: try ServerName("a.pages.io"), port: 443) != nil)
        for isOwned in [false, true] {
            #expect(throws: PolicyError.subdomainsOfPublicSuffix(host: try ServerName("io"))) {
                try policy("io", isOwned: isOwned)
            }
        }
        // The same applies in a file, in lint, and in the written policy.
        func file(_ setting: String) throws -> PolicyFile {
            let text =
                "{ \"version\": 1, \"domains\": [{ \"host\": \"pages.io\", \"subdomains\": true, \(setting) "
                + "\"pins\": [\"sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=\", "
                + "{ \"pin\": \"sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=\", \"backup\": true }] }] }"
            return try PolicyFile(bytes: Array(text.utf8), path: "p", publicSuffixes: suffixes)
        }
        let problems = try #require(throws: PolicyFileError.self) { try file("") }.problems
        #expect(problems.map(\.message).joined().contains("set \"ownsPublicSuffix\": true if the suffix is yours"))
        let read = try file("\"ownsPublicSuffix\": true,")
        #expect(read.policy.rules.map(\.ownsPublicSuffix) == [true])
        let findings = read.lint(at: Date(timeIntervalSince1970: 0), publicSuffixes: suffixes)
        #expect(!findings.contains { $0.rule == .publicSuffix })
        let canonical = CanonicalPolicy(read.policy)
        for dialect in [PinDialect.policy, .swift] {
            let text = String(decoding: try dialect.write(canonical), as: UTF8.self)
            #expect(text.contains(/"?ownsPublicSuffix"?: true/), "\(text)")
        }
    }

    @Test("PE24: the right rule is found among 100,000 hosts")
    func manyHosts() throws {
        var rules: [PinningRule] = []
        for number in 0..<100_000 { rules.append(try Self.rule("h\(number).example.com", subdomains: number % 2 == 0)) }
        let policy = try PinningPolicy(rules: rules)
        // Each host itself, and a name below each.
        for (number, rule) in rules.enumerated() {
            let host = "h\(number).example.com"
            let below = policy.rule(for: try ServerName("www.\(host)"), port: 443)?.host
            guard policy.rule(for: rule.host, port: 443)?.host == rule.host,
                below == (number % 2 == 0 ? rule.host : nil)
            else { throw PolicyError.noPins(host: rule.host) }
        }
        #expect(
            policy.rule(for: try ServerName("h99999.example.com"), port: 443)?.host.description == "h99999.example.com")
        #expect(
            policy.rule(for: try ServerName("x.y.h99998.example.com"), port: 1)?.host.description
                == "h99998.example.com")
        #expect(policy.rule(for: try ServerName("x.h99999.example.com"), port: 443) == nil)
        #expect(policy.rule(for: try ServerName("h100000.example.com"), port: 443) == nil)
    }

    @Test("The digest covers everything that affects decisions, and nothing else")
    func digest() throws {
        let host = try ServerName("example.com")
        let other = Pin(.publicKey(SPKIFingerprint(bytes: [32 of UInt8](repeating: 8))))
        func digest(_ rules: PinningRule..., unlisted: UnlistedHosts = .trust, deny: [Pin] = []) throws -> [UInt8] {
            try PinningPolicy(rules: rules, unlisted: unlisted, deny: deny).digest
        }
        let base = PinningRule(host: host, pins: [Self.pin, other])
        let second = try Self.rule("example.org")
        let named = PinningRule(
            host: host,
            pins: [other, Pin(Self.pin.fingerprint, isBackup: true, name: "spare", note: "HSM")], note: "for people",
            location: PolicyLocation(path: "pins.jsonc", line: 4, column: 5))
        #expect(try digest(base).count == 32)
        #expect(try digest(base) == digest(named))
        #expect(try digest(base, second) == digest(second, base))
        let different: [[UInt8]] = try [
            digest(base), digest(base, unlisted: .refuse), digest(second), digest(base, second),
            digest(PinningRule(host: host, pins: [Self.pin])),
            digest(PinningRule(host: host, pins: [Self.pin, Pin(other.fingerprint, role: .leaf)])),
            digest(PinningRule(host: host, includesSubdomains: true, pins: base.pins)),
            digest(PinningRule(host: host, ports: [443], pins: base.pins)),
            digest(PinningRule(host: host, ports: [443, 8443], pins: base.pins)),
            digest(PinningRule(host: host, pins: base.pins, requirement: .eachOf([.leaf]))),
            digest(PinningRule(host: host, pins: base.pins, requirement: .eachOf([.leaf, .ca]))),
            digest(PinningRule(host: host, pins: base.pins, mode: .report)),
            digest(PinningRule(host: host, pins: base.pins, mode: .off)),
            digest(PinningRule(host: host, pins: base.pins, anchors: TrustStore(certificates: []))),
            digest(PinningRule(host: host, pins: base.pins, pinsApplyOnlyUnder: TrustStore(certificates: []))),
            digest(PinningRule(host: host, pins: base.pins, expiry: PinningExpiry("2027-03-31", then: .fail))),
            digest(PinningRule(host: host, pins: base.pins, expiry: PinningExpiry("2027-03-31", then: .report))),
            digest(PinningRule(host: host, pins: base.pins, expiry: PinningExpiry("2027-04-01", then: .fail))),
            digest(base, deny: [Self.pin]), digest(base, deny: [other]),
            digest(base, deny: [Pin(Self.pin.fingerprint, role: .leaf)]),
        ]
        #expect(Set(different).count == different.count)
    }
}
