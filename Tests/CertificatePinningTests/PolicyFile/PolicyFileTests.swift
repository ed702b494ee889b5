import CertificatePinning
import CertificateTrust
import FoundationEssentials
import Testing

@Suite("Policy files")
struct PolicyFileTests {
    static let pinA = "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
    static let pinB = "sha256/diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI="
    static let certificatePin = "cert-sha256/lrzsBiZJdvN0YHeazyjFp8/o/Cq4RqP/O4FwL3fCMXY="
    static let suffixes = PublicSuffixes(list: Array("com\nuk\nco.uk\n".utf8))

    static func read(_ text: String, path: String = "pins.jsonc") throws -> PolicyFile {
        try PolicyFile(bytes: Array(text.utf8), path: path, publicSuffixes: suffixes)
    }

    /// Returns the problems of a text, each as the line that a user sees. The list is empty for a valid policy.
    static func problems(_ text: String, path: String = "pins.jsonc") -> [String] {
        do throws(PolicyFileError) {
            _ = try PolicyFile(bytes: Array(text.utf8), path: path, publicSuffixes: suffixes)
            return []
        } catch {
            return error.problems.map(\.description)
        }
    }

    /// Returns the text of a file with one rule that has these members.
    static func rule(_ members: String, top: String = "") -> String {
        "{ \"version\": 1, \(top) \"domains\": [\n{ \(members) }\n] }"
    }

