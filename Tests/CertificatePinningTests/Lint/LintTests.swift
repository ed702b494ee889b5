import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlBasics
import PinctlTestPKI
import Testing

@Suite("Lint")
struct LintTests {
    private let server: TestSite
    private let directory: TestDirectory

    init() throws {
        server = try TestSite()
        directory = try TestDirectory()
        _ = try directory.add(server.leaf.pemText + server.intermediate.pemText, name: "chain.pem")
        _ = try directory.add(server.intermediate.pemText, name: "intermediate.pem")
        _ = try directory.add(server.root.pemText, name: "root.pem")
    }

    /// A pin that doesn't match any key here.
    private static let other = PolicyFileTests.pinA

    /// Returns the findings for one rule, without P003 by default.
    private func lint(
        _ pins: String..., rule: String = "", host: String = "a.test", at time: Date = TestSite.time,
        settings: [LintRule: LintFinding.Severity?] = [:], more: String = ""
    ) throws -> [LintFinding] {
        let text = """
            { "version": 1, "domains": [
            { "host": "\(host)",\(rule)
            "pins": [\(pins.joined(separator: ",\n"))] }\(more) ] }
            """
        let file = try PolicyFile(bytes: Array(text.utf8), path: directory.path + "/pins.jsonc")
        let quiet: [LintRule: LintFinding.Severity?] = [.noBackup: .none]
        return file.lint(at: time, settings: LintSettings(severities: quiet.merging(settings) { $1 }))
    }

    private func pin(_ certificate: TestCertificate, _ more: String = "") throws -> String {
        #"{ "pin": "\#(try certificate.key.pin)"\#(more.isEmpty ? "" : ", \(more)") }"#
    }

    private func certificate(
        _ file: String, days: Int64, from issuer: TestCertificate? = nil, isAuthority: Bool = false,
        key: TestKey? = nil
    ) throws -> TestCertificate {
        let start = Int64(TestSite.time.timeIntervalSince1970) - 10 * 86_400
        func adjust(_ settings: inout TestCertificate.Settings) {
            settings.notBefore = start
            settings.notAfter = start + days * 86_400
        }
        let issuer = issuer ?? server.intermediate
        let made =
            isAuthority
            ? try issuer.intermediate("Another", key: key, adjusting: adjust)
            : try issuer.leaf("a.test", key: key, adjusting: adjust)
        _ = try directory.add(made.pemText, name: file)
        return made
    }

    @Test("P002: a placeholder pin is reported", arguments: ["A", "E"])
    func placeholder(letter: String) throws {
        let findings = try lint(#""sha256/\#(String(repeating: letter, count: 43))=""#, #""\#(Self.other)""#)
        #expect(findings.map(\.rule) == [.placeholderPin])
        #expect(findings[0].location.line == 3)
        #expect(
            findings[0].message.hasSuffix(" is a placeholder, one character repeated: put the pin of a key there"))
    }

