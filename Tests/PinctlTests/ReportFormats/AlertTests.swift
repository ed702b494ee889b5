import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// The alerting rules in `pins`, evaluated by Prometheus's own tool over the metrics of real runs.
@Suite(
    "Prometheus alerts",
    .enabled(if: TestCommand.isPresent("promtool", "--version"), "promtool is not installed: package prometheus"))
struct AlertTests {
    private static let rules = Repository.root + "/pins/prometheus-alerts.yml"
    /// The validity of the certificates starts with the clock of `promtool test rules`, and lasts this many hours.
    private static let lifetime = 100

    let directory: TestDirectory
    let root: TestCertificate
    let leaf: TestCertificate
    let backup: TestKey

    init() throws {
        directory = try TestDirectory()
        root = try TestCertificate.root("Old Root") { ($0.notBefore, $0.notAfter) = (0, 3_600 * 100_000) }
        leaf = try root.leaf("api.test") { ($0.notBefore, $0.notAfter) = (0, 3_600 * Int64(Self.lifetime)) }
        backup = try TestKey()
        _ = try directory.add(root.pemText, name: "root.pem")
    }

    private func policy(_ pins: String) throws -> String {
        try directory.add(#"{ "version": 1, "domains": [{ "host": "api.test", "pins": [\#(pins)] }] }"#)
    }

    /// Runs check at an hour and returns its metrics.
    private func metrics(_ hour: Int, _ words: [String], status: Int32) async throws -> String {
        let file = "\(directory.path)/\(hour).prom"
        let time = Date(timeIntervalSince1970: Double(hour) * 3_600)
        let run = await pinctl(
            ["check", "--ca-file", "\(directory.path)/root.pem", "--report", "prometheus=\(file)"] + words, now: time)
        #expect(run.status == status, "\(run.output)\(run.errors)")
        return String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
    }

    /// Returns the names of the alerts that fire at the end, for a textfile whose contents change at these hours.
    private func alerts(_ files: [(hour: Int, metrics: String)], at end: Int) async throws -> Set<String> {
        var series: [String: [Int: String]] = [:]
        for (index, file) in files.enumerated() {
            let until = index + 1 < files.count ? files[index + 1].hour : end + 1
            for line in file.metrics.split(separator: "\n") where !line.hasPrefix("#") {
                let space = try #require(line.lastIndex(of: " "))
                for hour in file.hour..<until {
                    series[String(line[..<space]), default: [:]][hour] = String(line[line.index(after: space)...])
                }
            }
        }
        let alerts = String(decoding: try Data(contentsOf: URL(filePath: Self.rules)), as: UTF8.self)
            .split(separator: "\n").filter { $0.contains("- alert: ") }
            .map { $0.split(separator: " ").last.map(String.init) ?? "" }
        var found: Set<String> = []
        // A test that expects no alert prints those that fire.
        var text = "rule_files: [\(Self.rules)]\nevaluation_interval: 1h\ntests:\n- interval: 1h\n  input_series:\n"
        for (name, values) in series.sorted(by: { $0.key < $1.key }) {
            let list = (0...end).map { values[$0] ?? "_" }.joined(separator: " ")
            text += "  - series: '\(name)'\n    values: '\(list)'\n"
        }
        text += "  alert_rule_test:\n"
        for alert in alerts { text += "  - { eval_time: \(end)h, alertname: \(alert) }\n" }
        let run = try TestCommand.run(["promtool", "test", "rules", try directory.add(text)])
        for alert in alerts where run.text.contains("alertname: \(alert), time:") { found.insert(alert) }
        #expect(run.status == (found.isEmpty ? 0 : 1), "\(run.text)")
        return found
    }

    @Test("Alerts lead from a good run over a warning to an expired certificate, and don't resolve at its expiry")
    func expiry() async throws {
        try await LoopbackServer(chain: [leaf]).run { server in
            let words = ["--policy", try policy("\"\(try leaf.key.pin)\", \"\(unknownPin)\""), server.target()]
            let good = try await metrics(2, words, status: 0)
            #expect(try await alerts([(2, good)], at: 3).isEmpty)
            let late = try await metrics(85, words, status: 0)
            #expect(try await alerts([(2, good), (85, late)], at: 86) == ["PinctlCertificateExpiresSoon"])
            let expired = try await metrics(Self.lifetime + 1, words, status: 4)
            let files = [(2, good), (85, late), (Self.lifetime + 1, expired)]
            let firing: Set = ["PinctlCertificateExpired", "PinctlNotTrusted"]
            #expect(try await alerts(files, at: Self.lifetime + 1) == firing)
            #expect(try await alerts(files, at: Self.lifetime + 3) == firing)
            // The job has stopped.
            #expect(try await alerts(files, at: Self.lifetime + 4) == firing.union(["PinctlNotRunning"]))
            // The certificate expires between two runs.
            #expect(
                try await alerts([(99, try await metrics(99, words, status: 0))], at: Self.lifetime + 1)
                    == ["PinctlCertificateExpired"])
        }
    }