    @Test("The smallest policy is read with its defaults")
    func smallest() throws {
        let pins = #""pins": ["\#(Self.pinA)", "\#(Self.pinB)"]"#
        let policy = try Self.read(Self.rule(#""host": "api.example.com", \#(pins)"#)).policy
        #expect(policy.unlisted == .trust)
        let rule = try #require(policy.rules.first)
        #expect(policy.rules.count == 1)
        #expect(rule.host == (try ServerName("api.example.com")))
        #expect(!rule.includesSubdomains && rule.ports == nil && rule.anchors == nil && rule.note == nil)
        #expect(rule.requirement == .any && rule.mode == .enforce)
        #expect(rule.pins.map(\.fingerprint.description) == [Self.pinA, Self.pinB])
        #expect(rule.pins.allSatisfy { $0.role == .any && !$0.isBackup && $0.name == nil })
        #expect(rule.location == PolicyLocation(path: "pins.jsonc", line: 2, column: 1))
    }

    @Test("Every key of a policy file is read")
    func everyKey() throws {
        let file = try Self.read(
            """
            // The policy of a shop.
            {
              "$schema": "https://example.com/policy-1.json",
              "version": 1,
              "x-owner": { "team": ["payments"] },
              "unlisted": "refuse",
              "include": [],
              "deny": [{ "pin": "\(Self.pinB)", "role": "root" }],
              "pins": {
                "api-2026": "\(Self.pinA)",
                "spare": { "pin": "\(Self.pinB)", "role": "leaf", "backup": true, "note": "HSM slot 3", "x-slot": 3,
                  "from": "spare.csr" },
                "x-remark": "no pin",
              },
              "domains": [
                {
                  "host": "Shop.Example.COM", "subdomains": true, "ports": [443, 8443],
                  "pins": ["api-2026", "spare", "\(Self.certificatePin)", { "pin": "\(Self.pinA)", "role": "ca" }],
                  "require": ["leaf", "ca"], "mode": "report", "anchors": "system", "note": "since May",
                  "expires": "2027-03-31", "onExpiry": "stop-pinning", "localAnchorsBypassPins": true,
                  "reports": ["https://reports.example.net/pins"],
                  "check": { "targets": ["shop.example.com:8443"], "keys": "both", "allAddresses": true, \
            "starttls": "smtp",
                    "requireGroup": "X25519MLKEM768" },
                  "x-anything": null, /* and a comma */
                },
                { "host": "2001:DB8::1", "pins": ["spare"], "require": "any", "mode": "off" },
              ],
              "exports": [{ "to": "trustkit", "file": "ios/TrustKit.plist" }],
              "releases": ["git:v5.*:pins/pins.jsonc"],
            }
            """)
        #expect(file.policy.unlisted == .refuse)
        let rule = try #require(file.policy.rules.first)
        #expect(rule.host.description == "shop.example.com")
        #expect(rule.includesSubdomains && rule.ports == [443, 8443] && rule.mode == .report)
        #expect(rule.requirement == .eachOf([.leaf, .ca]))
        #expect(rule.anchors != nil)
        #expect(rule.note == "since May")
        #expect(rule.pins.map(\.name) == ["api-2026", "spare", nil, nil])
        #expect(rule.pins.map(\.role) == [.any, .leaf, .any, .ca])
        #expect(rule.pins.map(\.isBackup) == [false, true, false, false])
        #expect(rule.pins[1].note == "HSM slot 3")
        #expect(rule.pins[2].fingerprint.description == Self.certificatePin)
        #expect(file.policy.rules[1].host.description == "2001:db8::1")
        #expect(file.policy.rules[1].mode == .off)
        #expect(file.policy.deny.map(\.fingerprint.description) == [Self.pinB])
        #expect(file.policy.deny.map(\.role) == [.root])
        #expect(rule.pins[1].from == "spare.csr")
        #expect(rule.expiry == (try PinningExpiry("2027-03-31", then: .stopPinning)))
        #expect(rule.pinsApplyOnlyUnder != nil)
        #expect(rule.reports.map(\.absoluteString) == ["https://reports.example.net/pins"])
        #expect(rule.check.targets == ["shop.example.com:8443"] && rule.check.keys == .both)
        #expect(rule.check.allAddresses == true && rule.check.startTLS == "smtp")
        #expect(rule.check.requiredGroup == "X25519MLKEM768")
        #expect(file.exports.map(\.target) == ["trustkit"])
        #expect(file.exports.map(\.file) == ["ios/TrustKit.plist"])
        #expect(file.releases == ["git:v5.*:pins/pins.jsonc"])
        let other = file.policy.rules[1]
        #expect(other.expiry == nil && other.pinsApplyOnlyUnder == nil && other.reports.isEmpty)
        #expect(other.check.targets.isEmpty && other.check.keys == nil)
        #expect(other.check.allAddresses == nil && other.check.startTLS == nil)
        #expect(other.check.requiredGroup == nil)
    }

    /// Values of every JSON type, and for each key the ones that it accepts.
    @Test(
        "PE13: every key accepts only values of its own type",
        arguments: [
            ("top", "$schema", ["\"s\""]), ("top", "unlisted", []), ("top", "pins", ["{}"]),
            ("rule", "subdomains", ["true", "false"]), ("rule", "ports", ["[7]"]), ("rule", "pins", []),
            ("rule", "require", []), ("rule", "mode", []), ("rule", "anchors", []), ("rule", "note", ["\"s\""]),
            ("rule", "x-free", ["\"s\"", "true", "false", "0", "1", "7.5", "null", "{}", "[]", "[7]"]),
            ("pin", "role", []), ("pin", "backup", ["true", "false"]), ("pin", "note", ["\"s\""]),
            ("pin", "file", []), ("pin", "pin", []),
        ] as [(String, String, [String])])
    func types(place: String, key: String, accepted: [String]) {
        for value in ["\"s\"", "true", "false", "0", "1", "7.5", "null", "{}", "[]", "[7]"] {
            let member = #""\#(key)": \#(value)"#
            let host = #""host": "a.test""#
            let pins = key == "pins" && place == "rule" ? "" : #""pins": ["\#(Self.pinA)"],"#
            let pin = key == "pin" ? "" : #""pin": "\#(Self.pinA)","#
            let text =
                switch place {
                case "top": Self.rule("\(pins) \(host)", top: "\(member),")
                case "pin": Self.rule(#"\#(host), "pins": [{ \#(pin) \#(member) }]"#)
                default: Self.rule("\(host), \(pins) \(member)")
                }
            #expect(Self.problems(text).isEmpty == accepted.contains(value), "\(key): \(value)")
        }
    }
}
