import Basics
import CertificatePinning
import FoundationEssentials

@testable import PinctlCommands

extension Report {
    /// A run with every kind of result: two hosts that fail for one cause, one for another, one that isn't trusted, one
    /// that is unreachable, a line that isn't a target, a match on a backup only, a failure that is in the baseline,
    /// and a good host. `text` appears wherever a server or a file supplies text.
    static func sample(saying text: String = "sample") -> Report {
        var report = Report(command: "check", time: testTime, policy: "pins/pins.jsonc")
        report.status = .finding
        report.closing = "8 checked: 2 ok (1 with a warning), 3 failed, 1 not trusted, 1 unreachable, 1 known"
        report.summary = [("checked", 8), ("verdict", "finding"), ("exit_code", 1)]
        report.rules = [
            ReportRule(identifier: "pin_mismatch", summary: "the chain is trusted, and its pins do not match"),
            ReportRule(identifier: "backup-only", summary: "backups alone match", isWarning: true),
        ]
        report.groups = [
            ReportGroup(
                key: "authority", outcome: .failed, title: "the authority changed: \(text)",
                remedy: "ship the pin of its new root", count: 2, examples: ["api.test:443", "www.test:443"]),
            ReportGroup(
                key: "rekeyed", outcome: .failed, title: "the server has another key", remedy: "", count: 1,
                examples: [text]),
        ]
        let place = PolicyLocation(path: "pins/pins.jsonc", line: 14, column: 5)
        for (host, key) in [("api.test:443", "authority"), ("www.test:443", "authority"), (text, "rekeyed")] {
            report.entries.append(
                ReportEntry(
                    outcome: .failed, subject: host, variant: "192.0.2.7:443, ECDSA", address: "192.0.2.7:443",
                    key: "ecdsa", verdict: "pin_mismatch", finding: "pin mismatch: 0 of 3 pins match, \(text)",
                    details: ["  verified path  pinned", "  leaf  \(text)"], location: place,
                    causes: [
                        ReportCause(
                            identifier: "authority-changed", finding: "the chain ends at \(text)",
                            remedy: "ship its pin")
                    ],
                    chain: chain(text, matched: nil), pins: pins(text, matched: nil),
                    duration: .milliseconds(41), group: key, json: element(host, "pin_mismatch", text)))
        }
        report.entries += [
            ReportEntry(
                outcome: .notTrusted, subject: "old.test:443", verdict: "untrusted",
                finding: "not trusted [expired]: \(text)", details: [text], location: place, duration: .seconds(2),
                json: element("old.test:443", "untrusted", text)),
            ReportEntry(
                outcome: .couldNotCheck, subject: "gone.test:443", verdict: "unreachable",
                finding: "unreachable: \(text)", json: element("gone.test:443", "unreachable", text)),
            ReportEntry(
                outcome: .badInput, subject: text, verdict: "bad_input", finding: "\(text) is no target: give a host",
                json: ["error": .string(text)]),
            ReportEntry(
                outcome: .warning, subject: "pay.test:443", address: "192.0.2.9:443", key: "rsa",
                verdict: "ok_backup_only", finding: "matched \(text) (leaf)",
                warnings: [(identifier: "backup-only", text: "the pins hold, but on backups alone: \(text)")],
                location: place, chain: chain(text, matched: 0), pins: pins(text, matched: 1),
                duration: .milliseconds(1_205), json: element("pay.test:443", "ok_backup_only", text)),
            ReportEntry(
                outcome: .known, subject: "known.test:443", verdict: "pin_mismatch", finding: "pin mismatch: \(text)",
                location: place, json: element("known.test:443", "pin_mismatch", text)),
            ReportEntry(
                outcome: .ok, subject: "cdn.test:443", verdict: "ok", finding: "matched \(text) (root)",
                location: place, chain: chain(text, matched: 2), pins: pins(text, matched: 2),
                json: element("cdn.test:443", "ok", text)),
        ]
        return report
    }

    private static func element(_ target: String, _ verdict: String, _ text: String) -> JSON {
        ["type": "check", "target": .string(target), "verdict": .string(verdict), "says": .string(text)]
    }

    private static func chain(_ text: String, matched: Int?) -> [ReportCertificate] {
        let day: TimeInterval = 86_400
        let certificates: [(role: String, subject: String, issuer: String, key: String, source: String)] = [
            ("leaf", "CN=\(text)", "CN=WE1,O=Google Trust Services,C=US", "EC P-256", "served"),
            (
                "intermediate", "CN=WE1,O=Google Trust Services,C=US",
                "CN=GTS Root R4,O=Google Trust Services LLC,C=US",
                "EC P-256", "served"
            ),
            (
                "root", "CN=GTS Root R4,O=Google Trust Services LLC,C=US",
                "CN=GTS Root R4,O=Google Trust Services LLC,C=US", "EC P-384", "store"
            ),
        ]
        return certificates.enumerated().map { index, certificate in
            let start = testTime.addingTimeInterval(-40 * day * Double(index + 1))
            let end = testTime.addingTimeInterval(50 * day * Double(index * 20 + 1))
            return ReportCertificate(
                role: certificate.role, subject: certificate.subject, issuer: certificate.issuer, key: certificate.key,
                pin: pin(index), notBefore: start, notAfter: end,
                lifetimeLeft: lifetimeLeft(from: start, until: end, at: testTime), source: certificate.source,
                matched: index == matched ? text : nil)
        }
    }

    private static func pins(_ text: String, matched: Int?) -> [ReportPin] {
        let pins: [(title: String, role: String, isBackup: Bool)] = [
            ("api-2026", "leaf", false), ("\(text)", "leaf", true), ("isrg-x1", "root", false),
        ]
        return pins.enumerated().map { index, pin in
            ReportPin(
                title: pin.title, pin: Self.pin(index + 3), role: pin.role, isBackup: pin.isBackup,
                standing: index == matched ? "matches as \(pin.role)" : "not served", isMatched: index == matched)
        }
    }

    private static func pin(_ number: Int) -> String {
        "sha256/\(Data((0..<32).map { UInt8(truncatingIfNeeded: $0 &* 37 &+ number &* 11) }).base64EncodedString())"
    }
}
