import CertificateTrust

/// The keys of a policy file, version 1.
package enum PolicySchema {
    package static let file = PolicyShape.object(
        names + settings + [PolicyKey("domains", .array(of: rule, minimum: 1), isRequired: true)])

    /// The shape of a file that is included for the names of its pins.
    static let included = PolicyShape.object(names + settings + [PolicyKey("domains", .array(of: rule))])

    /// The objects in which each key is read, for messages about a key that is in another object.
    static let places: [String: String] = {
        var places: [String: String] = [:]
        for (shape, place) in [
            (file, "the top level of the file"), (rule, "a rule in \"domains\""), (anchors, "\"anchors\" of a rule"),
            (check, "\"check\" of a rule"), (pinObject, "a pin"), (export, "an element of \"exports\""),
        ] {
            guard case .object(let keys) = shape else { continue }
            for key in keys where places[key.name] == nil { places[key.name] = place }
        }
        return places
    }()

    /// Other words for keys, for messages about keys that don't exist. All are in lower case.
    static let synonyms: [String: String] = {
        var synonyms: [String: String] = [:]
        for (key, words) in [
            ("note", ["name", "label", "title", "description", "comment", "id"]),
            ("pin", ["sha256", "spki", "spki_sha256", "digest", "fingerprint", "hash", "value", "key"]),
            ("file", ["certificate", "cert", "path", "pem"]), ("role", ["type", "position", "kind"]),
            ("host", ["domain", "hostname", "pattern", "url"]),
            ("subdomains", ["include_subdomains", "include-subdomains", "wildcard", "recursive"]),
            ("expires", ["expiration", "validuntil", "valid_until", "until", "notafter", "end"]),
            ("mode", ["enforce", "enforced", "enforcement", "enforcepinning", "enabled"]),
            ("anchors", ["roots", "ca", "cafile", "ca_file", "trustanchors", "trust-anchors"]),
            ("reports", ["reporturi", "report-uri", "report_uri", "reporturis", "reporturl"]),
            ("targets", ["servers", "endpoints"]), ("to", ["format", "dialect", "target"]),
        ] {
            for word in words { synonyms[word] = key }
        }
        return synonyms
    }()

    /// The keys that are allowed in a policy but are errors in an included file.
    static let unincluded = Set(settings.map(\.name) + ["domains"])

    private static let names = [
        PolicyKey("$schema", .string),
        PolicyKey("version", .number(1...1), isRequired: true),
        PolicyKey("pins", .map(to: pin)),
        PolicyKey("include", .array(of: .string)),
    ]

    private static let settings = [
        PolicyKey("unlisted", .choice(UnlistedHosts.allCases.map(\.rawValue))),
        PolicyKey("deny", .array(of: pin)),
        PolicyKey("exports", .array(of: export)),
        PolicyKey("releases", .array(of: .string)),
    ]

    private static let export = PolicyShape.object([
        PolicyKey("to", .string, isRequired: true), PolicyKey("file", .string, isRequired: true),
        PolicyKey("host", .string), PolicyKey("allow", .array(of: .string)),
    ])

    /// A string or an object. The string is `sha256/BASE64` or, in a rule, also a name.
    private static let pin = PolicyShape.either(.string, pinObject)

    private static let pinObject = PolicyShape.object([
        PolicyKey("pin", .string),
        PolicyKey("file", .string),
        PolicyKey("role", role),
        PolicyKey("backup", .boolean),
        PolicyKey("note", .string),
        PolicyKey("from", .string),
    ])

    private static let role = PolicyShape.choice(PinRole.allCases.map(\.rawValue))

    private static let rule = PolicyShape.object([
        PolicyKey("host", .string, isRequired: true),
        PolicyKey("subdomains", .boolean),
        PolicyKey("ownsPublicSuffix", .boolean),
        PolicyKey("ports", .array(of: .number(1...65535), minimum: 1)),
        PolicyKey("pins", .array(of: pin, minimum: 1), isRequired: true),
        PolicyKey("require", .either(.choice(["any"]), .array(of: role, minimum: 1))),
        PolicyKey("mode", .choice(PinningMode.allCases.map(\.rawValue))),
        PolicyKey("expires", .string),
        PolicyKey("onExpiry", .choice(PinningExpiry.Action.allCases.map(\.rawValue))),
        PolicyKey("anchors", .either(.choice(["system"]), anchors)),
        PolicyKey("certificateTransparency", .choice(CertificateTransparencyMode.allCases.map(\.rawValue))),
        PolicyKey("localAnchorsBypassPins", .boolean),
        PolicyKey("reports", .array(of: .string)),
        PolicyKey("check", check),
        PolicyKey("note", .string),
    ])

    private static let anchors = PolicyShape.object([
        PolicyKey("files", .array(of: .string, minimum: 1)),
        PolicyKey("system", .boolean),
    ])

    private static let check = PolicyShape.object([
        PolicyKey("targets", .array(of: .string)),
        PolicyKey("keys", .choice(CheckSettings.Keys.allCases.map(\.rawValue))),
        PolicyKey("allAddresses", .boolean),
        PolicyKey("starttls", .choice(CheckSettings.startTLSProtocols)),
        PolicyKey("requireGroup", .choice(CheckSettings.keyExchangeGroups)),
    ])
}
