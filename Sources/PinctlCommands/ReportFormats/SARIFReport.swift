import Basics
import CertificatePinning
import CertificateTrust
import PlatformFoundation

/// A writer of SARIF 2.1.0 (OASIS) for code scanning, with a rule for each verdict and warning and a result for each
/// entry that isn't good.
///
/// Failures that the baseline contains are included as suppressed results.
enum SARIFReport {
    static func text(_ report: Report) -> String {
        var rules = Rules(report.rules)
        var fingerprints: [String: Int] = [:]
        var results: [String] = []
        for entry in report.entries {
            for finding in Finding.all(of: entry) {
                let rule = rules.index(of: finding.identifier, isWarning: finding.severity == .warning)
                let print = "\(entry.subject) \(finding.identifier)"
                fingerprints[print, default: 0] += 1
                let result = finding.json(
                    of: entry, in: report, rule: rule, fingerprint: "\(print) \(fingerprints[print] ?? 1)")
                results.append(result.text)
            }
        }
        let driver: JSON = [
            "name": "pinctl", "version": .string(Version.current), "semanticVersion": .string(Version.current),
            "rules": .array(rules.json),
        ]
        let invocation: JSON = [
            "executionSuccessful": .bool(report.status != .badInput && report.status != .internalError),
            "exitCode": .integer(Int(report.status.rawValue)), "endTimeUtc": .string(report.time.rfc3339),
        ]
        return "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{"
            + "\"tool\":{\"driver\":\(driver.text)},\"invocations\":[\(invocation.text)],"
            // Columns are counted in Unicode scalars, as in all messages of pinctl.
            + "\"columnKind\":\"unicodeCodePoints\",\"results\":[\n\(results.joined(separator: ",\n"))\n]}]}\n"
    }

    /// The rules in the order of first use, those of the report first.
    private struct Rules {
        private var rules: [ReportRule]
        private var places: [String: Int]

        init(_ rules: [ReportRule]) {
            self.rules = []
            places = [:]
            for rule in rules where places[rule.identifier] == nil {
                places[rule.identifier] = self.rules.count
                self.rules.append(rule)
            }
        }

        mutating func index(of identifier: String, isWarning: Bool) -> Int {
            if let place = places[identifier] { return place }
            places[identifier] = rules.count
            rules.append(ReportRule(identifier: identifier, summary: identifier, isWarning: isWarning))
            return rules.count - 1
        }

        var json: [JSON] {
            rules.map { rule in
                let help = rule.help.isEmpty ? "The message of each result says what to do." : rule.help
                return [
                    "id": .string(visibleText(rule.identifier)),
                    "shortDescription": ["text": .string(plain(rule.summary))],
                    "fullDescription": ["text": .string(plain(rule.summary))],
                    "help": ["text": .string(plain("\(rule.summary). \(help)"))],
                    "defaultConfiguration": ["level": .string((rule.isWarning ? Severity.warning : .failed).level)],
                    "properties": ["tags": ["security"]],
                ]
            }
        }
    }

    /// The finding of one result: the verdict of an entry, or a warning about it.
    private struct Finding {
        let identifier: String
        let severity: Severity
        let text: String

        static func all(of entry: ReportEntry) -> [Finding] {
            var findings: [Finding] = []
            if entry.outcome.isFailure || entry.outcome == .known {
                let causes = entry.causes.map { "\n\(visibleText("\($0.finding): \($0.remedy)"))" }.joined()
                findings.append(
                    Finding(
                        identifier: entry.verdict, severity: entry.outcome,
                        text: visibleText("\(entry.title): \(entry.finding)") + causes))
            }
            return findings
                + entry.allWarnings.map {
                    Finding(
                        identifier: $0.identifier, severity: .warning, text: visibleText("\(entry.title): \($0.text)"))
                }
        }

        func json(of entry: ReportEntry, in report: Report, rule: Int, fingerprint: String) -> JSON {
            var members: [(String, JSON)] = [
                ("ruleId", .string(visibleText(identifier))), ("ruleIndex", .integer(rule)),
                ("level", .string(severity.level)),
                ("message", ["text": .string(unlinked(text))]),
                ("locations", .array([location(of: entry, in: report)])),
                ("partialFingerprints", ["subjectAndVerdict/v1": .string(visibleText(fingerprint))]),
            ]
            if entry.outcome == .known {
                let suppression: JSON = [
                    "kind": "external", "status": "accepted", "justification": "the baseline contains this failure",
                ]
                members.append(("suppressions", .array([suppression])))
            }
            if !entry.chain.isEmpty {
                members.append(("properties", ["certificates": .array(entry.chain.map(Self.element))]))
            }
            return .object(members)
        }

        private static func element(_ certificate: ReportCertificate) -> JSON {
            [
                "role": .string(certificate.role), "pin": .string(certificate.pin), "key": .string(certificate.key),
                "subject": .string(visibleText(certificate.subject)),
                "issuer": .string(visibleText(certificate.issuer)),
                "notBefore": .string(certificate.notBefore.rfc3339), "notAfter": .string(certificate.notAfter.rfc3339),
                "lifetimeLeftPercent": .integer(certificate.lifetimeLeftPercent),
            ]
        }

        private func location(of entry: ReportEntry, in report: Report) -> JSON {
            let logical: JSON = ["name": .string(visibleText(entry.subject)), "kind": "resource"]
            var members: [(String, JSON)] = []
            // A whole file is reported at its first line, since GitHub requires a line for every result.
            if let place = entry.location ?? report.policy.map({ PolicyLocation(path: $0) }) {
                let region: JSON =
                    place.line > 0
                    ? ["startLine": .integer(place.line), "startColumn": .integer(max(1, place.column))]
                    : ["startLine": 1]
                members.append(
                    (
                        "physicalLocation",
                        ["artifactLocation": ["uri": .string(uriReference(place.path))], "region": region]
                    ))
            }
            return .object(members + [("logicalLocations", .array([logical]))])
        }
    }

    /// Returns a line of the report itself as message text.
    private static func plain(_ text: String) -> String { unlinked(visibleText(text)) }

    /// Escapes `](`, which would be part of a link in a message (section 3.11.6), including in text from a server.
    private static func unlinked(_ text: String) -> String {
        guard text.contains("](") else { return text }
        return text.split(separator: "](", omittingEmptySubsequences: false).joined(separator: "]\\u{28}")
    }

    /// Returns a path as a URI reference (RFC 3986): relative to the working directory, or `file:` for an absolute
    /// path.
    static func uriReference(_ path: String) -> String {
        var encoded: [UInt8] = Array((path.hasPrefix("/") ? "file://" : "").utf8)
        let digits = Array("0123456789ABCDEF".utf8)
        for byte in path.utf8 {
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"),
                UInt8(ascii: "~"), UInt8(ascii: "/"):
                encoded.append(byte)
            default: encoded += [UInt8(ascii: "%"), digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
