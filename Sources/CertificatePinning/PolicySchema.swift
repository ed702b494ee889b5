/// Every key of a policy file, version 1.
enum PolicySchema {
    static let file = PolicyShape.object([
        PolicyKey("$schema", .string),
        PolicyKey("version", .number(1...1), isRequired: true),
        PolicyKey("unlisted", .choice(UnlistedHosts.allCases.map(\.rawValue))),
        PolicyKey("pins", .map(to: pin)),
        .later("include", .array(of: .string)),
        .later("deny", .array(of: pin)),
        PolicyKey("domains", .array(of: rule, minimum: 1), isRequired: true),
        .later(
            "exports",
            .array(
                of: .object([
                    PolicyKey("to", .string, isRequired: true), PolicyKey("file", .string, isRequired: true),
                ]))),
        .later("releases", .array(of: .string)),
    ])

    /// `sha256/BASE64`, in a rule also a name, or an object.
    private static let pin = PolicyShape.either(
        .string,
        .object([
            PolicyKey("pin", .string),
            PolicyKey("file", .string),
            PolicyKey("role", role),
            PolicyKey("backup", .boolean),
            PolicyKey("note", .string),
            .later("from", .string),
        ]))

    private static let role = PolicyShape.choice(PinRole.allCases.map(\.rawValue))

    private static let rule = PolicyShape.object([
        PolicyKey("host", .string, isRequired: true),
        PolicyKey("subdomains", .boolean),
        PolicyKey("ports", .array(of: .number(1...65535), minimum: 1)),
        PolicyKey("pins", .array(of: pin, minimum: 1), isRequired: true),
        PolicyKey("require", .either(.choice(["any"]), .array(of: role, minimum: 1))),
        PolicyKey("mode", .choice(PinningMode.allCases.map(\.rawValue))),
        .later("expires", .string),
        .later("onExpiry", .choice(["fail", "report", "stop-pinning"])),
        PolicyKey("anchors", .either(.choice(["system"]), anchors)),
        .later("localAnchorsBypassPins", .boolean),
        .later("reports", .array(of: .string)),
        .later("check", check),
        PolicyKey("note", .string),
    ])

    private static let anchors = PolicyShape.object([
        PolicyKey("files", .array(of: .string, minimum: 1)),
        PolicyKey("system", .boolean),
    ])

    private static let check = PolicyShape.object([
        PolicyKey("targets", .array(of: .string)),
        PolicyKey("keys", .choice(["auto", "both", "rsa", "ecdsa"])),
        PolicyKey("allAddresses", .boolean),
        PolicyKey("starttls", .string),
    ])
}
