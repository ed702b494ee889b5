import CertificatePinning
import CertificateTrust
import PinctlBasics

/// A writer of rules as domain-configs.
enum AndroidConfigWriter {
    /// The settings of a domain-config that don't concern pins, as written in a file.
    struct Rest: Equatable {
        /// The attributes, each preceded by a space.
        var attributes: [String] = []
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
        // mutant android-writer: true for 1 by AndroidTests ConversionTests RoundTripTests
        guard rule.ports == nil, rule.requirement == .any, rule.mode != .report, !rule.patterns.isEmpty else {
            throw DialectWriteError(
                "Android's config can't express this rule: convert the policy first", at: rule.location)
        }
        var lines = ["<domain-config\(rest.attributes.joined())>"]
        for pattern in rule.patterns { lines.append("    " + (try domain(pattern, rule))) }
        lines += try pinSet(rule).map { "    " + $0 }
        if let transparency = try transparency(rule) ?? rest.transparency { lines.append("    " + transparency) }
        if rule.anchors != nil {
            lines += anchors(rule).map { "    " + $0 }
        } else if let anchors = rest.anchors {
            lines.append("    " + anchors)
        }
        lines += reports(rule).map { "    " + $0 }
        lines += rest.elements.map { "    " + $0 }
        return lines + ["</domain-config>"]
    }

    /// Returns the setting for Certificate Transparency, or `nil` without one.
    static func transparency(_ rule: CanonicalRule) throws(DialectWriteError) -> String? {
        switch rule.certificateTransparency {
        case .require: return "<certificateTransparency enabled=\"true\" />"
        case .ignore: return "<certificateTransparency enabled=\"false\" />"
        case .report:
            throw DialectWriteError(
                "Android's config can't only report transparency: convert the policy first", at: rule.location)
        case nil: return nil
        }
    }

    /// Returns the lines of the trust-anchors, if the rule names roots.
    static func anchors(_ rule: CanonicalRule) -> [String] {
        guard let anchors = rule.anchors, !anchors.isEmpty else {
            return rule.anchors == nil ? [] : ["<trust-anchors />"]
        }
        let lines = anchors.map { anchor in
            let overrides = anchor.bypassesPins ? " overridePins=\"true\"" : ""
            return "    <certificates src=\"\(escapedXML(anchor.source))\"\(overrides) />"
        }
        return ["<trust-anchors>"] + lines + ["</trust-anchors>"]
    }

    /// Returns the lines of TrustKit-Android's element, if the rule has reports.
    static func reports(_ rule: CanonicalRule) -> [String] {
        guard !rule.reports.isEmpty || rule.usesDefaultReport else { return [] }
        let disables = rule.usesDefaultReport ? "" : " disableDefaultReportUri=\"true\""
        let tag = "<trustkit-config enforcePinning=\"true\"\(disables)"
        guard !rule.reports.isEmpty else { return [tag + " />"] }
        return [tag + ">"] + rule.reports.map { "    <report-uri>\(escapedXML($0))</report-uri>" } + [
            "</trustkit-config>"
        ]
    }

    private static func domain(_ pattern: HostPattern, _ rule: CanonicalRule) throws(DialectWriteError) -> String {
        "<domain includeSubdomains=\"\(try includesSubdomains(pattern, rule))\">\(escapedXML(pattern.host))</domain>"
    }

    /// Returns whether a domain includes its subdomains.
    static func includesSubdomains(_ pattern: HostPattern, _ rule: CanonicalRule) throws(DialectWriteError) -> Bool {
        switch pattern.scope {
        case .exact: return false
        case .exactAndBelow: return true
        default:
            throw DialectWriteError(
                "Android's config can't express this scope: convert the policy first", at: rule.location)
        }
    }

    /// Returns the lines of the pin-set. An empty one pins nothing, which excludes hosts from the enclosing configs.
    static func pinSet(_ rule: CanonicalRule) throws(DialectWriteError) -> [String] {
        guard rule.mode == .enforce else { return ["<pin-set />"] }
        guard !rule.pins.isEmpty else {
            throw DialectWriteError(
                "a rule without pins would pin nothing: add pins, or set its mode to off", at: rule.location)
        }
        let expiration = try expiration(rule).map { " expiration=\"\(escapedXML($0))\"" } ?? ""
        var lines = ["<pin-set\(expiration)>"]
        for pin in rule.pins {
            guard pin.content == .publicKey, pin.digest == .sha256, pin.role == .any, pin.trust == .chain else {
                throw DialectWriteError(
                    "Android's config cannot pin \(pin): convert the policy first", at: rule.location)
            }
            lines.append("    " + self.pin(pin))
        }
        return lines + ["</pin-set>"]
    }

    static func pin(_ pin: CanonicalPin) -> String {
        "<pin digest=\"SHA-256\">\(Base64.encode(pin.value.span))</pin>"
    }

    /// Returns the day on which the rule expires, or `nil` if it never does.
    static func expiration(_ rule: CanonicalRule) throws(DialectWriteError) -> String? {
        guard let expiry = rule.expiry else { return nil }
        guard case .localDay(let day) = expiry.moment, expiry.effect == .stopPinning else {
            throw DialectWriteError(
                "Android's config can't express this expiry: convert the policy first", at: rule.location)
        }
        return day
    }
}
