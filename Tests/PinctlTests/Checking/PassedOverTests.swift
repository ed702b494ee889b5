import FoundationEssentials
import PinctlTestPKI
import Testing

/// Attacks on the exit code and the reports of a CI check: nothing that was asked for may be omitted silently.
@Suite("Nothing is omitted silently")
struct PassedOverTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func check(_ words: [String], variables: [String: String] = [:]) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile] + words, variables: variables)
    }

    private func contents(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(site.directory.path)/\(name)")), as: UTF8.self)
    }

    private func plan(_ words: String...) async -> Run {
        await pinctl(["plan", "--ca-file", site.rootFile] + words)
    }

    /// A chain for these hostnames below the site's root.
    private func chain(_ names: [String]) throws -> String {
        try site.directory.add(site.intermediate.issue(.server(names)).pemText + site.intermediate.pemText)
    }

    @Test("P5: A baseline with a mismatch doesn't excuse the same mismatch of another key")
    func baselineOtherKey() async throws {
        var earlier = ""
        try await site.serve { server in
            earlier = await check(["--json", "--pin", unknownPin, "api.test:1@127.0.0.1:\(server.port)"]).output
        }
        // Both are issued by the same CA, and neither matches.
        let rows: [(TestCertificate, Int32)] = [(try site.intermediate.leaf("api.test"), 1), (site.leaf, 0)]
        for (leaf, status) in rows {
            try await site.serve([leaf, site.intermediate]) { server in
                let port = "127.0.0.1:\(server.port)"
                let file = try site.directory.add(earlier.replacing(/127\.0\.0\.1:[0-9]+/, with: port))
                #expect(await check(["--baseline", file, "--pin", unknownPin, "api.test:1@\(port)"]).status == status)
            }
        }
    }

    @Test("P5: A baseline with one wrong key in a file doesn't excuse another one")
    func baselineOtherFileKey() async throws {
        let policy = try site.policy("{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\" }")
        let file = try site.directory.add(TestPEM.block("PUBLIC KEY", TestKey().publicKeyDER))
        let words = ["--files", file, "--policy", policy]
        let first = await check(words + ["--json"])
        #expect(first.status == 1)
        let baseline = ["--baseline", try site.directory.add(first.output)]
        #expect(await check(words + baseline).status == 0)
        try Data(TestPEM.block("PUBLIC KEY", TestKey().publicKeyDER).utf8).write(to: URL(filePath: file))
        #expect(await check(words + baseline).status == 1)
    }

    @Test("P5: A baseline with one wrong key beside a certificate excuses neither another one nor a pin mismatch")
    func baselineOtherPairedKey() async throws {
        let directory = try TestDirectory()
        _ = try directory.add(site.leaf.pemText + site.intermediate.pemText, name: "api.crt")
        let key = try directory.add(TestKey().privateKeyPEM, name: "api.key")
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let first = await check(["--files", directory.path, "--policy", policy, "--json"])
        #expect(first.status == 1)
        let baseline = ["--baseline", try site.directory.add(first.output), "--files", directory.path, "--policy"]
        #expect(await check(baseline + [policy]).status == 0)
        #expect(await check(baseline + [try site.policy("\"\(unknownPin)\"")]).status == 1)
        try Data(TestKey().privateKeyPEM.utf8).write(to: URL(filePath: key))
        #expect(await check(baseline + [policy]).status == 1)
    }

    @Test("CB18: A certificate for more hosts than are checked is reported, and the run fails")
    func manyHosts() async throws {
        let hosts = (0...200).map { "h\($0).test" }
        let rules = try hosts.map { host in
            (host, [host == "h200.test" ? "\"\(unknownPin)\"" : "\"\(try site.root.key.pin)\""])
        }
        let policy = try site.directory.add(policyText(rules))
        let file = try chain(hosts)
        let run = await check(["--files", file, "--policy", policy])
        #expect(run.lines.last == "200 checked: 200 ok")
        #expect(run.errors.hasPrefix("pinctl: \(file): is valid for more than 200 hosts of the policy, "))
        #expect(run.status == 2)
        let rest = try site.directory.add(policyText(Array(rules.dropFirst())))
        let fewer = await check(["--files", try chain(Array(hosts.dropFirst())), "--policy", rest])
        #expect(fewer.lines.last == "200 checked: 199 ok, 1 failed")
        #expect(fewer.errors == "")
        #expect(fewer.status == 1)
    }

    @Test("CB18: Names below a rule's host that come after the limit of checked hosts are reported too")
    func manyNames() async throws {
        let policy = try site.policy(
            "\"\(try site.root.key.pin)\"", rule: "\"subdomains\": true,", host: "example.test")
        let others = (0..<200).map { "h\($0).test" }
        let run = await check(["--files", try chain(others + ["a.example.test"]), "--policy", policy])
        #expect(run.errors.contains("is valid for more than 200 hosts of the policy"))
        #expect(run.status == 2)
    }

    @Test("P5: plan checks the other names of a wildcard even if one host has its own rule")
    func wildcardBesideHost() async throws {
        let release = try site.directory.add(
            """
            { "version": 1, "domains": [
              { "host": "www.ex.test", "pins": ["\(try site.root.key.pin)", "\(unknownPin)"] },
              { "host": "ex.test", "subdomains": true, "pins": ["\(unknownPin)"] }] }
            """)
        let run = await plan("--new", try chain(["*.ex.test"]), "--against", release, "--json")
        let results = try run.decoded(as: PlanDocument.self).results
        #expect(
            results.map { "\($0.host ?? "") \($0.verdict ?? "")" } == ["*.ex.test breaks", "www.ex.test survives_only"])
        #expect(run.status == 1)
    }

    @Test("P5: plan checks a hostname at each port that has another rule")
    func otherPort() async throws {
        let release = try site.directory.add(
            """
            { "version": 1, "domains": [
              { "host": "ex.test", "subdomains": true, "ports": [443], "pins": ["\(try site.root.key.pin)"] },
              { "host": "ex.test", "subdomains": true, "ports": [8443, 9443], "pins": ["\(unknownPin)"] }] }
            """)
        let run = await plan("--new", try chain(["api.ex.test"]), "--against", release, "--json")
        let results = try run.decoded(as: PlanDocument.self).results
        #expect(
            results.map { "\($0.host ?? "") \($0.verdict ?? "")" } == [
                "api.ex.test survives_only", "api.ex.test:8443 breaks",
            ])
        #expect(run.status == 1)
    }

    @Test("CL5: The verdict in a plan's JSON is a failure whenever the exit code is one")
    func planVerdict() async throws {
        let release = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "expires": "2026-12-01", "onExpiry": "fail",
              "pins": ["\(try site.root.key.pin)", "\(unknownPin)"] }] }
            """)
        let run = await plan("--new", site.chainFile, "--against", release, "--fail-within", "100d", "--json")
        #expect(try run.decoded(as: PlanDocument.self).results.map(\.verdict) == ["ends"])
        #expect(run.status == 1)
    }

    @Test("CL4: Unreadable input is an error in every report", arguments: ["check", "check --files", "plan"])
    func reports(command: String) async throws {
        let list = try site.directory.add("gopher://a.test\n", name: "list.txt")
        let unknown = try site.directory.add("nothing of ours", name: "unknown.pem")
        let words =
            switch command {
            case "check": ["check", "--pin", unknownPin, "--targets", list]
            case "check --files": ["check", "--pin", unknownPin, "--files", unknown]
            default: ["plan", "--new", site.chainFile, "--against", unknown]
            }
        let directory = site.directory.path
        let run = await pinctl(
            words + [
                "--ca-file", site.rootFile, "--report", "junit=\(directory)/r.xml", "--report",
                "json=\(directory)/r.json",
            ])
        #expect(run.status == 2)
        #expect(
            try contents("r.xml").contains(
                "<testsuites name=\"pinctl \(words[0])\" tests=\"1\" failures=\"0\" errors=\"1\""))
        #expect(try contents("r.xml").contains("<error type=\"bad_input\""))
        #expect(try contents("r.json").contains("\"error\":"))
        let message = try #require(run.errors.split(separator: "\n").first).dropFirst("pinctl: ".count)
        #expect(try contents("r.xml").contains(message.split(separator: "\"").first ?? ""))
    }

    @Test("CL3: A list without line endings is abandoned, and the other lists are still read", .timeLimit(.minutes(10)))
    func endlessLine() async throws {
        let list = try site.directory.add("gopher://a.test\n", name: "list.txt")
        let run = await check(["--pin", unknownPin, "--targets", "/dev/zero", "--targets", list])
        #expect(
            run.errors.hasPrefix("pinctl: /dev/zero: a line has more than 1048576 bytes: write one target per line\n"))
        #expect(run.errors.contains("list.txt:1: "))
        #expect(run.status == 2)
    }

    @Test("CL2: Text from a server never becomes a command for the CI runner")
    func runnerCommands() async throws {
        let directory = try site.directory.add("::error::x\nx##[stop-commands]x\n", name: "list.txt")
        var settings = TestCertificate.Settings.server(["api.test"])
        settings.subject = TestName(.commonName("x##[error]y"))
        let leaf = try site.intermediate.issue(settings)
        try await site.serve([leaf, site.intermediate]) { server in
            let words = ["--pin", unknownPin, "--targets", directory, "--annotations", "none", server.target()]
            let run = await check(words, variables: ["GITHUB_ACTIONS": "true"])
            #expect(run.output.contains(#"CN=x#\u{23}[error]y"#))
            #expect(!(run.output + run.errors).contains("##["))
            #expect(await check(words).output.contains("CN=x##[error]y"))
        }
    }
}
