import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A writer of the Prometheus text exposition format, for the node exporter's textfile collector.
///
/// Each series appears once, in an order that doesn't depend on the order of the run. If a host was checked several
/// times, a metric for the host has the value of the worst check, as its help text says.
enum PrometheusReport {
    static func text(_ report: Report) -> String {
        text(families(of: report), type: "gauge")
    }

    /// Returns the text of counters. Each has a name without `pinctl_` and `_total`, a help text and its values by a
    /// label.
    static func text(counters: [(name: String, help: String, label: String, values: [(String, Int)])]) -> String {
        text(
            counters.map { counter in
                var family = Family("pinctl_\(counter.name)_total", counter.help)
                for (value, number) in counter.values { family.add([(counter.label, value)], number) }
                return family
            }, type: "counter")
    }

    private static func text(_ families: [Family], type: String) -> String {
        var text = ""
        for family in families where !family.samples.isEmpty {
            text += "# HELP \(family.name) \(family.help)\n# TYPE \(family.name) \(type)\n"
            for (labels, value) in family.samples.sorted(by: { $0.key < $1.key }) {
                text += "\(family.name)\(labels) \(value)\n"
            }
        }
        return text
    }

    private static func families(of report: Report) -> [Family] {
        var entries = Family("pinctl_entries", "Entries of the run, by outcome.")
        for outcome in Severity.allCases {
            entries.add([("command", report.command), ("outcome", outcome.rawValue)], 0)
        }
        for (outcome, count) in report.counts {
            entries.add([("command", report.command), ("outcome", outcome.rawValue)], count, keep: max)
        }
        var run = Family("pinctl_last_run_timestamp_seconds", "Time of the run.")
        var success = Family("pinctl_last_success_timestamp_seconds", "Time of the run, if its exit code is 0.")
        var exit = Family("pinctl_exit_code", "Exit code of the run.")
        let now = Int(report.time.timeIntervalSince1970)
        run.add([("command", report.command)], now)
        if report.status == .good { success.add([("command", report.command)], now) }
        exit.add([("command", report.command)], Int(report.status.rawValue))
        let own =
            switch report.command {
            case "check": checks(report)
            case "plan": [releases(report)]
            default: findings(report)
            }
        return own + [entries, exit, run, success]
    }

    private static func checks(_ report: Report) -> [Family] {
        var verdict = Family(
            "pinctl_check_verdict", "Verdict on a host, by address and kind of key; always 1.")
        var matched = Family(
            "pinctl_pin_matched", "Whether a pin of the host's rule matches; 0 if it doesn't in any check of the host.")
        var matching = Family(
            "pinctl_pins_matching", "Matching pins of the host's rule, in the check with the fewest.")
        var backup = Family("pinctl_backup_only", "Whether only backup pins match, in any check of the host.")
        var end = Family(
            "pinctl_cert_not_after_timestamp_seconds", "Expiry of the certificate that expires first in this role.")
        var start = Family(
            "pinctl_cert_not_before_timestamp_seconds",
            "Start of validity of the certificate that expires first in this role.")
        var left = Family(
            "pinctl_cert_lifetime_left_ratio",
            "Share of the lifetime that is left to the certificate that expires first in this role.")
        var key = Family("pinctl_spki_info", "Key on the verified path of the host; always 1.")
        /// The certificate of each host and role that expires first.
        var first: [[String]: ReportCertificate] = [:]
        var duration = Family("pinctl_check_duration_seconds", "Duration of a check of the host.")
        // Input that isn't a target isn't a host either.
        for entry in report.entries where entry.outcome != .badInput {
            let host = ("host", entry.subject)
            let check = [host, ("address", entry.address ?? ""), ("key", entry.key ?? "")]
            verdict.add(check + [("verdict", entry.verdict)], 1)
            if let time = entry.duration { duration.add(check, seconds: time) }
            if !entry.pins.isEmpty {
                for pin in entry.pins {
                    matched.add(
                        [host, ("pin_name", pin.title), ("role", pin.role)], pin.isMatched ? 1 : 0, keep: min)
                }
                let found = entry.pins.filter(\.isMatched)
                matching.add([host], found.count, keep: min)
                backup.add([host], !found.isEmpty && found.allSatisfy(\.isBackup) ? 1 : 0, keep: max)
            }
            for certificate in entry.chain {
                let role = ("role", certificate.role)
                key.add(
                    [
                        host, role, ("pin", certificate.pin), ("key", certificate.key), ("issuer", certificate.issuer),
                    ], 1)
                let other = first[[entry.subject, certificate.role]]
                if other.map({ certificate.expires(before: $0) }) ?? true {
                    first[[entry.subject, certificate.role]] = certificate
                }
            }
        }
        for (series, certificate) in first {
            let labels = [("host", series[0]), ("role", series[1])]
            start.add(labels, Int(certificate.notBefore.timeIntervalSince1970))
            end.add(labels, Int(certificate.notAfter.timeIntervalSince1970))
            left.add(labels, ratio: certificate.lifetimeLeft)
        }
        return [verdict, matched, matching, backup, start, end, left, key, duration]
    }

