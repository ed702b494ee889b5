import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinctlBasics
import Testing

@testable import PinDialects

/// Maps of hosts to pins, in the shapes that libraries document and that apps write.
@Suite("Maps of hosts to pins")
struct PinMapTests {
    private static let first = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let second = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="
    private static let hexadecimal = "000102030405060708090a0b0c0d0e0f101112131415161718191a1b1c1d1e1f"
    private static let colons = stride(from: 0, to: 64, by: 2).map { start in
        String(hexadecimal.dropFirst(start).prefix(2)).uppercased()
    }.joined(separator: ":")

    /// Returns the rules as `host scope mode expiry: pins`, with a and b for the two digests and a C before one of a
    /// certificate.
    private func rules(_ text: String) throws -> [String] {
        try PinDialect.map.read(Array(text.utf8), path: "x").policy.rules.map { rule in
            let pins = rule.pins.map { pin in
                (pin.content == .certificate ? "C" : "") + (pin.value[0] == 0 ? "a" : "b")
            }
            var head = rule.patterns.map { "\($0.host) \($0.scope.rawValue)" }.joined(separator: ",")
            if rule.mode != .enforce { head += " \(rule.mode.rawValue)" }
            if case .instant(let seconds)? = rule.expiry?.moment { head += " \(seconds)" }
            return "\(head): \(pins.joined(separator: " "))"
        }
    }

    @Test(
        "Hosts and pins of YAML are read like those of JSON, with anchors and merge keys",
        arguments: [
            ("api.test: [\(first)] # pins\n", ["api.test exact: a"]),
            (
                "pins:\n  all: {api.test: [\"\(first)\"]}\n  b.test:\n  - \(second)\n",
                ["api.test exact: a", "b.test exact: b"]
            ),
            (
                "pins:\n  api.test:\n  - sha256/\(first)\n  - \"sha256/\(second)\" # next\n"
                    + "  b.test:\n  - sha256/\(first)\n",
                ["api.test exact: a b", "b.test exact: a"]
            ),
            (
                """
                defaults: &default
                  includeSubdomains: true
                  pins: &both
                    - sha256/\(first)
                    - sha256/\(second)
                hosts:
                  api.test:
                    <<: *default
                    includeSubdomains: false
                  b.test: *default
                  c.test: *both
                """, ["api.test exact: a b", "b.test exactAndBelow: a b", "c.test exact: a b"]
            ),
            (
                "- host: api.test\n  pins: [\"\(first)\"]\n- host: b.test\n  pins: ['\(second)']\n",
                ["api.test exact: a", "b.test exact: b"]
            ),
            ("a: 1\n---\nhosts:\n  api.test:\n    pins: [\(hexadecimal)]\n", ["api.test exact: a"]),
            (
                "hosts:\n  api.test: {pins: [\(first)], expirationDate: 2027-01-01, enforcePinning: false}\n",
                ["api.test exact report 1798761600: a"]
            ),
        ])
    func yaml(_ text: String, _ expected: [String]) throws {
        #expect(try rules(text) == expected)
        #expect(PinDialect.recognized(in: Array(text.utf8)) == .map)
        for path in ["values.yaml", "a.YML"] {
            let search = PinSearch(
                Array(text.utf8).span, path: path, name: path, at: Date(timeIntervalSince1970: 1_780_272_000))
            #expect(search.dialects == [.map], "\(search.problems)")
            #expect(Set(search.sightings.compactMap(\.host)).count == expected.count)
        }
    }

    @Test(
        "What isn't a pin, has no host, or isn't in the values is an error in YAML too",
        arguments: [
            ("api.test:\n- sha256/\(first)\n- sha256/TODO\n", "isn't a pin"),
            (
                "default: &d\n- sha256/\(first)\nhosts:\n  api.test: [sha256/\(second)]\n",
                "no host is known for this pin"
            ),
            ("api.test: [sha256/\(first)]\nb.test: []\n", ""),
        ])
    func refusedYAML(_ text: String, _ message: String) {
        do throws(PolicyFileError) {
            let reading = try PinDialect.map.read(Array(text.utf8), path: "values.yaml")
            #expect(message.isEmpty && reading.notes.contains { $0.rule == .pinsNothing }, "\(reading.policy.rules)")
        } catch {
            #expect(!message.isEmpty && error.problems.contains { $0.message.contains(message) }, "\(error)")
        }
    }

    @Test("The Base64 of a pin may begin with a slash", arguments: ["=", ""])
    func slash(padding: String) throws {
        let pin = "/+9iUAsKOxXPsvbFadtstHthc0mCTEUaSPr9ezecPUs" + padding
        for prefix in ["sha256/", "sha256//"] {
            let rules = try PinDialect.map.read(Array("{\"a.test\": [\"\(prefix)\(pin)\"]}".utf8), path: "x").policy
                .rules
            #expect(rules.map { $0.pins.map { $0.value.first } } == [[0xFF]], "\(prefix)\(pin)")
        }
    }

