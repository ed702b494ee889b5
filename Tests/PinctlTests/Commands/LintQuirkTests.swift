import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Files of other systems that don't pin, or reject every server, for a reason that is easy to miss (GA2, XI3).
@Suite("pinctl lint on files that don't pin")
struct LintQuirkTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    /// A file with a quirk, the finding that lint reports for it, and the same file without the quirk.
    struct Row: Sendable, CustomTestStringConvertible {
        let name: String
        let rule: String
        let severity: String
        let text: String
        let corrected: String

        var testDescription: String { "\(rule) \(name)" }

        init(_ name: String, _ rule: String, _ severity: String, _ text: String, _ corrected: String) {
            self.name = name
            self.rule = rule
            self.severity = severity
            self.text = text
            self.corrected = corrected
        }

        init(_ name: String, _ rule: String, _ text: String, _ corrected: String) {
            self.init(name, rule, "error", text, corrected)
        }
    }

    private struct Document: Decodable {
        struct Result: Decodable {
            let severity: String
            let rule: String?
        }
        let results: [Result]
    }

    @Test(
        "A quirk of a dialect is reported under a rule, and the corrected file has no finding of that rule",
        arguments: rows)
    func quirk(row: Row) async throws {
        let file = try site.directory.add(row.text)
        let run = await pinctl("lint", "--json", file)
        let found = try run.decoded(as: Document.self).results.filter { $0.rule == row.rule }.map(\.severity)
        #expect(Set(found) == [row.severity], "\(run.output)\(run.errors)")
        #expect(run.errors == "")
        if row.severity == "error" { #expect(run.status == 1) }
        let corrected = await pinctl("lint", "--json", try site.directory.add(row.corrected))
        let left = try corrected.decoded(as: Document.self).results.filter { $0.rule == row.rule }
        #expect(left.isEmpty, "\(corrected.output)")
        #expect(corrected.status == 0, "\(corrected.output)")
        let off = await pinctl("lint", "--rule", "\(row.rule)=off", file)
        #expect(!off.output.contains("[\(row.rule)]"))
    }

    @Test("A host's dictionary in that of another host is one finding, which names the host")
    func hostInHost() async throws {
        let file = try site.directory.add(Self.apple(Self.host("api.test", Self.leaves + Self.host("b.test"))))
        let found = await pinctl("lint", file).lines.filter { $0.contains("[P036]") }
        let place = "NSAppTransportSecurity/NSPinnedDomains/api.test"
        let message = "error[P036] \"b.test\" in \(place) is ignored: move it to NSPinnedDomains"
        #expect(found.count == 1 && found[0].hasSuffix(message), "\(found)")
    }

    @Test("A dialect file that pins nothing, or rejects every server, is an error in every report format")
    func reports() async throws {
        for row in Self.rows where ["P024", "P025"].contains(row.rule) {
            let file = try site.directory.add(row.text)
            for format in ["junit", "sarif", "markdown", "html", "prometheus", "json"] {
                let report = site.directory.path + "/report"
                _ = try? FileManager.default.removeItem(atPath: report)
                let run = await pinctl("lint", file, "--report", "\(format)=\(report)")
                #expect(run.status == 1)
                let text = String(decoding: try Data(contentsOf: URL(filePath: report)), as: UTF8.self)
                #expect(text.contains(row.rule), "\(format) of \(row.name)")
            }
            let annotated = await pinctl("lint", file, "--annotations", "github")
            #expect(annotated.errors.contains("::error file=\(file)"))
        }
    }

    @Test("PE12: A configuration without pins is reported as no pins, with exit code 1", arguments: emptyRows)
    func noPins(text: String, line: String) async throws {
        let file = try site.directory.add(text)
        let run = await pinctl("lint", file)
        #expect(run.lines.first == "\(file)\(line): error[P024] no pins: \(Self.reason(text))")
        #expect(run.errors == "" && run.status == 1)
        #expect(await pinctl("lint", file, "--rule", "P024=warning").status == 0)
        for command in [["import"], ["export", "--to", "okhttp"]] {
            let refused = await pinctl(command + [file])
            #expect(refused.errors.contains("no pins: ") && refused.output == "" && refused.status != 0, "\(refused)")
        }
    }

    private static func reason(_ text: String) -> String {
        text.contains("<network")
            ? "the config doesn't pin any host: add a pin-set to a domain-config"
            : "the list has no NSAppTransportSecurity/NSPinnedDomains: add it"
    }

    static let emptyRows: [(String, String)] = [
        (
            "<network-security-config><base-config cleartextTrafficPermitted=\"false\"/></network-security-config>",
            ":1:1"
        ),
        (
            "<plist version=\"1.0\"><dict><key>CFBundleName</key><string>App</string></dict></plist>", ":1:22"
        ),
    ]

    @Test("Hashes under the name of TrustKit's constant are an error in addition to TrustKit's own")
    func constant() async throws {
        let text = Self.trustKit("").replacing("<key>TSKPublicKeyHashes", with: "<key>kTSKPublicKeyHashes")
        let run = await pinctl("lint", try site.directory.add(text))
        try #require(run.lines.count == 3 && run.status == 2, "\(run.output)")
        #expect(run.lines[0].hasSuffix(": error: \"api.example.com\" has no TSKPublicKeyHashes: add at least 2"))
        #expect(
            run.lines[1].hasSuffix(
                ": error[P026] TrustKit ignores \"kTSKPublicKeyHashes\", the name of the constant: "
                    + "write TSKPublicKeyHashes"))
    }

    @Test("A binary property list without pins is reported as no pins too")
    func binary() async throws {
        let file = site.directory.path + "/Info.plist"
        let bytes: [UInt8] =
            Array("bplist00".utf8) + [0xD0, 8] + [0, 0, 0, 0, 0, 0, 1, 1] + [0, 0, 0, 0, 0, 0, 0, 1]
            + [0, 0, 0, 0, 0, 0, 0, 0] + [0, 0, 0, 0, 0, 0, 0, 9]
        try Data(bytes).write(to: URL(filePath: file))
        let run = await pinctl("lint", file)
        #expect(run.lines.first == "\(file): error[P024] no pins: \(Self.reason(""))")
        #expect(run.errors == "" && run.status == 1)
    }
}

