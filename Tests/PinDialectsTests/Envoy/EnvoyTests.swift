import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Envoy")
struct EnvoyTests {
    static func pin(_ byte: UInt8, _ content: CanonicalPin.Content = .publicKey) -> CanonicalPin {
        CanonicalPin(content, .sha256, [UInt8](repeating: byte, count: 32), role: .leaf)
    }
    static func base64(_ byte: UInt8) -> String { Base64.encode([UInt8](repeating: byte, count: 32).span) }
    static func hex(_ byte: UInt8) -> String { Hexadecimal.encode([UInt8](repeating: byte, count: 32)) }
    static func colons(_ byte: UInt8) -> String {
        [String](repeating: Hexadecimal.encode([byte]).uppercased(), count: 32).joined(separator: ":")
    }

    /// A listener that verifies clients, and two clusters that verify servers.
    static let bootstrap = """
        # An edge proxy.
        static_resources:
          listeners:
          - name: edge
            filter_chains:
            - transport_socket:
                name: envoy.transport_sockets.tls
                typed_config:
                  "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.DownstreamTlsContext
                  require_client_certificate: true
                  common_tls_context:
                    tls_certificates:
                    - certificate_chain:
                        inline_string: |
                          -----BEGIN CERTIFICATE-----
                          key: value
                    validation_context: {trusted_ca: {filename: clients.pem}, verify_certificate_spki: ["\(base64(9))"]}
          clusters:
          - name: api
            type: STRICT_DNS
            transport_socket:
              name: envoy.transport_sockets.tls
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                sni: API.example.com   # the name
                common_tls_context:
                  validation_context:
                    trusted_ca:
                      filename: /etc/ssl/certs/ca-certificates.crt
                    verify_certificate_spki:
                      # now
                      - \(base64(1))
                      - "\(base64(2))"  # next
                    verify_certificate_hash:
                    - \(hex(3))
                    - \(colons(4))
          - name: pay
            transport_socket:
              name: envoy.transport_sockets.tls
              typed_config:
                "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                sni: pay.example.com
                common_tls_context:
                  combined_validation_context:
                    default_validation_context:
                      trusted_ca: { filename: roots.pem }
                      verify_certificate_spki: ["\(base64(5))"]

        """

    /// The same two clusters in JSON, with the other spelling of the keys.
    static let bootstrapJSON = """
        { "staticResources": { "clusters": [
          { "name": "api", "transportSocket": { "name": "envoy.transport_sockets.tls", "typedConfig": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "sni": "api.example.com",
            "commonTlsContext": { "validationContext": {
              "trustedCa": { "filename": "roots.pem" },
              "verifyCertificateSpki": ["\(base64(1))", "\(base64(2))"],
              "verifyCertificateHash": ["\(hex(3))", "\(colons(4))"] } } } } },
          { "name": "pay", "transportSocket": { "name": "envoy.transport_sockets.tls", "typedConfig": {
            "@type": "type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext",
            "sni": "pay.example.com",
            "commonTlsContext": { "validationContext": {
              "trustedCa": { "filename": "roots.pem" }, "verifyCertificateSpki": ["\(base64(5))"] } } } } }
        ] } }

        """

    static func read(_ text: String, host: String? = nil) throws -> DialectReading {
        try PinDialect.envoy.read(Array(text.utf8), path: "envoy.yaml", host: host)
    }

    /// Returns the problems with a text, or none if it is read.
    static func problems(_ text: String) -> [String] {
        do throws(PolicyFileError) {
            _ = try PinDialect.envoy.read(Array(text.utf8), path: "f", host: nil)
            return []
        } catch {
            return error.problems.map { "\($0.location): \($0.message)" }
        }
    }

    /// A validation context alone, as in a secret.
    private static func context(_ lines: String...) -> String {
        (["validation_context:", "  trusted_ca: {filename: roots.pem}"] + lines.map { "  " + $0 }).joined(
            separator: "\n")
    }