    @Test(
        "Each shape has its hosts, pins and settings",
        arguments: [
            (
                "react-native-ssl-public-key-pinning",
                """
                const BACKUP = '\(second)';
                await initializeSslPinning({
                  // 'x.test': { publicKeyHashes: ['\(first)'] },
                  'api.test': {
                    includeSubdomains: true, publicKeyHashes: ['\(first)', BACKUP], expirationDate: '2030-01-01',
                  },
                  "pay.test": { publicKeyHashes: [BACKUP] },
                } as const);
                """, ["api.test exactAndBelow 1893456000: a b", "pay.test exact: b"]
            ),
            (
                "react-native-ssl-manager", #"{"sha256Keys": {"api.test": ["sha256/\#(first)", "sha256/\#(second)"]}}"#,
                ["api.test exactAndBelow: a b"]
            ),
            (
                "react-native-ssl-pinning",
                "fetch(`https://api.test:8443/a?b`, { pkPinning: true, sslPinning: { certs: [\"sha256/\(first)\"] } })",
                ["api.test exact: a"]
            ),
            (
                "approov", #"{"pins":{"public-key-sha256":{"*.api.test":["\#(first)"],"pay.test":["\#(second)"]}}}"#,
                ["api.test oneLabelBelow: a", "pay.test exact: b"]
            ),
            (
                "a team's own file, with a switch",
                #"{"_roots":{"\#(first)":"Root"},"enforcePinning":false,"#
                    + #""domains":{"api.test":{"hashes":["\#(first)"],"notes":"n"}}}"#,
                ["api.test exact report: a"]
            ),
            (
                "settings beside the pins",
                """
                {"sha256Keys": {"api.test": ["sha256/\(first)"], "pay.test": ["sha256/\(second)"]},
                 "domains": {"pay.test": {"enforcePinning": false, "expirationDate": "2030-01-01"}}}
                """, ["api.test exactAndBelow: a", "pay.test exactAndBelow report 1893456000: b"]
            ),
            (
                "names of a team's own, and a date in a constant",
                """
                const END = "2030-01-01";
                export default { load: async () => { await init({
                  'api.test': { primary: '\(first)', backup: ['\(second)'], expires: END },
                }); } };
                """, ["api.test exact 1893456000: a b"]
            ),
            (
                "http_certificate_pinning",
                """
                await HttpCertificatePinning.check(serverURL: 'https://api.test', headerHttp: {}, sha: SHA.SHA256,
                  allowedSHAFingerprints: _prints, timeout: 60);
                static const List<String> _prints = ['\(colons)'];
                """, ["api.test exact: Ca"]
            ),
            (
                "a Swift configuration",
                "let pins = SSLPins(publicKeyHashes: [\"\(first)\"], pinnedHosts: [\"api.test\", \"pay.test\"])",
                ["api.test exact: a", "pay.test exact: a"]
            ),
            (
                "a list of objects",
                #"export const PINS = [{ host: "api.test", pins: ["\#(first)"] }, "#
                    + #"{ host: "pay.test", pin: "sha256/\#(second)" }];"#,
                ["api.test exact: a", "pay.test exact: b"]
            ),
            (
                "hosts whose labels are words, and other settings",
                #"{"download.images.test":{"pins":["\#(first)"],"ignoreSubdomains":true,"warnExpiry":"soon"},"#
                    + #""app.example.io":["\#(second)"]}"#,
                ["download.images.test exact: a", "app.example.io exact: b"]
            ),
            (
                "hexadecimal digits", #"{ "api.test": { "spki": "\#(hexadecimal)", "enabled": false } }"#,
                ["api.test exact off: a"]
            ),
            (
                "constants in several steps",
                """
                const Hosts = { api: 'api.test' };
                const ROOTS = ['\(first)'];
                const pins: Record<string, string[]> = { [Hosts.api]: [...ROOTS, '\(second)'] };
                export default { pinning: pins };
                """, ["api.test exact: a b"]
            ),
            (
                "Objective-C", "NSDictionary *pins = @{ @\"api.test\": @[ @\"\(first)\", @\"\(second)\" ] };",
                ["api.test exact: a b"]
            ),
            (
                "an address and joined strings",
                "pins = { '192.0.2.1': ['sha256/' + '\(first)'], 'api' + '.test': ['sha256/\(second)'] }",
                ["192.0.2.1 exact: a", "api.test exact: b"]
            ),
        ] as [(String, String, [String])])
    func shapes(what: String, text: String, expected: [String]) throws {
        #expect(try rules(text) == expected, "\(what)")
        #expect(PinDialect.recognized(in: Array(text.utf8)) == .map, "\(what)")
    }

