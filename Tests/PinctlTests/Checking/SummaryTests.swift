import PinctlCommands
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// The end of the output, which is all that remains on a screen of 80 columns and 24 rows.
@Suite("The summary of a long failure")
struct SummaryTests {
    private let site: PinctlSite

    init() throws { site = try PinctlSite() }

    @Test("The last 24 rows name every host that failed and what to do")
    func rows() async throws {
        let names = ["a.test", "b.test", "c.test"]
        let other = try TestCertificate.root("Other Root")
        let closed = try DeadPort(.refusing)
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [
              { "host": "a.test", "pins": [{ "pin": "\(unknownPin)", "role": "leaf" }] },
              { "host": "b.test", "pins": [{ "pin": "\(try other.key.pin)", "role": "root" }] },
              { "host": "c.test", "pins": ["\(unknownPin)"] },
              { "host": "d.test", "pins": ["\(unknownPin)"] } ] }
            """)
        let leaf = try site.intermediate.leaf(names[0]) { $0.alternativeNames = names.map { .dns($0) } }
        try await site.serve([leaf, site.intermediate]) { server in
            let targets = names.map { server.target($0) } + ["d.test:\(closed.port)@127.0.0.1"]
            let run = await pinctl(
                ["check", "--ca-file", site.rootFile, "--policy", policy, "--retries", "0"] + targets,
                terminal: Terminal(columns: 80))
            #expect(run.status == 1)
            let last = run.lines.suffix(23).joined(separator: "\n")
            for name in names { #expect(last.contains("\n\(name):"), "\(run.output)") }
            #expect(last.contains("\nd.test:"))
            for remedy in [
                "  do: serve a pinned or backup key again, if the served key is yours (see above)",
                "  do: serve a chain with a pinned key again, if the served key is yours (see\n    above)",
                "  do: check the port and that the server is running",
            ] { #expect(last.contains(remedy), "\(remedy):\n\(last)") }
            #expect(run.lines.last == "4 checked: 3 failed, 1 unreachable")
            // How to confirm a served key is said once in full.
            let words = run.output.split { $0 == " " || $0 == "\n" }.joined(separator: " ")
            #expect(words.ranges(of: "prints the served leaf pin").count == 1, "\(run.output)")
            #expect(words.ranges(of: "(confirm it as above)").count == 2, "\(run.output)")
        }
    }

    @Test("Of failures with one cause, the first has the remedy, and each other takes one line without it")
    func repeated() async throws {
        let closed = try DeadPort(.refusing)
        let targets = (0..<12).map { "h\($0).test:\(closed.port)@127.0.0.1" }
        let run = await pinctl(
            ["check", "--ca-file", site.rootFile, "--pin", unknownPin, "--retries", "0", "--in-order"] + targets)
        #expect(run.lines.count == 15, "\(run.output)")
        #expect(run.lines[0].hasSuffix("Connection refused): check the port and that the server is running"))
        for line in run.lines[1..<12] { #expect(line.hasSuffix(" could not connect (Connection refused)"), "\(line)") }
        #expect(run.lines[13] == "  do: check the port and that the server is running")
        // Everything is in the document.
        let json = await pinctl(
            ["check", "--ca-file", site.rootFile, "--pin", unknownPin, "--retries", "0", "--json"] + targets)
        #expect(json.output.ranges(of: "check the port and that the server is running").count == 12)
        let names = (0..<3).map { "n\($0).test" }
        let policy = try site.policy("\"\(try site.leaf.key.pin)\"")
        let unlisted = await pinctl(["check", "--policy", policy] + names)
        #expect(unlisted.output.ranges(of: "has no rule for it: add one").count == 1, "\(unlisted.output)")
        #expect(unlisted.output.ranges(of: "has no rule for it\n").count == 2, "\(unlisted.output)")
    }

    @Test("A remedy that was printed before is only referred to")
    func printed() {
        var printed = PrintedRemedies()
        #expect(printed.shortened(["  cause: a", "  do: b"], for: "a.test") == ["  cause: a", "  do: b"])
        #expect(
            printed.shortened(["  cause: c", "  do: b"], for: "b.test") == [
                "  cause: c", "  do: the same as for a.test",
            ])
        #expect(printed.shortened(["  do: d"], for: "c.test") == ["  do: d"])
    }

    @Test("A summary for a screen is cut to its rows, and counts what it leaves out")
    func cut() {
        var report = Report(command: "check", time: testTime, policy: nil)
        report.groups = (0..<18).map { index in
            ReportGroup(
                outcome: .failed, title: "cause \(index)", remedy: "", count: 1, examples: ["h\(index).test:443"],
                shortRemedy: "remedy \(index)")
        }
        #expect(report.groupLines().count == 36)
        let lines = report.groupLines(columns: 80)
        #expect(lines.count == 21)
        #expect(lines[0...1] == ["h0.test:443: cause 0", "  do: remedy 0"])
        #expect(lines.last == "8 more failures with other causes")
    }

    @Test("A short failure isn't repeated")
    func short() async throws {
        let closed = try DeadPort(.refusing)
        let run = await pinctl(
            "check", "--ca-file", site.rootFile, "--pin", unknownPin, "--retries", "0",
            "d.test:\(closed.port)@127.0.0.1")
        #expect(run.lines.count == 2 && run.lines[1] == "1 checked: 1 unreachable")
    }
}