    @Test("The pins of clusters are read from YAML and JSON, in both spellings of keys and hashes")
    func clusters() throws {
        let expected = [
            CanonicalRule(
                patterns: [HostPattern("api.example.com", .exact)],
                pins: [Self.pin(1), Self.pin(2), Self.pin(3, .certificate), Self.pin(4, .certificate)]),
            CanonicalRule(patterns: [HostPattern("pay.example.com", .exact)], pins: [Self.pin(5)]),
        ]
        for text in [Self.bootstrap, Self.bootstrapJSON] {
            let reading = try Self.read(text)
            #expect(reading.policy.rules.map(\.patterns) == expected.map(\.patterns))
            #expect(reading.policy.rules.map(\.pins) == expected.map(\.pins))
            #expect(reading.policy.rules.allSatisfy { $0.mode == .enforce })
        }
        let reading = try Self.read(Self.bootstrap)
        try #require(reading.policy.rules.count == 2 && reading.notes.count == 1)
        #expect(reading.policy.rules[0].location == PolicyLocation(path: "envoy.yaml", line: 30, column: 13))
        #expect(reading.policy.rules[0].pins[1].location == PolicyLocation(path: "envoy.yaml", line: 33, column: 17))
        // The listener's pins are for clients.
        #expect(reading.notes.map(\.direction) == [.unchanged])
        #expect(reading.notes[0].message.hasPrefix("these pins are for the certificates of clients"))
        #expect(reading.notes[0].location?.line == 17)
        #expect(try Self.read(Self.bootstrapJSON).notes == [])
    }

