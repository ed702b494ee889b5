import CertificatePinning
import PinctlBasics
import Testing

@testable import PinDialects

@Suite("Replacing the pins in the literals of a program")
struct LiteralEditTests {
    /// Returns the text with the digest of a key for `K1` to `K4`, and its hexadecimal form for `X1` to `X4`.
    private static func text(_ text: String) -> String {
        (UInt8(1)...4).reduce(text) { text, key in
            text.replacing("K\(key)", with: ReplacingTests.base64(key))
                .replacing("X\(key)", with: String(repeating: "0\(key)", count: 32))
                .replacing("C\(key)", with: String(repeating: "0\(key):", count: 31) + "0\(key)")
        }
    }

    /// Both hosts have the keys 1 and 2.
    private static let policy = CanonicalPolicy(
        rules: [
            ReplacingTests.rule("a.example.com", .exact, [ReplacingTests.pin(1), ReplacingTests.pin(2)]),
            ReplacingTests.rule("b.example.com", .exactAndBelow, [ReplacingTests.pin(1), ReplacingTests.pin(2)]),
        ], combination: .union)

    struct Row: CustomTestStringConvertible {
        let title: String
        var dialect = PinDialect.map
        let old: String
        let new: String
        var testDescription: String { title }
    }

    @Test(
        "Only the digests that differ change, and the result means the policy",
        arguments: [
            Row(
                title: "lists of TypeScript, with comments and trailing commas",
                old: """
                    // 'quoted' // twice\r
                    export const pins = {\r
                      'a.example.com': {\r
                        publicKeyHashes: [\r
                          'sha256/K3', // then\r
                          // kept\r
                          'sha256/K1', // now\r
                          /* gone */ 'sha256/K4',\r
                        ],\r
                      },\r
                      'b.example.com': { includeSubdomains: true, publicKeyHashes: ["K2", `K1`] },\r
                    } as const;\r
                    """,
                new: """
                    // 'quoted' // twice\r
                    export const pins = {\r
                      'a.example.com': {\r
                        publicKeyHashes: [\r
                          'sha256/K2',\r
                          // kept\r
                          'sha256/K1', // now\r
                        ],\r
                      },\r
                      'b.example.com': { includeSubdomains: true, publicKeyHashes: ["K2", `K1`] },\r
                    } as const;\r
                    """),
            Row(
                title: "JSON on one line, which has no comma at its end",
                old: #"""
                    {"a.example.com":{"pins":["sha256/K3"]},\#
                    "b.example.com":{"includeSubdomains":true,"pins":["K1"]}}
                    """#,
                new: #"""
                    {"a.example.com":{"pins":["sha256/K1", "sha256/K2"]},\#
                    "b.example.com":{"includeSubdomains":true,"pins":["K1", "K2"]}}
                    """#),
            Row(
                title: "the prefix and the form of the digests there are kept",
                old: """
                    { "a.example.com": ["sha256/X3", "sha256/X4"],
                      "b.example.com": { "subdomains": true, "pins": ["sha256//K3", "sha256//K1"] } }
                    """,
                new: """
                    { "a.example.com": ["sha256/X1", "sha256/X2"],
                      "b.example.com": { "subdomains": true, "pins": ["sha256//K2", "sha256//K1"] } }
                    """),
            Row(
                title: "constants are changed where they are set",
                old: """
                    final now = 'sha256/K3';
                    final list = ['sha256/K4', 'sha256/K1'];
                    final pins = {
                      'a.example.com': [now, 'sha256/K2'],
                      'b.example.com': { 'includeSubdomains': true, 'pins': list },
                    };
                    """,
                new: """
                    final now = 'sha256/K1';
                    final list = ['sha256/K2', 'sha256/K1'];
                    final pins = {
                      'a.example.com': [now, 'sha256/K2'],
                      'b.example.com': { 'includeSubdomains': true, 'pins': list },
                    };
                    """),
            Row(
                title: "a constant and a list that both hosts have",
                old: """
                    const OLD = 'sha256/K4';
                    const LIST = [OLD, 'sha256/K3'];
                    const pins = {
                      'a.example.com': LIST, 'b.example.com': { includeSubdomains: true, pins: LIST },
                    };
                    """,
                new: """
                    const OLD = 'sha256/K1';
                    const LIST = [OLD, 'sha256/K2'];
                    const pins = {
                      'a.example.com': LIST, 'b.example.com': { includeSubdomains: true, pins: LIST },
                    };
                    """),
            Row(
                title: "lists in brackets of YAML",
                old: """
                    hosts:
                      a.example.com: ["sha256/K3", 'sha256/K1'] # ours
                      b.example.com: { includeSubdomains: true, pins: ["sha256/K2"] }
                    """,
                new: """
                    hosts:
                      a.example.com: ["sha256/K2", 'sha256/K1'] # ours
                      b.example.com: { includeSubdomains: true, pins: ["sha256/K2", "sha256/K1"] }
                    """),
            Row(
                title: "lists of YAML with dashes, comments and both kinds of line ends",
                old: """
                    # 'sha256/K3'\r
                    hosts:\r
                      a.example.com: # ours
                        # old
                        -   'sha256/K3' # then
                        # kept
                        - sha256/K1 # now
                      b.example.com:\r
                        includeSubdomains: true\r
                        pins: &both\r
                        - sha256/K1 # one\r
                        # gone\r
                        - "sha256/K4"\r
                        - sha256/K3\r
                    # end
                    other: [1]
                    """,
                new: """
                    # 'sha256/K3'\r
                    hosts:\r
                      a.example.com: # ours
                        -   'sha256/K2'
                        # kept
                        - sha256/K1 # now
                      b.example.com:\r
                        includeSubdomains: true\r
                        pins: &both\r
                        - sha256/K1 # one\r
                        - sha256/K2\r
                    # end
                    other: [1]
                    """),
            Row(
                title: "an anchor above the hosts, in the second document of a text",
                old: """
                    x: 1
                    ---
                    ours: &ours
                    - sha256/K3
                    a.example.com: *ours
                    b.example.com:
                      includeSubdomains: true
                      pins: *ours
                    """,
                new: """
                    x: 1
                    ---
                    ours: &ours
                    - sha256/K1
                    - sha256/K2
                    a.example.com: *ours
                    b.example.com:
                      includeSubdomains: true
                      pins: *ours
                    """),
            Row(
                title: "a comment before the comma behind the last pin",
                old: """
                    {
                      'a.example.com': [
                        'sha256/K3' // c
                        ,
                      ],
                      'b.example.com': { includeSubdomains: true, pins: [
                        "sha256\\/K1" // c
                        ,
                      ] },
                    }
                    """,
                new: """
                    {
                      'a.example.com': [
                        'sha256/K1',
                        'sha256/K2',
                      ],
                      'b.example.com': { includeSubdomains: true, pins: [
                        "sha256\\/K1" // c
                        ,
                        "sha256/K2",
                      ] },
                    }
                    """),
            Row(
                title: "TrustKit's dictionaries of Swift", dialect: .trustkit,
                old: """
                    let c: [String: Any] = [ kTSKPinnedDomains: [
                        "a.example.com": [ kTSKEnforcePinning: false, kTSKDisableDefaultReportUri: true,
                            kTSKPublicKeyHashes: ["K3", "K1"] ],
                        "b.example.com": [ kTSKIncludeSubdomains: true, kTSKDisableDefaultReportUri: true,
                            kTSKPublicKeyHashes: [
                                "K1",
                                // then
                                "K4"
                            ] ] ] ]
                    """,
                new: """
                    let c: [String: Any] = [ kTSKPinnedDomains: [
                        "a.example.com": [ kTSKEnforcePinning: true, kTSKDisableDefaultReportUri: true,
                            kTSKPublicKeyHashes: ["K2", "K1"] ],
                        "b.example.com": [ kTSKIncludeSubdomains: true, kTSKDisableDefaultReportUri: true,
                            kTSKPublicKeyHashes: [
                                "K1",
                                "K2"
                            ] ] ] ]
                    """),
            Row(
                title: "TrustKit's dictionaries of Objective-C", dialect: .trustkit,
                old: """
                    NSDictionary *c = @{ kTSKPinnedDomains : @{
                      @"a.example.com" : @{ kTSKEnforcePinning : @NO, kTSKDisableDefaultReportUri : @YES,
                        kTSKPublicKeyHashes : @[ @"K1", @"K4" ] },
                      @"b.example.com" : @{ kTSKIncludeSubdomains : @YES, kTSKDisableDefaultReportUri : @YES,
                        kTSKPublicKeyHashes : @[ @"K2", @"K1" ] } } };
                    """,
                new: """
                    NSDictionary *c = @{ kTSKPinnedDomains : @{
                      @"a.example.com" : @{ kTSKEnforcePinning : @YES, kTSKDisableDefaultReportUri : @YES,
                        kTSKPublicKeyHashes : @[ @"K1", @"K2" ] },
                      @"b.example.com" : @{ kTSKIncludeSubdomains : @YES, kTSKDisableDefaultReportUri : @YES,
                        kTSKPublicKeyHashes : @[ @"K2", @"K1" ] } } };
                    """),
        ])
    func replaced(_ row: Row) throws {
        var policy = Self.policy
        if row.dialect == .trustkit { policy.combination = .closest }
        let result = try row.dialect.replacing(Array(Self.text(row.old).utf8), path: "pins", with: policy)
        #expect(String(decoding: result, as: UTF8.self) == Self.text(row.new))
        #expect(policy.differences(in: try row.dialect.read(result, path: "pins").policy) == [])
        #expect(try row.dialect.replacing(result, path: "pins", with: policy) == result)
    }

    @Test(
        "A host that isn't there gets a copy of an entry with the same settings",
        arguments: [
            Row(
                title: "JSON on one line",
                old: #"{"a.example.com":{"includeSubdomains":false,"pins":["sha256/K3"],"enabled":true}}"#,
                new: #"""
                    {"a.example.com":{"includeSubdomains":false,"pins":["sha256/K1", "sha256/K2"],"enabled":true}, \#
                    "c.example.com":{"includeSubdomains":false,"pins":["sha256/K3", "sha256/K4"],"enabled":true}}
                    """#),
            Row(
                title: "TypeScript with a trailing comma, and comments of the pins only",
                old: """
                    export const pins = {
                      'a.example.com': {
                        pins: [
                          // now
                          'sha256/K1', // one
                          'sha256/K2', // two
                        ],
                      }, // ours
                    };
                    """,
                new: """
                    export const pins = {
                      'a.example.com': {
                        pins: [
                          // now
                          'sha256/K1', // one
                          'sha256/K2', // two
                        ],
                      }, // ours
                      'c.example.com': {
                        pins: [
                          'sha256/K3',
                          'sha256/K4',
                        ],
                      },
                    };
                    """),
            Row(
                title: "YAML, below a host whose list loses its last pin",
                old: """
                    hosts:\r
                      a.example.com:
                      - "sha256/K1"
                      - sha256/K2
                      - sha256/K4 # gone

                    other: 1\r

                    """,
                new: """
                    hosts:\r
                      a.example.com:
                      - "sha256/K1"
                      - sha256/K2
                      c.example.com:
                      - "sha256/K3"
                      - "sha256/K4"

                    other: 1\r

                    """),
            Row(
                title: "a list of YAML, and no line end at the end",
                old: "rules:\n- host: a.example.com\n  pins: [sha256/K1]",
                new: """
                    rules:
                    - host: a.example.com
                      pins: [sha256/K1, sha256/K2]
                    - host: c.example.com
                      pins: [sha256/K3, sha256/K4]
                    """),
            Row(
                title: "a list of objects",
                old: "const p = [{ host: 'a.example.com', pins: ['K1'] }]",
                new: """
                    const p = [{ host: 'a.example.com', pins: ['K1', 'K2'] }, \
                    { host: 'c.example.com', pins: ['K3', 'K4'] }]
                    """),
            Row(
                title: "a dictionary of Swift",
                old: "let pins: [String: [String]] = [\"a.example.com\": [\"sha256/K1\"]]",
                new: """
                    let pins: [String: [String]] = ["a.example.com": ["sha256/K1", "sha256/K2"], \
                    "c.example.com": ["sha256/K3", "sha256/K4"]]
                    """),
            Row(
                title: "a dictionary of Objective-C",
                old: "NSDictionary *p = @{\n  @\"a.example.com\" : @[ @\"sha256/K1\", @\"sha256/K3\" ],\n};",
                new: """
                    NSDictionary *p = @{
                      @"a.example.com" : @[ @"sha256/K1", @"sha256/K2" ],
                      @"c.example.com" : @[ @"sha256/K3", @"sha256/K4" ],
                    };
                    """),
            Row(
                title: "TrustKit's dictionary", dialect: .trustkit,
                old: """
                    let c = [kTSKPinnedDomains: [
                        "a.example.com": [kTSKDisableDefaultReportUri: true, kTSKPublicKeyHashes: ["K1", "K2"]]
                    ]]
                    """,
                new: """
                    let c = [kTSKPinnedDomains: [
                        "a.example.com": [kTSKDisableDefaultReportUri: true, kTSKPublicKeyHashes: ["K1", "K2"]],
                        "c.example.com": [kTSKDisableDefaultReportUri: true, kTSKPublicKeyHashes: ["K3", "K4"]]
                    ]]
                    """),
        ])
    func added(_ row: Row) throws {
        var policy = Self.policy
        if row.dialect == .trustkit { policy.combination = .closest }
        policy.rules[1] = ReplacingTests.rule(
            "c.example.com", .exact, [ReplacingTests.pin(3), ReplacingTests.pin(4)])
        let result = try row.dialect.replacing(Array(Self.text(row.old).utf8), path: "pins", with: policy)
        #expect(String(decoding: result, as: UTF8.self) == Self.text(row.new))
        #expect(try row.dialect.replacing(result, path: "pins", with: policy) == result)
    }

    @Test("A line that is added has the line end of the line beside it")
    func lineEnds() throws {
        var policy = Self.policy
        policy.rules.removeLast()
        for (first, second) in [("\r\n", "\n"), ("\n", "\r\n")] {
            let text = Self.text("x: 1\(first)a.example.com:\(first)- sha256/K1\(second)# end\(first)")
            let result = try PinDialect.map.replacing(Array(text.utf8), path: "pins", with: policy)
            #expect(
                Array(result)
                    == Array(
                        Self.text(
                            "x: 1\(first)a.example.com:\(first)- sha256/K1\(second)- sha256/K2\(second)# end\(first)"
                        )
                        .utf8))
        }
    }

    @Test(
        "A value of YAML that an alias uses for something else isn't changed",
        arguments: [
            ("a.example.com: &p\n- sha256/K3\nother: *p\n", "pins:2:3: an alias uses this value for something else"),
            ("x: &p\n- sha256/K3\ny: *p\na.example.com: *p\n", "pins:2:3: an alias uses this value"),
            (
                "x: &p sha256/K3\ny: *p\na.example.com:\n- *p\n- sha256/K2\n",
                "pins:1:7: this list has an alias for a pin"
            ),
            ("x: &p sha256/K3\na.example.com: *p\ny: *p\n", "more pins in the policy"),
            ("x: &p\n- sha256/K3\na.example.com: *p\n", ""),
        ])
    func aliases(_ text: String, _ message: String) {
        var policy = Self.policy
        policy.rules.removeLast()
        do throws(DialectWriteError) {
            let result = try PinDialect.map.replacing(Array(Self.text(text).utf8), path: "pins", with: policy)
            #expect(message.isEmpty, "\(String(decoding: result, as: UTF8.self))")
        } catch {
            #expect(!message.isEmpty && error.description.contains(message), "\(error)")
        }
    }

    @Test("A pin that a list has twice is removed twice, and TrustKit's reason for too few pins says so")
    func duplicates() throws {
        var policy = Self.policy
        policy.rules.removeLast()
        policy.combination = .closest
        func text(_ hashes: String) -> [UInt8] {
            Array(
                Self.text(
                    "let c = [kTSKPinnedDomains: [\"a.example.com\": [kTSKDisableDefaultReportUri: true,\n"
                        + "    kTSKPublicKeyHashes: [\(hashes)]]]]"
                ).utf8)
        }
        let old = text("\"K3\", \"K1\", \"K1\", \"K3\"")
        let result = try PinDialect.trustkit.replacing(old, path: "c.swift", with: policy)
        #expect(result == text("\"K2\", \"K1\", \"K1\""))
        do throws(DialectWriteError) {
            _ = try PinDialect.trustkit.replacing(text("\"K3\", \"K3\""), path: "c.swift", with: policy)
            Issue.record("it was replaced")
        } catch {
            #expect(error.description.contains("lists a pin twice, which TrustKit counts once"), "\(error)")
        }
    }

    @Test("The digests of NSPinnedDomains in an app's configuration are replaced one by one")
    func apple() throws {
        func text(_ first: String, _ second: String) -> [UInt8] {
            Array(
                Self.text(
                    """
                    export default { ios: { infoPlist: { NSAppTransportSecurity: { NSPinnedDomains: { 'a.example.com': {
                      NSPinnedLeafIdentities: [
                        { 'SPKI-SHA256-BASE64': '\(first)' }, // now
                        { "SPKI-SHA256-BASE64": "\(second)" },
                      ] } } } } } };
                    """
                ).utf8)
        }
        let policy = CanonicalPolicy(
            rules: [
                ReplacingTests.rule(
                    "a.example.com", .exact, [ReplacingTests.pin(1, .leaf), ReplacingTests.pin(2, .leaf)])
            ], combination: .union)
        let result = try PinDialect.apple.replacing(text("K3", "K2"), path: "app.config.ts", with: policy)
        #expect(String(decoding: result, as: UTF8.self) == String(decoding: text("K1", "K2"), as: UTF8.self))
    }

    @Test("A mode is changed in TrustKit's dictionaries, in the words of the language")
    func modes() throws {
        var policy = Self.policy
        policy.combination = .closest
        policy.rules.removeLast()
        policy.rules[0].mode = .report
        for (old, new) in [("true", "false"), ("YES", "NO"), ("@YES", "@NO"), ("@(YES)", ""), ("isOn", "")] {
            func text(_ value: String) -> [UInt8] {
                Array(
                    Self.text(
                        """
                        NSDictionary *c = @{ kTSKPinnedDomains : @{ @"a.example.com" : @{ kTSKEnforcePinning : \(value),
                          kTSKDisableDefaultReportUri : @YES, kTSKPublicKeyHashes : @[ @"K1", @"K2" ] } } };
                        """
                    ).utf8)
            }
            let result = try? PinDialect.trustkit.replacing(text(old), path: "c.m", with: policy)
            #expect(result == (new.isEmpty ? nil : text(new)), "\(old)")
        }
    }

    @Test("TrustKit's reports to its vendor are switched too, and a setting that isn't there is named")
    func settings() {
        var policy = Self.policy
        policy.combination = .closest
        policy.rules.removeLast()
        func result(_ settings: String) -> String {
            let text = Self.text(
                "let c = [kTSKPinnedDomains: [\"a.example.com\": [\(settings) kTSKPublicKeyHashes: [\"K1\", \"K2\"]]]]")
            do throws(DialectWriteError) {
                let result = try PinDialect.trustkit.replacing(Array(text.utf8), path: "c.swift", with: policy)
                return String(decoding: result, as: UTF8.self)
            } catch {
                return error.description
            }
        }
        #expect(result("kTSKDisableDefaultReportUri: false,").contains("kTSKDisableDefaultReportUri: true,"))
        #expect(result("").contains("a.example.com has no TSKDisableDefaultReportUri here: add it with true"))
        policy.rules[0].mode = .report
        let found = result("kTSKDisableDefaultReportUri: true,")
        #expect(found.contains("a.example.com has no TSKEnforcePinning here: add it with false"), "\(found)")
    }

    @Test(
        "A text in which something other than digests would have to change is refused",
        arguments: [
            // A host is missing.
            (
                "{ \"a.example.com\": [\"sha256/K1\"] }",
                "b.example.com isn't in this file, and no host here has the same settings"
            ),
            (
                "{ 'a.example.com': { includeSubdomains: true, pins: ['sha256/K1'], title: 'A' } }",
                "b.example.com isn't in this file, and no entry here has only pins"
            ),
            (
                "{ 'a.example.com': { /* ours */ includeSubdomains: true, pins: ['sha256/K1'] } }",
                "b.example.com isn't in this file, and no entry here has only pins"
            ),
            (
                "{ 'a.example.com': { includeSubdomains: true, pins: PINS } };\nconst PINS = ['sha256/K1'];",
                "b.example.com isn't in this file, and no entry here has only pins"
            ),
            (
                "@{\n#if X\n@\"a.example.com\": @{ @\"includeSubdomains\": @YES, @\"pins\": @[@\"sha256/K1\"] },\n"
                    + "#endif\n}", "b.example.com isn't in this file, and the entries here are more than literals"
            ),
            // A host has no rule.
            (
                "{ \"a.example.com\": [\"sha256/K1\"], \"b.example.com\": [\"sha256/K1\"],\n"
                    + "\"c.example.com\": [\"sha256/K1\"] }",
                "2:1: no rule of the policy pins c.example.com: remove it here, or add one"
            ),
            // Subdomains differ.
            (
                "{ \"a.example.com\": [\"sha256/K1\"], \"b.example.com\": [\"sha256/K1\"] }",
                "other settings of the file"
            ),
            // A constant alone, of which two would be needed.
            ("{ 'a.example.com': 'sha256/K3', 'b.example.com': ['sha256/K1'] }", "more pins in the policy than here"),
            // A constant that is left over.
            (
                """
                const A = 'sha256/K1', B = 'sha256/K2', C = 'sha256/K3';
                x = { 'a.example.com': [A, B, C], 'b.example.com': ['sha256/K1', 'sha256/K2'] }
                """, ": a.example.com has fewer pins in the policy, and this one isn't in a list"
            ),
            // A value in two parts.
            (
                "{ 'a.example.com': ['sha256/' + 'K3', 'sha256/K1'], 'b.example.com': ['sha256/K1', 'sha256/K2'] }",
                "1:21: this pin isn't one plain string"
            ),
            // A host twice, and a host with two lists.
            (
                """
                const dev = { 'a.example.com': ['sha256/K3'], 'b.example.com': ['sha256/K1'] };
                const prod = { 'a.example.com': ['sha256/K3'] };
                """, "2:16: a.example.com is in line 1 too"
            ),
            (
                "{ 'a.example.com': { primary: ['sha256/K3'], backup: ['sha256/K4'] }, 'b.example.com': ['K1'] }",
                ": a.example.com has its pins in several lists"
            ),
            // Lines of a preprocessor.
            (
                "@{ @\"a.example.com\": @[\n#ifdef X\n@\"sha256/K3\",\n#endif\n@\"sha256/K1\"],\n"
                    + "@\"b.example.com\": @[@\"sha256/K1\"] }", "3:1: this list has lines that begin with #"
            ),
            ("export const pins = {};", "nothing is pinned here"),
        ])
    func refused(_ text: String, _ message: String) {
        do throws(DialectWriteError) {
            let result = try PinDialect.map.replacing(Array(Self.text(text).utf8), path: "pins", with: Self.policy)
            Issue.record("became \(String(decoding: result, as: UTF8.self))")
        } catch {
            #expect(error.description.contains(message), "\(error)")
        }
    }

    @Test("A host isn't added if several objects have hosts")
    func collections() {
        var policy = Self.policy
        policy.rules.append(ReplacingTests.rule("c.example.com", .exact, [ReplacingTests.pin(1)]))
        let text = Self.text(
            "p = { 'a.example.com': ['sha256/K1', 'sha256/K2'] };\n"
                + "q = { 'b.example.com': { includeSubdomains: true, pins: ['sha256/K1', 'sha256/K2'] } };")
        do throws(DialectWriteError) {
            let result = try PinDialect.map.replacing(Array(text.utf8), path: "pins", with: policy)
            Issue.record("became \(String(decoding: result, as: UTF8.self))")
        } catch {
            #expect(error.description.contains("c.example.com isn't in this file, and several objects here have hosts"))
        }
    }

    @Test(
        "A constant that is used for something else, or that the program changes, isn't changed",
        arguments: [
            (
                "const A = 'sha256/K3'; x = { 'a.example.com': [A, 'sha256/K2'] }; revoked = [A]",
                "\"A\" is used for something"
            ),
            (
                "const L = ['sha256/K3', 'sha256/K4']; x = { 'a.example.com': L }; backup = L[1]",
                "\"L\" is used for something"
            ),
            ("const x = { 'a.example.com': ['sha256/K3'] }; use(x); use(x)", ""),
        ])
    func constants(_ text: String, _ message: String) {
        var policy = Self.policy
        policy.rules.removeLast()
        do throws(DialectWriteError) {
            let result = try PinDialect.map.replacing(Array(Self.text(text).utf8), path: "pins", with: policy)
            #expect(message.isEmpty, "\(String(decoding: result, as: UTF8.self))")
        } catch {
            #expect(!message.isEmpty && error.description.contains(message), "\(error)")
        }
        policy.combination = .closest
        for change in ["l.append(\"K4\")", "l[0] = \"K4\"", "c[kTSKPinnedDomains] = other"] {
            let text = Self.text(
                """
                var l = ["K3", "K1"]
                var c = [kTSKPinnedDomains: ["a.example.com": [kTSKDisableDefaultReportUri: true,
                    kTSKPublicKeyHashes: l]]]
                \(change)
                """)
            #expect(throws: DialectWriteError.self, "\(change)") {
                try PinDialect.trustkit.replacing(Array(text.utf8), path: "c.swift", with: policy)
            }
            #expect(throws: PolicyFileError.self, "\(change)") {
                try PinDialect.trustkit.read(Array(text.utf8), path: "c.swift")
            }
        }
    }

    @Test("A pin or list that hosts with other pins share isn't changed")
    func shared() {
        var policy = Self.policy
        policy.rules[1].pins = [ReplacingTests.pin(3), ReplacingTests.pin(4)]
        policy.rules[1].patterns[0].scope = .exact
        for (text, message) in [
            (
                "const A = 'sha256/K3'; x = { 'a.example.com': [A, 'sha256/K2'], 'b.example.com': [A, 'sha256/K4'] }",
                "1:11: other hosts that have other pins in the policy use this pin"
            ),
            (
                "const A = ['sha256/K3', 'sha256/K4']; x = { 'a.example.com': A, 'b.example.com': A }",
                "1:12: other hosts that have other pins in the policy use this list"
            ),
        ] {
            do throws(DialectWriteError) {
                let result = try PinDialect.map.replacing(Array(Self.text(text).utf8), path: "pins", with: policy)
                Issue.record("became \(String(decoding: result, as: UTF8.self))")
            } catch {
                #expect(error.description.contains(message), "\(error)")
            }
        }
    }
}