    @Test("P004: a backup that is in the chain of another pin, or that repeats another pin, is reported")
    func servedBackup() throws {
        let inChain = try lint(
            pin(server.leaf, #""from": "chain.pem""#), pin(server.intermediate, #""backup": true"#))
        #expect(inChain.map(\.rule) == [.servedBackup])
        #expect(inChain[0].location.line == 4)
        #expect(inChain[0].message.contains("chain.pem"))
        let twice = try lint(pin(server.leaf), pin(server.leaf, #""backup": true"#))
        #expect(twice.map(\.rule) == [.servedBackup])
        #expect(try lint(pin(server.leaf, #""from": "chain.pem""#), pin(server.root, #""backup": true"#)) == [])
    }

    @Test("P005: a duplicate pin is reported")
    func duplicate() throws {
        #expect(try lint(pin(server.leaf), pin(server.leaf)).map(\.rule) == [.duplicate])
        #expect(try lint(pin(server.leaf, #""role": "leaf""#), pin(server.leaf, #""role": "ca""#)) == [])
    }

    @Test(
        "P006, P007: a rule that has expired, expires soon or silently stops pinning is reported",
        arguments: [
            ("2026-12-01", "fail", ["P006"]), ("2027-02-01", "fail", ["P006"]), ("2027-12-01", "fail", []),
            ("2027-12-01", "report", []), ("2027-12-01", "stop-pinning", ["P007"]),
            ("2027-02-01", "stop-pinning", ["P006", "P007"]),
        ])
    func expiry(day: String, action: String, rules: [String]) throws {
        let findings = try lint(pin(server.leaf), rule: #""expires": "\#(day)", "onExpiry": "\#(action)","#)
        #expect(findings.map(\.rule.rawValue) == rules)
        #expect(
            findings.first { $0.rule == .expiry }?.message.contains(day < "2027" ? " expired on " : " expires on ")
                != false)
    }

    @Test("P006: a rule that expires in exactly 30 days is reported, and one that does now has expired")
    func expiryBoundary() throws {
        func expiry(_ seconds: Double) throws -> String? {
            let rule = #""expires": "2027-12-01T00:00:00Z", "onExpiry": "fail","#
            let end = try #require(Date(rfc3339: "2027-12-01T00:00:00Z"))
            return try lint(pin(server.leaf), rule: rule, at: end - seconds).first { $0.rule == .expiry }?.message
        }
        #expect(try expiry(30 * 86_400 + 1) == nil)
        #expect(try expiry(30 * 86_400)?.contains(" expires on ") == true)
        #expect(try expiry(1)?.contains(" expires on ") == true)
        #expect(try expiry(0)?.contains(" expired on ") == true)
    }

    @Test("P009: a rule that excludes a host from an enforced rule, or repeats that rule, is reported")
    func shadowed() throws {
        let pins = try pin(server.leaf)
        func more(_ rest: String) -> String { ",\n{ \"host\": \"b.a.test\", \(rest) }" }
        let rows = [
            (#""pins": [\#(pins)], "mode": "off""#, ["P009"]), (#""pins": [\#(pins)]"#, ["P009"]),
            (#""pins": ["\#(Self.other)"]"#, []), (#""ports": [8443], "pins": ["\#(Self.other)"]"#, []),
        ]
        for (rest, rules) in rows {
            let findings = try lint(pins, rule: #""subdomains": true,"#, more: more(rest))
            #expect(findings.map(\.rule.rawValue) == rules)
            #expect(findings.allSatisfy { $0.location.line == 4 && $0.message.hasPrefix("b.a.test ") })
        }
    }

    @Test("P011: a rule that pins only keys of short-lived server certificates is an error")
    func shortLived() throws {
        let leaf = try certificate("leaf.pem", days: 60)
        let findings = try lint(pin(leaf, #""from": "leaf.pem""#), pin(server.leaf, #""role": "leaf", "backup": true"#))
        #expect(findings.map(\.rule) == [.shortLivedLeaf])
        #expect(findings[0].severity == .error)
        #expect(
            findings[0].message.contains(
                "valid for 60 days: renew with the same key (certbot --reuse-key), or also pin the root"))
        #expect(try lint(pin(leaf, #""from": "leaf.pem""#), pin(server.root, #""from": "root.pem""#)) == [])
        let longer = try certificate("longer.pem", days: 365)
        #expect(try lint(pin(longer, #""from": "longer.pem""#)) == [])
    }

    @Test("P012, P021: a rule that pins only intermediates or only roots is reported")
    func oneLevel() throws {
        for role in [#""role": "intermediate""#, #""from": "intermediate.pem""#] {
            #expect(try lint(pin(server.intermediate, role)).map(\.rule) == [.onlyIntermediates])
            #expect(try lint(pin(server.intermediate, role), pin(server.leaf, #""backup": true"#)) == [])
            #expect(try lint(pin(server.intermediate, role), pin(server.root)) == [])
        }
        for role in [#""role": "root""#, #""from": "root.pem""#] {
            #expect(try lint(pin(server.root, role)).map(\.rule) == [.onlyRoots])
            #expect(try lint(pin(server.root, role), pin(server.leaf)) == [])
            let required = try lint(
                pin(server.root, #""role": "root""#), pin(server.leaf), rule: #""require": ["leaf", "root"],"#)
            #expect(required == [])
        }
    }

    @Test("P013, P014: a pin that isn't in its file, or that hashes other bytes than the key, is reported")
    func evidence() throws {
        let missing = try lint(pin(server.leaf, #""from": "none.pem""#))
        #expect(missing.map(\.rule) == [.otherKey])
        #expect(missing[0].message.contains("no such file"))
        let unrelated = try lint(pin(server.root, #""from": "chain.pem""#))
        #expect(unrelated.map(\.rule) == [.otherKey])
        #expect(
            unrelated[0].message.contains("which has \(try server.leaf.key.pin), \(try server.intermediate.key.pin)"))
        let bytes: [([UInt8], String)] = [
            (server.leaf.derBytes, "SHA-256 of the whole certificate"),
            (try server.leaf.key.publicKeyDER.suffix(65), "SHA-256 of the raw key"),
        ]
        for (hashed, words) in bytes {
            let wrong = SPKIFingerprint(hashing: hashed.span)
            let findings = try lint(#"{ "pin": "\#(wrong)", "from": "chain.pem" }"#)
            #expect(findings.map(\.rule) == [.wrongBytes])
            #expect(findings[0].message.contains(words))
            #expect(findings[0].message.hasSuffix("write \(try server.leaf.key.pin)"))
        }
    }

    @Test("P016: a certificate that has expired, or expires before clients can be updated, is reported")
    func certificateExpiry() throws {
        let rows: [(Int64, Bool, LintFinding.Severity?)] = [
            (5, false, .error), (30, false, .warning), (120, false, nil), (5, true, .error), (120, true, .error),
            (400, true, nil),
        ]
        for (index, row) in rows.enumerated() {
            let made = try certificate("\(index).pem", days: row.0, isAuthority: row.1)
            let findings = try lint(
                pin(made, #""from": "\#(index).pem""#), pin(server.root, #""role": "root""#))
            #expect(findings.map(\.rule) == (row.2 == nil ? [] : [.certificateExpiry]))
            #expect(findings.first?.severity == row.2)
        }
    }

    @Test("P017: a weak key is reported")
    func weakKey() throws {
        let weak = try certificate("weak.pem", days: 365, key: TestKey.shared(.rsa(bits: 1024)))
        let findings = try lint(pin(weak, #""from": "weak.pem""#))
        #expect(findings.map(\.rule) == [.weakKey])
        #expect(findings[0].message.contains("RSA 1024"))
    }

    @Test("P019: report mode is reported if it is old or has no start date")
    func reportMode() throws {
        let rows = [
            ("", true), (#""x-report-since": "2026-01-01","#, true), (#""x-report-since": "2027-01-01","#, false),
        ]
        for (since, isFound) in rows {
            let findings = try lint(pin(server.leaf), rule: #""mode": "report",\#(since)"#)
            #expect(findings.map(\.rule) == (isFound ? [.oldReportMode] : []))
        }
    }

    @Test("P022: a pin of a whole certificate is reported")
    func certificatePin() throws {
        #expect(try lint(#""\#(PolicyFileTests.certificatePin)""#).map(\.rule) == [.certificatePin])
    }

    @Test("Settings can disable a rule or change its severity")
    func settings() throws {
        let pins = #""\#(PolicyFileTests.certificatePin)""#
        #expect(try lint(pins, settings: [.certificatePin: .none]) == [])
        #expect(try lint(pins, settings: [.certificatePin: .error]).map(\.severity) == [.error])
        #expect(try lint(pins, settings: [.certificatePin: .warning]).map(\.severity) == [.warning])
    }

    @Test(
        "A comment with a reason allows findings of its rules on its own line and the next",
        arguments: [
            ("// pinctl-allow P022: the vendor signs with it", []), ("/* pinctl-allow P001, P022: why */", []),
            ("// pinctl-allow P022", ["P022", "P023"]), ("// pinctl-allow P022: ", ["P022", "P023"]),
            ("// pinctl-allow P999: why", ["P022", "P023"]), ("// pinctl-allow: why", ["P022", "P023"]),
            ("// pinctl-allow P011: why", ["P022"]), ("// pinctl-allow P022: why\n", ["P022"]),
        ])
    func allowance(comment: String, rules: [String]) throws {
        let above = try lint("\n\(comment)\n\"\(PolicyFileTests.certificatePin)\"")
        #expect(Set(above.map(\.rule.rawValue)) == Set(rules))
        guard !comment.hasSuffix("\n") else { return }
        let behind = try lint("\"\(PolicyFileTests.certificatePin)\" \(comment)\n")
        #expect(Set(behind.map(\.rule.rawValue)) == Set(rules))
    }

    @Test(
        "Only comments can allow findings",
        arguments: [
            ("// pinctl-allow P001: a", 1), ("a \"b\" // pinctl-allow P001: a", 1), ("  /* pinctl-allow P001: a */", 1),
            ("/*\n * pinctl-allow P001: a\n */", 1), ("# pinctl-allow P001: a", 1), ("x ; pinctl-allow P001: a", 1),
            ("<a>\n<!-- pinctl-allow P001: a --></a>", 1), ("<a><!--\npinctl-allow P001: a\n--></a>", 1),
            ("\"// pinctl-allow P001: a\"", 0), ("\"/* pinctl-allow P001: a */\"", 0),
            ("\"\\\"# pinctl-allow P001: a\"", 0),
            ("a(); b(\"# pinctl-allow P001: a\")", 0), ("\"\"\"\n// pinctl-allow P001: a\n\"\"\"", 0),
            ("pinctl-allow P001: a", 0), ("{ \"note\":\n\"pinctl-allow P001: a\" }", 0),
            ("<a>// pinctl-allow P001: a</a>", 0), ("<a b=\"# pinctl-allow P001: a\"/>", 0),
            ("<a><![CDATA[<!-- pinctl-allow P001: a -->]]></a>", 0), ("// see pinctl-allow P001: a", 0),
            ("'\"' // pinctl-allow P001: a", 1), ("// a\r\n// pinctl-allow P001: a\r\n", 1),
        ])
    func comments(text: String, count: Int) {
        #expect(LintAllowance.all(in: Array(text.utf8)).count == count)
    }

    @Test("A pin that several rules name is reported once, where it is written")
    func namedPin() throws {
        let text = """
            { "version": 1, "pins": { "one": "\(PolicyFileTests.certificatePin)" },
            "domains": [{ "host": "a.test", "pins": ["one"] }, { "host": "b.test", "pins": ["one"] }] }
            """
        let findings = try PolicyFileTests.read(text).lint(at: TestSite.time)
        #expect(findings.map { "\($0.rule.rawValue) \($0.location.line)" } == ["P022 1", "P003 2", "P003 2"])
    }

    @Test("Problems that keep a file from loading have the same identifiers as lint rules")
    func problems() throws {
        let text = """
            { "version": 1, "unlistd": 1, "domains": [
            { "host": "https://a.test", "pins": ["sha256/AAAA"] },
            { "host": "b.test.", "pins": ["sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="] },
            { "host": "com", "subdomains": true, "pins": ["sha1/2jmj7l5rSw0yVb/vlWAYkK/YBwk="], "pins": [] },
            { "host": "c.test", "pins": ["\(Self.other)"] }, { "host": "c.test", "pins": ["\(Self.other)"] } ] }
            """
        do throws(PolicyFileError) {
            _ = try PolicyFile(bytes: Array(text.utf8), path: "pins.jsonc")
            Issue.record("the file was read")
        } catch {
            let rules = error.problems.map { "\($0.location.line) \($0.rule?.rawValue ?? "-")" }
            for expected in ["1 P005", "2 P008", "2 P001", "3 P008", "3 P002", "4 P010", "4 P015", "4 P005", "5 P005"] {
                #expect(rules.contains(expected), "\(expected)")
            }
        }
    }

    @Test("Lint reports invalid contents of a canonical policy and never traps on them")
    func otherDialects() throws {
        let location = PolicyLocation(path: "x", line: 1, column: 1)
        func rule(_ host: String, _ pins: [CanonicalPin], _ scope: HostPattern.Scope = .exact) -> CanonicalRule {
            CanonicalRule(patterns: [HostPattern(host, scope)], pins: pins, location: location)
        }
        let good = CanonicalPin(.publicKey, .sha256, Array(1...32))
        let rows: [(CanonicalRule, [String])] = [
            (rule("a.test", [good, good]), ["P003", "P005"]),
            (rule("a.test", [CanonicalPin(.publicKey, .sha256, [1, 2])]), ["P001", "P003"]),
            (rule("a.test", [CanonicalPin(.publicKey, .sha1, Array(1...20)), good]), ["P015"]),
            (rule("https://a.test/", []), ["P008"]), (rule("a.test:443", []), ["P008"]),
            (rule("A.test", []), ["P008"]), (rule("a.test.", []), ["P008"]), (rule("a.*.test", []), ["P008"]),
            (rule("müller.test", []), ["P008"]), (rule("", [], .every), []),
            (rule("com", [], .exactAndBelow), ["P010"]), (rule("com", [], .exact), []),
            (rule("com", [], .oneLabelBelow), ["P010"]), (rule("com", [], .exactAndOneLabelBelow), ["P010"]),
            (rule("a.test", [CanonicalPin(.certificate, .full, [1]), good]), ["P022"]),
        ]
        for (rule, expected) in rows {
            let policy = CanonicalPolicy(rules: [rule], combination: .closest)
            #expect(policy.lint([], path: "x", at: TestSite.time).map(\.rule.rawValue) == expected)
        }
        let parent = rule("a.test", [good, CanonicalPin(.publicKey, .sha256, Array(2...33))], .exactAndBelow)
        let child = rule("b.a.test", [good, CanonicalPin(.publicKey, .sha256, Array(3...34))])
        for (combination, expected) in [(RuleCombination.closest, 0), (.union, 1), (.carveOut, 1)] {
            let policy = CanonicalPolicy(rules: [parent, child], combination: combination)
            let findings = policy.lint([], path: "x", at: TestSite.time)
            #expect(findings.map(\.rule) == Array(repeating: .shadowedRule, count: expected))
            let allowed = policy.lint(
                Array("<!-- pinctl-allow P009: meant so -->".utf8), path: "x", at: TestSite.time)
            #expect(allowed == [])
        }
    }

    /// The scopes of a parent's rule and of one for a host, and whether the parent's rule includes the host.
    static let reaches: [(parent: HostPattern.Scope, host: String, scope: HostPattern.Scope, isFound: Bool)] = [
        (.exact, "b.a.test", .exact, false), (.exactAndBelow, "c.b.a.test", .exact, true),
        (.exactAndOneLabelBelow, "b.a.test", .exact, true), (.exactAndOneLabelBelow, "c.b.a.test", .exact, false),
        (.exactAndOneLabelBelow, "b.a.test", .exactAndOneLabelBelow, true),
        (.oneLabelBelow, "b.a.test", .exact, true), (.oneLabelBelow, "c.b.a.test", .exact, false),
        (.oneLabelBelow, "b.a.test", .oneLabelBelow, false), (.exactAndBelow, "b.a.test", .oneLabelBelow, true),
    ]

    @Test("P009: a parent's rule is compared with the rules for the names that it includes", arguments: reaches)
    func reach(parent: HostPattern.Scope, host: String, scope: HostPattern.Scope, isFound: Bool) {
        func rule(_ pattern: HostPattern, _ byte: UInt8) -> CanonicalRule {
            let pins = [byte, 100 + byte].map { CanonicalPin(.publicKey, .sha256, Array($0..<$0 + 32)) }
            return CanonicalRule(patterns: [pattern], pins: pins)
        }
        let rules = [rule(HostPattern("a.test", parent), 1), rule(HostPattern(host, scope), 2)]
        let policy = CanonicalPolicy(rules: rules, combination: .union)
        let findings = policy.lint([], path: "x", at: TestSite.time)
        #expect(findings.map(\.rule) == (isFound ? [.shadowedRule] : []), "\(findings)")
    }

    @Test("P009: where the longest name decides alone, a rule is compared with that of the longest parent only")
    func carvedOut() {
        let pins = [1, 2].map { CanonicalPin(.publicKey, .sha256, Array($0..<$0 + 32)) }
        let rules = [("a.test", HostPattern.Scope.exactAndBelow), ("b.a.test", .exact), ("c.b.a.test", .exact)].map {
            CanonicalRule(patterns: [HostPattern($0, $1)], pins: pins)
        }
        let findings = CanonicalPolicy(rules: rules, combination: .carveOut).lint([], path: "x", at: TestSite.time)
        #expect(findings.map(\.rule) == [.shadowedRule] && findings[0].message.contains("b.a.test"), "\(findings)")
    }

    @Test("P010: a rule for the names below a public suffix, at any depth, also of the list's private section")
    func suffixes() {
        let list = """
            // ===BEGIN ICANN DOMAINS===
            uk
            co.uk
            // ===END ICANN DOMAINS===
            // ===BEGIN PRIVATE DOMAINS===
            github.io
            // ===END PRIVATE DOMAINS===
            """
        func found(_ host: String, _ scope: HostPattern.Scope, isOwner: Bool = false) -> [String] {
            var rule = CanonicalRule(patterns: [HostPattern(host, scope)], pins: [])
            rule.ownsPublicSuffix = isOwner
            return CanonicalPolicy(rules: [rule], combination: .closest).lint(
                [], path: "x", at: TestSite.time, publicSuffixes: PublicSuffixes(list: Array(list.utf8))
            ).map(\.rule.rawValue)
        }
        for scope in HostPattern.Scope.allCases where scope != .every {
            let expected = scope == .exact ? [] : ["P010"]
            for host in ["uk", "co.uk", "github.io"] {
                #expect(found(host, scope) == expected, "\(host) \(scope)")
            }
            for host in ["shop.co.uk", "team.github.io"] { #expect(found(host, scope) == [], "\(host) \(scope)") }
            // An owner can have a suffix of the private section only.
            #expect(found("github.io", scope, isOwner: true) == [] && found("uk", scope, isOwner: true) == expected)
        }
    }

    @Test("P007: a finding about a local day gives the day and the time by which it has begun everywhere")
    func localDay() {
        let rule = CanonicalRule(
            patterns: [HostPattern("a.test", .oneLabelBelow)],
            pins: [CanonicalPin(.publicKey, .sha256, Array(1...32)), CanonicalPin(.publicKey, .sha256, Array(2...33))],
            expiry: RuleExpiry(.localDay("2027-01-31"), .stopPinning))
        let findings = CanonicalPolicy(rules: [rule], combination: .closest).lint([], path: "x", at: TestSite.time)
        let end = "on 2027-01-31 in the device's time zone (everywhere by 2027-01-31T12:00:00Z)"
        #expect(findings.contains { $0.message.hasPrefix("*.a.test silently stops pinning \(end): ") })
    }

    @Test("Lint finishes on large policies, whatever they repeat")
    func hostileFiles() {
        let pins = (0..<5_000).map {
            CanonicalPin(.publicKey, .sha256, [UInt8](repeating: UInt8($0 & 0x7F), count: 31) + [1])
        }
        let hosts = (1...5_000).map { port in
            CanonicalRule(patterns: [HostPattern("a.test", .exact)], ports: [port], pins: [pins[0], pins[1]])
        }
        let dots = CanonicalRule(
            patterns: [HostPattern(String(repeating: "a.", count: 50_000), .exactAndBelow)], pins: pins)
        let comments = Array(("// " + String(repeating: "pinctl-allow P001", count: 20_000)).utf8)
        let policy = CanonicalPolicy(rules: hosts + [dots], combination: .closest)
        let findings = policy.lint(comments, path: "x", at: TestSite.time)
        #expect(findings.filter { $0.rule == .malformedHost }.count == 1)
        #expect(findings.filter { $0.rule == .duplicate }.count == 5_000 - 128)
        #expect(findings.filter { $0.rule == .unreasonedAllowance }.count == 1)
    }

    @Test("Lint rules are numbered consecutively and each has a summary")
    func identifiers() {
        let numbers = LintRule.allCases.map { Int($0.rawValue.dropFirst()) }
        #expect(numbers == Array(1...LintRule.allCases.count))
        #expect(LintRule.allCases.allSatisfy { !$0.summary.isEmpty })
    }
}