    @Test("A context without a name is for every host, for the given one, or for the name that it requires")
    func names() throws {
        let text = Self.context("verify_certificate_spki: [\"\(Self.base64(1))\"]")
        #expect(try Self.read(text).policy.rules.map(\.patterns) == [[HostPattern("", .every)]])
        #expect(
            try Self.read(text, host: "a.example").policy.rules.map(\.patterns) == [[HostPattern("a.example", .exact)]])
        let matcher = "match_typed_subject_alt_names: [{san_type: DNS, matcher: {exact: B.example}}]"
        #expect(
            try Self.read(text + "\n  " + matcher, host: "a.example").policy.rules.map(\.patterns)
                == [[HostPattern("b.example", .exact)]])
        let pattern = "match_typed_subject_alt_names: [{san_type: DNS, matcher: {suffix: b.example}}]"
        #expect(try Self.read(text + "\n  " + pattern).policy.rules.map(\.patterns) == [[HostPattern("", .every)]])
    }

    @Test("Settings that weaken the pins are noted, and the pins count as Envoy counts them")
    func weakened() throws {
        let pins = "verify_certificate_spki: [\"\(Self.base64(1))\"]"
        let bare = try Self.read("validation_context: {\(pins)}")
        #expect(bare.policy.rules.flatMap(\.pins).map(\.trust) == [.pinAlone])
        #expect(bare.notes.map(\.rule) == [.misreadSetting])
        #expect(bare.notes.first?.message.hasPrefix("without trusted_ca") == true)

        let open = try Self.read(Self.context(pins, "trust_chain_verification: ACCEPT_UNTRUSTED"))
        #expect(open.policy.rules.map(\.mode) == [.off])
        #expect(open.notes.map(\.rule) == [.bypassedPins])

        let custom = try Self.read(Self.context(pins, "custom_validator_config: {name: x}"))
        #expect(custom.notes.map(\.rule) == [.misreadSetting])

        let secret = try Self.read(
            "combined_validation_context:\n  default_validation_context:\n    trusted_ca: {filename: r}\n    \(pins)\n"
                + "  validation_context_sds_secret_config: {name: s}")
        #expect(secret.notes.map(\.rule) == [.misreadSetting])
        #expect(secret.notes.first?.message.hasPrefix("the secret") == true)

        let stray = try Self.read("tls:\n  verify_certificate_spki: [\"\(Self.base64(1))\"]")
        #expect(stray.policy.rules == [])
        #expect(stray.notes.map(\.rule) == [.misplacedSetting, .pinsNothing])
        #expect(try Self.read("validation_context_sds_secret_config: {name: s}").notes.count == 2)
        #expect(try Self.read(Self.context("verify_certificate_spki: []")).notes.map(\.rule) == [.pinsNothing])
    }

    @Test("Two clusters with different pins for one host are alternatives, and need to be accepted")
    func alternatives() throws {
        func clusters(_ first: UInt8, _ second: UInt8) -> String {
            [first, second].map { byte in
                "- sni: a.example\n  common_tls_context:\n    validation_context:\n      trusted_ca: {filename: r}\n"
                    + "      verify_certificate_spki: [\"\(Self.base64(byte))\"]\n"
            }.joined()
        }
        let same = try Self.read(clusters(1, 1))
        #expect(same.policy.rules.map(\.pins) == [[Self.pin(1)]])
        #expect(same.notes == [])
        let other = try Self.read(clusters(1, 2))
        #expect(other.policy.rules.map(\.pins) == [[Self.pin(1), Self.pin(2)]])
        #expect(other.notes.map(\.change) == [.combinationChanged])
        #expect(other.obstacleForTests)
    }

    @Test(
        "Values for which Envoy refuses its configuration are problems at their position",
        arguments: [
            ("verify_certificate_spki: [AAAA]", "f:3:29: \"AAAA\" isn't a SHA-256 digest"),
            ("verify_certificate_spki: [\"\(base64(1).dropLast())\"]", "f:3:29: \"AQEB"),
            ("verify_certificate_spki: [\" \(base64(1))\"]", "f:3:29: \" AQEB"),
            ("verify_certificate_spki: [\"sha256/\(base64(1))\"]", "f:3:29: \"sha256/"),
            ("verify_certificate_spki: [\"\(hex(1))\"]", "f:3:29: \"0101"),
            ("verify_certificate_spki: \"\(base64(1))\"", "f:3:28: verify_certificate_spki is a text: make it a list"),
            ("verify_certificate_spki: [[]]", "f:3:29: a hash is a list"),
            ("verify_certificate_spki: {}", "f:3:28: verify_certificate_spki is a mapping"),
            ("verify_certificate_hash: [\"\(base64(1))\"]", "f:3:29: \"AQEB"),
            ("verify_certificate_hash: [\"\(hex(1).dropLast(2))\"]", "f:3:29: \"0101"),
            ("verify_certificate_hash: [\"\(colons(1).dropLast(3))\"]", "f:3:29: \"01:01"),
            ("verify_certificate_hash: [\"\(colons(1)):\"]", "f:3:29: \"01:01"),
        ])
    func refused(_ line: String, _ problem: String) {
        let found = Self.problems(Self.context(line))
        #expect(found.count == 1)
        #expect(found.first?.hasPrefix(problem) == true, "\(found)")
    }

    @Test("A listener's hashes are checked too, and YAML that isn't supported is refused at its position")
    func wholeFile() {
        #expect(
            Self.problems(
                "filter_chains:\n- common_tls_context:\n    validation_context: {verify_certificate_spki: [x]}")
                == [
                    "f:3:52: \"x\" isn't a SHA-256 digest, so Envoy refuses the configuration: write the base64 of 32 "
                        + "bytes"
                ])
        #expect(
            Self.problems("a: &b 1\nc: *d\n") == [
                "f:2:4: the alias \"d\" has no anchor above it: write the value out"
            ])
    }

    // MARK: - Writing

    @Test("A policy is written as one cluster for each host, which verifies the chain, the name and the pins")
    func written() throws {
        let policy = CanonicalPolicy(
            rules: [
                CanonicalRule(
                    patterns: [HostPattern("a.example", .exact)], pins: [Self.pin(1), Self.pin(3, .certificate)]),
                CanonicalRule(patterns: [HostPattern("192.0.2.7", .exact)], pins: [Self.pin(2)]),
            ], combination: .closest)
        let text = String(decoding: try PinDialect.envoy.write(policy), as: UTF8.self)
        #expect(
            text == """
                clusters:
                - name: "a.example"
                  transport_socket:
                    name: envoy.transport_sockets.tls
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                      sni: "a.example"
                      common_tls_context:
                        validation_context:
                          trusted_ca:
                            filename: /etc/ssl/certs/ca-certificates.crt
                          match_typed_subject_alt_names:
                          - san_type: DNS
                            matcher:
                              exact: "a.example"
                          verify_certificate_spki:
                          - "\(Self.base64(1))"
                          verify_certificate_hash:
                          - "\(Self.hex(3))"
                - name: "192.0.2.7"
                  transport_socket:
                    name: envoy.transport_sockets.tls
                    typed_config:
                      "@type": type.googleapis.com/envoy.extensions.transport_sockets.tls.v3.UpstreamTlsContext
                      common_tls_context:
                        validation_context:
                          trusted_ca:
                            filename: /etc/ssl/certs/ca-certificates.crt
                          match_typed_subject_alt_names:
                          - san_type: IP_ADDRESS
                            matcher:
                              exact: "192.0.2.7"
                          verify_certificate_spki:
                          - "\(Self.base64(2))"

                """)
        #expect(policy.differences(in: try Self.read(text).policy) == [])
        #expect(throws: DialectWriteError.self) {
            try PinDialect.envoy.write(CanonicalPolicy(rules: [], combination: .closest))
        }
    }

    // MARK: - Replacing

    private static func rule(_ host: String, _ pins: [CanonicalPin]) -> CanonicalRule {
        CanonicalRule(patterns: [HostPattern(host, .exact)], pins: pins)
    }

    private static func replaced(_ text: String, _ rules: CanonicalRule...) -> String {
        do throws(DialectWriteError) {
            let policy = CanonicalPolicy(rules: rules, combination: .closest)
            return String(
                decoding: try PinDialect.envoy.replacing(Array(text.utf8), path: "f", with: policy), as: UTF8.self)
        } catch {
            return "error: \(error)"
        }
    }

    @Test("Only the lists of the policy's hosts change, in the form that the file has")
    func replaced() {
        let found = Self.replaced(
            Self.bootstrap, Self.rule("api.example.com", [Self.pin(7), Self.pin(8)]),
            Self.rule("pay.example.com", [Self.pin(5), Self.pin(6, .certificate)]))
        #expect(found.contains("- \"\(Self.base64(7))\"\n              - \"\(Self.base64(8))\"\n"), "\(found)")
        #expect(found.contains("verify_certificate_hash:\n  - name: pay"), "\(found)")
        #expect(
            found.contains(
                "verify_certificate_hash:\n              - \"\(Self.hex(6))\"\n"
                    + "              trusted_ca: { filename: roots.pem }\n"
                    + "              verify_certificate_spki: [\"\(Self.base64(5))\"]\n"), "\(found)")
        // Everything up to the first list is the same, and so are the lines in between.
        #expect(found.hasPrefix(Self.bootstrap.components(separatedBy: "verify_certificate_spki:\n")[0]))
        #expect(!found.contains("# next"))
        #expect(found.contains("verify_certificate_spki: [\"\(Self.base64(9))\"]}"))
    }

    @Test("JSON stays JSON, and a second replacement changes nothing")
    func replacedJSON() throws {
        let rules = [
            Self.rule("api.example.com", [Self.pin(7)]),
            Self.rule("pay.example.com", [Self.pin(5), Self.pin(6, .certificate)]),
        ]
        let found = Self.replaced(Self.bootstrapJSON, rules[0], rules[1])
        _ = try JSONDecoder().decode([String: AnyJSON].self, from: Data(found.utf8))
        #expect(found.contains("\"verifyCertificateSpki\": [\"\(Self.base64(7))\"],"))
        #expect(found.contains("\"verifyCertificateHash\": [] }"))
        #expect(found.contains("{\"verify_certificate_hash\": [\"\(Self.hex(6))\"], "))
        #expect(Self.replaced(found, rules[0], rules[1]) == found)
    }

    @Test("A context without a name takes the only rule, and an empty or missing list is filled")
    func unnamed() {
        let rule = Self.rule("a.example", [Self.pin(1)])
        let head = "validation_context:\n  trusted_ca: {filename: r}\n"
        let list = "- \"\(Self.base64(1))\""
        #expect(
            Self.replaced(head, rule)
                == "validation_context:\n  verify_certificate_spki:\n  \(list)\n  trusted_ca: {filename: r}\n")
        #expect(
            Self.replaced(head + "  verify_certificate_spki:\n", rule)
                == head + "  verify_certificate_spki: [\"\(Self.base64(1))\"]\n")
        #expect(
            Self.replaced(head + "  verify_certificate_spki: []\r\n", rule)
                == head + "  verify_certificate_spki: [\"\(Self.base64(1))\"]\r\n")
        #expect(
            Self.replaced("validation_context: {trusted_ca: {filename: r}}", rule)
                == "validation_context: {\"verify_certificate_spki\": [\"\(Self.base64(1))\"], "
                + "trusted_ca: {filename: r}}")
    }

    @Test("Files in which the pins wouldn't mean the policy aren't changed")
    func notReplaced() {
        let api = Self.rule("api.example.com", [Self.pin(7)])
        #expect(
            Self.replaced(Self.bootstrap, api).hasPrefix(
                "error: f:46:15: this context has pins, but the policy has no rule for \"pay.example.com\""))
        #expect(
            Self.replaced(
                Self.bootstrap, api, Self.rule("pay.example.com", [Self.pin(5)]), Self.rule("x.test", [Self.pin(1)])
            )
            .hasPrefix("error: f: no UpstreamTlsContext with a validation_context has the sni \"x.test\""))
        #expect(
            Self.replaced("validation_context: {verify_certificate_spki: []}", api)
                .hasPrefix("error: f:1:21: without trusted_ca, Envoy doesn't verify the chain of \"api.example.com\""))
        #expect(
            Self.replaced(
                "validation_context: {trusted_ca: {filename: r}, trust_chain_verification: ACCEPT_UNTRUSTED}", api
            ).contains("the pins of \"api.example.com\" wouldn't count"))
        #expect(Self.replaced("a: *b", api).hasPrefix("error: f:1:4: aliases"))
    }
}

/// Any JSON value, to see that a text is JSON.
private struct AnyJSON: Decodable {
    init(from decoder: any Decoder) throws {}
}

extension DialectReading {
    /// Whether a command refuses the reading until the changes are accepted.
    fileprivate var obstacleForTests: Bool { notes.contains { $0.direction == .weaker && $0.change != .quirk } }
}