    @Test(
        "What isn't a literal, a pin without a host and a text that isn't a pin are errors at their positions",
        arguments: [
            ("({ [hostname]: { publicKeyHashes: ['\(first)'] } })", "1:4: \"hostname\" isn't set to a host"),
            ("({ 'api.test': { pins: [config.hash] } })", "1:25: \"config.hash\" isn't set to one value"),
            ("({ 'api.test': { pins: [hash()] } })", "1:25: this pin isn't a literal"),
            ("let p = 'a'; p = 'b'; ({ 'api.test': { pins: [p] } })", "1:47: \"p\" isn't set to one value"),
            ("({ 'api.test': { pins: ['sha256/XXXX'] } })", "1:25: \"sha256/XXXX\" isn't a pin"),
            ("({ 'api.test': { pins: ['sha256/\(first)', 'later'] } })", "\"later\" isn't a pin"),
            ("({ 'a.test': ['\(first)'], 'b.test': dev ? [] : x })", "the pins of \"b.test\" aren't literals"),
            ("({ 'a.test': ['\(first)'], 'b.test': IMPORTED })", "the pins of \"b.test\" aren't literals"),
            ("({ 'a.test': { pins: x ? ['\(first)'] : [] } })", "1:22: these pins aren't literals"),
            ("({ 'a.test': { host: other, pins: ['\(first)'] } })", "no host is known for this pin"),
            ("({ hosts: ['a.test', 'b'], pins: ['\(first)'] })", "1:22: \"b\" isn't a host"),
            ("({ 'a.test': ['sha256:\(first)'] })", "isn't a pin"),
            ("({ 'a.test': ['sha1/AAAA'] })", "isn't a pin"),
            ("({ pins: ['\(first)'] })", "1:11: no host is known for this pin"),
            ("({ [HOST]: ['\(first)'], 'api.test': ['\(second)'] })", "\"HOST\" isn't set to a host"),
            ("final p = { Env.host: ['\(first)'], 'api.test': ['\(second)'] };", "\"Env.host\" isn't set to a host"),
            ("({ host: 'api.test', pins: ['\(first)'], url: 'https://b.test' })", "\"url\" names other hosts"),
            ("({ url: 'https://b.test', host: 'api.test', pins: ['\(first)'] })", "\"host\" names other hosts"),
            ("({ 'api.test': [{ pin: '\(first)', role: 'leaf' }] })", "\"role\" is a setting of a policy"),
            ("({ 'api.test': { expires: 'soon', pins: ['\(first)'] } })", "1:27: \"expires\" isn't a literal"),
            ("({ 'api.test': { includeSubdomains: a.b, pins: ['\(first)'] } })", "1:37: \"includeSubdomains\" isn't"),
            ("({ 'api.test': 'sha256/48:D4', 'b.test': ['\(first)'] })", "1:16: \"sha256/48:D4\" isn't a pin"),
            (
                "({ k: { 'api.test': ['\(first)'] }, d: { 'api.test': { expires: now() } } })",
                "\"expires\" isn't a literal"
            ),
            (
                "{ \"api.test\": [\"\(first)\"], \"api.test\": [\"\(second)\"] }",
                "1:65: \"api.test\" is a key of this object twice"
            ),
            ("{ \"bücher.test\": [\"\(first)\"] }", "is not ASCII: use its A-label, xn--bcher-kva.test"),
            ("({ 'пример.test': { pins: ['\(first)'] }, 'b.test': ['\(second)'] })", "is not ASCII: use its A-label"),
            ("({ 'api.test': ['\(first)'], 'api.test': [] })", "\"api.test\" is a key of this object twice"),
            ("({ 'api.test': { pins: ['\(first)'], pins: ['\(second)'] } })", "\"pins\" is a key of this object twice"),
            ("({ pins: { 'a.test': ['\(first)'] }, pins: { 'b.test': ['\(second)'] } })", "\"pins\" is a key of"),
            ("({ 'a.test': ['\(first)'], ...extra })", "what is merged into these hosts isn't known"),
            ("({ 'a.test': ['\(first)'], ...require('./more') })", "what is merged into these hosts isn't known"),
            ("const P = ['\(first)']; const m = { 'a.test': P }; m['b.test'] = P;", "changes the pins of \"b.test\""),
            (
                "const P = ['\(first)']; const m = { 'a.test': P }; m['a.test'].push(Q)",
                "changes the pins of \"a.test\""
            ),
            ("const P = ['\(first)']; const m = { 'a.test': P }; m.set('b.test', P)", "changes the pins of \"b.test\""),
            (
                "const L = ['\(first)']; L.unshift(B); const m = { 'a.test': L, 'b.test': ['\(second)'] };",
                "\"a.test\" aren't"
            ),
            (
                "const L = ['\(first)']; L[1] = B; const m = { 'a.test': L, 'b.test': ['\(second)'] };",
                "\"a.test\" aren't"
            ),
            ("const m = { 'a.test': ['\(first)'] }; delete m['a.test'];", "changes the pins of \"a.test\""),
            ("const m = { 'a.test': ['\(first)'] }; Object.assign(m, extra)", "1:92: what is merged into"),
            ("const m = { 'a.test': ['\(first)'] }; Object.assign(m, {}, load('x'))", "what is merged into"),
            ("final m = { 'a.test': ['\(first)'] }; m.addAll(remote);", "the program changes these hosts"),
            ("var m = [\"a.test\": [\"\(first)\"]]\nm.merge(remote) { $1 }", "2:1: the program changes these hosts"),
            ("const m = [{ host: 'a.test', pins: ['\(first)'] }]; m.length = 0;", "the program changes these hosts"),
            ("let m = [\"a.test\": [\"\(first)\"]]\nm[\"a.test\"] = nil", "changes the pins of \"a.test\""),
            ("({ 'api.test': { pins: ['\(first)'] }, 'api.test': { pins: ['\(first)'] } })", "object twice"),
            ("const p = { 'api.test': ['\(first)'] }; p['api.test'].push('sha256/\(second)');", "no host is known"),
            ("const a = { x: b }; const b = { 'api.test': { pins: [a] } };", "isn't a literal"),
            ("{ \"api.test\": 1 }", "1:1: nothing is pinned here"), ("", "1:1: nothing is pinned here"),
        ])
    func unreadable(text: String, message: String) {
        let error = #expect(throws: PolicyFileError.self) {
            try PinDialect.map.read(Array(text.utf8), path: "x")
        }
        let found = (error?.problems ?? []).map { "\($0.location.line):\($0.location.column): \($0.message)" }
        #expect(found.contains { $0.contains(message) }, "\(found)")
    }

    @Test(
        "Pins that a program refuses aren't accepted ones",
        arguments: ["revoked", "blocked", "revokedPins", "blacklist", "pins-denied", "Deny_List", "rejected"])
    func refusedPins(key: String) throws {
        let text = "({ 'api.test': { pins: ['\(Self.first)'], '\(key)': ['\(Self.second)'] } })"
        let error = #expect(throws: PolicyFileError.self) { try PinDialect.map.read(Array(text.utf8), path: "x") }
        #expect(error?.problems.contains { $0.message.hasPrefix("these pins may be ones that") } == true, "\(error)")
        let empty = "({ 'api.test': { pins: ['\(Self.first)'], '\(key)': [] } })"
        #expect(try PinDialect.map.read(Array(empty.utf8), path: "x").policy.rules.map(\.pins.count) == [1])
    }

    @Test("A mode that only reports, or is off, is kept", arguments: [("report", PinningMode.report), ("off", .off)])
    func modes(text: String, mode: PinningMode) throws {
        for source in [
            "({ 'api.test': { mode: '\(text)', pins: ['\(Self.first)'] } })",
            "({ mode: '\(text)', 'api.test': ['\(Self.first)'] })",
            "({ domains: [{ host: 'api.test', pins: ['\(Self.first)'], mode: '\(text)' }] })",
        ] {
            let rules = try PinDialect.map.read(Array(source.utf8), path: "x").policy.rules
            #expect(rules.map(\.mode) == [mode], "\(source)")
        }
        let other = "({ 'api.test': { mode: 'publickey', pins: ['\(Self.first)'] } })"
        #expect(try PinDialect.map.read(Array(other.utf8), path: "x").policy.rules.map(\.mode) == [.enforce])
    }

    @Test(
        "A constant that contains itself ends there",
        arguments: [
            "const a = { 'h.test': a }; f(a)",
            "const a = { 'h.test': { 'h.test': a, 'b.test': [a] }, enabled: a }; f(a)",
            "const a = { [a]: b, 'h.test': b }; const b = { 'h.test': a, [b]: a, url: a }; f(a, b)",
            "const a = [a, b]; const b = { 'h.test': [...a, a], host: [a, b], pins: a }; f({ 'h.test': b })",
        ])
    func recursion(text: String) {
        let found = PinMapReader.search(Array(text.utf8))
        #expect(found.stray.isEmpty)
        let error = #expect(throws: PolicyFileError.self) { try PinDialect.map.read(Array(text.utf8), path: "x") }
        #expect((error?.problems.count ?? 0) < 20)
    }

    @Test(
        "A setting of a policy, which a map would drop, is an error",
        arguments: [
            "'require': ['leaf', 'root']", "ports: [443]", "anchors: { system: true }", "onExpiry: 'fail'",
            "certificateTransparency: 'require'", "localAnchorsBypassPins: true",
        ])
    func policySettings(setting: String) {
        for text in [
            "const policy = { domains: [{ host: 'api.test', \(setting), pins: ['\(Self.first)'] }] }",
            "({ 'api.test': { \(setting), pins: ['\(Self.first)'] } })",
            "({ \(setting), unlisted: 'refuse', 'api.test': ['\(Self.first)'] })",
        ] {
            let error = #expect(throws: PolicyFileError.self) { try PinDialect.map.read(Array(text.utf8), path: "x") }
            #expect(error?.problems.contains { $0.message.contains("is a setting of a policy") } == true, "\(text)")
        }
    }

    @Test(
        "A constant with hosts as keys isn't a host, and its pins are read wherever it is named",
        arguments: [
            "const pins = ['\(first)']; const map = { 'a.test': pins }; export default { x: [{ domains: map }] }",
            "const pins = ['\(first)']; const map = { 'a.test': pins }; configure({ host: map })",
            "const map = { 'a.test': ['\(first)'] }; f(map, { other: 1 })",
            "const hosts = ['a.test']; export default { domains: hosts, pins: ['\(first)'] }",
        ])
    func hostConstants(text: String) throws {
        #expect(try rules(text) == ["a.test exact: a"])
        // The settings around the constant are those of its hosts.
        let outer = "const map = { 'a.test': ['\(Self.first)'] }; f({ includeSubdomains: true, domains: map })"
        #expect(try rules(outer) == ["a.test exactAndBelow: a"])
    }

    @Test(
        "Digests of packages, images, files and SSH keys aren't pins",
        arguments: [
            #"{"packages":{"a.test":{"resolved":"https://npm.test/a","sha256":"\#(hexadecimal)"}}}"#,
            #"{"packages":{"a.test":{"integrity":["\#(first)"]}}}"#,
            #"[{"type":"archive","url":"https://files.test/a.zip","sha256":"\#(hexadecimal)"}]"#,
            #"{"image":"registry.test/a@sha256:\#(hexadecimal)"}"#,
            #"{"host":"git.test","fingerprint":"SHA256:\#(first.dropLast())"}"#,
            #"{"a.min.js":"\#(hexadecimal)","files":["\#(hexadecimal)"]}"#,
            #"{"api.test":{"token":"\#(first)"},"pay.test":{"apiKey":"x","client_secret":"\#(second)"}}"#,
            #"{"api.test":{"privateKey":"\#(first)","certificateKey":"\#(second)"}}"#,
            #"{"hostname":"api.test","known-pins":["\#(first)"],"validated-certificate-chain":["x"]}"#,
            "function f(a, b) { if (a) { return { b: [1, 2] }; } else { return '\(first)'; } }",
            // Keys of tunnels.
            #"{"servers":[{"hostname":"a.example.com","host":"192.0.2.1","public_key":"\#(first)"}]}"#,
        ])
    func others(text: String) {
        let found = PinMapReader.search(Array(text.utf8))
        #expect(!found.isMap && found.stray.isEmpty)
    }

    @Test("The fingerprint of Electron's certificates isn't that of a key, whatever its prefix says")
    func electron() throws {
        let text = """
            const request = { hostname: 'a.example.com', certificate: { serialNumber: '01', validStart: 1,
              validExpiry: 2, fingerprint: 'sha256/\(Self.first)' } };
            """
        let rule = try #require(try PinDialect.map.read(Array(text.utf8), path: "a.ts").policy.rules.first)
        #expect(rule.pins.map(\.content) == [.certificate])
    }

    @Test("A host with an empty list is noted, and a note says how each host was understood")
    func notes() throws {
        let text = #"{"pins":{"api.test":["\#(Self.first)"],"pay.test":[]}}"#
        let notes = try PinDialect.map.read(Array(text.utf8), path: "x").notes
        #expect(notes.map(\.direction) == [.unchanged, .weaker])
        #expect(notes.first?.message == "api.test was understood as a host with 1 pin, without subdomains")
        #expect(notes.last?.rule == .pinsNothing && notes.last?.location?.column == 70)
    }

    @Test("A host that is listed twice is written once, with the pins of both")
    func writtenOnce() throws {
        let text = "a({ 'api.test': ['\(Self.first)'] }); b({ 'api.test': ['\(Self.second)'] })"
        let policy = try PinDialect.map.read(Array(text.utf8), path: "x").policy
        let (converted, _) = policy.converted(to: .map, at: .now)
        let bytes = try PinDialect.map.write(converted)
        #expect(String(decoding: bytes, as: UTF8.self).ranges(of: "\"api.test\"").count == 1)
        #expect(try PinDialect.map.read(bytes, path: "x").policy.rules.map(\.pins.count) == [2])
    }

    @Test("A host that is listed twice is noted, because a program may use one of the lists")
    func alternatives() throws {
        let text =
            "if (dev) { init({ 'api.test': ['\(Self.first)'] }) }\n"
            + "else { init({ 'api.test': ['\(Self.second)'] }) }"
        let reading = try PinDialect.map.read(Array(text.utf8), path: "x")
        #expect(reading.policy.rules.count == 2)
        #expect(reading.notes.map(\.change) == [.quirk, .quirk, .combinationChanged])
        #expect(reading.notes.last?.direction == .weaker && reading.notes.last?.location?.line == 2)
    }

    @Test("Among hosts with pins, one with an empty list is noted as one that isn't pinned")
    func empty() throws {
        for text in [
            "{ \"a.test\": [\"\(Self.first)\"], \"b.test\": [] }", "({ 'b.test': [], 'a.test': '\(Self.first)' })",
            "({ 'a.test': { pins: ['\(Self.first)'] }, 'b.test': { pins: [] } })",
            "({ 'a.test': ['\(Self.first)'], 'b.test': {} })", "({ 'a.test': ['\(Self.first)'], 'b.test': null })",
            "({ 'a.test': ['\(Self.first)'], 'b.test': '' })", "({ 'a.test': ['\(Self.first)'], 'b.test': ['TODO'] })",
            "{ \"b.test\": \"TODO\", \"a.test\": [\"\(Self.first)\"], \"b.test.\": \"\" }",
            "({ 'a.test': ['\(Self.first)'], 'b.test': { includeSubdomains: true } })",
        ] {
            let reading = try PinDialect.map.read(Array(text.utf8), path: "x")
            let weaker = reading.notes.filter { $0.direction == .weaker }
            #expect(weaker.map(\.rule) == [.pinsNothing] && reading.policy.rules.count == 1, "\(text)")
            #expect(weaker.first?.message.hasPrefix("b.test has no pins") == true, "\(text)")
        }
        for other in [
            "({ 'a.test': { pins: ['\(Self.first)'] }, paths: { 'b.test': [] } })",
            "({ 'a.test': { pins: ['\(Self.first)'] }, domains: { 'a.test': { includeSubdomains: true } } })",
        ] {
            #expect(try PinDialect.map.read(Array(other.utf8), path: "x").notes.map(\.direction) == [.unchanged])
        }
    }

    @Test("A constant with a pin that no host has is noted")
    func unused() throws {
        let text =
            "const A = 'sha256/\(Self.first)'; const B = 'sha256/\(Self.second)'; const C = 'x';\n"
            + "const pins = { 'api.test': [A] }; use(B);"
        let notes = try PinDialect.map.read(Array(text.utf8), path: "x").notes
        #expect(
            notes.filter { $0.direction == .weaker }.map(\.message) == [
                "no host has the pin \"B\" here, so it wasn't read"
            ])
        let all = text.replacing("[A]", with: "[A, B]")
        #expect(try PinDialect.map.read(Array(all.utf8), path: "x").notes.map(\.direction) == [.unchanged])
    }

    @Test(
        "A port after a host is no part of it, which a finding says",
        arguments: [
            "({ 'api.test:8443': ['{}'] })", "({ 'https://api.test:8443/v1': ['{}'] })",
            "({ url: 'https://api.test:8443', pins: ['{}'] })", "fetch('https://api.test:8443', { pins: ['{}'] })",
            "const H = 'api.test:8443'; ({ [H]: ['{}'] })",
        ])
    func ports(form: String) throws {
        let text = form.replacing("{}", with: Self.first)
        let reading = try PinDialect.map.read(Array(text.utf8), path: "x")
        #expect(reading.policy.rules.map(\.ports) == [nil])
        #expect(
            reading.notes.filter { $0.rule == .misreadSetting }.map(\.message) == [
                "the pins of api.test count for every port, not only 8443"
            ])
        let plain = try PinDialect.map.read(Array(text.replacing(":8443", with: "").utf8), path: "x")
        #expect(plain.notes.allSatisfy { $0.rule == nil })
    }

    @Test(
        "A program that changes its map, or uses what a function makes of it, is refused",
        arguments: [
            "const p = {P}; for (const h in p) delete p[h];",
            "const p = {P}; Object.keys(p).forEach(h => { delete p[h] })",
            "const p = {P}; Reflect.deleteProperty(p, 'a.test')", "const p = {P}; p.api.host = 'b.test'",
            "const p = { api: {P} }; p.api.enabled = false", "const p = { api: {P} }; p.api.pins.shift()",
            "const p = { api: {P} }; delete p.api", "const p = [{P}]; p[0].pins = []",
            "const p = [{P}]; p[0]['pins'] = []",
            "const p = [{P}].filter(x => x.on)", "use({P}.map(f))", "const p = [\n  {P},\n]\n  .filter(f);",
            "final p = {P}..removeWhere((k, v) => true);", "final p = {P}..['a.test'] = [];",
            "NSMutableDictionary *m = @{P}; [m setObject:@[] forKey:@\"a.test\"];",
            "NSMutableDictionary *m = @{P}; [m removeAllObjects];", "var p = {P}\np.removeValue(forKey: \"a.test\")",
        ])
    func changes(form: String) {
        let text = form.replacing("{P}", with: "{ host: 'a.test', pins: ['sha256/\(Self.first)'] }")
        let error = #expect(throws: PolicyFileError.self) { try PinDialect.map.read(Array(text.utf8), path: "x") }
        #expect(error?.problems.contains { $0.message.hasPrefix("the program changes these hosts") } == true, "\(text)")
    }

    @Test("One of several values, and a switch around the hosts, are noted")
    func choices() throws {
        let map = "{ 'a.test': ['sha256/\(Self.first)'] }"
        for (form, isNoted) in [
            ("const p = dev ? {} : {P}", true), ("const p = on && {P}", true), ("const p = x ?? {P}", true),
            ("let p = {P}; if (dev) p = {}", true), ("({ pins: dev ? null : {P} })", true),
            ("({ enabled: false, tls: {P} })", true), ("const p = {P}; const r = dev ? 1 : 2", false),
            ("f(a?: string); const p = {P}", false), ("const x = dev ? 1 : 2, p = {P}", false),
            ("({ enabled: true, tls: {P} })", false), ("const x = a?.b; const p = {P}", false),
        ] {
            let text = form.replacing("{P}", with: map)
            let notes = try PinDialect.map.read(Array(text.utf8), path: "x").notes
            #expect(notes.contains { $0.rule == .misreadSetting } == isNoted, "\(text): \(notes.map(\.message))")
        }
    }

    @Test("Comments nest in Dart and Swift, and not in JavaScript")
    func comments() throws {
        let text = "x = { 'a.test': ['\(Self.first)'] /* a /* b */, 'b.test': ['\(Self.second)'] /* */ }"
        for (path, count) in [("x.js", 2), ("x.ts", 2), ("x.m", 2)] {
            #expect(try PinDialect.map.read(Array(text.utf8), path: path).policy.rules.count == count, "\(path)")
        }
        let nested = "x = { 'a.test': ['\(Self.first)'] /* a /* b */, 'b.test': ['\(Self.second)'] */ }"
        for path in ["x.dart", "X.swift"] {
            #expect(try PinDialect.map.read(Array(nested.utf8), path: path).policy.rules.count == 1, "\(path)")
        }
    }

    @Test("Programs that only read a map, or whose keys differ, are read as they are")
    func readAccess() throws {
        for (text, count) in [
            (
                "const m = { 'a.test': ['\(Self.first)'] }; use(m['a.test']); "
                    + "if (m['a.test'] == x) { m['a.test'].map(f) }",
                1
            ),
            ("const m = { 'a.test': ['\(Self.first)'] }; const f = p => p === 'sha256/\(Self.second)';", 1),
            ("const m = { 'a.test': ['\(Self.first)'] }; Object.assign(m, { 'b.test': ['\(Self.second)'] });", 2),
            ("({ 'a.test:8443': ['\(Self.first)'], 'a.test:443': ['\(Self.second)'] })", 2),
            ("({ expo: { ...config, pins: { 'a.test': ['\(Self.first)'] } } })", 1),
            (
                "const m = { 'a.test': ['\(Self.first)'] }; const n = { 'b.test': ['\(Self.second)'] };"
                    + "Object.assign(m, n); Object.assign(target, m, options);", 2
            ),
            ("const m = [{ host: 'a.test', pins: ['\(Self.first)'] }]; for (i = 0; i < m.length; i++) f(m[i])", 1),
            (
                "const m = { 'a.test': ['\(Self.first)'] }; module.exports.pins = m; this.config.pins = m;"
                    + "const q = m['a.test'].map(f); if (m['a.test'].includes(x)) f(); const n = [1, 2].filter(f)", 1
            ),
            ("let m = [\"a.test\": [\"\(Self.first)\"]]\nlet s = Session(pins: m)\ns.start()\nx.y = m", 1),
            ("const P = { 'b.test': ['\(Self.second)'] }; ({ 'a.test': ['\(Self.first)'], ...P })", 2),
        ] {
            #expect(try PinDialect.map.read(Array(text.utf8), path: "x").policy.rules.count == count, "\(text)")
        }
    }

    @Test("A switch of another object doesn't turn pins off")
    func switches() throws {
        let text = #"{"enabled":false,"analytics":{"disabled":true},"tls":{"api.test":{"pins":["\#(Self.first)"]}}}"#
        #expect(try rules(text) == ["api.test exact: a"])
    }

    @Test("A written map is read as the same policy")
    func written() throws {
        let text = #"{"api.test":{"includeSubdomains":true,"publicKeyHashes":["\#(Self.first)","\#(Self.second)"]}}"#
        let policy = try PinDialect.map.read(Array(text.utf8), path: "x").policy
        let (converted, notes) = policy.converted(to: .map, at: .now)
        let again = try PinDialect.map.read(try PinDialect.map.write(converted), path: "x").policy
        #expect(notes.isEmpty && policy.differences(in: again).isEmpty)
    }

    @Test("Nested and broken texts end soon, without a trap")
    func hostile() {
        let parts = [
            "[", "{", "(", "{a:", "[\"a\":", "a=(", "x = {", "@{@", "'", "`${", "\\", "<", "/*", "...", "[...", "=>",
            "{[a]:",
        ]
        for part in parts {
            for (count, end) in [(5_000, ""), (300, "'\(Self.first)'")] {
                _ = PinMapReader.search(Array((String(repeating: part, count: count) + end).utf8))
            }
        }
        _ = PinMapReader.search(Array(("x = { a: " + String(repeating: "new ", count: 100_000)).utf8))
        // Constants of constants multiply.
        let names = (0..<15).map { "const c\($0) = { a: c\($0 + 1), b: c\($0 + 1), c: c\($0 + 1), d: c\($0 + 1) };" }
        let multiplied = names.joined(separator: "\n") + "init({ 'api.test': c0 });"
        #expect(throws: PolicyFileError.self) { try PinDialect.map.read(Array(multiplied.utf8), path: "x") }
        let dictionary = names.joined(separator: "\n") + "init({ TSKPinnedDomains: { 'a.com': c0 } });"
        #expect(throws: PolicyFileError.self) { try PinDialect.trustkit.read(Array(dictionary.utf8), path: "x") }
        // What is behind the limit could have pins.
        let map = "({ 'api.test': { pins: ['\(Self.first)'] } });"
        let deep = map + String(repeating: "x = (", count: 2_000)
        let error = #expect(throws: PolicyFileError.self) { try PinDialect.map.read(Array(deep.utf8), path: "x") }
        #expect(error?.description.contains("nested too deeply") == true)
    }
}

