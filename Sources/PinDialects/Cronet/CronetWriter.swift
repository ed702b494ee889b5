import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlFoundation

/// A writer of policies as Kotlin code that builds a CronetEngine.
enum CronetWriter {
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var lines = [
            "val cronetEngine = CronetEngine.Builder(context)",
            "    .enablePublicKeyPinningBypassForLocalTrustAnchors(false)",
        ]
        for rule in policy.rules {
            for pattern in rule.patterns { lines += try call(pattern, rule).map { "    " + $0 } }
        }
        return (lines + ["    .build()", ""]).joined(separator: "\n")
    }

    private static func call(
        _ pattern: HostPattern, _ rule: CanonicalRule
    ) throws(DialectWriteError) -> [String] {
        func refused(_ what: String) -> DialectWriteError {
            DialectWriteError("Cronet can't express \(what): convert the policy to Cronet first", at: rule.location)
        }
        guard [.exact, .exactAndBelow].contains(pattern.scope), !pattern.host.contains(where: { "\"$\\".contains($0) })
        else { throw refused("the hosts of \(visibleText(pattern.host))") }
        guard rule.mode == .enforce, !rule.pins.isEmpty else { throw refused("a rule without pins, or that is off") }
        var lines = [".addPublicKeyPins(", "    \"\(pattern.host)\",", "    setOf("]
        for pin in rule.pins {
            guard pin.content == .publicKey, pin.digest == .sha256, pin.value.count == 32 else {
                throw refused("the pin \(pin)")
            }
            lines.append(
                "        Base64.decode(\"\(Base64.encode(pin.value.span))\", Base64.DEFAULT),"
                    + (pin.name.map { "  // \(visibleText($0))" } ?? ""))
        }
        lines += ["    ),", "    \(pattern.scope == .exactAndBelow),"]
        switch rule.expiry.map({ ($0.moment, $0.effect) }) {
        case nil: lines.append("    Date(Long.MAX_VALUE),")
        case (.instant(let seconds), .stopPinning)?:
            let time = Date(timeIntervalSince1970: Double(seconds)).rfc3339
            lines.append("    Date(\(seconds)000L),  // \(time)")
        default: throw refused("this expiry")
        }
        return lines + [")"]
    }
}