// MARK: - Files

extension LintQuirkTests {
    private static let pin = unknownPin.dropFirst("sha256/".count)
    private static let other = "zCTnfLwLKbS9S2sbp+uFz4KZOocFvXxkV06Ce9O5M2w="
    private static let third = "i9HalScvf6T/skE3/A7QOq5n5cTYs8UHNOEFCnkguSI="

    private static let pins = "<pin digest=\"SHA-256\">\(pin)</pin><pin digest=\"SHA-256\">\(other)</pin>"
    private static let pinSet = "<pin-set>\(pins)</pin-set>"

    private static func android(_ more: String, beside: String = pinned("z.test")) -> String {
        "<network-security-config>\(more)\(beside)</network-security-config>"
    }

    private static func pinned(_ host: String, _ more: String = pinSet) -> String {
        "<domain-config><domain>\(host)</domain>\(more)</domain-config>"
    }

    private static func nested(_ cleartext: String) -> String {
        "<domain-config cleartextTrafficPermitted=\"\(cleartext)\"><domain>b.test</domain></domain-config>"
    }

    private static func anchors(_ certificates: String) -> String {
        pinned("api.test", pinSet + "<trust-anchors>\(certificates)</trust-anchors>")
    }

    private static func identities(_ key: String, _ pins: String...) -> String {
        let identities = pins.map { "<dict><key>SPKI-SHA256-BASE64</key><string>\($0)</string></dict>" }
        return "<key>\(key)</key><array>\(identities.joined())</array>"
    }

    private static let leaves = identities("NSPinnedLeafIdentities", String(pin), other)

    private static func apple(_ domains: String, security: String = "", top: String = "") -> String {
        "<plist version=\"1.0\"><dict>\(top)<key>NSAppTransportSecurity</key><dict>\(security)"
            + "<key>NSPinnedDomains</key><dict>\(domains)</dict></dict></dict></plist>"
    }