/// TrustKit's and Apple's dictionaries in programs.
@Suite("Dictionaries of pins in source code")
struct SourceDictionaryTests {
    private static let first = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
    private static let second = "ICEiIyQlJicoKSorLC0uLzAxMjM0NTY3ODk6Ozw9Pj8="

    @Test(
        "TrustKit's dictionary in Swift and Objective-C is read as TrustKit reads a property list",
        arguments: [
            """
            let config: [String: Any] = [
                kTSKSwizzleNetworkDelegates: true,
                kTSKPinnedDomains: ["api.example.com": [
                    kTSKEnforcePinning: false, kTSKIncludeSubdomains: true, kTSKExpirationDate: "2030-01-01",
                    kTSKPublicKeyAlgorithms: [kTSKAlgorithmRsa2048],
                    kTSKPublicKeyHashes: ["\(first)", "\(second)"],
                ]],
            ] as [String: Any]
            """,
            """
            [TrustKit initializeWithConfiguration:@{ kTSKPinnedDomains: @{ @"api.example.com": @{
                kTSKEnforcePinning: @NO, kTSKIncludeSubdomains: @YES, kTSKExpirationDate: @"2030-01-01",
                kTSKPublicKeyHashes: @[@"\(first)", @"\(second)"] } } }];
            """,
            """
            static NSString *const kBackup = @"\(second)";
            NSDictionary *config = @{ kTSKSwizzleNetworkDelegates: @NO,
              kTSKPinnedDomains : @{ @"api.example.com" : @{ kTSKEnforcePinning : @NO, kTSKIncludeSubdomains : @YES,
                kTSKExpirationDate: @"2030-01-01", kTSKPublicKeyHashes : @[ @"\(first)", kBackup ] } } };
            """,
        ])
    func trustKit(text: String) throws {
        let bytes = Array(text.utf8)
        #expect(PinDialect.recognized(in: bytes) == .trustkit)
        let rule = try #require(try PinDialect.trustkit.read(bytes, path: "x.swift").policy.rules.first)
        #expect(rule.mode == .report && rule.patterns == [HostPattern("api.example.com", .exactAndBelow)])
        #expect(rule.pins.map(\.value[0]) == [0, 0x20] && rule.expiry != nil)
    }

