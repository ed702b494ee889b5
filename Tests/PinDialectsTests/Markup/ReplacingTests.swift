import CertificatePinning
import CertificateTrust
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Replacing the pins inside a file")
struct ReplacingTests {
    static func pin(_ byte: UInt8, _ role: PinRole = .any, name: String? = nil) -> CanonicalPin {
        CanonicalPin(.publicKey, .sha256, [UInt8](repeating: byte, count: 32), role: role, name: name)
    }
    static func base64(_ byte: UInt8) -> String {
        let bytes = [UInt8](repeating: byte, count: 32)
        return Base64.encode(bytes.span)
    }
    static func rule(_ host: String, _ scope: HostPattern.Scope = .exact, _ pins: [CanonicalPin]) -> CanonicalRule {
        CanonicalRule(patterns: [HostPattern(host, scope)], pins: pins)
    }
    static let android = CanonicalPolicy(rules: [rule("a.test", .exactAndBelow, [pin(1)])], combination: .closest)
    static let apple = CanonicalPolicy(rules: [rule("a.test", .exact, [pin(1, .leaf)])], combination: .union)
    static let trustkit = CanonicalPolicy(
        rules: [rule("a.example.net", .exact, [pin(1), pin(2)])], combination: .closest)

    private func replaced(_ dialect: PinDialect, _ text: String, _ policy: CanonicalPolicy) throws -> String {
        String(decoding: try dialect.replacing(Array(text.utf8), path: "f", with: policy), as: UTF8.self)
    }

    private func problem(_ dialect: PinDialect, _ text: String, _ policy: CanonicalPolicy) -> String {
        do throws(DialectWriteError) {
            _ = try dialect.replacing(Array(text.utf8), path: "f", with: policy)
            return "none"
        } catch {
            return error.description
        }
    }

    @Test(
        "The comments of a file are found by the rules of its format",
        arguments: [
            (
                PinDialect.android, "<a><!-- one\n two --><b/><![CDATA[<!-- x -->]]><!--three--></a>",
                ["one two", "three"]
            ),
            (.apple, "\u{FEFF}<plist><!-- // a --><string>https://x#y</string></plist>", ["// a"]),
            (.envoy, "a: https://x # one\n# two: // 3\nb: 1\n", ["one", "two: // 3"]),
            (.okhttp, "add(\"a\", \"sha256//AA\") // one\n/* two\n three */", ["one", "two three"]),
            (.map, "{ 'a': 'sha256//a' /* one */, // two's\n \"b\": `//` }", ["one", "two's"]),
            (.trustkit, "@{ @\"a\": @\"b//c\" } // one", ["one"]),
            (.curl, "# one", []),
        ])
    func comments(_ dialect: PinDialect, _ text: String, _ comments: [String]) {
        #expect(dialect.comments(in: Array(text.utf8)) == comments)
    }

    // MARK: - Android

