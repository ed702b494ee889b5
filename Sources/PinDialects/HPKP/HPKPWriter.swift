import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of the rules for one host as header fields (RFC 7469).
enum HPKPWriter {
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var lines = ""
        for rule in policy.rules {
            guard rule.patterns.count == 1, rule.patterns == policy.rules[0].patterns,
                policy.rules.filter({ $0.mode == rule.mode }).count == 1
            else {
                throw DialectWriteError(
                    "a header is for a single host, and only one of its kind is read: choose a host", at: rule.location)
            }
            lines += try line(rule) + "\n"
        }
        guard !lines.isEmpty else { throw DialectWriteError("no rule is left for a header: choose another host") }
        return lines
    }

    private static func line(_ rule: CanonicalRule) throws(DialectWriteError) -> String {
        func refused(_ what: String) -> DialectWriteError {
            DialectWriteError(
                "a header can't express \(what): convert the policy to Public-Key-Pins first", at: rule.location)
        }
        var directives: [String] = []
        for pin in rule.pins {
            // mutant hpkp-digest: true for 2 by HPKPTests
            guard pin.content == .publicKey, pin.digest == .sha256, pin.value.count == 32 else {
                throw refused("the pin \(pin)")
            }
            directives.append("pin-sha256=\"\(Base64.encode(pin.value.span))\"")
        }
        switch (rule.mode, rule.expiry?.moment) {
        case (.enforce, .age(let seconds)?): directives.append("max-age=\(max(0, seconds))")
        case (.report, nil): break
        default: throw refused("this expiry or mode")
        }
        switch rule.patterns[0].scope {
        case .exact, .every: break
        case .exactAndBelow: directives.append("includeSubDomains")
        default: throw refused("the hosts of \(visibleText(rule.patterns[0].host))")
        }
        if let report = rule.reports.first {
            guard rule.reports.count == 1,
                !report.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F || "\"\\".utf8.contains($0) })
            else { throw refused("the addresses for its reports") }
            directives.append("report-uri=\"\(report)\"")
        }
        let name = rule.mode == .report ? "Public-Key-Pins-Report-Only" : "Public-Key-Pins"
        return "\(name): " + directives.joined(separator: "; ")
    }
}
