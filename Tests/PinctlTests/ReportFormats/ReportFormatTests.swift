import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Report formats")
struct ReportFormatTests {
    @Test("JUnit counts failed, unreachable and known results")
    func junit() {
        let text = JUnitReport.text(.sample())
        #expect(
            text.contains("<testsuite name=\"pins/pins.jsonc\" tests=\"9\" failures=\"4\" errors=\"2\" time=\"3.328\""))
        #expect(text.contains("skipped=\"1\" timestamp=\"2026-11-20T00:00:00\""))
        #expect(text.contains("name=\"api.test:443 (192.0.2.7:443, ECDSA)\" time=\"0.041\""))
        #expect(text.contains("<error type=\"unreachable\" message=\"unreachable: sample\">"))
        #expect(text.contains("<skipped type=\"pin_mismatch\""))
        #expect(text.contains("<property name=\"warning.backup-only\" value=\"pay.test:443: "))
    }

    @Test("SARIF has a result for each failure and warning, and suppresses known ones")
    func sarif() throws {
        struct Log: Decodable {
            struct Run: Decodable { let results: [Result] }
            struct Result: Decodable {
                let ruleId: String
                let level: String
                let suppressions: [Suppression]?
            }
            struct Suppression: Decodable { let kind: String }
            let runs: [Run]
        }
        let log = try JSONDecoder().decode(Log.self, from: Data(SARIFReport.text(.sample()).utf8))
        let results = log.runs.flatMap(\.results)
        #expect(results.count == 8)
        #expect(results.count { $0.level == "warning" } == 1)
        #expect(results.filter { $0.suppressions != nil }.map(\.ruleId) == ["pin_mismatch"])
    }

    @Test(
        "SARIF refers to files by URI references, relative paths by relative references",
        arguments: [
            ("pins/pins.jsonc", "pins/pins.jsonc"), ("/a b/ü.json", "file:///a%20b/%C3%BC.json"),
            ("c:d%?#.json", "c%3Ad%25%3F%23.json"), ("standard input", "standard%20input"),
        ])
    func references(_ path: String, _ reference: String) {
        #expect(SARIFReport.uriReference(path) == reference)
    }

    @Test(
        "promtool accepts the metrics of every command, whatever their text",
        .enabled(if: TestCommand.isPresent("promtool", "--version"), "prometheus, which has promtool, is not installed")
    )
    func metrics() async throws {
        func check(_ text: String) throws {
            let run = try TestCommand.run(
                ["promtool", "check", "metrics"], input: text, environment: ["PATH=/usr/bin:/bin", "LC_ALL=C.UTF-8"])
            #expect(run.status == 0, "\(run.text)")
        }
        try check(PrometheusReport.text(.sample()))
        for text in HostileReportTests.texts.dropLast() { try check(PrometheusReport.text(.sample(saying: text))) }
        let site = try PinctlSite()
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        let roots = ["--ca-file", site.rootFile]
        for (name, words) in [
            ("check", ["--policy", policy, "--files", site.chainFile] + roots), ("lint", [policy, site.chainFile]),
            ("plan", ["--new", site.chainFile, "--against", policy] + roots),
        ] {
            let file = "\(site.directory.path)/\(name).prom"
            _ = await pinctl([name, "--report", "prometheus=\(file)"] + words)
            let text = try String(contentsOfFile: file, encoding: .utf8)
            #expect(text.contains("pinctl_exit_code{command=\"\(name)\"} "), "\(text)")
            try check(text)
        }
        // promtool would notice.
        let broken = try TestCommand.run(["promtool", "check", "metrics"], input: "a{b=\"c} 1\n")
        #expect(broken.status != 0)
    }

    // The schema belongs to OASIS and isn't part of this package. PINCTL_SARIF_SCHEMA names a copy.
    @Test(
        "SARIF is valid by its schema",
        .enabled(
            if: ProcessInfo.processInfo.environment["PINCTL_SARIF_SCHEMA"] != nil
                && TestCommand.isPresent("python3", "-c", "import jsonschema"),
            "PINCTL_SARIF_SCHEMA names no schema, or python3 has no jsonschema"))
    func schema() throws {
        let path = ProcessInfo.processInfo.environment["PINCTL_SARIF_SCHEMA"] ?? ""
        let script = """
            import json, jsonschema, sys
            schema = json.load(open(sys.argv[1]))
            validator = jsonschema.validators.validator_for(schema)(schema)
            for log in json.load(sys.stdin): validator.validate(log)
            """
        // The longest text is no different from the others.
        let logs = HostileReportTests.texts.dropLast().map { SARIFReport.text(.sample(saying: $0)) }
        let result = try TestCommand.run(
            ["python3", "-c", script, path], input: "[\(logs.joined(separator: ","))]")
        #expect(result.status == 0, "\(String(decoding: result.errors, as: UTF8.self))")
    }

    @Test("Prometheus reports the worst result of a host, with each series once")
    func prometheus() {
        let text = PrometheusReport.text(.sample())
        #expect(text.contains("pinctl_pins_matching{host=\"api.test:443\"} 0\n"))
        #expect(text.contains("pinctl_backup_only{host=\"pay.test:443\"} 1\n"))
        #expect(text.contains("pinctl_pin_matched{host=\"cdn.test:443\",pin_name=\"isrg-x1\",role=\"root\"} 1\n"))
        #expect(text.contains("address=\"192.0.2.9:443\",key=\"rsa\"} 1.205\n"))
        #expect(text.contains("pinctl_last_run_timestamp_seconds{command=\"check\"} 1795132800\n"))
        #expect(!text.contains("pinctl_last_success"))
        var reversed = Report.sample()
        reversed.entries.reverse()
        #expect(PrometheusReport.text(reversed) == text)
        var good = Report.sample()
        good.status = .good
        #expect(
            PrometheusReport.text(good).contains(
                "pinctl_last_success_timestamp_seconds{command=\"check\"} 1795132800\n"))
    }

    @Test("Markdown starts with the verdict, groups failures by cause, and fits a limit by omitting whole entries")
    func markdown() {
        let text = MarkdownReport.text(.sample())
        #expect(text.hasPrefix("## pinctl check: failed\n"))
        #expect(text.contains("### 2 failed with one cause\n\n`the authority changed: sample`\n\nTo do: `ship"))
        var long = Report.sample()
        long.entries = (0..<500).flatMap { _ in long.entries }
        let (whole, short) = (MarkdownReport.text(long), MarkdownReport.text(long, limit: 20_000))
        #expect(whole.utf8.count > 100_000)
        #expect((15_000...20_000).contains(short.utf8.count))
        #expect(short.contains("\nOmitted because of the size limit: "))
        #expect(!whole.contains("Left out"))
    }

    @Test("GitHub gets one annotation per cause, the worst first, and at most ten errors and ten warnings")
    func annotations() {
        let lines = GitHubAnnotation.lines(for: .sample())
        #expect(lines.count { $0.hasPrefix("::error ") } == 5)
        #expect(lines[0].contains("title=bad_input%3A sample::"))
        #expect(
            lines[1].hasPrefix(
                "::error file=pins/pins.jsonc,line=14,col=5,title=pin_mismatch%3A api.test%3A443 (192.0.2.7%3A443%2C "
                    + "ECDSA) and 1 more::pin mismatch: "))
        var long = Report.sample()
        long.groups = []
        long.entries = (0..<50).flatMap { _ in long.entries }
        let many = GitHubAnnotation.lines(for: long)
        #expect(many.count { $0.hasPrefix("::error ") } == 10)
        #expect(many.count { $0.hasPrefix("::warning ") } == 10)
        #expect(many.prefix(10).allSatisfy { $0.contains("title=bad_input") })
    }

    @Test("HTML shows the chain with its matches, and has every entry")
    func html() {
        let text = HTMLReport.text(.sample())
        #expect(text.split(separator: " class=\"entry ").count - 1 == 9)
        // An entry opens only if there is something in it.
        #expect(text.split(separator: "<details class=\"entry ").count - 1 == 7)
        #expect(!text.contains("<div class=\"body\">\n</div>"))
        #expect(text.split(separator: "<ol class=\"chain\"").count - 1 == 5)
        #expect(text.contains("matches <b>sample</b>"))
        #expect(text.contains("<time datetime=\"2026-11-20T00:00:00Z\">"))
    }

    @Test("Every format has each certificate's validity, key, issuer and the share of its lifetime that is left")
    func lifetimes() throws {
        // The leaf has lived for 40 of its 90 days, the root for 120 of 2,170.
        let leaf =
            "EC P-256, by CN=WE1,O=Google Trust Services,C=US, valid from 2026-10-11T00:00:00Z until "
            + "2027-01-09T00:00:00Z, 55% of its lifetime left"
        #expect(JUnitReport.text(.sample()).contains("  leaf: \(leaf)\n"))

        let sarif = SARIFReport.text(.sample())
        #expect(
            sarif.contains(
                #""subject":"CN=sample","issuer":"CN=WE1,O=Google Trust Services,C=US","#
                    + #""notBefore":"2026-10-11T00:00:00Z","notAfter":"2027-01-09T00:00:00Z","lifetimeLeftPercent":55"#
            ))
        #expect(sarif.contains(#""role":"root","pin":"#))

        let markdown = MarkdownReport.text(.sample())
        #expect(markdown.contains("<details><summary>3 certificates</summary>"))
        #expect(
            markdown.contains(
                "`EC P-256` | `sha256/")
                && markdown.contains("`2026-10-11T00:00:00Z` | `2027-01-09T00:00:00Z` | `55%` |"))

        let html = HTMLReport.text(.sample())
        #expect(html.contains("<p>by CN=WE1,O=Google Trust Services,C=US</p>"))
        #expect(html.contains(", 55% of its lifetime left</p>"))

        let metrics = PrometheusReport.text(.sample())
        let leafLabels = "{host=\"cdn.test:443\",role=\"leaf\"}"
        #expect(metrics.contains("pinctl_cert_not_before_timestamp_seconds\(leafLabels) 1791676800\n"))
        #expect(metrics.contains("pinctl_cert_not_after_timestamp_seconds\(leafLabels) 1799452800\n"))
        #expect(metrics.contains("pinctl_cert_lifetime_left_ratio\(leafLabels) 0.5555\n"))
        #expect(metrics.contains(",key=\"EC P-384\",issuer=\"CN=GTS Root R4,O=Google Trust Services LLC,C=US\"} 1\n"))
    }

    @Test("Prometheus describes the certificate that expires first in a role, whatever the order of the checks")
    func firstToExpire() throws {
        var report = Report.sample()
        let good = try #require(report.entries.last)
        let leaf = try #require(good.chain.first)
        let (start, end) = (testTime.addingTimeInterval(-6 * 86_400), testTime.addingTimeInterval(2 * 86_400))
        let short = ReportCertificate(
            role: "leaf", subject: leaf.subject, issuer: leaf.issuer, key: "RSA 2048", pin: leaf.pin, notBefore: start,
            notAfter: end, lifetimeLeft: lifetimeLeft(from: start, until: end, at: testTime), source: "served",
            matched: nil)
        var other = good
        other.chain = [short]
        for entries in [[good, other], [other, good]] {
            report.entries = entries
            let text = PrometheusReport.text(report)
            let labels = "{host=\"cdn.test:443\",role=\"leaf\"}"
            #expect(text.contains("pinctl_cert_not_before_timestamp_seconds\(labels) 1794614400\n"))
            #expect(text.contains("pinctl_cert_not_after_timestamp_seconds\(labels) 1795305600\n"))
            #expect(text.contains("pinctl_cert_lifetime_left_ratio\(labels) 0.25\n"))
        }
    }
}
