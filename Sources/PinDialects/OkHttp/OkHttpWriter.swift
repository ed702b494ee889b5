import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of policies as Kotlin code that builds OkHttp's CertificatePinner.
enum OkHttpWriter {
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var lines = ["val certificatePinner = CertificatePinner.Builder()"]
        for rule in policy.rules {
            for pattern in rule.patterns { lines += try call(pattern, rule, endsWithComma: true).map { "    " + $0 } }
        }
        return (lines + ["    .build()", ""]).joined(separator: "\n")
    }

    /// Returns a program in which the calls of `add` have the pins of the policy.
    static func replacing(
        _ bytes: [UInt8], path: String, with policy: CanonicalPolicy
    ) throws(DialectWriteError) -> [UInt8] {
        let result = try OkHttpReplacement(bytes, path: path).result(policy)
        try PinDialect.okhttp.check(result, path: path, says: try write(policy))
        return result
    }

    /// Returns the lines of the call for a pattern. Java doesn't allow a comma after the last argument.
    static func call(
        _ pattern: HostPattern, _ rule: CanonicalRule, endsWithComma: Bool
    ) throws(DialectWriteError) -> [String] {
        guard !rule.pins.isEmpty else {
            throw DialectWriteError("OkHttp can't express a rule without pins: remove it", at: rule.location)
        }
        var lines = [".add(", "    \"\(try text(pattern, of: rule))\","]
        for (index, pin) in rule.pins.enumerated() {
            let comma = endsWithComma || index < rule.pins.count - 1 ? "," : ""
            lines.append(
                "    \(try text(pin, of: rule))\(comma)" + (pin.name.map { "  // \(visibleText($0))" } ?? ""))
        }
        return lines + [")"]
    }

    private static func text(_ pattern: HostPattern, of rule: CanonicalRule) throws(DialectWriteError) -> String {
        let prefix =
            switch pattern.scope {
            case .exact: ""
            case .oneLabelBelow: "*."
            case .exactAndBelow: "**."
            case .exactAndOneLabelBelow, .every: nil as String?
            }
        // A valid OkHttp pattern needs no escapes in Kotlin, except for quotes and dollar signs, which no hostname
        // contains.
        guard let prefix, OkHttpPin.pattern(prefix + pattern.host) != nil,
            !pattern.host.contains(where: { "\"$".contains($0) })
        else {
            throw DialectWriteError(
                "OkHttp has no pattern for \(visibleText(pattern.host)): convert the policy to OkHttp first",
                at: rule.location)
        }
        return prefix + pattern.host
    }

    static func text(_ pin: CanonicalPin, of rule: CanonicalRule) throws(DialectWriteError) -> String {
        guard pin.content == .publicKey, pin.digest == .sha256 || pin.digest == .sha1 else {
            throw DialectWriteError(
                "OkHttp can't express the pin \(pin): convert the policy to OkHttp first", at: rule.location)
        }
        return "\"\(pin)\""
    }
}