    @Test("Android: Configs with pins are replaced, and all other content and settings are kept")
    func androidReplaced() throws {
        let text = """
            <?xml version="1.0"?>\r
            <network-security-config>\r
              <!-- ours --><base-config><trust-anchors><certificates src="system"/></trust-anchors></base-config>\r
              <domain-config cleartextTrafficPermitted="false">\r
                <domain>a.test</domain><certificateTransparency enabled="true"/>\r
                <pin-set><pin digest="SHA-256">\(Self.base64(9))</pin></pin-set>\r
              </domain-config>\r
              <domain-config cleartextTrafficPermitted="true"><domain>local.test</domain></domain-config>\r
              <domain-config><domain>old.test</domain><pin-set/></domain-config>\r
            </network-security-config> \r

            """
        #expect(
            try replaced(.android, text, Self.android) == """
                <?xml version="1.0"?>\r
                <network-security-config>\r
                  <!-- ours --><base-config><trust-anchors><certificates src="system"/></trust-anchors></base-config>\r
                  <domain-config cleartextTrafficPermitted="false">\r
                    <domain includeSubdomains="true">a.test</domain><certificateTransparency enabled="true"/>\r
                    <pin-set><pin digest="SHA-256">\(Self.base64(1))</pin></pin-set>\r
                  </domain-config>\r
                  <domain-config cleartextTrafficPermitted="true"><domain>local.test</domain></domain-config>\r
                </network-security-config> \r

                """)
    }

    private static let roots = """
        <trust-anchors><!-- ours -->
              <certificates src="@raw/acme_root"/>
            </trust-anchors>
        """

    private func config(_ hosts: [String], _ byte: UInt8, _ more: String = "") -> String {
        """
        <network-security-config>
          <domain-config>
            \(hosts.map { "<domain includeSubdomains=\"true\">\($0)</domain>" }.joined())
            \(Self.roots)\(more)
            <pin-set>
                <pin digest="SHA-256">\(Self.base64(byte))</pin>
            </pin-set>
          </domain-config>
        </network-security-config>
        """
    }

    @Test(
        "Android: If the hosts of a config stay together, only its pins change, and equal pins change nothing")
    func androidPinsAlone() throws {
        let policy = CanonicalPolicy(
            rules: ["a.test", "b.test"].map { Self.rule($0, .exactAndBelow, [Self.pin(1)]) }, combination: .closest)
        let there = config(["a.test", "b.test"], 1)
        #expect(try replaced(.android, config(["a.test", "b.test"], 9), policy) == there)
        #expect(
            try replaced(.android, there.replacing("<pin-set>", with: "<pin-set ><!-- c -->"), policy)
                == there.replacing("<pin-set>", with: "<pin-set ><!-- c -->"))
    }

    @Test("Android: Trust anchors of a config stay with its hosts, or nothing is written")
    func androidRootsKept() throws {
        let narrowed = CanonicalPolicy(rules: [Self.rule("a.test", .exact, [Self.pin(1)])], combination: .closest)
        #expect(try replaced(.android, config(["a.test"], 9), narrowed).contains(Self.roots))
        let nested = config(
            ["a.test"], 9,
            "<domain-config><domain>x.a.test</domain><pin-set/><certificateTransparency/></domain-config>")
        var policy = Self.android
        policy.rules.append(Self.rule("x.a.test", .exact, [Self.pin(2)]))
        let result = try replaced(.android, nested, policy)
        #expect(result.ranges(of: Self.roots).count == 1)
        #expect(
            problem(.android, config(["a.test", "b.test"], 9), Self.android).contains(
                "\"b.test\" has other settings than pins, but no rule"))
        policy.rules = Self.android.rules
        policy.rules[0].patterns.append(HostPattern("c.test", .exact))
        #expect(
            problem(.android, config(["a.test"], 9), policy).contains("a.test, c.test have different trust-anchors"))
        policy.rules[0].anchors = [AnchorSet("system")]
        #expect(try !replaced(.android, config(["a.test"], 9), policy).contains("@raw"))
    }

    @Test("Android: A config that is written anew keeps each attribute that it inherited")
    func androidAttributesKept() throws {
        let text = """
            <network-security-config>
              <base-config cleartextTrafficPermitted="true"/>
              <domain-config cleartextTrafficPermitted="false" hstsEnforced="false">
                <domain>a.test</domain><pin-set><pin digest="SHA-256">\(Self.base64(9))</pin></pin-set>
                <domain-config hstsEnforced="true"><domain>b.test</domain></domain-config>
              </domain-config>
            </network-security-config>
            """
        let policy = CanonicalPolicy(
            rules: [Self.rule("a.test", .exact, [Self.pin(1)]), Self.rule("b.test", .exact, [Self.pin(2)])],
            combination: .closest)
        let result = try replaced(.android, text, policy)
        #expect(result.contains("<domain-config hstsEnforced=\"true\" cleartextTrafficPermitted=\"false\">"))
        let reading = try PinDialect.android.read(Array(result.utf8), path: "f")
        #expect(reading.policy.rules.map { $0.patterns[0].host } == ["a.test", "b.test"])
        #expect(reading.notes.allSatisfy { $0.rule != .bypassedPins })
    }

    @Test(
        "Android: Configs are added to a file without any",
        arguments: [
            ("<network-security-config/>", "<network-security-config>\n", "\n</network-security-config>"),
            (
                "<network-security-config></network-security-config>", "<network-security-config>\n",
                "\n</network-security-config>"
            ),
            (
                "<network-security-config>\n</network-security-config>\n", "<network-security-config>\n",
                "\n</network-security-config>\n"
            ),
        ])
    func androidAdded(text: String, head: String, tail: String) throws {
        let configs = try AndroidConfigWriter.domainConfigs(Self.android, indent: "    ").joined()
        #expect(try replaced(.android, text, Self.android) == head + configs + tail)
    }

    @Test("Android: A file whose other content would change the meaning of the pins is not written")
    func androidConflicts() {
        func config(_ body: String) -> String { "<network-security-config>\(body)</network-security-config>" }
        #expect(
            problem(.android, config("<domain-config><domain>x.a.test</domain></domain-config>"), Self.android)
                == "f: other settings of the file change the meaning of the pins (x.a.test: is pinned, "
                + "but has no rule in the policy): fix those first")
        #expect(
            problem(.android, config("<domain-config><domain>a.test</domain></domain-config>"), Self.android)
                .contains("is already listed at 1:41"))
        #expect(
            problem(
                .android,
                config(
                    "<base-config><trust-anchors>"
                        + "<certificates src=\"user\" overridePins=\"true\"/></trust-anchors></base-config>"),
                Self.android
            ).contains("the pins of a.test wouldn't count for chains that end at the roots \"user\""))
        #expect(
            problem(
                .android,
                config(
                    "<domain-config cleartextTrafficPermitted=\"true\"><domain>b.test</domain>"
                        + "<pin-set/></domain-config>"),
                Self.android)
                == "f:1:26: \"b.test\" has other settings than pins, but no rule: give it a domain-config without a "
                + "pin-set")
        #expect(problem(.android, "<a/>", Self.android).hasPrefix("f:1:1: the root element isn't network-security"))
        #expect(
            problem(.android, "<network-security-config>", Self.android).hasPrefix(
                "f:1:1: unclosed element <network-security-config>"))
    }

    // MARK: - Property lists

    @Test("Apple: Hosts are replaced, or added if their keys are missing, and every other byte is kept")
    func apple() throws {
        func list(_ step: String, _ indent: String) throws -> String {
            try ApplePinWriter.domains(Self.apple).xml(indent: indent, step: step)
        }
        let head = PropertyListTests.head
        let there =
            "\(head)<plist>\n<dict>\n  <key>CFBundleName</key> <string>x</string><!-- y -->\n"
            + "  <key>NSAppTransportSecurity</key>\n  <dict>\n    <key>NSPinnedDomains</key>\n    "
        let foot = "\n    <key>NSAllowsLocalNetworking</key><true/>\n  </dict>\n</dict>\n</plist>"
        #expect(
            try replaced(.apple, there + "<dict>\n      <key>old.test</key><dict/>\n    </dict>" + foot, Self.apple)
                == there + list("  ", "    ") + foot)
        #expect(
            try replaced(.apple, "<plist>\n<dict>\n\t<key>a</key>\n\t<true/>\n</dict>\n</plist>", Self.apple)
                == "<plist>\n<dict>\n\t<key>a</key>\n\t<true/>\n\t<key>NSAppTransportSecurity</key>\n\t<dict>\n"
                + "\t\t<key>NSPinnedDomains</key>\n\t\t\(list("\t", "\t\t"))\n\t</dict>\n</dict>\n</plist>")
        for text in [
            "<plist><dict/></plist>", "<plist><dict></dict></plist>",
            "<plist><dict><key>NSAppTransportSecurity</key><dict/></dict></plist>",
            "<plist><dict><key>NSAppTransportSecurity</key><dict><key>NSPinnedDomains</key>"
                + "<true/></dict></dict></plist>",
        ] {
            let result = try replaced(.apple, text, Self.apple)
            #expect(try ApplePinnedDomains.read(Array(result.utf8), path: "f").policy.rules.count == 1)
        }
    }

    @Test("TrustKit: Hosts are replaced in the configuration, and its other keys are kept")
    func trustkit() throws {
        let domains = try TrustKitWriter.domains(Self.trustkit).xml(indent: "")
        let head = "<plist><dict><key>TSKConfiguration</key><dict><key>TSKSwizzleNetworkDelegates</key><true/>"
        let key = "<key>TSKPinnedDomains</key>"
        #expect(
            try replaced(.trustkit, "\(head)\(key)<dict/></dict></dict></plist>", Self.trustkit)
                == "\(head)\(key)\(domains)</dict></dict></plist>")
        #expect(
            try replaced(.trustkit, "<plist><dict>\(key)<dict/></dict></plist>", Self.trustkit)
                == "<plist><dict>\(key)\(domains)</dict></plist>")
        let added = try replaced(.trustkit, "<plist><dict/></plist>", Self.trustkit)
        #expect(added.contains("<key>TSKConfiguration</key>"))
    }

    @Test("A property list that can't be changed, or would change its meaning, is not written")
    func propertyListConflicts() {
        #expect(
            problem(
                .apple, "<plist><dict><key>SecTrustPinningRequired</key><true/></dict></plist>", Self.apple)
                == "f: other settings of the file change the meaning of the pins ("
                + "hosts without a rule: refuse, expected trust): fix those first")
        #expect(
            problem(.apple, "<plist><dict><key>NSAppTransportSecurity</key><true/></dict></plist>", Self.apple)
                == "f:1:47: expected a dictionary, found a Boolean: make it a dictionary")
        #expect(problem(.trustkit, "<plist><array/></plist>", Self.trustkit).hasPrefix("f:1:8: expected a dictionary"))
        #expect(
            problem(.apple, "bplist00", Self.apple).hasPrefix(
                "f: a binary property list can't be changed in place"))
        #expect(problem(.apple, "<plist>", Self.apple) == "f:1:1: unclosed element <plist>: close it with </plist>")
    }
}
