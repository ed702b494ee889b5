import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of rules as domain-configs.
enum AndroidConfigWriter {
    /// The settings of a domain-config that don't concern pins, as written in a file.
    struct Rest: Equatable {
        /// The attributes, each preceded by a space.
        var attributes = ""
        var elements: [String] = []
        /// The trust-anchors, which are written if the rule itself doesn't name roots.
        var anchors: String?
        /// The certificateTransparency, which is written if the rule itself has no such setting.
        var transparency: String?
    }

    /// Returns a domain-config for each rule, with lines indented by `indent`.
    static func domainConfigs(
        _ policy: CanonicalPolicy, indent: String, rest: (CanonicalRule) -> Rest = { _ in Rest() }
    ) throws(DialectWriteError) -> [String] {
        guard policy.combination == .closest, policy.denied.isEmpty, policy.unlisted == .trust else {
            throw DialectWriteError("Android's config can't express this policy: convert it first")
        }
        return try policy.rules.map { rule throws(DialectWriteError) in
            try domainConfig(rule, rest(rule)).map { indent + $0 }.joined(separator: "\n")
        }
    }

    private static func domainConfig(_ rule: CanonicalRule, _ rest: Rest) throws(DialectWriteError) -> [String] {
        guard rule.ports == nil, rule.requirement == .any, rule.mode != .report, !rule.patterns.isEmpty else {
            throw DialectWriteError(
                "Android's config can't express this rule: convert the policy first", at: rule.location)
        }
        var lines = ["<domain-config\(rest.attributes)>"]
        for pattern in rule.patterns { lines.append("    " + (try domain(pattern, rule))) }
        lines += try pinSet(rule).map { "    " + $0 }
        switch rule.certificateTransparency {
        case .require: lines.append("    <certificateTransparency enabled=\"true\" />")
        case .ignore: lines.append("    <certificateTransparency enabled=\"false\" />")
        case .report:
            throw DialectWriteError(
                "Android's config can't only report transparency: convert the policy first", at: rule.location)
        case nil: if let transparency = rest.transparency { lines.append("    " + transparency) }
        }
        if let anchors = rule.anchors {
            lines.append(anchors.isEmpty ? "    <trust-anchors />" : "    <trust-anchors>")
            for anchor in anchors {
                let overrides = anchor.bypassesPins ? " overridePins=\"true\"" : ""
                lines.append("        <certificates src=\"\(escapedXML(anchor.source))\"\(overrides) />")
            }
            if !anchors.isEmpty { lines.append("    </trust-anchors>") }
        } else if let anchors = rest.anchors {
            lines.append("    " + anchors)
        }
        if !rule.reports.isEmpty || rule.usesDefaultReport {
            let disables = rule.usesDefaultReport ? "" : " disableDefaultReportUri=\"true\""
            let tag = "    <trustkit-config enforcePinning=\"true\"\(disables)"
            lines.append(tag + (rule.reports.isEmpty ? " />" : ">"))
            for address in rule.reports { lines.append("        <report-uri>\(escapedXML(address))</report-uri>") }
            if !rule.reports.isEmpty { lines.append("    </trustkit-config>") }
        }
        lines += rest.elements.map { "    " + $0 }
        return lines + ["</domain-config>"]
    }

    private static func domain(_ pattern: HostPattern, _ rule: CanonicalRule) throws(DialectWriteError) -> String {
        let includes: String
        switch pattern.scope {
        case .exact: includes = "false"
        case .exactAndBelow: includes = "true"
        default:
            throw DialectWriteError(
                "Android's config can't express this scope: convert the policy first", at: rule.location)
        }
        return "<domain includeSubdomains=\"\(includes)\">\(escapedXML(pattern.host))</domain>"
    }

    /// Returns the lines of the pin-set. An empty one pins nothing, which excludes hosts from the enclosing configs.
    static func pinSet(_ rule: CanonicalRule) throws(DialectWriteError) -> [String] {
        guard rule.mode == .enforce else { return ["<pin-set />"] }
        guard !rule.pins.isEmpty else {
            throw DialectWriteError(
                "a rule without pins would pin nothing: add pins, or set its mode to off", at: rule.location)
        }
        var expiration = ""
        if let expiry = rule.expiry {
            guard case .localDay(let day) = expiry.moment, expiry.effect == .stopPinning else {
                throw DialectWriteError(
                    "Android's config can't express this expiry: convert the policy first", at: rule.location)
            }
            expiration = " expiration=\"\(escapedXML(day))\""
        }
        var lines = ["<pin-set\(expiration)>"]
        for pin in rule.pins {
            guard pin.content == .publicKey, pin.digest == .sha256, pin.role == .any, pin.trust == .chain else {
                throw DialectWriteError(
                    "Android's config cannot pin \(pin): convert the policy first", at: rule.location)
            }
            lines.append("    <pin digest=\"SHA-256\">\(Base64.encode(pin.value.span))</pin>")
        }
        return lines + ["</pin-set>"]
    }
}
