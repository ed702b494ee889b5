import CertificatePinning
import Testing

@testable import PinDialects

@Suite("Host matching", .enabled(if: PeerCases.all != nil, "\(PeerCases.absence)"))
struct HostMatchingTests {
    private let cases: PeerCases

    init() throws { cases = try #require(PeerCases.all) }

    /// A policy with a rule for each name; `true` includes subdomains.
    private func policy(
        _ names: [(String, Bool)], _ combination: RuleCombination,
        below: HostPattern.Scope = .exactAndBelow
    ) -> CanonicalPolicy {
        CanonicalPolicy(
            rules: names.map { CanonicalRule(patterns: [HostPattern($0, $1 ? below : .exact)], pins: [], note: $0) },
            combination: combination)
    }

    private func hosts(_ dialect: PinDialect, _ host: String, _ policy: CanonicalPolicy) -> [String] {
        dialect.rules(for: host, in: policy).compactMap(\.note)
    }

    /// The dialects of the matrix's columns, and how each expresses subdomains. Firefox's pins and appmattus' hosts
    /// aren't dialects here.
    private static let columns: [(column: String, PinDialect, HostPattern.Scope, RuleCombination)] = [
        ("okhttp *.", .okhttp, .oneLabelBelow, .union),
        ("okhttp **.", .okhttp, .exactAndBelow, .union),
        ("android_nsc includeSubdomains", .android, .exactAndBelow, .closest),
        ("trustkit_ios TSKIncludeSubdomains", .trustkit, .exactAndBelow, .closest),
        ("apple NSIncludesSubdomains", .apple, .exactAndOneLabelBelow, .union),
        ("chromium/rfc7469 includeSubDomains", .hpkp, .exactAndBelow, .carveOut),
    ]

    @Test("A policy matches hosts as the matrix says for each dialect", arguments: columns)
    func matrix(
        _ column: (column: String, dialect: PinDialect, scope: HostPattern.Scope, combination: RuleCombination)
    ) throws {
        let policy = policy([("example.com", true)], column.combination, below: column.scope)
        let rows = cases.dialect_matrix.single.members
        try #require(rows.count == 10)
        for (host, row) in rows {
            let expected = row[column.column]
            if expected.string == "THROW" {
                #expect(column.dialect.traits.hosts.rejects(host), "\(host)")
            } else {
                let matches = hosts(column.dialect, host, policy) == ["example.com"]
                #expect(expected.bool == matches, "\(host)")
                #expect(!column.dialect.traits.hosts.rejects(host))
            }
        }
    }

    @Test("A rule below another adds to it, hides it, or excludes its host")
    func shadowing() throws {
        let names = cases.dialect_matrix.shadowing.policy.members.map { ($0.key, $0.value.bool == true) }
        let rows = cases.dialect_matrix.shadowing.hosts.members
        try #require(names.count == 2 && rows.count == 3)
        let columns: [(String, PinDialect, HostPattern.Scope, RuleCombination)] = [
            ("okhttp (**.example.com + foo.example.com)", .okhttp, .exactAndBelow, .union),
            ("android_nsc", .android, .exactAndBelow, .closest),
            ("trustkit_ios", .trustkit, .exactAndBelow, .closest),
            ("apple (union)", .apple, .exactAndOneLabelBelow, .union),
            ("chromium/rfc7469", .hpkp, .exactAndBelow, .carveOut),
        ]
        for (column, dialect, scope, combination) in columns {
            let policy = policy(names, combination, below: scope)
            for (host, row) in rows {
                let answer = row[column]
                let expected = answer.string.map { [$0] } ?? answer.elements.compactMap(\.string)
                let plain = expected.map { $0.hasPrefix("**.") ? String($0.dropFirst(3)) : $0 }
                #expect(hosts(dialect, host, policy) == plain, "\(column) \(host)")
            }
        }
    }

    @Test("OkHttp's patterns match the hosts that its own tests expect")
    func okHttp() throws {
        let rows = cases.host_match.okhttp.cases.elements
        try #require(rows.count == 23)
        for row in rows {
            let (pattern, host) = (try #require(row.pattern.string), try #require(row.host.string))
            let reading = try read("\(pattern) \(Self.pin)")
            let matches = !PinDialect.okhttp.rules(for: host, in: reading.policy).isEmpty
            // okhttp#9724: with a trailing dot, pins don't apply. That is OkHttp's behavior, so it is the answer here
            // too.
            #expect(matches == row.match.bool, "\(pattern) \(host)")
            // Capitals in the rule, as in its file.
            if pattern.hasPrefix("EXAMPLE") {
                let policy = policy([(pattern, false)], .union)
                #expect(hosts(.okhttp, host, policy) == [pattern])
            }
        }
        let validity = cases.host_match.okhttp.pattern_validity.elements
        try #require(validity.count == 4)
        for row in validity {
            let pattern = try #require(row.pattern.string)
            #expect(((try? read("\(pattern) \(Self.pin)")) != nil) == row.valid.bool, "\(pattern)")
        }
    }

    private static let pin = "sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="

    private func read(_ text: String) throws -> DialectReading {
        try OkHttpReader.read(Array(text.utf8), path: "pins.txt")
    }

    @Test("Android uses the most specific domain")
    func android() throws {
        let rows = cases.host_match.android_nsc.cases.elements
        try #require(rows.count == 8)
        for row in rows {
            let names = row.domains.elements.map { ($0.elements[0].string ?? "", $0.elements[1].bool == true) }
            let host = try #require(row.host.string)
            let expected = row.expect_domain.string
            #expect(PinDialect.android.traits.hosts.rejects(host) == (expected == "THROW"))
            let found = hosts(.android, host, policy(names, .closest))
            #expect(found.first == (expected == "THROW" ? nil : expected), "\(host)")
        }
    }

    @Test(
        "The entry of a host is found as in TrustKit, Chromium and Go's HPKP",
        arguments: [
            ("trustkit_ios", PinDialect.trustkit, "policies", "expect_key", RuleCombination.closest, 4),
            ("chromium_dynamic", .hpkp, "entries", "expect", .carveOut, 12),
            ("hpkp_go", .hpkp, "entries", "expect", .carveOut, 5),
        ])
    func entries(
        _ table: String, _ dialect: PinDialect, _ entries: String, _ answer: String, _ combination: RuleCombination,
        _ count: Int
    ) throws {
        let rows = cases.host_match[table].cases.elements
        try #require(rows.count == count)
        for row in rows {
            let names = row[entries].members.map { ($0.key, $0.value.bool == true) }
            let host = try #require(row.host.string)
            #expect(hosts(dialect, host, policy(names, combination)).first == row[answer].string, "\(host)")
        }
    }

    @Test("Apple includes one label below a domain, and combines all matching entries")
    func apple() throws {
        let rows = cases.host_match.apple_nspinneddomains.cases.elements
        try #require(rows.count == 5)
        for row in rows {
            let name = (try #require(row.domain.string), row.NSIncludesSubdomains.bool == true)
            let policy = policy([name], .union, below: .exactAndOneLabelBelow)
            let found = hosts(.apple, try #require(row.host.string), policy)
            #expect(!found.isEmpty == row.match.bool, "\(row)")
        }
        let union = cases.host_match.apple_nspinneddomains.union
        let names = union.policy.members.map { ($0.key, $0.value.NSIncludesSubdomains.bool == true) }
        let found = hosts(
            .apple, try #require(union.host.string), policy(names, .union, below: .exactAndOneLabelBelow))
        #expect(found == ["example.org", "www.example.org"])
    }

    @Test("Hosts in a policy of this project match in any case and with a trailing dot")
    func ours() {
        let policy = policy([("example.com", true), ("foo.example.com", false)], .closest)
        for (host, expected) in [
            ("example.com.", ["example.com"]), ("WWW.Example.COM", ["example.com"]),
            ("a.b.example.com", ["example.com"]),
            ("foo.example.com", ["foo.example.com"]), ("x.foo.example.com", ["example.com"]), ("notexample.com", []),
            (".example.com", []), ("a..example.com", []), ("example.com..", []), ("192.0.2.1", []),
        ] {
            #expect(hosts(.policy, host, policy) == expected, "\(host)")
        }
    }

    @Test("Hosts are compared byte by byte where a system does, whatever else Unicode takes as equal")
    func bytes() {
        let policy = policy([("caf\u{E9}.example", true)], .closest)
        for (host, isMatch) in [("caf\u{E9}.example", true), ("cafe\u{301}.example", false)] {
            for dialect in [PinDialect.trustkit, .android] {
                #expect(hosts(dialect, host, policy).isEmpty != isMatch)
                #expect(hosts(dialect, "www.\(host)", policy).isEmpty != isMatch)
            }
        }
    }

    @Test("A rule for other ports is skipped")
    func ports() {
        var policy = policy([("example.com", true), ("api.example.com", false)], .closest)
        policy.rules[1].ports = [8443]
        for (port, expected) in [(443, "example.com"), (8443, "api.example.com"), (nil, "api.example.com")] {
            let rules = PinDialect.policy.rules(for: "api.example.com", port: port, in: policy)
            #expect(rules.map(\.note) == [expected])
        }
    }
}