    @Test("Each kind of failure has an alert")
    func failures() async throws {
        let dead = try DeadPort(.refusing)
        try await LoopbackServer(chain: [leaf]).run { server in
            let pin = "\"\(try leaf.key.pin)\""
            let broken = try directory.add("{ \"version\": 1, \"domain\": [] }")
            let reversed = try directory.add(root.pemText + leaf.pemText)
            let wrongKey = try directory.add(TestKey().privateKeyPEM + leaf.pemText)
            let otherRoot = try directory.add(TestCertificate.root("Other Root").pemText)
            let rows: [(words: [String], status: Int32, alert: String)] = [
                (["--policy", try policy("\"\(unknownPin)\""), server.target()], 1, "PinctlPinMismatch"),
                (["--policy", try policy(pin), server.target("www.test")], 1, "PinctlPolicyGap"),
                (["--pin", try leaf.key.pin, server.target("www.test")], 4, "PinctlNotTrusted"),
                (
                    [
                        "--policy", try policy("{ \"pin\": \(pin), \"backup\": true }, \"\(unknownPin)\""),
                        server.target(),
                    ],
                    0, "PinctlOnlyBackupMatches"
                ),
                (["--pin", unknownPin, "api.test:\(dead.port)@127.0.0.1"], 3, "PinctlUnreachable"),
                (
                    ["--pin", try leaf.key.pin, "--files", reversed, "--host", "api.test"], 1,
                    "PinctlWrongOrder"
                ),
                (["--pin", try leaf.key.pin, "--files", wrongKey, "--host", "api.test"], 1, "PinctlWrongKey"),
                (
                    ["--pin", try leaf.key.pin, "--store", "other=\(otherRoot)", server.target()], 0,
                    "PinctlSomePathsMatch"
                ),
                (["--policy", broken, server.target()], 2, "PinctlRunFailed"),
                (["--polcy", broken, server.target()], 2, "PinctlRunFailed"),
                (["--policy", broken + ".missing", server.target()], 2, "PinctlRunFailed"),
            ]
            for (words, status, alert) in rows {
                var files: [(Int, String)] = []
                // A run every hour.
                for hour in 2...5 { files.append((hour, try await metrics(hour, words, status: status))) }
                #expect(try await alerts(files, at: 5) == [alert], "\(words)")
            }
        }
        #expect(try await alerts([], at: 3) == ["PinctlNoMetrics"])
    }

    @Test("Every verdict has an alert, except for good ones whose warning has a metric of its own or that have none")
    func verdicts() throws {
        let text = try String(contentsOfFile: Self.rules, encoding: .utf8)
        let alerted = text.matches(of: #/verdict=~?"([a-z_|]+)"/#).flatMap { $0.output.1.split(separator: "|") }
            .map(String.init)
        let good: Set<VerdictWord> = [.ok, .okBackupOnly, .okPinsOff, .keyMatched]
        #expect(alerted.sorted() == VerdictWord.allCases.filter { !good.contains($0) }.map(\.rawValue).sorted())
        #expect(good.allSatisfy { $0.row.severity == .ok } && text.contains("pinctl_backup_only == 1"))
    }

    @Test("promtool finds nothing wrong with the rules and the metrics, and the article lists each alert and metric")
    func text() async throws {
        let rules = try TestCommand.run(["promtool", "check", "rules", Self.rules])
        #expect(rules.status == 0, "\(rules.text)")
        let page = String(
            decoding: try Data(
                contentsOf: URL(filePath: Repository.root + "/Sources/PinctlCommands/PinctlCommands.docc/Reports.md")),
            as: UTF8.self)
        let text = String(decoding: try Data(contentsOf: URL(filePath: Self.rules)), as: UTF8.self)
        for line in text.split(separator: "\n") where line.contains("- alert: ") {
            let name = try #require(line.split(separator: " ").last)
            #expect(page.contains("`\(name)`"), "\(name)")
        }
        try await LoopbackServer(chain: [leaf]).run { server in
            let words = ["--policy", try policy("\"\(try leaf.key.pin)\""), server.target()]
            let metrics = try await metrics(2, words, status: 0)
            let check = try TestCommand.run(["promtool", "check", "metrics"], input: metrics)
            #expect(check.status == 0, "\(check.text)")
            var count = 0
            for line in metrics.split(separator: "\n") where line.hasPrefix("# TYPE ") {
                #expect(page.contains("`\(line.split(separator: " ")[2])`"), "\(line)")
                count += 1
            }
            #expect(count == 13)
            // Every metric that a rule uses exists.
            for word in text.split(whereSeparator: { !$0.isLetter && $0 != "_" }) where word.hasPrefix("pinctl_") {
                #expect(metrics.contains("\n\(word){"), "\(word)")
            }
        }
    }
}