    @Test(
        "An expression, a key given twice and two dictionaries are errors",
        arguments: [
            ("[kTSKPinnedDomains: [host: [kTSKPublicKeyHashes: [\"\(first)\"]]]]", "\"host\" isn't set to one value"),
            ("[kTSKPinnedDomains: [\"a.com\": [kTSKPublicKeyHashes: hashes()]]]", "\"hashes()\" isn't a literal"),
            ("[kTSKPinnedDomains: [\"a.com\": domain(hashes)]]", "\"domain(hashes)\" isn't a literal"),
            ("{ TSKPinnedDomains: { ...(a ? {} : b) } }", "the members that are spread here aren't literals"),
            (
                "[kTSKPinnedDomains: [\"a.com\": [kTSKEnforcePinning: true, kTSKEnforcePinning: false]]]",
                "\"TSKEnforcePinning\" appears twice"
            ),
            (
                "const a = { TSKIncludeSubdomains: true }; "
                    + "init({ TSKPinnedDomains: { 'a.com': { ...a, TSKIncludeSubdomains: false } } })",
                "\"TSKIncludeSubdomains\" appears twice"
            ),
            ("f([kTSKPinnedDomains: [:]]); f([kTSKPinnedDomains: [:]])", "several dictionaries have the key"),
            ("let x = kTSKPinnedDomains", "no dictionary has the key TSKPinnedDomains"),
        ])
    func unreadable(text: String, message: String) {
        let error = #expect(throws: PolicyFileError.self) {
            try PinDialect.trustkit.read(Array(text.utf8), path: "x.swift")
        }
        #expect(error?.problems.contains { $0.message.contains(message) } == true, "\(error?.problems ?? [])")
    }

    @Test("Apple's dictionary in the configuration of an app is read as the system reads it")
    func apple() throws {
        let json =
            #"{"expo":{"ios":{"infoPlist":{"NSAppTransportSecurity":{"NSPinnedDomains":{"api.test":{"#
            + #""NSIncludesSubdomains":true,"NSPinnedCAIdentities":[{"SPKI-SHA256-BASE64":"\#(Self.first)"}]}}}}}}}"#
        var program = json.replacing("\"SPKI-SHA256-BASE64\"", with: "'SPKI-SHA256-BASE64'")
        for key in ["expo", "ios", "infoPlist", "NSPinnedDomains", "NSIncludesSubdomains"] {
            program = program.replacing("\"\(key)\"", with: key)
        }
        for text in [json, "export default \(program);"] {
            let bytes = Array(text.utf8)
            #expect(PinDialect.recognized(in: bytes) == .apple)
            let rule = try #require(try PinDialect.apple.read(bytes, path: "app.config.js").policy.rules.first)
            #expect(rule.patterns == [HostPattern("api.test", .exactAndOneLabelBelow)])
            #expect(rule.pins.map(\.role) == [.ca])
        }
    }
}