    /// Returns the verdict on each release for each host.
    private static func releases(_ report: Report) -> Family {
        var verdict = Family("pinctl_plan_verdict", "Verdict on a release for a host; always 1.")
        for entry in report.entries where entry.outcome != .badInput {
            verdict.add([("release", entry.subject), ("host", entry.variant), ("verdict", entry.verdict)], 1)
        }
        return verdict
    }

    /// Returns the findings of a command that doesn't connect to servers, by file and rule.
    private static func findings(_ report: Report) -> [Family] {
        var findings = Family("pinctl_findings", "Findings in a file, by rule.")
        for entry in report.entries where entry.outcome != .ok {
            findings.add(
                [
                    ("command", report.command), ("file", entry.location?.path ?? entry.subject),
                    ("outcome", entry.outcome.rawValue), ("rule", entry.verdict),
                ], 1, keep: +)
        }
        return [findings]
    }

    /// A metric and its series.
    private struct Family {
        let name: String
        let help: String
        /// The values by label text.
        private(set) var samples: [String: String] = [:]
        private var numbers: [String: Int] = [:]

        init(_ name: String, _ help: String) {
            self.name = name
            self.help = help
        }

        /// Adds a value. If the series exists already, `keep` combines both values.
        mutating func add(_ labels: [(String, String)], _ value: Int, keep: (Int, Int) -> Int = { $1 }) {
            let text = Self.text(labels)
            let kept = numbers[text].map { keep($0, value) } ?? value
            numbers[text] = kept
            samples[text] = String(kept)
        }

        mutating func add(_ labels: [(String, String)], seconds: Duration) {
            samples[Self.text(labels)] = String(Double(seconds.wholeMilliseconds) / 1_000)
        }

        /// Adds a share from 0 to 1 with four decimal places.
        mutating func add(_ labels: [(String, String)], ratio: Double) {
            samples[Self.text(labels)] = String((ratio * 10_000).rounded(.down) / 10_000)
        }

        /// Returns a label value. Of the three characters that must be escaped, the line feed never appears in visible
        /// text.
        private static func value(_ text: String) -> String {
            escaped(visibleText(text), ["\\": "\\\\", "\"": "\\\""])
        }

        private static func text(_ labels: [(String, String)]) -> String {
            "{" + labels.map { "\($0.0)=\"\(value($0.1))\"" }.joined(separator: ",") + "}"
        }
    }
}

extension ReportCertificate {
    /// Whether the certificate expires before another one. If both expire at once, the shorter lifetime counts.
    fileprivate func expires(before other: ReportCertificate) -> Bool {
        notAfter == other.notAfter ? notBefore > other.notBefore : notAfter < other.notAfter
    }
}
