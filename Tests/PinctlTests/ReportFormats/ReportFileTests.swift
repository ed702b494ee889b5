import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("--report")
struct ReportFileTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    /// A policy with two warnings.
    private func policy() throws -> String {
        try site.directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": [
            "cert-sha256/lrzsBiZJdvN0YHeazyjFp8/o/Cq4RqP/O4FwL3fCMXY=", "\(unknownPin)" ] } ] }
            """, name: "pins.jsonc")
    }

    private func contents(_ name: String) throws -> String {
        String(decoding: try Data(contentsOf: URL(filePath: "\(site.directory.path)/\(name)")), as: UTF8.self)
    }

    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: site.directory.path).sorted() }
    }

    @Test("Several reports are written in one run, existing files are replaced, and no other file is left")
    func several() async throws {
        let file = try policy()
        _ = try site.directory.add("old", name: "r.xml")
        let before = try names
        let reports = [
            "junit=r.xml", "sarif=r.sarif", "html=r.html", "prometheus=r.prom", "json=r.json", "markdown=r.md",
        ]
        let run = await pinctl(
            ["lint", file] + reports.flatMap { ["--report", $0.replacing("=", with: "=\(site.directory.path)/")] })
        #expect(run.errors == "")
        #expect(run.lines.last == "1 linted: errors 0, warnings 2")
        #expect(try names == (before + ["r.html", "r.json", "r.md", "r.prom", "r.sarif"]).sorted())
        #expect(try contents("r.xml").contains("<testsuite name=\"\(file)\" tests=\"2\" failures=\"0\" errors=\"0\""))
        #expect(try contents("r.sarif").contains("\"startLine\":2,\"startColumn\":1"))
        #expect(try contents("r.prom").contains("rule=\"P022\"} 1\n"))
        #expect(try contents("r.json") == (await pinctl("lint", file, "--json")).output)
    }

    @Test("A report on standard output replaces the text")
    func standardOutput() async throws {
        let file = try policy()
        let run = await pinctl("lint", file, "--report", "junit=-")
        #expect(run.output.hasPrefix("<?xml "))
        #expect(run.output.hasSuffix("</testsuites>\n"))
        #expect(run.status == 0)
        for form in ["--json", "--ndjson"] {
            let refused = await pinctl("lint", file, form, "--report", "junit=-")
            #expect(refused.errors.contains("standard output already contains the JSON"))
            #expect(refused.status == 2)
        }
    }

    @Test(
        "A report that couldn't be written is rejected before the work starts",
        arguments: [
            ("xunit=r.xml", "does not support \"xunit\""), ("junit", "doesn't name a file"),
            ("junit=", "doesn't name a file"),
            ("junit=/no/such/directory/r.xml", "its directory does not exist"), ("junit=/tmp", "is a directory"),
            ("junit=/dev/null/r.xml", "is not a directory"),
        ])
    func refused(_ value: String, _ reason: String) async throws {
        let run = await pinctl("lint", try policy(), "--report", value)
        #expect(run.errors.contains("pinctl: --report"))
        #expect(run.errors.contains(reason))
        #expect(run.output == "")
        #expect(run.status == 2)
    }

    @Test("Two reports to the same file are rejected")
    func twice() async throws {
        let run = await pinctl("lint", try policy(), "--report", "junit=/tmp/r", "--report", "html=/tmp/r")
        #expect(run.errors.contains("two reports are written to /tmp/r"))
        #expect(run.status == 2)
    }

    @Test("A full disk is exit code 2, and the text is printed anyway")
    func fullDisk() async throws {
        let run = await pinctl("lint", try policy(), "--report", "junit=/dev/full")
        #expect(run.lines.last == "1 linted: errors 0, warnings 2")
        #expect(
            run.errors
                == "pinctl: --report junit=/dev/full: no space left on device: free some space, or name another file\n")
        #expect(run.status == 2)
    }

    @Test("A report is written through a symbolic link, which is kept")
    func link() async throws {
        let target = try site.directory.add("old", name: "target.xml")
        let link = site.directory.path + "/link.xml"
        try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
        #expect(await pinctl("lint", try policy(), "--report", "junit=\(link)").status == 0)
        #expect(try contents("target.xml").hasPrefix("<?xml "))
        #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == target)
    }

    @Test("In a GitHub job, annotations go to standard error and the summary to its file")
    func github() async throws {
        let file = try policy()
        let summary = try site.directory.add("before\n", name: "summary.md")
        let variables = ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": summary]
        let run = await pinctl("lint", file, "--json", variables: variables)
        #expect(run.output == (await pinctl("lint", file, "--json")).output)
        let lines = run.errors.split(separator: "\n")
        #expect(lines.count == 2)
        #expect(lines.allSatisfy { $0.hasPrefix("::warning file=\(file),line=") })
        #expect(try contents("summary.md").hasPrefix("before\n## pinctl lint: good\n"))
        let silent = await pinctl("lint", file, "--annotations", "none", variables: variables)
        #expect(silent.errors == "")
        let asked = await pinctl("lint", file, "--annotations", "github")
        #expect(asked.errors.hasPrefix("::warning "))
        #expect(await pinctl("lint", file, "--annotations", "gitlab").status == 2)
    }

    @Test("A step summary fits GitHub's limit, names the number of omitted entries and stays well-formed")
    func summaryLimit() async throws {
        let page = try site.directory.add(String(repeating: "x", count: 1_010_000), name: "summary.md")
        let long = String(repeating: String(repeating: "a", count: 60) + ".", count: 3)
        let names = ["api.test"] + (1..<200).map { "\(long)\($0).api.test" }
        let leaf = try site.intermediate.issue(.server(names))
        let chain = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        let policy = try site.policy("\"\(try site.root.key.pin)\"", rule: "\"subdomains\": true,")
        let run = await pinctl(
            ["check", "--ca-file", site.rootFile, "--policy", policy, "--annotations", "github", "--files", chain],
            variables: ["GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": page])
        #expect(run.status == 0, "\(run.errors.prefix(500))")
        let text = try contents("summary.md")
        #expect(text.utf8.count <= 1 << 20 && text.utf8.count > 1_040_000)
        let rows = text.components(separatedBy: "\n| `").count - 1
        // All entries have the same certificates.
        let omitted = "\(grouped(200 - rows)) entries and 3 certificates"
        #expect(text.hasSuffix("Omitted because of the size limit: \(omitted).\n"))
        #expect(text.components(separatedBy: "<details>").count == text.components(separatedBy: "</details>").count)
    }

    @Test(
        "A disk that fills up during the write leaves the old file, and no other file next to it",
        .enabled(if: TestCommand.isPresent("unshare", "-m", "true"), "mounting takes privileges"))
    func diskFillsUp() async throws {
        _ = try policy()
        let run = try await shell(
            """
            mkdir small && cat > script <<'END'
            mount -t tmpfs -o size=16k tmpfs small && echo old > small/r.html && cp small/r.html small/nsc.xml
            cat /dev/zero > small/fill 2> /dev/null
            pinctl lint pins.jsonc --report html=small/r.html > /dev/null; echo $?
            pinctl export --to android --lossy -o small/nsc.xml pins.jsonc > /dev/null 2> /dev/null; echo $?
            cat small/r.html small/nsc.xml; ls -A small
            END
            unshare -m bash script
            """, in: site.directory)
        #expect(run.output == "2\n2\nold\nold\nfill\nnsc.xml\nr.html\n", "\(run.errors)")
        #expect(run.errors.contains("no space left on device"))
    }

    @Test("An unreadable file is an error in the report")
    func unreadable() async throws {
        let run = await pinctl("lint", "/no/such.jsonc", "--report", "junit=-")
        #expect(run.output.contains("errors=\"1\""))
        #expect(run.output.contains("<error type=\"bad_input\" message=\"/no/such.jsonc: no such file"))
        #expect(run.status == 2)
    }
}
