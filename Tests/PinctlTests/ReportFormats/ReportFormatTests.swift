import FoundationEssentials
import TestPKI
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
                "::error file=pins/pins.jsonc,line=14,col=5,title=pin_mismatch%3A api.test%3A443 (192.0.2.7%3A443%2C ECDSA) "
                    + "and 1 more::pin mismatch: "))
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
        #expect(text.split(separator: "<details class=\"entry ").count - 1 == 9)
        #expect(text.split(separator: "<ol class=\"chain\"").count - 1 == 5)
        #expect(text.contains("matches <b>sample</b>"))
        #expect(text.contains("<time datetime=\"2026-11-20T00:00:00Z\">"))
    }
}
