import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlCommands
import PinctlTestPKI
import Testing

@Suite("Results, warnings and baselines of check")
struct GateTests {
    struct Document: Decodable {
        struct Result: Decodable {
            struct Warning: Decodable {
                let warning: String
                let text: String
            }
            let target: String?
            let verdict: String?
            let failure: String?
            let known: Bool?
            let warnings: [Warning]?
            let error: String?
        }
        struct Summary: Decodable {
            let verdict: String
            let exitCode: Int32
            let found: String?
            let checked: Int
            let warnings: Int
            let known: Int
            let mended: Int
        }
        let results: [Result]
        let summary: Summary
    }

    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    func check(_ words: [String], now: Date = testTime) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile] + words, now: now)
    }

    func document(_ words: [String], now: Date = testTime) async throws -> (Document, Run) {
        let run = await check(["--json"] + words, now: now)
        return (try run.decoded(as: Document.self), run)
    }

    private func closed() throws -> LoopbackServer {
        let server = try LoopbackServer(chain: [site.leaf])
        server.stop()
        return server
    }

    @Test("Warnings don't fail a check, except with --fail-on warning")
    func backupOnly() async throws {
        try await site.serve { server in
            let policy = try site.policy(
                "{ \"pin\": \"\(try site.leaf.key.pin)\", \"backup\": true }, \"\(unknownPin)\"")
            let run = await check(["--policy", policy, server.target()])
            #expect(run.lines[0].hasPrefix("ok*   api.test:"))
            #expect(
                run.lines[1]
                    == "  warning: only backup pins match (\(try site.leaf.key.pin)): create the next backup key "
                    + "now, and ship its pin")
            #expect(run.lines.last == "1 checked: 1 ok (1 with a warning)")
            #expect(run.status == 0)
            let (strict, ended) = try await document(["--fail-on", "warning", "--policy", policy, server.target()])
            #expect(strict.results[0].verdict == "ok_backup_only")
            #expect(strict.results[0].warnings?.map(\.warning) == ["backup-only"])
            #expect(strict.summary.verdict == "finding")
            #expect(strict.summary.exitCode == ended.status)
            #expect(ended.status == 1)
        }
    }

    @Test(
        "A rule that pins keys of leaves warns of a leaf with another key",
        arguments: [
            (["leaf leaf", "root root"], false), (["other leaf", "root root"], true),
            (["other leaf", "root any"], true), (["other leaf", "leaf any"], false), (["root root"], false),
            (["other leaf backup", "root root"], false),
            (["other leaf", "third leaf", "root ca"], true), (["other leaf", "leaf leaf", "root ca"], false),
        ])
    func leafUnpinned(_ pins: [String], warns: Bool) async throws {
        let keys = ["leaf": try site.leaf.key.pin, "root": try site.root.key.pin, "other": unknownPin]
        let objects = try pins.map { text in
            let words = text.split(separator: " ").map(String.init)
            return "{ \"pin\": \"\(try keys[words[0]] ?? TestKey().pin)\", \"role\": \"\(words[1])\""
                + (words.count > 2 ? ", \"backup\": true }" : " }")
        }
        let policy = try site.policy(objects.joined(separator: ", "))
        let run = await pinctl("check", "--ca-file", site.rootFile, "--policy", policy, "--files", site.chainFile)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        #expect(run.output.contains("warning: the leaf's key isn't") == warns, "\(run.output)")
    }

    @Test("--ca-file is noted if rules have their own anchors, for which it means nothing")
    func anchorsNote() async throws {
        let other = try site.directory.add(TestCertificate.root("Other").pemText)
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "anchors": { "files": ["\(site.rootFile)"] },
              "pins": ["\(try site.root.key.pin)"] }] }
            """, name: "own.jsonc")
        let run = await pinctl("check", "--ca-file", other, "--policy", policy, "--files", site.chainFile)
        #expect(run.status == 0, "\(run.output)\(run.errors)")
        let note = "--ca-file doesn't apply to hosts whose rules have their own anchors: api.test"
        #expect(run.errors.contains(note), "\(run.errors)")
        let without = await pinctl("check", "--policy", policy, "--files", site.chainFile)
        #expect(without.errors == "")
    }

    @Test("A certificate and a rule that expire soon produce warnings")
    func endings() async throws {
        try await site.serve { server in
            let policy = try site.policy(
                "\"\(try site.root.key.pin)\"", rule: #""expires": "2035-12-30T00:00:00Z", "onExpiry": "fail","#)
            let late = try #require(Date(rfc3339: "2035-12-25T00:00:00Z"))
            let (soon, _) = try await document(["--policy", policy, server.target()], now: late)
            #expect(soon.results[0].verdict == "ok")
            #expect(soon.results[0].warnings?.map(\.warning) == ["expires-soon", "rule-ends-soon"])
            #expect(
                soon.results[0].warnings?[0].text
                    == "the leaf expires soon, CN=api.test on 2036-01-01 (7 d): renew it with a pinned key or from a "
                    + "pinned CA, because its own key isn't pinned")
            #expect(
                soon.results[0].warnings?[1].text
                    == "the rule expires at 2035-12-30T00:00:00Z, and clients then reject every server: ship a policy "
                    + "with a later expiry")
            let (never, _) = try await document(["--warn-within=0", "--policy", policy, server.target()], now: late)
            #expect(never.results[0].warnings == nil)
            let (hours, _) = try await document(["--warn-within=130h", "--policy", policy, server.target()], now: late)
            #expect(hours.results[0].warnings?.map(\.warning) == ["rule-ends-soon"])
        }
        for value in ["14", "d", "-1d", "1e3d", "99999999d", ""] {
            #expect(await check(["--pin", unknownPin, "--warn-within=\(value)", "a.test"]).status == 2)
        }
    }

    @Test("A trust store under which no path matches is named in a warning")
    func stores() async throws {
        let other = try TestCertificate.root("Other Root")
        let otherFile = try site.directory.add(other.pemText)
        try await site.serve { server in
            let words = ["--pin", try site.root.key.pin, "--store", "own=\(site.rootFile)"]
            let (good, _) = try await document(words + [server.target()])
            #expect(good.results[0].verdict == "ok")
            let (some, run) = try await document(words + ["--store", "android=\(otherFile)", server.target()])
            #expect(some.results[0].verdict == "ok_some_paths")
            #expect(
                some.results[0].warnings?[0].text.hasPrefix(
                    "clients with the trust store android would fail: not trusted: ") == true)
            #expect(run.status == 0)
        }
    }

    @Test("--exit-zero returns 0 for findings and keeps the found code in the summary", arguments: [1, 3, 4])
    func exitZero(code: Int32) async throws {
        let closed = try closed()
        try await site.serve { server in
            let words =
                switch code {
                case 1: ["--pin", unknownPin, server.target()]
                case 3: ["--pin", unknownPin, closed.target()]
                default: ["--pin", unknownPin, server.target("www.test")]
                }
            let (plain, _) = try await document(words)
            #expect(plain.summary.exitCode == code)
            #expect(plain.summary.found == nil)
            let (forgiven, run) = try await document(["--exit-zero"] + words)
            #expect(run.status == 0)
            #expect(forgiven.summary.exitCode == 0)
            #expect(forgiven.summary.verdict == "good")
            #expect(forgiven.summary.found == plain.summary.verdict)
        }
        #expect(await check(["--exit-zero", "--pin", unknownPin, "gopher://a"]).status == 2)
        let list = try site.directory.add("not a host\n")
        #expect(await check(["--exit-zero", "--pin", unknownPin, "--targets", list]).status == 2)
    }

    @Test("--failures omits good results")
    func failures() async throws {
        try await site.serve { server in
            let pin = try site.leaf.key.pin
            let words = ["--failures", "--pin", pin, server.target(), server.target("www.test"), "--warn-within", "0"]
            let run = await check(words)
            #expect(run.lines.first?.hasPrefix("FAIL  www.test:") == true && !run.output.contains("ok    "))
            #expect(run.lines.last == "2 checked: 1 ok, 1 not trusted")
            #expect(await check(words + ["--ndjson"]).output.contains("\"verdict\":\"ok\""))
        }
    }

    @Test("--store reports the rules that it isn't used for")
    func storeBesideAnchors() async throws {
        let anchors = " \"anchors\": { \"files\": [\"root.pem\"] },"
        let policy = try site.policy("\"\(try site.leaf.key.pin)\"", rule: anchors)
        let run = await check(["--policy", policy, "--store", "old=\(site.rootFile)", "--files", site.chainFile])
        #expect(run.errors.contains("--store doesn't apply to hosts whose rules have their own anchors: api.test"))
    }

    @Test("--max-unreachable accepts a share of targets, but never a run that reached none")
    func unreachable() async throws {
        let closed = try closed()
        try await site.serve { server in
            let pin = try site.leaf.key.pin
            let some = ["--pin", pin, closed.target(), server.target()]
            #expect(await check(some).status == 3)
            let rows: [(String, Int32)] = [("50%", 0), ("49%", 3), ("1", 0), ("0", 3), ("100%", 0)]
            for (share, code) in rows { #expect(await check(["--max-unreachable", share] + some).status == code) }
            let run = await check(["--in-order", "--max-unreachable", "1"] + some)
            #expect(run.lines[0].hasPrefix("??    "))
            #expect(run.errors == "pinctl: warning: some targets were unreachable, which --max-unreachable allows\n")
            #expect(await check(["--max-unreachable", "100%", "--pin", pin, closed.target()]).status == 3)
            let earlier = try site.directory.add(await check(["--json", "--pin", pin, closed.target()]).output)
            #expect(await check(["--baseline", earlier, "--pin", pin, closed.target()]).status == 3)
            #expect(await check(["--baseline", earlier] + some).status == 0)
        }
        for value in ["x", "101%", "-1", "", "%", "1.5%"] {
            #expect(await check(["--pin", unknownPin, "--max-unreachable=\(value)", "a.test"]).status == 2)
        }
    }

    @Test("One unreachable target of three is more than 33 % of them, and not more than 34 %")
    func shareOfThree() async throws {
        let closed = try closed()
        try await site.serve { server in
            let list = try site.directory.add("\(server.target())\n\(server.target())\n\(closed.target())\n")
            for (share, code) in [("33%", 3), ("34%", 0), ("0%", 3)] as [(String, Int32)] {
                let run = await check(
                    ["--max-unreachable", share, "--pin", try site.leaf.key.pin, "--targets", list])
                #expect(run.lines.last == "3 checked: 2 ok, 1 unreachable")
                #expect(run.status == code, "\(share)")
            }
        }
    }

    @Test("Target lists may contain comments and blank lines, and an invalid line is reported with its number")
    func lists() async throws {
        try await site.serve { server in
            let first = try site.directory.add(
                """
                # all of them
                \(server.target())   # the one

                    gopher://a.test
                \(String(repeating: "a", count: 5_000))
                \(server.target("www.test"))\r
                """, name: "first.txt")
            let second = try site.directory.add(server.target(), name: "second.txt")
            let words = ["--pin", try site.leaf.key.pin, "--targets", first, "--targets", second]
            let run = await check(["--in-order"] + words)
            #expect(run.lines.filter { $0.hasPrefix("ok ") }.count == 2)
            #expect(run.lines.filter { $0.hasPrefix("FAIL") }.count == 1)
            #expect(
                run.errors
                    == "pinctl: \(first):4: gopher://a.test: unsupported scheme \"gopher\": see pinctl help targets\n"
                    + "pinctl: \(first):5: the line is too long for a target: give one target on each line\n")
            #expect(run.status == 2)
            let lines = await check(["--ndjson", "--in-order"] + words)
            #expect(lines.lines.count == 6)
            #expect(lines.lines[0].contains("\"input\":\"\(server.target())\""))
            #expect(lines.lines[1].contains("\"line\":4,\"input\":\"gopher://a.test\",\"error\":"))
            #expect(lines.lines[5].contains("\"type\":\"summary\""))
            let missing = await check(["--pin", unknownPin, "--targets", "/no/such"])
            #expect(missing.errors == "pinctl: /no/such: no such file: check the path\n")
            #expect(missing.status == 2)
        }
    }

    @Test("A target that is named twice is checked once, but each line of a list is checked")
    func duplicates() async throws {
        try await site.serve { server in
            let words = ["--pin", try site.leaf.key.pin]
            #expect(
                await check(words + [server.target(), server.target()]).lines.last == "1 checked: 1 ok")
            let list = try site.directory.add("\(server.target())\n\(server.target())\n")
            #expect(await check(words + ["--targets", list]).lines.last == "2 checked: 2 ok")
        }
    }

    @Test("Failures with the same cause are printed in full once and counted at the end, the worst cause first")
    func causes() async throws {
        let old = try TestCertificate.root("Old Root")
        let names = (0..<12).map { "h\($0).example.test" }
        let leaf = try site.intermediate.leaf(names[0]) { $0.alternativeNames = names.map { .dns($0) } }
        let closed = try closed()
        try await site.serve([leaf, site.intermediate]) { server in
            let policy = try site.directory.add(
                """
                { "version": 1,
                  "pins": { "le-ye1": { "pin": "\(try old.key.pin)", "role": "root" } },
                  "domains": [{ "host": "example.test", "subdomains": true, "pins": ["le-ye1"] }] }
                """)
            let run = await check(
                ["--policy", policy, closed.target("a.example.test")] + names.map { server.target($0) })
            #expect(run.lines.filter { $0.hasPrefix("  cause: ") }.count == 1)
            let closing = Array(run.lines.suffix(5))
            #expect(closing[0].hasPrefix("12 hosts (h0.example.test:"))
            #expect(closing[0].hasSuffix(" and 9 more): the CA changed from le-ye1 to CN=Test Root"))
            #expect(
                closing[1]
                    == "  do: have the certificate issued by a pinned CA or for a backup key, if the served key is "
                    + "yours (see above)")
            #expect(closing[2].hasPrefix("a.example.test:"))
            #expect(closing[2].hasSuffix(": unreachable: could not connect (Connection refused)"))
            #expect(closing[3] == "  do: check the port and that the server is running")
            #expect(run.lines.last == "13 checked: 12 failed, 1 unreachable")
            #expect(run.status == 1)
        }
    }

    @Test("The summary of causes has a line for the hosts and one for the remedy of each cause")
    func repeatedRemedy() async throws {
        let leaf = try site.intermediate.leaf("a.test", "b.test")
        let shared = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        func pin(_ role: String) -> [String] { ["{ \"pin\": \"\(unknownPin)\", \"role\": \"\(role)\" }"] }
        let policy = try site.directory.add(
            policyText([("a.test", pin("leaf")), ("b.test", pin("leaf")), ("api.test", pin("root"))]))
        let run = await check(["--policy", policy, "--files", shared, site.chainFile])
        let remedy =
            "  do: don't deploy it: have it reissued for a pinned or backup key, or ship its pin before you serve it"
        #expect(
            run.lines.suffix(5) == [
                "2 files (\(shared) for a.test, \(shared) for b.test): the certificate has a key that isn't pinned",
                remedy,
                "\(site.chainFile) for api.test: the CA changed, and the chain now ends at CN=Test Root",
                "  do: don't deploy it: have the certificate issued by a pinned CA or for a backup key, or ship the "
                    + "pin of its root, \(try site.root.key.pin), before you serve it", "3 checked: 3 failed",
            ])
        #expect(run.lines.filter { $0.contains("have the certificate issued by a pinned CA") }.count == 2)
        #expect(run.status == 1)
    }

    @Test("A former CA is shown by its certificate's subject if the policy names the file")
    func formerAuthority() async throws {
        let old = try TestCertificate.root("Old Root")
        _ = try site.directory.add(old.pemText, name: "old.pem")
        try await site.serve { server in
            let pin = "\"pin\": \"\(try old.key.pin)\", \"from\": \"old.pem\""
            for pin in [pin, "\"file\": \"old.pem\""] {
                let policy = try site.directory.add(
                    """
                    { "version": 1, "pins": { "former": { \(pin), "role": "root" } },
                      "domains": [{ "host": "api.test", "pins": ["former"] }] }
                    """)
                let run = await check(["--policy", policy, server.target()])
                #expect(run.output.contains("the CA changed from CN=Old Root (former) to CN=Test Root\n"), "\(run)")
            }
        }
    }
}
