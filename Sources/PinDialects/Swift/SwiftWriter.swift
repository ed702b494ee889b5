import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of policies as Swift source with this project's types.
enum SwiftWriter {
    /// Returns the source of a file that adds `PinningPolicy.pinned()` to a program.
    static func write(_ policy: CanonicalPolicy) throws(DialectWriteError) -> String {
        var rules: [String] = []
        for rule in policy.rules { rules += try lines(rule) }
        var lines = ["import CertificatePinning", "import CertificateTrust"]
        if policy.rules.contains(where: { !$0.reports.isEmpty }) { lines.append("import Foundation") }
        lines += [
            "", "extension PinningPolicy {", "    /// The public keys that servers must present.",
            "    public static func pinned() throws -> PinningPolicy {", "        try PinningPolicy(",
            "            rules: [",
        ]
        lines += rules.map { "                " + $0 }
        var rest: [String] = []
        if policy.unlisted == .refuse { rest.append("unlisted: .refuse") }
        if !policy.denied.isEmpty {
            var pins = ""
            for pin in policy.denied { pins += "                \(try text(pin, nil)),\n" }
            rest.append("deny: [\n\(pins)            ]")
        }
        lines.append("            ]" + rest.map { ",\n            " + $0 }.joined() + ")")
        return (lines + ["    }", "}", ""]).joined(separator: "\n")
    }

    private static func lines(_ rule: CanonicalRule) throws(DialectWriteError) -> [String] {
        func refused(_ what: String) -> DialectWriteError {
            DialectWriteError("the rule \(what): convert the policy to Swift first", at: rule.location)
        }
        guard rule.patterns.count == 1, let pattern = rule.patterns.first, (try? ServerName(pattern.host)) != nil,
            pattern.scope == .exact || pattern.scope == .exactAndBelow
        else { throw refused("isn't for a single host, with or without its subdomains") }
        guard !rule.pins.isEmpty else { throw refused("for \(visibleText(pattern.host)) has no pins") }
        var head = ["host: ServerName(\(literal(pattern.host)))"]
        if pattern.scope == .exactAndBelow { head.append("includesSubdomains: true") }
        if rule.ownsPublicSuffix { head.append("ownsPublicSuffix: true") }
        if let ports = rule.ports { head.append("ports: [\(ports.sorted().map(String.init).joined(separator: ", "))]") }
        var lines = ["PinningRule(", "    \(head.joined(separator: ", ")),", "    pins: ["]
        for pin in rule.pins { lines.append("        \(try text(pin, rule.location)),") }
        let rest = try arguments(rule).map { ",\n                    " + $0 }
        return lines + ["    ]" + rest.joined() + "),"]
    }

    /// Returns the arguments that follow `pins:` in a rule.
    private static func arguments(_ rule: CanonicalRule) throws(DialectWriteError) -> [String] {
        var arguments: [String] = []
        if case .eachOf(let roles) = rule.requirement {
            let names = PinRole.allCases.filter { roles.contains($0) }.map { ".\($0.rawValue)" }
            arguments.append("requirement: .eachOf([\(names.joined(separator: ", "))])")
        }
        if rule.mode != .enforce { arguments.append("mode: .\(rule.mode.rawValue)") }
        if let expiry = rule.expiry {
            guard case .instant(let seconds) = expiry.moment,
                let end = CivilTime(secondsSince1970: seconds)?.description
            else {
                throw DialectWriteError(
                    "the expiry of a rule isn't a point in time: convert the policy to Swift first", at: rule.location)
            }
            let action = expiry.effect == .stopPinning ? "stopPinning" : expiry.effect.rawValue
            arguments.append("expiry: PinningExpiry(\(literal(end)), then: .\(action))")
        }
        if let anchors = rule.anchors {
            let files = anchors.map(\.source).filter { $0 != "system" }
            let own = "TrustStore(files: [\(files.map(literal).joined(separator: ", "))])"
            let isSystem = files.count < anchors.count
            let store =
                files.isEmpty
                ? "TrustStore.system()" : isSystem ? "TrustStore(combining: [TrustStore.system(), \(own)])" : own
            arguments.append("anchors: \(store)")
        }
        if let mode = rule.certificateTransparency { arguments.append("certificateTransparency: .\(mode.rawValue)") }
        if rule.bypassesLocally {
            arguments.append("pinsApplyOnlyUnder: TrustStore.system()")
        }
        if !rule.reports.isEmpty {
            let urls = rule.reports.map(literal).joined(separator: ", ")
            arguments.append("reports: [\(urls)].compactMap { URL(string: $0) }")
        }
        if let note = rule.note { arguments.append("note: \(literal(note))") }
        return arguments
    }

    private static func text(_ pin: CanonicalPin, _ location: PolicyLocation?) throws(DialectWriteError) -> String {
        guard pin.digest == .sha256, pin.value.count == 32, pin.trust == .chain else {
            throw DialectWriteError(
                "Swift code can't express the pin \(pin): convert the policy to Swift first", at: location)
        }
        var arguments = [literal(pin.description)]
        if pin.role != .any { arguments.append("role: .\(pin.role.rawValue)") }
        if pin.isBackup { arguments.append("isBackup: true") }
        if let name = pin.name { arguments.append("name: \(literal(name))") }
        return "Pin(\(arguments.joined(separator: ", ")))"
    }

    /// Returns a Swift string literal.
    private static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" {
                literal += "\\" + String(scalar)
            } else if visibleText(String(scalar)) != String(scalar) {
                literal += "\\u{\(String(scalar.value, radix: 16))}"
            } else {
                literal.unicodeScalars.append(scalar)
            }
        }
        return literal + "\""
    }
}