    private static func host(_ name: String, _ more: String = leaves) -> String {
        "<key>\(name)</key><dict>\(more)</dict>"
    }

    private static func trustKit(_ more: String, global: String = "", root: String = "TSKConfiguration") -> String {
        "<plist version=\"1.0\"><dict><key>\(root)</key><dict>\(global)<key>TSKPinnedDomains</key><dict>"
            + host(
                "api.example.com",
                "<key>TSKPublicKeyHashes</key><array><string>\(pin)</string><string>\(other)</string></array>" + more)
            + "</dict></dict></dict></plist>"
    }

    private static func hpkp(_ more: String, field: String = "Public-Key-Pins") -> String {
        "\(field): pin-sha256=\"\(pin)\"; pin-sha256=\"\(other)\"; \(more)"
    }

    private static let record = "_443._tcp.api.test. IN TLSA 3 1 1 " + String(repeating: "ab01cd23", count: 8) + "\n"
    private static let spare = "_443._tcp.api.test. IN TLSA 3 1 1 " + String(repeating: "ef45ab67", count: 8) + "\n"

    static let rows: [Row] = androidRows + appleRows + trustKitRows + otherRows + misplacedRows

    private static let hashes =
        "<key>TSKPublicKeyHashes</key><array><string>\(pin)</string><string>\(other)</string></array>"

    /// Keys that a dialect knows, where it doesn't read them.
    private static let misplacedRows: [Row] = [
        Row(
            "a pin in a domain-config", "P036",
            android("<domain-config><domain>b.test</domain>\(pins)</domain-config>"),
            android(pinned("b.test"))),
        Row("a pin-set beside the configs", "P036", android(pinSet), android("")),
        Row("a domain beside the configs", "P036", android("<domain>b.test</domain>"), android(pinned("b.test"))),
        Row(
            "trust-anchors beside the configs", "P036",
            android("<trust-anchors><certificates src=\"system\"/></trust-anchors>"),
            android("<base-config><trust-anchors><certificates src=\"system\"/></trust-anchors></base-config>")),
        Row(
            "includeSubdomains of a config", "P036",
            android("").replacing("<domain-config>", with: "<domain-config includeSubdomains=\"true\">"),
            android("").replacing("<domain>", with: "<domain includeSubdomains=\"true\">")),
        Row(
            "an expiration of a config", "P036",
            android("").replacing("<domain-config>", with: "<domain-config expiration=\"2099-01-01\">"),
            android("").replacing("<pin-set>", with: "<pin-set expiration=\"2099-01-01\">")),
        Row("an attribute as an element", "P036", android(pinned("b.test", pinSet + "<overridePins/>")), android("")),
        Row(
            "an element as an attribute", "P036",
            android("").replacing("<domain-config>", with: "<domain-config domain=\"b.test\">"), android("")),
        Row(
            "domainEncryption beside the configs", "P036", android("<domainEncryption mode=\"enabled\"/>"),
            android("<base-config><domainEncryption mode=\"enabled\"/></base-config>")),
        Row(
            "NSPinnedDomains in an exception, beside a correct one", "P036",
            apple(
                host("api.test"),
                security: "<key>NSExceptionDomains</key><dict>"
                    + host("b.test", host("NSPinnedDomains", host("b.test"))) + "</dict>"),
            apple(host("api.test") + host("b.test"))),
        Row(
            "NSPinnedDomains in an app's dictionary", "P036",
            apple(
                host("api.test"), top: host("Environments", host("Release", host("NSPinnedDomains", host("b.test"))))),
            apple(host("api.test"), top: host("Environments", host("Release", "")))),
        Row(
            "one host in another", "P036", apple(host("api.test", leaves + host("b.test"))),
            apple(host("api.test") + host("b.test"))),
        Row(
            "identities beside the hosts", "P036", apple(host("api.test") + leaves),
            apple(host("api.test"))),
        Row(
            "NSIncludesSubdomains for all hosts", "P036",
            apple(host("api.test") + "<key>NSIncludesSubdomains</key><true/>"), apple(host("api.test"))),
        Row(
            "SecTrustPinningRequired of the transport security", "P036",
            apple(host("api.test"), security: "<key>SecTrustPinningRequired</key><true/>"), apple(host("api.test"))),
        Row(
            "TSKPinnedDomains in an Info.plist", "P036",
            trustKit("").replacing(
                "<key>TSKConfiguration</key>",
                with: "<key>CFBundleName</key><string>A</string><key>NSAppTransportSecurity</key>"),
            trustKit("")),
        Row(
            "TSKEnforcePinning for all hosts", "P036", trustKit("", global: "<key>TSKEnforcePinning</key><false/>"),
            trustKit("<key>TSKEnforcePinning</key><false/>")),
        Row(
            "TSKIncludeSubdomains for all hosts", "P036",
            trustKit("", global: "<key>TSKIncludeSubdomains</key><true/>"),
            trustKit("<key>TSKIncludeSubdomains</key><true/>")),
        Row(
            "a setting of all hosts in one of them", "P036", trustKit("<key>TSKSwizzleNetworkDelegates</key><false/>"),
            trustKit("", global: "<key>TSKSwizzleNetworkDelegates</key><false/>")),
        Row("one host of TrustKit in another", "P036", trustKit(host("b.test", hashes)), trustKit("")),
        Row(
            "the hash in a TLS context of Envoy", "P036", envoy("verify_certificate_spki: [\"\(pin)\", \"\(other)\"]"),
            envoy("")),
    ]

