import CertificatePinning
import Testing

/// Tests of the problems that a user sees for a file that isn't a valid policy. Rows have the column of the problem in
/// line 2, where the rule is located, and the message.
@Suite("Policy file problems")
struct PolicyProblemTests {
    private typealias File = PolicyFileTests

    @Test(
        "PE13: an invalid value for a key of a rule is reported at its position",
        arguments: [
            (
                #""mode": "enforced""#, 61,
                #""mode" must be "enforce", "report" or "off", found "enforced": did you mean "enforce"?"#
            ),
            (
                #""mode": "Report""#, 61,
                #""mode" must be "enforce", "report" or "off", found "Report": did you mean "report"?"#
            ),
            (#""mode": "none""#, 61, #""mode" must be "enforce", "report" or "off", found "none""#),
            (#""subdomains": "false""#, 67, #""subdomains" must be true or false, found a string"#),
            (#""subdomains": 1"#, 67, #""subdomains" must be true or false, found a number"#),
            (#""require": "all""#, 64, #""require" must be "any", found "all""#),
            (
                #""require": ["leafs"]"#, 65,
                #"an element of "require" must be "leaf", "intermediate", "root", "ca" or "any", found "leafs": "#
                    + #"did you mean "leaf"?"#
            ),
            (#""require": []"#, 64, #""require" is empty: add at least 1 element"#),
            (
                #""require": ["root"]"#, 64,
                "the rule for a.test requires a match as root, but none of its pins can have that role: add one"
            ),
            (#""ports": [0]"#, 63, #"an element of "ports" must be a whole number from 1 to 65535, found 0"#),
            (#""ports": [65536]"#, 63, #"an element of "ports" must be a whole number from 1 to 65535, found 65536"#),
            (#""ports": [443.0]"#, 63, #"an element of "ports" must be a whole number from 1 to 65535, found 443.0"#),
            (
                #""ports": ["443"]"#, 63,
                #"an element of "ports" must be a whole number from 1 to 65535, found a string"#
            ),
            (#""ports": []"#, 62, #""ports" is empty: add at least 1 element"#),
            (#""anchors": {}"#, 64, #""anchors" lists no roots: add "files", or "system": true"#),
            (#""anchors": { "system": false }"#, 64, #""anchors" lists no roots: add "files", or "system": true"#),
            (#""anchors": { "files": [] }"#, 75, #""files" is empty: add at least 1 element"#),
            (#""anchors": "none""#, 64, #""anchors" must be "system", found "none""#),
            (#""includeSubdomain": true"#, 53, #"unknown key "includeSubdomain": did you mean "subdomains"?"#),
            (#""subdomain": true"#, 53, #"unknown key "subdomain": did you mean "subdomains"?"#),
            (#""Note": """#, 53, #"unknown key "Note": did you mean "note"?"#),
            (#""a\n\u202e": """#, 53, #"unknown key "a\u{A}\u{202E}": remove it, or start it with x-"#),
        ])
    func values(member: String, column: Int, message: String) {
        let top = #""pins": { "one": { "pin": "\#(File.pinA)", "role": "leaf" } },"#
        let text = File.rule(#""host": "a.test", "pins": ["one"],                \#(member)"#, top: top)
        #expect(File.problems(text) == ["pins.jsonc:2:\(column): error: \(message)"])
    }

    @Test(
        "An invalid value for a key of the file, a rule or a pin is reported",
        arguments: [
            ("top", #""include": "roots.jsonc""#, "\"include\" must be an array"),
            ("top", #""deny": [7]"#, "an element of \"deny\" must be a string or an object"),
            ("top", #""deny": ["sha256/AAAA"]"#, "has 3 bytes, but SHA-256 has 32"),
            ("top", #""deny": ["nobody"]"#, "no pin is named \"nobody\""),
            ("top", #""exports": [{ "to": "trustkit" }]"#, "an element of \"exports\" has no \"file\": add it"),
            ("top", #""releases": [{}]"#, "an element of \"releases\" must be a string"),
            ("rule", #""expires": 2027, "onExpiry": "fail""#, "\"expires\" must be a string"),
            ("rule", #""expires": "2026-02-30", "onExpiry": "fail""#, "\"2026-02-30\" isn't a date: write a day"),
            ("rule", #""expires": "2027-01-01T00:00:00", "onExpiry": "fail""#, "isn't a date"),
            ("rule", #""expires": "0000-01-01", "onExpiry": "fail""#, "isn't a date"),
            ("rule", #""expires": "31.12.2027", "onExpiry": "fail""#, "isn't a date"),
            ("rule", #""expires": "", "onExpiry": "fail""#, "isn't a date"),
            ("rule", #""expires": "2027-01-01""#, "\"expires\" requires \"onExpiry\": add it, with \"fail\""),
            ("rule", #""onExpiry": "fail""#, "\"onExpiry\" requires \"expires\": add a date, or remove it"),
            (
                "rule", #""expires": "2027-01-01", "onExpiry": "open""#,
                "must be \"fail\", \"report\" or \"stop-pinning\""
            ),
            ("rule", #""localAnchorsBypassPins": 1"#, "must be true or false"),
            ("rule", #""reports": "https://r.test""#, "\"reports\" must be an array"),
            ("rule", #""reports": ["http://r.test"]"#, "\"http://r.test\" can't receive reports: write an https URL"),
            ("rule", #""reports": ["r.test"]"#, "can't receive reports"),
            ("rule", #""reports": ["https:///x"]"#, "can't receive reports"),
            ("rule", #""reports": ["https://A.test:8443/x"]"#, "is covered by the rule for a.test"),
            ("rule", #""subdomains": true, "reports": ["https://r.a.test"]"#, "is covered by the rule for a.test"),
            ("rule", #""check": { "keys": "dsa" }"#, "\"keys\" must be \"auto\", \"both\", \"rsa\" or \"ecdsa\""),
            ("rule", #""check": { "target": [] }"#, "did you mean \"targets\"?"),
            ("rule", #""check": { "starttls": "imapp" }"#, "did you mean \"imap\"?"),
            ("pin", #""from": 1"#, "\"from\" must be a string"),
            ("pin", #""name": "x""#, "unknown key \"name\": did you mean \"note\"?"),
            ("pin", #""label": "x""#, "unknown key \"label\": did you mean \"note\"?"),
            ("pin", #""Type": "leaf""#, "unknown key \"Type\": did you mean \"role\"?"),
            ("pin", #""certificate": "a.pem""#, "unknown key \"certificate\": did you mean \"file\"?"),
            ("rule", #""title": "x""#, "unknown key \"title\": did you mean \"note\"?"),
            ("rule", #""enforcePinning": true"#, "unknown key \"enforcePinning\": did you mean \"mode\"?"),
            ("rule", #""expiration": "2027-01-01""#, "unknown key \"expiration\": did you mean \"expires\"?"),
            ("rule", #""report-uri": "https://r.test""#, "unknown key \"report-uri\": did you mean \"reports\"?"),
            // A key that the object doesn't have isn't suggested.
            ("top", #""label": "x""#, "unknown key \"label\": remove it, or start it with x-"),
            ("rule", #""digest": "x""#, "unknown key \"digest\": remove it, or start it with x-"),
        ])
    func laterValues(place: String, member: String, message: String) {
        let pin = place == "pin" ? ", \(member)" : ""
        let rule = #""host": "a.test", "pins": [{ "pin": "\#(File.pinA)"\#(pin) }]"#
        let text = File.rule(
            rule + (place == "rule" ? ", \(member)" : ""), top: place == "top" ? "\(member)," : "")
        let problems = File.problems(text)
        #expect(problems.count == 1)
        #expect(problems.first?.contains(message) == true)
    }

    @Test(
        "A host must be a plain hostname or address",
        arguments: [
            "", ".", "https://a.test", "a.test:443", "*.a.test", "**.a.test", "a.test/", "a.test.", "192.0.2.1.",
            " a.test",
            "a..test", "-a.test", "bücher.test", "a.test\\u0000", "127.1", "0x7f.0.0.1", "[::1", "fe80::1%eth0",
            "user@a.test",
        ])
    func hosts(host: String) {
        let problems = File.problems(File.rule(#""host": "\#(host)", "pins": ["\#(File.pinA)"]"#))
        #expect(problems.count == 1)
        #expect(problems.allSatisfy { $0.hasPrefix("pins.jsonc:2:11: error: ") })
    }

    @Test("The advice for a U-label is to use the A-label, and for a trailing dot to remove it")
    func hostMessages() {
        let pins = #""pins": ["\#(File.pinA)"]"#
        #expect(
            File.problems(File.rule(#""host": "bücher.test", \#(pins)"#))[0].hasSuffix(
                "use its A-label, xn--bcher-kva.test"))
        #expect(File.problems(File.rule(#""host": "a.test.", \#(pins)"#))[0].hasSuffix("ends in a dot: remove the dot"))
    }

    @Test(
        "PE11: a malformed pin is an error that explains what it looks like",
        arguments: [
            ("sha256/AAAA", "has 3 bytes, but SHA-256 has 32"),
            ("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFrw==", "has 31 bytes"),
            ("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8MA", "has 33 bytes"),
            (
                "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M",
                "has 43 characters after sha256/, but a pin has 44: is the = at the end missing?"
            ),
            (
                "cert-sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFrM=",
                "has 43 characters after cert-sha256/, but a pin has 44: is one missing?"
            ),
            (
                "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8MM=",
                "has 45 characters after sha256/, but a pin has 44: is one too many?"
            ),
            (
                "sha256/C5+lpZ7tcVwmwQIMcR",
                "has 18 characters after sha256/, but a pin has 44: copy the whole pin again"
            ),
            ("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8N=", "isn't canonical base64"),
            ("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQz ejna0wHFr8M=", "isn't canonical base64"),
            ("sha256/", "has 0 characters after sha256/, but a pin has 44"),
            ("sha256/C5-lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "URL-safe"),
            ("sha256//C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "write \(PolicyFileTests.pinA)"),
            ("C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "write \(PolicyFileTests.pinA)"),
            (
                #"pin-sha256=\"C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=\""#, "write \(PolicyFileTests.pinA)"
            ),
            (
                "0b9fa5a59eed715c26c1020c711b4f6ec42d58b0015e14337a39dad301c5afc3", "write \(PolicyFileTests.pinA)"
            ),
            (
                "0B:9F:A5:A5:9E:ED:71:5C:26:C1:02:0C:71:1B:4F:6E:C4:2D:58:B0:01:5E:14:33:7A:39:DA:D3:01:C5:AF:C3",
                "write \(PolicyFileTests.pinA)"
            ),
            ("sha1/DmxUShsZuNiqPQsX2Oi9uv2sCnw=", "pins use SHA-256"), ("md5/DmxUShsZuNiqPQsX2Oi9uv2sCnw=", "pins use"),
            ("sha512/AAAA", "pins use SHA-256"), ("SHA256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "isn't a pin"),
            ("sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=\\u0000", "isn't canonical base64"),
            ("\\uFEFFsha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "isn't a pin"),
            ("sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "is the SHA-256 of empty input"),
            ("cert-sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=", "is the SHA-256 of empty input"),
            ("sha256/AbpHGcgLb+kRsJGnwFEktk7uzpZOCcBY74+YBdrKVGs=", "is the SHA-256 of a line end"),
            ("-----BEGIN EC PRIVATE KEY-----\\nMHcCAQEE", "no pin is named a private key"),
            ("nobody", "no pin is named \"nobody\""), ("ons", "did you mean \"one\"?"), ("", "no pin is named \"\""),
        ])
    func malformedPins(pin: String, message: String) {
        let top = #""pins": { "one": "\#(File.pinB)" },"#
        let inRule = File.problems(File.rule(#""host": "a.test", "pins": ["\#(pin)"]"#, top: top))
        #expect(inRule.count == 1)
        #expect(inRule[0].hasPrefix("pins.jsonc:2:30: error: ") && inRule[0].contains(message))
        let inObject = File.problems(File.rule(#""host": "a.test", "pins": [{ "pin": "\#(pin)" }]"#))
        #expect(inObject.count == 1)
    }

    @Test("A pin with both or neither of a pin and a file is rejected, and so is a name that could be a pin")
    func pinObjects() {
        let rows = [
            (#"{}"#, "this pin has neither \"pin\" nor \"file\": add one"),
            (#"{ "role": "leaf" }"#, "this pin has neither \"pin\" nor \"file\": add"),
            (#"{ "pin": "\#(File.pinA)", "file": "a.pem" }"#, "this pin has both \"pin\" and \"file\": remove one"),
            (#"{ "name": "one" }"#, "unknown key \"name\""),
        ]
        for (pin, message) in rows {
            let problems = File.problems(File.rule(#""host": "a.test", "pins": [\#(pin)]"#))
            #expect(problems.contains { $0.contains(message) })
        }
        for name in ["", "a/b", "sha256/x"] {
            let text = File.rule(
                #""host": "a.test", "pins": ["\#(File.pinA)"]"#, top: #""pins": { "\#(name)": "\#(File.pinB)" },"#)
            #expect(File.problems(text).map { $0.contains("a pin's name must not be empty") } == [true])
        }
    }

    @Test("A broken named pin is reported once, and not again where it is used")
    func brokenNamedPin() {
        let top = #""pins": { "one": "sha256/AAAA", "two": 7 },"#
        #expect(File.problems(File.rule(#""host": "a.test", "pins": ["one", "two"]"#, top: top)).count == 2)
    }

    @Test("A file without any text is reported as empty", arguments: ["", " \r\n\t\n"])
    func empty(text: String) {
        let problem = "pins.jsonc:1:1: error: the file is empty: write an object with \"version\" and \"domains\""
        #expect(File.problems(text) == [problem])
        #expect(File.problems(text + "// none") != [problem])
    }

    @Test("A misspelled key is reported once, and not again as a missing key")
    func misspelled() {
        let pins = #""pins": ["\#(File.pinA)"]"#
        #expect(
            File.problems(#"{ "version": 1, "domain": [{ "host": "a.test", \#(pins) }] }"#)
                == ["pins.jsonc:1:17: error: unknown key \"domain\": did you mean \"domains\"?"])
        #expect(
            File.problems(File.rule(#""hots": "a.test", \#(pins)"#))
                == ["pins.jsonc:2:3: error: unknown key \"hots\": did you mean \"host\"?"])
        #expect(
            File.problems(#"{ "version": 1, "rules": [] }"#) == [
                "pins.jsonc:1:1: error: the policy has no \"domains\": add it",
                "pins.jsonc:1:17: error: unknown key \"rules\": remove it, or start it with x-",
            ])
    }

    @Test("PE13: a second rule for the same host and port is an error that names the first")
    func overlap() {
        let pins = #""pins": ["\#(File.pinA)"]"#
        let text = """
            { "version": 1, "domains": [
              { "host": "A.test", \(pins) },
              { "host": "b.test", "ports": [443, 8443], \(pins) },
              { "host": "a.test", "subdomains": true, \(pins) },
              { "host": "b.test", "ports": [8443], \(pins) },
              { "host": "b.test", "ports": [9443], \(pins) } ] }
            """
        let advice = "covers the same port: give each rule different ports, or merge them"
        #expect(
            File.problems(text) == [
                "pins.jsonc:4:13: error: another rule for a.test at pins.jsonc:2:3 \(advice)",
                "pins.jsonc:5:13: error: another rule for b.test at pins.jsonc:3:3 \(advice)",
            ])
    }

    @Test(
        "PE14: a rule for subdomains of a public suffix or of an address is rejected",
        arguments: ["com", "co.uk", "192.0.2.1"])
    func subdomains(host: String) {
        let text = File.rule(#""subdomains": true, "host": "\#(host)", "pins": ["\#(File.pinA)"]"#)
        let problems = File.problems(text)
        #expect(problems.count == 1)
        #expect(problems[0].hasPrefix("pins.jsonc:2:17: error: \(host) is "))
        #expect(File.problems(text.replacing("true", with: "false")).isEmpty)
    }

    @Test("All problems of a file are reported in one run, in file order")
    func allProblems() {
        let text = """
            {
              "unlisted": "maybe",
              "pins": { "a": "sha256/AAAA", "a": "\(File.pinA)" },
              "domains": [
                { "host": "a.test.", "pins": [] },
                { "pins": ["nobody"], "ports": [99999] },
                7
              ],
              "domain": []
            }
            """
        #expect(
            File.problems(text).map { $0.split(separator: " ")[0] } == [
                "pins.jsonc:1:1:", "pins.jsonc:2:15:", "pins.jsonc:3:18:", "pins.jsonc:3:33:", "pins.jsonc:5:15:",
                "pins.jsonc:5:34:", "pins.jsonc:6:5:", "pins.jsonc:6:16:", "pins.jsonc:6:37:", "pins.jsonc:7:5:",
                "pins.jsonc:9:3:",
            ])
    }

    @Test("Ten different mistakes are ten errors, each with its position and remedy")
    func tenMistakes() {
        let text = """
            {
              "version": 1, "verison": 1,
              "include": ["../roots.jsonc"],
              "deny": ["sha256/AAAA"],
              "domains": [
                { "host": "https://a.test", "pins": ["\(File.pinA)"] },
                { "host": "b.test", "pins": [], "mode": "enfroce" },
                { "host": "com", "subdomains": true, "pins": ["\(File.pinA)"], "expires": "2027-06-31", \
            "onExpiry": "fail" },
                { "host": "c.test", "pins": ["\(File.pinA)"], "reports": ["https://c.test/report"] },
                { "host": "d.test", "pins": ["\(File.pinA)"], "onExpiry": "report" },
              ],
            }
            """
        let problems = File.problems(text)
        #expect(
            problems.map { $0.split(separator: " ")[0] } == [
                "pins.jsonc:2:17:", "pins.jsonc:3:15:", "pins.jsonc:4:12:", "pins.jsonc:6:15:", "pins.jsonc:7:33:",
                "pins.jsonc:7:45:", "pins.jsonc:8:36:", "pins.jsonc:8:118:", "pins.jsonc:9:102:", "pins.jsonc:10:102:",
            ])
        // The remedy follows the last colon.
        #expect(problems.allSatisfy { $0.split(separator: ": ").count >= 4 })
    }

    @Test("At most a thousand problems of a file are listed, and the others are counted")
    func manyProblems() {
        let ports = [String](repeating: "0", count: 5000).joined(separator: ",")
        let problems = File.problems(File.rule(#""host": "a.test", "pins": ["\#(File.pinA)"], "ports": [\#(ports)]"#))
        #expect(problems.count == 1001)
        #expect(problems.last == "pins.jsonc: error: 4000 more problems: fix those above first")
    }

    @Test("A file with the extension .json is read as strict JSON")
    func strictJSON() {
        let text = File.rule(#""host": "a.test", "pins": ["\#(File.pinA)",]"#)
        #expect(File.problems(text, path: "pins.jsonc").isEmpty)
        #expect(File.problems(text, path: "pins.json").count == 1)
        #expect(File.problems(text, path: "PINS.JSON").count == 1)
        #expect(File.problems(File.rule(#""host": "a.test", "pins": ["\#(File.pinA)"]"#), path: "pins.json").isEmpty)
    }

    @Test("No prefix and no changed byte of a policy causes a trap, and no prefix is a policy")
    func mutations() {
        let bytes = Array(
            File.rule(
                #""host": "a.test", "ports": [443], "pins": ["one", { "pin": "\#(File.pinA)", "role": "ca" }]"#,
                top: #""pins": { "one": "\#(File.pinB)" },"#
            ).utf8)
        func reads(_ bytes: [UInt8]) -> Bool {
            (try? PolicyFile(bytes: bytes, path: "p", publicSuffixes: PolicyFileTests.suffixes)) != nil
        }
        #expect(reads(bytes))
        for end in 0..<bytes.count { #expect(!reads(Array(bytes[..<end]))) }
        for index in bytes.indices {
            for byte in [0x00, 0x0A, 0x20, 0x22, 0x2C, 0x2F, 0x30, 0x5B, 0x5C, 0x7D, 0x80, 0xFF] as [UInt8] {
                var changed = bytes
                changed[index] = byte
                _ = reads(changed)
            }
        }
    }
}
