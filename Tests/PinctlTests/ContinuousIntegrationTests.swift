import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// The code listings of the article on continuous integration.
@Suite("The article on continuous integration")
struct ContinuousIntegrationTests {
    private static let page = Article.named("InContinuousIntegration").map { $0.lines.joined(separator: "\n") } ?? ""

    /// The listings in fenced blocks of a language.
    private static func listings(_ kind: String) -> [String] {
        (Article.named("InContinuousIntegration")?.blocks ?? []).filter { $0.language == kind }
            .map { $0.lines.map { $0 + "\n" }.joined() }
    }

    @Test(
        "Listings marked as YAML are valid YAML",
        .enabled(if: TestCommand.isPresent("python3", "-c", "import yaml"), "python3-yaml is not installed"))
    func yaml() throws {
        let listings = Self.listings("yaml")
        #expect(listings.count >= 2)
        for listing in listings {
            let run = try TestCommand.run(
                [
                    "python3", "-c",
                    "import sys, yaml; assert 'jobs' in (d := yaml.safe_load(sys.stdin)) or 'pins' in d",
                ],
                input: listing)
            #expect(run.status == 0, "\(run.text)")
        }
    }

    @Test("pinctl accepts the command lines of the article")
    func commandLines() throws {
        var count = 0
        for line in Self.page.split(separator: "\n") {
            let isShell = line.contains("sh 'pinctl ")
            guard isShell || line.contains("run: pinctl ") || line.hasPrefix("    - pinctl ") || line.hasPrefix("17 *"),
                let start = line.firstRange(of: "pinctl ")
            else { continue }
            let words = line[start.lowerBound...].prefix { $0 != "'" || !isShell }
                .split(separator: " ").dropFirst().map(String.init)
            let command = try #require(CommandDefinition.all.first { $0.name == words.first }, "\(line)")
            let arguments = try Arguments(Array(words.dropFirst()), for: command)
            let report = try #require(CommandDefinition.all.flatMap(\.allFlags).first { $0.long == "report" })
            for value in arguments.all(report) {
                let format = try #require(value.split(separator: "=").first)
                #expect(report.help.contains(" \(format),") || report.help.hasSuffix(" \(format)"), "\(line)")
            }
            count += 1
        }
        #expect(count >= 8)
    }

    @Test("The Jenkins pipeline reads the reports that it writes")
    func jenkins() throws {
        let pipeline = try #require(Self.listings("groovy").first)
        #expect(pipeline.count { $0 == "{" } == pipeline.count { $0 == "}" })
        let read = try #require(pipeline.firstRange(of: "junit testResults: '"))
        let names = pipeline[read.upperBound...].prefix { $0 != "'" }.split(separator: ",")
        #expect(names.count == 2)
        for name in names { #expect(pipeline.contains("--report junit=\(name)")) }
    }

    /// A policy for the site's server with this pin, and settings that make the shell's pinctl use the time of the
    /// tests.
    private static func setUp(_ site: PinctlSite, _ server: LoopbackServer, pin: String) throws -> String {
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [ { "host": "api.test", "pins": ["\(pin)"],
              "anchors": { "files": ["root.pem"] }, "check": { "targets": ["\(server.target())"] } } ] }
            """)
        return "policy=\(policy); pinctl() { command pinctl \"$@\" --at 2026-11-20; }\n"
    }

    @Test("The cron script prints nothing unless a check fails")
    func cron() async throws {
        let site = try PinctlSite()
        let script = try #require(Self.listings("sh").first)
        try await site.serve { server in
            let good = try await shell(
                Self.setUp(site, server, pin: site.leaf.key.pin) + script, in: site.directory)
            #expect(good.status == 0, "\(good.errors)")
            #expect(good.output.isEmpty && good.errors.isEmpty)
            let bad = try await shell(Self.setUp(site, server, pin: unknownPin) + script, in: site.directory)
            #expect(bad.status == 1, "\(bad.errors)")
            #expect(bad.output.contains("FAIL ") && bad.output.contains(unknownPin))
        }
    }

    @Test("The line for the textfile collector prints nothing and writes one complete file")
    func textfile() async throws {
        let site = try PinctlSite()
        let line = try #require(Self.page.split(separator: "\n").first { $0.hasPrefix("17 * * * *  pinctl ") })
        let command = line.dropFirst("17 * * * *  ".count)
            .replacing("/etc/pinctl/pins.jsonc", with: "$policy")
            .replacing("/var/lib/prometheus/node-exporter/", with: "metrics/")
        try await site.serve { server in
            for (pin, status) in [(try site.leaf.key.pin, Int32(0)), (unknownPin, 1)] {
                let run = try await shell(
                    Self.setUp(site, server, pin: pin) + "mkdir -p metrics\n" + command, in: site.directory)
                #expect(run.status == status, "\(run.errors)")
                #expect(run.output.isEmpty && run.errors.isEmpty)
                let written = try await shell("ls -A metrics; tail -n 1 metrics/pins.prom", in: site.directory)
                #expect(written.lines.first == "pins.prom" && written.lines.count == 2)
                let metrics = try await shell("grep pinctl_exit_code metrics/pins.prom", in: site.directory)
                #expect(metrics.lines.last == "pinctl_exit_code{command=\"check\"} \(status)")
            }
        }
    }
}