    private static func envoy(_ more: String) -> String {
        """
        common_tls_context:
          \(more)
          validation_context:
            trusted_ca: {filename: /ca.pem}
            match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: api.test}}]
            verify_certificate_spki: ["\(pin)", "\(other)"]

        """
    }

    /// Keys of apps that resemble those of a dialect.
    static let ownKeys = [
        "Configuration", "Configurations", "TSKConfig", "AppTransportSecurity", "PinnedDomains", "NSPinnedDomain",
        "Exceptions",
    ]

    @Test("An app's own key isn't a misspelling unless pins are inside it", arguments: ownKeys)
    func ownKey(key: String) async throws {
        let good = Self.apple(Self.host("api.test"))
        for value in [
            "<string>Release</string>", "<true/>", "<array/>", "<dict><key>Name</key><string>a</string></dict>",
        ] {
            let text = good.replacing("<dict><key>NSApp", with: "<dict><key>\(key)</key>\(value)<key>NSApp")
            let run = await pinctl("lint", try site.directory.add(text))
            #expect(run.lines == ["1 linted: errors 0, warnings 0"] && run.status == 0, "\(run.output)\(run.errors)")
            #expect(await pinctl("import", try site.directory.add(text)).status == 0)
        }
        let pins = Self.host(key, Self.host("b.test"))
        let text = good.replacing("<dict><key>NSApp", with: "<dict>\(pins)<key>NSApp")
        let run = await pinctl("lint", try site.directory.add(text))
        #expect(
            run.status == 1 && run.lines.contains { $0.contains("[P026]") || $0.contains("[P036]") }, "\(run.output)")
    }

    private static let androidRows: [Row] = [
        Row(
            "a pin-set that is misspelled", "P026", android(pinned("api.test", "<pinset>\(pins)</pinset>")),
            android(pinned("api.test"))),
        Row(
            "an element in the wrong case", "P026", android("<Domain-Config><domain>api.test</domain></Domain-Config>"),
            android(pinned("api.test"))),
        Row(
            "pins in an element of another name", "P026",
            android(pinned("api.test", "<public-keys>\(pins)</public-keys>")),
            android(pinned("api.test"))),
        Row(
            "an attribute in the wrong case", "P026",
            android(
                "<domain-config><domain includesubdomains=\"true\">api.test</domain>\(pinSet)</domain-config>"),
            android("<domain-config><domain includeSubdomains=\"true\">api.test</domain>\(pinSet)</domain-config>")),
        Row(
            "a pin-set without a pin", "P024", android(pinned("api.test", "<pin-set/>")), android(pinned("api.test"))),
        Row(
            "debug-overrides alone", "P024",
            android(
                "<debug-overrides><trust-anchors><certificates src=\"system\"/></trust-anchors></debug-overrides>",
                beside: ""),
            android("")),
        Row(
            "pins that do not count for the system's roots", "P024",
            android(anchors("<certificates src=\"system\" overridePins=\"true\"/>")),
            android(anchors("<certificates src=\"system\" overridePins=\"false\"/>"))),
        Row(
            "pins that do not count for the only roots", "P024",
            android(anchors("<certificates src=\"@raw/own\" overridePins=\"true\"/>")),
            android(anchors("<certificates src=\"@raw/own\"/>"))),
        Row(
            "pins that do not count for the user's roots", "P027", "warning",
            android(anchors("<certificates src=\"system\"/><certificates src=\"user\" overridePins=\"true\"/>")),
            android(anchors("<certificates src=\"system\"/><certificates src=\"user\"/>"))),
        Row(
            "pins that do not count in builds that can be debugged", "P027", "warning",
            android("<debug-overrides><trust-anchors><certificates src=\"user\"/></trust-anchors></debug-overrides>"),
            android(
                "<debug-overrides><trust-anchors><certificates src=\"user\" overridePins=\"false\"/></trust-anchors>"
                    + "</debug-overrides>")),
        Row(
            "a pinned host that may be reached in the clear", "P027", "warning",
            android("").replacing("<domain-config>", with: "<domain-config cleartextTrafficPermitted=\"true\">"),
            android("").replacing("<domain-config>", with: "<domain-config cleartextTrafficPermitted=\"false\">")),
        Row(
            "a pinned host that inherits cleartext requests", "P027", "warning",
            android("<base-config cleartextTrafficPermitted=\"true\"/>"),
            android("<base-config cleartextTrafficPermitted=\"true\"/>")
                .replacing("<domain-config>", with: "<domain-config cleartextTrafficPermitted=\"false\">")),
        Row(
            "cleartext requests to a host that inherits its pins", "P027", "warning",
            android(pinned("api.test", pinSet + nested("TRUE"))),
            android(pinned("api.test", pinSet + nested("FALSE")))),
        Row(
            "a misspelled setting for cleartext requests", "P026", android(pinned("api.test", pinSet + nested("no"))),
            android(pinned("api.test", pinSet + nested("false")))),
        Row(
            "trust-anchors without roots", "P025", android(anchors("")),
            android(anchors("<certificates src=\"system\"/>"))),
        Row(
            "a number for a Boolean", "P028", "warning",
            android("<domain-config><domain includeSubdomains=\"1\">api.test</domain>\(pinSet)</domain-config>"),
            android("<domain-config><domain includeSubdomains=\"true\">api.test</domain>\(pinSet)</domain-config>")),
    ]

    private static let appleRows: [Row] = [
        Row(
            "a misspelled key of a host", "P026",
            apple(host("api.test", leaves + identities("NSPinnedCAIdentites", third))),
            apple(host("api.test", leaves + identities("NSPinnedCAIdentities", third, other)))),
        Row(
            "a key in the wrong case", "P026",
            apple(host("api.test", leaves + "<key>nsIncludesSubdomains</key><true/>")),
            apple(host("api.test", leaves + "<key>NSIncludesSubdomains</key><true/>"))),
        Row(
            "NSIncludesSubdomains that is no Boolean", "P026",
            apple(host("api.test", leaves + "<key>NSIncludesSubdomains</key><integer>1</integer>")),
            apple(host("api.test", leaves + "<key>NSIncludesSubdomains</key><true/>"))),
        Row("a host without identities", "P024", apple(host("api.test") + host("b.test", "")), apple(host("api.test"))),
        Row(
            "NSPinnedDomains that is misspelled", "P024",
            apple(host("api.test")).replacing("NSPinnedDomains", with: "NSPinnedDomain"), apple(host("api.test"))),
        Row(
            "NSPinnedDomains that is misspelled, told as such", "P026",
            apple(host("api.test")).replacing("NSPinnedDomains", with: "NSPinneddomains"), apple(host("api.test"))),
        Row(
            "NSPinnedDomains outside of NSAppTransportSecurity", "P036",
            "<plist version=\"1.0\"><dict><key>NSPinnedDomains</key><dict>\(host("api.test"))</dict></dict></plist>",
            apple(host("api.test"))),
        Row(
            "empty NSPinnedLeafIdentities", "P025",
            apple(host("api.test", "<key>NSPinnedLeafIdentities</key><array/>")),
            apple(host("api.test"))),
        Row(
            "an identity whose digest is too short", "P001",
            apple(host("api.test", identities("NSPinnedLeafIdentities", String(pin), other, "AAAA"))),
            apple(host("api.test"))),
        Row(
            "identities in NSExceptionDomains", "P036",
            apple(host("api.test"), security: "<key>NSExceptionDomains</key><dict>\(host("b.test"))</dict>"),
            apple(host("api.test") + host("b.test"))),
        Row(
            "an exception that lets a pinned host be reached in plain text", "P027", "warning",
            apple(
                host("api.test"),
                security: "<key>NSExceptionDomains</key><dict>"
                    + host("API.test", "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>") + "</dict>"),
            apple(
                host("api.test"),
                security: "<key>NSExceptionDomains</key><dict>"
                    + host("b.test", "<key>NSExceptionAllowsInsecureHTTPLoads</key><true/>") + "</dict>")),
        Row(
            "two spellings of one host", "P005", "warning", apple(host("api.test") + host("API.test")),
            apple(host("api.test") + host("b.test"))),
        Row(
            "NSAllowsArbitraryLoads", "P027", "warning",
            apple(host("api.test"), security: "<key>NSAllowsArbitraryLoads</key><true/>"),
            apple(host("api.test"), security: "<key>NSAllowsArbitraryLoads</key><false/>")),
        Row(
            "pins that SecTrustPinningRequired drops", "P024",
            apple(host("api.test"), top: "<key>SecTrustPinningRequired</key><true/>"),
            apple(host("api.test"), top: "<key>SecTrustPinningRequired</key><false/>")),
    ]

    private static let trustKitRows: [Row] = [
        Row(
            "a key that is the name of its constant", "P026", trustKit("<key>kTSKIncludeSubdomains</key><true/>"),
            trustKit("<key>TSKIncludeSubdomains</key><true/>")),
        Row(
            "the whole configuration under the name of its constant", "P024", trustKit("", root: "kTSKConfiguration"),
            trustKit("")),
        Row(
            "a day that is none, so that the pins never end", "P026",
            trustKit("<key>TSKExpirationDate</key><string>31.1.2030</string>"), trustKit("")),
        Row(
            "pins that do not count for the user's roots", "P027", "warning",
            trustKit("", global: "<key>TSKIgnorePinningForUserDefinedTrustAnchors</key><true/>"), trustKit("")),
        Row(
            "a string for a Boolean", "P028", "warning", trustKit("<key>TSKIncludeSubdomains</key><string>on</string>"),
            trustKit("<key>TSKIncludeSubdomains</key><false/>")),
    ]

    private static let otherRows: [Row] = [
        Row("a header that forgets its pins", "P024", hpkp("max-age=0"), hpkp("max-age=5184000")),
        Row("a directive that is misspelled", "P026", hpkp("max-age=60; includeSubDomain"), hpkp("max-age=60")),
        Row(
            "a report that goes nowhere", "P024",
            hpkp("max-age=60") + "\n" + hpkp("", field: "Public-Key-Pins-Report-Only"),
            hpkp("max-age=60") + "\n"
                + hpkp("report-uri=\"https://r.test/\"", field: "Public-Key-Pins-Report-Only")),
        Row("more seconds than browsers keep pins", "P028", "warning", hpkp("max-age=6000000"), hpkp("max-age=60")),
        Row(
            "a host whose records no client can use", "P024",
            record + spare + "_443._tcp.b.test. IN TLSA PrivCert 1 1 ab\n", record + spare),
        Row(
            "a call without pins", "P024",
            "CertificatePinner.Builder().add(\"b.test\").add(\"api.test\", \"\(unknownPin)\", \"sha256/\(other)\")",
            "CertificatePinner.Builder().add(\"api.test\", \"\(unknownPin)\", \"sha256/\(other)\")"),
    ]
}
