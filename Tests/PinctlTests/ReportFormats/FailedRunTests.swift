import FoundationEssentials
import PinctlTestPKI
import Testing

/// The reports of runs that end before their first result, and what reports contain about chains that aren't trusted.
@Suite("Reports of failed runs")
struct FailedRunTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func contents(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(site.directory.path)/\(name)")), as: UTF8.self)
    }

    private var reports: [String] {
        [
            ("junit", "r.xml"), ("sarif", "r.sarif"), ("html", "r.html"), ("prometheus", "r.prom"), ("json", "r.json"),
            ("markdown", "r.md"),
        ].flatMap { ["--report", "\($0)=\(site.directory.path)/\($1)"] }
    }

    /// Command lines that end with exit code 2. `BROKEN` is a policy that doesn't load.
    private static let failing: [[String]] = [
        ["check", "--policy", "BROKEN"], ["check", "--policy", "/no/such.jsonc"], ["check"],
        ["check", "--polcy", "x", "a.test"], ["check", "--pin", "sha256/x", "a.test"], ["check", "--jobs=0", "a.test"],
        ["check", "--pin", unknownPin, "gopher://a"],
        ["check", "--pin", unknownPin, "--ca-file", "/no/such", "a.test"],
        ["check", "--pin", unknownPin, "--targets", "/no/such"], ["check", "--pin", unknownPin, "--files", "/no/such"],
        ["check", "--pin", unknownPin, "--baseline", "/no/such", "a.test"], ["check", "--timeout"],
        ["lint", "/no/such.jsonc"], ["lint", "--rule", "P999=off", "BROKEN"], ["lint", "--calendar", "/no/such"],
        ["plan", "--new", "/no/such.pem", "--against", "BROKEN"], ["plan"], ["plan", "--frob"],
    ]

    @Test("A run with exit code 2 replaces every report, and each says so", arguments: failing)
    func exitCode2(words: [String]) async throws {
        let broken = try site.directory.add("{ \"version\": 1,\n  \"domain\": [] }")
        // The reports of an earlier, good run.
        try await site.serve { server in
            let good = ["check", "--ca-file", site.rootFile, "--pin", try site.leaf.key.pin, server.target()]
            #expect(await pinctl(good + reports).status == 0)
        }
        #expect(try contents("r.prom").contains("pinctl_exit_code{command=\"check\"} 0\n"))
        let words = words.map { $0 == "BROKEN" ? broken : $0 }
        let run = await pinctl(words.prefix(1) + reports + words.dropFirst())
        #expect(run.status == 2, "\(run)")
        #expect(try contents("r.prom").contains("pinctl_exit_code{command=\"\(words[0])\"} 2\n"))
        #expect(!(try contents("r.prom").contains("pinctl_last_success")))
        #expect(!(try contents("r.prom").contains("pinctl_entries{command=\"\(words[0])\",outcome=\"bad_input\"} 0")))
        #expect(try contents("r.xml").contains("<error type=\"bad_input\""))
        #expect(try contents("r.sarif").contains("\"executionSuccessful\":false,\"exitCode\":2"))
        #expect(try contents("r.sarif").contains("\"ruleId\":\"bad_input\""))
        #expect(try contents("r.json").contains("\"exit_code\":2") && contents("r.json").contains("\"error\":"))
        #expect(try contents("r.md").contains("bad input") && contents("r.html").contains("bad input"))
        // The report is the same document as that of --json.
        if run.errors.hasPrefix("pinctl: check has no flag") {
            let document = await pinctl(words + ["--json"]).output
            #expect(try contents("r.json") == document)
        }
    }

    @Test("A report that is itself wrong is written nowhere, and a baseline isn't replaced")
    func wrongReports() async throws {
        let baseline = try site.directory.add("{}", name: "known.json")
        let rows = [
            ["--report", "json=\(baseline)", "--baseline", baseline], ["--report", "xml=\(baseline)"],
            ["--report", "junit=\(baseline)", "--report", "html=\(baseline)"],
        ]
        for row in rows {
            #expect(await pinctl(["check", "--pin", unknownPin, "a.test"] + row).status == 2)
            #expect(try contents("known.json") == "{}")
            #expect(await pinctl(["check", "--frob"] + row).status == 2)
            #expect(try contents("known.json") == "{}")
        }
        let after = await pinctl("check", "--pin", unknownPin, "--frob", "--", "--report", "junit=\(baseline)")
        #expect(after.status == 2)
        #expect(try contents("known.json") == "{}")
    }

    @Test("A failed run on GitHub is an annotation, and a report on standard output is complete")
    func elsewhere() async throws {
        let broken = try site.directory.add("{ \"version\": 1,\n  \"domain\": [] }")
        let summary = try site.directory.add("", name: "summary.md")
        let run = await pinctl(
            "check", "--policy", broken, "--report", "junit=-",
            variables: ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary])
        #expect(run.status == 2 && run.output.hasSuffix("</testsuites>\n") && run.output.contains("errors=\"1\""))
        #expect(run.errors.contains("\n::error title=bad_input"), "\(run.errors)")
        #expect(try contents("summary.md").contains("pinctl check: bad input"))
        let json = await pinctl("check", "--policy", broken, "--json", "--report", "junit=-")
        #expect(json.status == 2 && !json.output.contains("<testsuite"))
    }

    /// The kinds of chain that aren't trusted, with the time of the check.
    private enum Distrust: CaseIterable { case expired, notYetValid, unknownRoot, otherName }

    @Test("The certificates of a chain that isn't trusted are in JSON and in every report, with the rule's line")
    func distrusted() async throws {
        let other = try site.directory.add(try TestCertificate.root("Other").pemText)
        try await site.serve { server in
            let policy = try site.directory.add(
                """
                { "version": 1, "domains": [
                  { "host": "api.test", "pins": ["\(try site.root.key.pin)"] },
                  { "host": "www.test", "pins": ["\(try site.root.key.pin)"] } ] }
                """)
            for kind in Distrust.allCases {
                let name = kind == .otherName ? "www.test" : "api.test"
                let time = kind == .expired ? "2040-01-01" : kind == .notYetValid ? "2020-01-01" : "2026-11-20"
                let flags = [
                    "--policy", policy, "--ca-file", kind == .unknownRoot ? other : site.rootFile, "--at", time,
                ]
                let run = await pinctl(["check", server.target(name), "--json"] + flags + reports)
                #expect(run.status == 4, "\(run)")
                let pin = try site.leaf.key.pin
                #expect(run.output.contains("\"chain\":[{\"role\":\"leaf\",\"pin\":\"\(pin)\""), "\(kind)")
                #expect(run.output.contains("\"role\":\"intermediate\",\"pin\":\"\(try site.intermediate.key.pin)\""))
                let line = kind == .otherName ? 3 : 2
                #expect(run.output.contains("\"rule\":\"policy \(policy):\(line):3\",\"rule_place\":"))
                #expect(
                    run.output.contains("\"trust_rule\":\"") && run.output.contains("\"reason\":\"leaf (CN=api.test)")
                        || kind == .unknownRoot)
                let label = "{host=\"\(name):\(server.port) via 127.0.0.1:\(server.port)\",role=\"leaf\"}"
                let metrics = try contents("r.prom")
                for (metric, value) in [
                    ("not_before_timestamp_seconds", "1767225600"), ("not_after_timestamp_seconds", "2082758400"),
                ] { #expect(metrics.contains("pinctl_cert_\(metric)\(label) \(value)\n"), "\(kind) \(metrics)") }
                let left = kind == .expired ? "0.0" : kind == .notYetValid ? "1.0" : "0.9"
                #expect(metrics.contains("pinctl_cert_lifetime_left_ratio\(label) \(left)"))
                #expect(try contents("r.sarif").contains("\"startLine\":\(line),\"startColumn\":3"))
                #expect(try contents("r.xml").contains("leaf: EC P-256, by CN=Test Intermediate"))
            }
            // The certificate of a chain in a file is the same.
            let run = await pinctl(
                "check", "--files", site.chainFile, "--policy", policy, "--ca-file", other, "--json",
                "--report", "sarif=\(site.directory.path)/r.sarif")
            // No certificate is for the other host.
            #expect(run.status == 1 && run.output.contains("\"chain\":[{\"role\":\"leaf\""))
            #expect(try contents("r.sarif").contains("\"startLine\":2,\"startColumn\":3"))
            let verified = await pinctl(
                "verify", site.chainFile, "--host", "b.test", "--ca-file", site.rootFile, "--json")
            #expect(verified.output.contains("\"chain\":[{\"role\":\"leaf\""))
        }
    }

    @Test("Unreachable hosts, denied keys and targets that a rule lists have the line of the rule that names them")
    func lines() async throws {
        let dead = try DeadPort(.refusing)
        try await site.serve { server in
            let policy = try site.directory.add(
                """
                { "version": 1, "deny": ["\(try site.root.key.pin)"], "domains": [
                  { "host": "api.test", "pins": ["\(unknownPin)"], "check": { "targets": ["\(server.target())"] } },
                  { "host": "down.test", "pins": ["\(unknownPin)"],
                    "check": { "targets": ["down.test:\(dead.port)@127.0.0.1", "other.example:443"] } } ] }
                """)
            let flags = [
                "--policy", policy, "--ca-file", site.rootFile, "--report", "sarif=\(site.directory.path)/r.sarif",
            ]
            let run = await pinctl(["check", "--json"] + flags, variables: ["GITHUB_ACTIONS": "true"])
            #expect(run.status == 1)
            struct Document: Decodable {
                struct Result: Decodable {
                    struct Place: Decodable { let line: Int }
                    let verdict: String
                    let reason: String
                    let rule: String?
                    let rulePlace: Place?
                }
                let results: [Result]
            }
            let results = try run.decoded(as: Document.self).results
            #expect(results.map(\.verdict) == ["denied", "unreachable", "not_covered"])
            #expect(results.map(\.rulePlace?.line) == [2, 3, nil])
            let sarif = try contents("r.sarif")
            let starts = sarif.components(separatedBy: "\"startLine\":").dropFirst().map { $0.prefix { $0 != "," } }
            #expect(starts == ["2", "3", "3"])
            for line in [
                "line=2,col=3,title=denied", "line=3,col=3,title=unreachable", "line=3,col=3,title=not_covered",
            ] {
                #expect(run.errors.contains(line), "\(run.errors)")
            }
        }
    }
}
