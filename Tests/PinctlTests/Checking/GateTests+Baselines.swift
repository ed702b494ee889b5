import FoundationEssentials
import PinctlTestPKI
import Testing

extension GateTests {
    @Test("A baseline excuses identical failures, reports fixed ones and counts new ones")
    func baseline() async throws {
        let policy = try site.policy("{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\" }")
        try await site.serve { server in
            let (first, earlier) = try await document(["--policy", policy, server.target()])
            #expect(first.results[0].failure?.hasPrefix("pin_mismatch ") == true)
            let file = try site.directory.add(earlier.output)
            let words = ["--baseline", file, "--policy", policy, server.target()]
            let lines = try site.directory.add(await check(["--ndjson", "--policy", policy, server.target()]).output)
            #expect(await check(["--baseline", lines, "--policy", policy, server.target()]).status == 0)
            let run = await check(words)
            #expect(run.lines[0].hasPrefix("old   api.test:"))
            #expect(run.lines[0].contains("  known: pin mismatch: "))
            #expect(run.lines.last == "1 checked: 1 known")
            #expect(run.status == 0)
            let (again, _) = try await document(words)
            #expect(again.results[0].known == true)
            #expect(again.summary.found == "finding")
            #expect(again.summary.known == 1)
            // Another host isn't excused.
            let other = ["--baseline", file, "--policy", policy, server.target("www.test")]
            #expect(await check(other).status == 1)
            let good = try site.policy("\"\(try site.leaf.key.pin)\"")
            let fixed = await check(["--baseline", file, "--policy", good, server.target()])
            #expect(fixed.lines[1] == "  fixed: it failed in the baseline")
            #expect(fixed.lines.last == "1 checked: 1 ok, 1 fixed")
            // A known mismatch doesn't excuse a chain that isn't trusted.
            let unrelated = try site.directory.add(TestCertificate.root("Other Root").pemText)
            let untrusted = await pinctl(["check", "--ca-file", unrelated] + words)
            #expect(untrusted.status == 4)
        }
    }

    @Test("A chain that is untrusted for one reason isn't known when it is untrusted for another")
    func baselineReasons() async throws {
        var earlier = ""
        try await site.serve { server in
            earlier = await check(["--json", "--pin", unknownPin, "www.test:1@127.0.0.1:\(server.port)"]).output
        }
        let expired = try site.intermediate.leaf("www.test") { $0.notAfter = $0.notBefore + 86_400 }
        try await site.serve([expired, site.intermediate]) { server in
            // The target of the earlier run, at this server's port.
            let moved = try site.directory.add(
                earlier.replacing(/127\.0\.0\.1:[0-9]+/, with: "127.0.0.1:\(server.port)"))
            let target = "www.test:1@127.0.0.1:\(server.port)"
            let (later, run) = try await document(["--baseline", moved, "--pin", unknownPin, target])
            #expect(later.results[0].verdict == "chain_expired")
            #expect(later.summary.known == 0)
            #expect(run.status == 4)
        }
    }

    @Test("With several runs in one baseline the last result for a target counts; an invalid line doesn't start a run")
    func runsInBaseline() async throws {
        let policy = try site.policy("\"\(unknownPin)\"")
        let good = try site.policy("\"\(try site.leaf.key.pin)\"")
        try await site.serve { server in
            func lines(_ policy: String) async -> String {
                await check(["--ndjson", "--policy", policy, server.target()]).output
            }
            let (bad, fine) = (await lines(policy), await lines(good))
            let error = "{\"input\":\"#\",\"error\":\"no host\"}\n"
            for (text, status) in [(fine + bad, 0), (bad + fine, 1), (error + bad, 0)] as [(String, Int32)] {
                let file = try site.directory.add(text)
                #expect(await check(["--baseline", file, "--policy", policy, server.target()]).status == status)
            }
            let again = await check(
                ["--baseline", try site.directory.add(bad, name: "b.json"), "--policy", policy, server.target()]
                    + ["--report", "json=\(site.directory.path)/./b.json"])
            #expect(again.status == 2 && again.errors.contains("b.json is the baseline"))
        }
    }

    @Test(
        "A file that isn't a baseline is rejected",
        arguments: [
            "", "{", "{}", "[]", "{\"schema\":\"pinctl.hash/1\",\"results\":[]}", "{\"schema\":\"pinctl.check/1\"}",
            "{\"schema\":\"pinctl.check/1\",\"results\":[{\"target\":\"a\"}]}",
            "{\"schema\":\"pinctl.check/1\",\"results\":[{\"target\":\"a\",\"verdict\":\"fine\"}]}",
            "{\"schema\":\"pinctl.check/1\",\"results\":[{\"target\":\"a\",\"verdict\":\"denied\"}]}",
            // Lines without a summary, and with the summary of another command.
            "{\"type\":\"check\",\"target\":\"a\",\"verdict\":\"ok\"}",
            "{\"type\":\"check\",\"target\":\"a\"}\n{\"type\":\"summary\",\"schema\":\"pinctl.check/1\"}",
            "{\"type\":\"summary\",\"schema\":\"pinctl.lint/1\"}", "{\"type\":\"check\",\"target\":\"a\",",
        ])
    func foreignBaseline(text: String) async throws {
        let file = try site.directory.add(text)
        let run = await check(["--pin", unknownPin, "--baseline", file, "a.test"])
        #expect(run.errors.hasPrefix("pinctl: --baseline: \(file): "))
        #expect(run.output == "")
        #expect(run.status == 2)
    }

    @Test("A report works as the next run's baseline, and reports and annotations agree with the text")
    func reports() async throws {
        try await site.serve { server in
            let policy = try site.policy("{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\" }")
            let directory = site.directory.path
            let reports = ["json", "junit", "sarif", "markdown", "html", "prometheus"]
            let words = ["--policy", policy, server.target()]
            let run = await check(reports.flatMap { ["--report", "\($0)=\(directory)/report.\($0)"] } + words)
            #expect(run.lines[0].hasPrefix("FAIL"))
            #expect(run.errors == "")
            #expect(run.status == 1)
            for format in reports {
                let text = try String(
                    decoding: Data(contentsOf: URL(filePath: "\(directory)/report.\(format)")), as: UTF8.self)
                #expect(text.contains("pin_mismatch"), "\(format)")
            }
            let again = await check(["--baseline", "\(directory)/report.json"] + words)
            #expect(again.lines.last == "1 checked: 1 known")
            #expect(again.status == 0)
        }
    }
}
