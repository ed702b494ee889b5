import CertificatePinning
import CertificateTrust
import Foundation
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Lock-outs by a signed policy")
struct PolicyLockoutTests {
    enum Outcome: String {
        /// No server that was accepted can be refused.
        case none
        /// A server can be refused, which the policies don't show.
        case possible
        /// No server that was accepted is accepted.
        case certain
    }

    /// Two policies for `api.test`, in which `@A` to `@D` are pins.
    struct Row: CustomTestStringConvertible {
        let testDescription: String
        let before: String
        let after: String
        let outcome: Outcome

        init(_ title: String, _ before: String, _ after: String, _ outcome: Outcome) {
            (testDescription, self.before, self.after, self.outcome) = (title, before, after, outcome)
        }

        /// A row for changed members of the rule for `api.test` with the pins A and B.
        init(rule title: String, _ before: String, _ after: String, _ outcome: Outcome, top: String = "") {
            self.init(title, top + Self.rule(before), top + Self.rule(after), outcome)
        }

        static func rule(_ members: String, host: String = "api.test") -> String {
            let pins = members.contains("\"pins\"") ? "" : #", "pins": ["@A", "@B"]"#
            let more = members.isEmpty ? "" : ", \(members)"
            return #""domains": [{ "host": "\#(host)"\#(more)\#(pins) }, { "host": "w.test", "pins": ["@A", "@B"] }]"#
        }
    }

    private let site: PinctlSite
    private let directory: TestDirectory
    private let keySet: String
    private let pins: [String: String]

    init() throws {
        site = try PinctlSite()
        directory = site.directory
        let key = try TestKey(.ed25519)
        _ = try directory.add(key.privateKeyPEM, name: "signer.key")
        keySet = try directory.add(
            """
            { "version": 1, "audience": "a", "number": 1, "threshold": 1,
              "keys": ["\(Data(try key.publicKeyDER).base64EncodedString())"] }
            """, name: "keys.json")
        _ = try directory.add(site.intermediate.pemText, name: "below.pem")
        let renewed = try TestCertificate.root("Test Root", key: site.root.key) { $0.notAfter += 86_400 }
        _ = try directory.add(renewed.pemText, name: "renewed.pem")
        for name in ["new", "more"] {
            _ = try directory.add(TestCertificate.root("Root \(name)").pemText, name: "\(name).pem")
        }
        let known = try site.intermediate.leaf("known.test", key: site.leaf.key)
        _ = try directory.add(known.pemText, name: "known.pem")
        let unknown = try site.intermediate.leaf("unknown.test", key: site.leaf.key)
        _ = try directory.add(unknown.pemText, name: "unknown.pem")
        pins = [
            "@A": try site.leaf.key.pin, "@B": try site.intermediate.key.pin, "@C": unknownPin,
            "@D": try TestKey().pin, "@E": try Self.pin(of: known), "@F": try Self.pin(of: unknown),
        ]
    }

    /// Returns the pin of a whole certificate.
    private static func pin(of certificate: TestCertificate) throws -> String {
        try "\(X509Certificate(derBytes: certificate.derBytes).fingerprint)"
    }

    private func sign(_ policy: String, _ flags: [String], to output: String) async throws -> Run {
        let text = pins.reduce(#"{ "version": 1, \#(policy) }"#) { $0.replacing($1.key, with: $1.value) }
        let file = try directory.add(text, name: "\(output).jsonc")
        return await pinctl(
            ["sign", file, "--keys", keySet, "--key", "\(directory.path)/signer.key"] + flags
                + ["-o", "\(directory.path)/\(output).json"])
    }

    static let rows: [Row] = [
        Row(rule: "nothing", "", "", .none),
        Row(rule: "a note and reports", "", #""note": "n", "reports": ["https://reports.example/"]"#, .none),
        // Pins.
        Row(rule: "a pin added", #""pins": ["@A"]"#, #""pins": ["@A", "@B"]"#, .none),
        Row(rule: "a pin removed", #""pins": ["@A", "@B"]"#, #""pins": ["@A"]"#, .possible),
        Row(
            rule: "a backup removed", #""pins": ["@A", { "pin": "@C", "backup": true }]"#,
            #""pins": ["@A", { "pin": "@D", "backup": true }]"#, .possible),
        Row(
            rule: "a backup removed, and no other added", #""pins": ["@A", { "pin": "@C", "backup": true }]"#,
            #""pins": ["@A"]"#, .possible),
        Row(
            rule: "a backup of a required role removed",
            #""require": ["ca"], "pins": [{ "pin": "@B", "role": "ca" }, "#
                + #"{ "pin": "@C", "role": "ca", "backup": true }]"#,
            #""require": ["ca"], "pins": [{ "pin": "@B", "role": "ca" }]"#, .possible),
        Row(
            rule: "a backup in use", #""pins": ["@A", { "pin": "@C", "backup": true }]"#, #""pins": ["@A", "@C"]"#,
            .none),
        Row(
            rule: "a backup removed in mode report",
            #""mode": "report", "pins": ["@A", { "pin": "@C", "backup": true }]"#,
            #""mode": "report", "pins": ["@A"]"#, .none),
        // Roles of pins.
        Row(
            rule: "another role", #""pins": [{ "pin": "@A", "role": "leaf" }]"#,
            #""pins": [{ "pin": "@A", "role": "ca" }]"#, .certain),
        Row(
            rule: "another role of one pin",
            #""pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@B", "role": "ca" }]"#,
            #""pins": [{ "pin": "@A", "role": "ca" }, { "pin": "@B", "role": "ca" }]"#, .possible),
        Row(
            rule: "a role that is part of the one before", #""pins": ["@A"]"#,
            #""pins": [{ "pin": "@A", "role": "leaf" }]"#, .possible),
        Row(
            rule: "a narrower CA role", #""pins": [{ "pin": "@B", "role": "ca" }]"#,
            #""pins": [{ "pin": "@B", "role": "root" }]"#, .possible),
        Row(
            rule: "a wider role of a pin", #""pins": [{ "pin": "@A", "role": "leaf" }]"#, #""pins": ["@A"]"#, .none),
        Row(
            rule: "a role split into its parts", #""pins": [{ "pin": "@B", "role": "ca" }]"#,
            #""pins": [{ "pin": "@B", "role": "root" }, { "pin": "@B", "role": "intermediate" }]"#, .none),
        // Certificates. @E is a certificate with the key @A, which the anchors contain, and @F one that isn't known.
        Row(rule: "the key of a certificate", anchored(#""@E""#), anchored(#""@A""#), .none),
        Row(
            rule: "the key of a certificate as leaf", anchored(#"{ "pin": "@E", "role": "leaf" }"#),
            anchored(#"{ "pin": "@A", "role": "leaf" }"#), .none),
        Row(
            rule: "the key of a certificate in another role", anchored(#"{ "pin": "@E", "role": "leaf" }"#),
            anchored(#"{ "pin": "@A", "role": "root" }"#), .certain),
        Row(rule: "another key than a certificate's", anchored(#""@E""#), anchored(#""@B""#), .certain),
        Row(rule: "the certificate of a key", anchored(#""@A""#), anchored(#""@E""#), .possible),
        Row(
            rule: "the key of a certificate beside another pin", anchored(#""@E", "@B""#), anchored(#""@A", "@B""#),
            .none),
        Row(
            rule: "the key of an unknown certificate", #""pins": ["@F"]"#, #""pins": ["@A"]"#, .certain),
        Row(
            "the key of a denied certificate denied", #""deny": ["@E"], "# + Row.rule(anchored(#""@B""#)),
            #""deny": ["@A"], "# + Row.rule(anchored(#""@B""#)), .possible),
        Row(
            "the certificate of a denied key denied", #""deny": ["@A"], "# + Row.rule(anchored(#""@B""#)),
            #""deny": ["@E"], "# + Row.rule(anchored(#""@B""#)), .none),
        Row(rule: "all pins replaced", "", #""pins": ["@C", "@D"]"#, .certain),
        Row(
            rule: "all pins replaced, and a role required", "",
            #""require": ["leaf"], "pins": [{ "pin": "@C", "role": "leaf" }, { "pin": "@D", "role": "leaf" }]"#,
            .certain),
        Row(
            rule: "all pins of a required role replaced",
            #""require": ["leaf", "ca"], "pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@B", "role": "ca" }]"#,
            #""require": ["leaf", "ca"], "pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@C", "role": "ca" }]"#,
            .certain),
        Row(
            rule: "pins of a role that isn't required any more",
            #""require": ["leaf", "ca"], "pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@B", "role": "ca" }]"#,
            #""pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@C", "role": "ca" }]"#, .none),
        // Required roles.
        Row(rule: "roles required", "", #""require": ["leaf", "ca"]"#, .possible),
        Row(rule: "a role more", #""require": ["leaf"]"#, #""require": ["leaf", "ca"]"#, .possible),
        Row(rule: "a role less", #""require": ["leaf", "ca"]"#, #""require": ["leaf"]"#, .none),
        Row(rule: "no role any more", #""require": ["leaf", "ca"]"#, "", .none),
        Row(rule: "a narrower role", #""require": ["ca"]"#, #""require": ["intermediate"]"#, .possible),
        Row(rule: "a wider role", #""require": ["intermediate"]"#, #""require": ["ca"]"#, .none),
        Row(
            rule: "the only role of the pins",
            #""pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@C", "role": "leaf" }]"#,
            #""require": ["leaf"], "pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@C", "role": "leaf" }]"#,
            .none),
        // Modes.
        Row(rule: "report to enforce", #""mode": "report""#, "", .possible),
        Row(rule: "off to enforce", #""mode": "off""#, "", .possible),
        Row(rule: "off to report", #""mode": "off""#, #""mode": "report""#, .none),
        Row(rule: "enforce to report", "", #""mode": "report""#, .none),
        Row(rule: "other pins in mode report", #""mode": "report""#, #""mode": "report", "pins": ["@C", "@D"]"#, .none),
        // Anchors.
        Row(
            rule: "anchors replaced", #""anchors": { "files": ["root.pem"] }"#, #""anchors": { "files": ["new.pem"] }"#,
            .certain),
        Row(
            rule: "anchors replaced in mode report", #""mode": "report", "anchors": { "files": ["root.pem"] }"#,
            #""mode": "report", "anchors": { "files": ["new.pem"] }"#, .certain),
        Row(
            rule: "anchors replaced by a CA below", #""anchors": { "files": ["root.pem"] }"#,
            #""anchors": { "files": ["below.pem"] }"#, .possible),
        Row(
            rule: "an anchor renewed", #""anchors": { "files": ["root.pem"] }"#,
            #""anchors": { "files": ["renewed.pem"] }"#, .possible),
        Row(
            rule: "an anchor removed", #""anchors": { "files": ["root.pem", "more.pem"] }"#,
            #""anchors": { "files": ["root.pem"] }"#, .possible),
        Row(
            rule: "an anchor added", #""anchors": { "files": ["root.pem"] }"#,
            #""anchors": { "files": ["root.pem", "more.pem"] }"#, .none),
        Row(
            rule: "the system's anchors added", #""anchors": { "files": ["root.pem"] }"#,
            #""anchors": { "files": ["root.pem"], "system": true }"#, .none),
        Row(rule: "own anchors", "", #""anchors": { "files": ["root.pem"] }"#, .possible),
        Row(rule: "no own anchors any more", #""anchors": { "files": ["root.pem"] }"#, "", .possible),
        // Certificate Transparency.
        Row(rule: "timestamps required", "", #""certificateTransparency": "require""#, .possible),
        Row(
            rule: "timestamps required in mode off", #""mode": "off""#,
            #""mode": "off", "certificateTransparency": "require""#, .possible),
        Row(
            rule: "timestamps required, before reported", #""certificateTransparency": "report""#,
            #""certificateTransparency": "require""#, .possible),
        Row(rule: "an exemption removed", #""certificateTransparency": "ignore""#, "", .possible),
        Row(rule: "timestamps not required any more", #""certificateTransparency": "require""#, "", .none),
        Row(rule: "an exemption", "", #""certificateTransparency": "ignore""#, .none),
        // Local roots.
        Row(rule: "local roots bypass the pins", "", #""localAnchorsBypassPins": true"#, .none),
        Row(rule: "local roots don't bypass the pins any more", #""localAnchorsBypassPins": true"#, "", .certain),
        // Expiry.
        Row(rule: "an end", "", #""expires": "2027-06-30", "onExpiry": "fail""#, .certain),
        Row(
            rule: "an earlier end", #""expires": "2027-06-30", "onExpiry": "fail""#,
            #""expires": "2027-05-31", "onExpiry": "fail""#, .certain),
        Row(
            rule: "a later end", #""expires": "2027-06-30", "onExpiry": "fail""#,
            #""expires": "2027-07-31", "onExpiry": "fail""#, .none),
        Row(rule: "no end any more", #""expires": "2027-06-30", "onExpiry": "fail""#, "", .none),
        Row(
            rule: "an end with another effect", #""expires": "2027-06-30", "onExpiry": "stop-pinning""#,
            #""expires": "2027-06-30", "onExpiry": "fail""#, .certain),
        Row(
            rule: "an end with less effect", #""expires": "2027-06-30", "onExpiry": "fail""#,
            #""expires": "2027-06-30", "onExpiry": "report""#, .none),
        Row(rule: "pins for longer", #""expires": "2027-06-30", "onExpiry": "stop-pinning""#, "", .possible),
        Row(
            rule: "pins until a later day", #""expires": "2027-06-30", "onExpiry": "report""#,
            #""expires": "2027-07-31", "onExpiry": "report""#, .possible),
        Row(rule: "pins until a day", "", #""expires": "2027-06-30", "onExpiry": "stop-pinning""#, .none),
        // Ports.
        Row(rule: "a port added", #""ports": [443]"#, #""ports": [443, 8443]"#, .possible),
        Row(rule: "all ports", #""ports": [443]"#, "", .possible),
        Row(rule: "a port removed", #""ports": [443, 8443]"#, #""ports": [443]"#, .none),
        Row(
            rule: "a port removed, and refused", #""ports": [443, 8443]"#, #""ports": [443]"#, .certain,
            top: #""unlisted": "refuse", "#),
        Row(
            rule: "one port left, and others refused", "", #""ports": [443]"#, .certain, top: #""unlisted": "refuse", "#
        ),
        Row(
            "ports left to a parent with other pins",
            #""domains": [{ "host": "v1.api.test", "pins": ["@A"] },"#
                + #"{ "host": "api.test", "subdomains": true, "pins": ["@C"] }]"#,
            #""domains": [{ "host": "v1.api.test", "ports": [443], "pins": ["@A"] },"#
                + #"{ "host": "api.test", "subdomains": true, "pins": ["@C"] }]"#, .certain),
        // Names below.
        Row(rule: "subdomains", "", #""subdomains": true"#, .possible),
        Row(rule: "no subdomains any more", #""subdomains": true"#, "", .none),
        Row(
            rule: "no subdomains any more, and refused", #""subdomains": true"#, "", .certain,
            top: #""unlisted": "refuse", "#),
        // Hosts.
        Row("a rule added", Row.rule("", host: "www.test"), rules("www.test", "w.test", "api.test"), .possible),
        Row(
            "a rule that only reports added", Row.rule("", host: "www.test"),
            #""domains": [{ "host": "www.test", "pins": ["@A", "@B"] }, { "host": "w.test", "pins": ["@A", "@B"] }, "#
                + #"{ "host": "api.test", "mode": "report", "pins": ["@A", "@B"] }]"#, .none),
        Row("a rule removed", rules("www.test", "w.test", "api.test"), Row.rule("", host: "www.test"), .none),
        Row(
            "a rule with own anchors removed",
            #""domains": [{ "host": "www.test", "pins": ["@A", "@B"] }, { "host": "w.test", "pins": ["@A", "@B"] }, "#
                + #"{ "host": "api.test", "anchors": { "files": ["root.pem"] }, "pins": ["@A", "@B"] }]"#,
            Row.rule("", host: "www.test"), .possible),
        Row(
            "a rule removed, and refused", #""unlisted": "refuse", "# + rules("www.test", "w.test", "api.test"),
            #""unlisted": "refuse", "# + Row.rule("", host: "www.test"), .certain),
        Row(
            "a rule in mode report removed, and refused",
            #""unlisted": "refuse", "domains": [{ "host": "www.test", "pins": ["@A"] }, "#
                + #"{ "host": "w.test", "pins": ["@A"] }, "#
                + #"{ "host": "api.test", "mode": "report", "pins": ["@A", "@B"] }]"#,
            #""unlisted": "refuse", "# + Row.rule("", host: "www.test"), .certain),
        Row(
            "a rule added for a host that was refused", #""unlisted": "refuse", "# + Row.rule("", host: "www.test"),
            #""unlisted": "refuse", "# + rules("www.test", "w.test", "api.test"), .none),
        // Hosts without a rule, and denied pins.
        Row("unlisted refused", Row.rule(""), #""unlisted": "refuse", "# + Row.rule(""), .certain),
        Row("unlisted trusted", #""unlisted": "refuse", "# + Row.rule(""), Row.rule(""), .none),
        Row("a pin denied", Row.rule(""), #""deny": ["@C"], "# + Row.rule(""), .possible),
        Row(
            "a pin denied in more roles", #""deny": [{ "pin": "@C", "role": "leaf" }], "# + Row.rule(""),
            #""deny": ["@C"], "# + Row.rule(""), .possible),
        Row("a pin not denied any more", #""deny": ["@C"], "# + Row.rule(""), Row.rule(""), .none),
    ]

    private static func anchored(_ pins: String) -> String {
        #""anchors": { "files": ["root.pem", "known.pem"] }, "pins": [\#(pins)]"#
    }

    private static func rules(_ hosts: String...) -> String {
        let rules = hosts.map { #"{ "host": "\#($0)", "pins": ["@A", "@B"] }"# }
        return #""domains": [\#(rules.joined(separator: ", "))]"#
    }

    @Test("sign names every change after which a server can be refused, and only those", arguments: rows)
    func kinds(row: Row) async throws {
        let outcome = try await outcome(row)
        #expect(outcome.found == row.outcome, "\(outcome.run)")
    }

    private func outcome(_ row: Row) async throws -> (found: Outcome, run: Run) {
        let first = try await sign(row.before, [], to: "first")
        try #require(first.status == 0, "\(first)")
        let after = ["--after", directory.path + "/first.json"]
        let run = try await sign(row.after, after, to: "next")
        guard run.status == 1 else {
            try #require(run.status == 0, "\(run)")
            return (run.errors.contains("isn't known: check the servers with --servers") ? .possible : .none, run)
        }
        try #require(run.errors.contains(", or give --allow lockout"), "\(run)")
        let allowed = try await sign(row.after, after + ["--allow", "lockout"], to: "allowed")
        #expect(allowed.status == 0, "\(allowed)")
        return (.certain, run)
    }

    @Test("A pin in another role isn't called gone, and the roles are named")
    func roles() async throws {
        let first = try await sign(Row.rule(#""pins": [{ "pin": "@A", "role": "leaf" }]"#), [], to: "first")
        try #require(first.status == 0, "\(first)")
        let after = ["--after", directory.path + "/first.json"]
        let run = try await sign(Row.rule(#""pins": [{ "pin": "@A", "role": "ca" }, "@C"]"#), after, to: "next")
        let key = try site.leaf.key.pin
        #expect(
            run.errors.contains(
                "no pin of the bundle before is left in its role (\(key) is accepted as ca, before as leaf), so its"),
            "\(run)")
        let denied = try await sign(
            #""deny": [{ "pin": "@A", "role": "root" }], "# + Row.rule(#""pins": [{ "pin": "@A", "role": "leaf" }]"#),
            after, to: "denied")
        #expect(denied.status == 0 && denied.errors.contains("\(key) is in its chain as root, which"), "\(denied)")
    }

    @Test("A note about roles names that of each pin")
    func narrowed() async throws {
        let first = try await sign(Row.rule(#""pins": ["@A", { "pin": "@B", "role": "ca" }]"#), [], to: "first")
        try #require(first.status == 0, "\(first)")
        let run = try await sign(
            Row.rule(#""pins": [{ "pin": "@A", "role": "leaf" }, { "pin": "@B", "role": "ca" }]"#),
            ["--after", directory.path + "/first.json"], to: "next")
        let (leaf, authority) = (try site.leaf.key.pin, try site.intermediate.key.pin)
        #expect(
            run.errors.contains(
                "locked out unless it has the key of \(leaf) as leaf or the key of \(authority) as ca, which isn't"),
            "\(run)")
    }

    @Test("The key of a pinned certificate is recognized in a file that a pin comes from, and otherwise at the servers")
    func unknownCertificate() async throws {
        try await site.serve { server in
            func rule(_ pin: String, from file: String? = nil) -> String {
                let from = file.map { ", \"from\": \"\($0)\"" } ?? ""
                return
                    #""domains": [{ "host": "api.test", "ports": [\#(server.port)], "#
                    + #""pins": [{ "pin": "\#(pin)"\#(from) }], "check": { "targets": ["\#(server.target())"] } }]"#
            }
            let first = try await sign(rule("@F"), [], to: "first")
            try #require(first.status == 0, "\(first)")
            let after = ["--after", directory.path + "/first.json"]
            let unknown = try await sign(rule("@A"), after, to: "unknown")
            #expect(unknown.status == 1)
            #expect(
                unknown.errors.contains(
                    ", and whether \(try site.leaf.key.pin) is the key of \(pins["@F"] ?? "") isn't known: "
                        + "name the file"),
                "\(unknown)")
            let shown = try await sign(rule("@A", from: "unknown.pem"), after, to: "shown")
            #expect(shown.status == 0, "\(shown)")
            #expect(
                shown.errors.contains("weaker: \(pins["@F"] ?? "") is accepted by its key, \(try site.leaf.key.pin)"))
            #expect(!shown.errors.contains("isn't accepted any more"))
            let servers = after + ["--servers", "--ca-file", site.rootFile]
            let served = try await sign(rule("@A"), servers, to: "served")
            #expect(served.status == 0, "\(served)")
            let refused = try await sign(rule("@D"), servers, to: "refused")
            #expect(refused.status == 1 && refused.errors.contains("nothing is signed"), "\(refused)")
        }
    }

    @Test("Only the ports that rules for a name list are compared, and one more")
    func ports() throws {
        let rules = try (0..<300).map { index in
            try PinningRule(
                "h\(index).test", includesSubdomains: true, ports: index % 2 == 0 ? nil : [8000 + index],
                pins: [unknownPin])
        }
        let closer = try PinningRule("a.h0.test", ports: [1, 8443], pins: [unknownPin])
        let policy = try PinningPolicy(rules: rules + [closer])
        let samples = RuleSamples(of: policy, policy)
        #expect(
            rules.allSatisfy { rule in samples.names(of: rule).allSatisfy { samples.ports(of: rule, at: $0).count == 1 }
            })
        #expect(samples.ports(of: rules[0], at: closer.host) == [1, 8443, 2])
        #expect(samples.ports(of: rules[0], at: closer.host, [25]) == [1, 8443, 25])
        #expect(samples.ports(of: rules[1], at: rules[1].host) == [8001])
    }

    @Test("A rule without ports is checked at the default port of its protocol")
    func defaultPorts() throws {
        for (target, startTLS, isChecked) in [
            (nil, nil, true), (nil, "smtp", true), ("smtp://api.test", nil, true), ("imaps://api.test", nil, true),
            ("api.test:8443", nil, false), ("smtp://api.test:2525", nil, false), ("api.test:25", "smtp", true),
            ("api.test:443", "smtp", false),
            ("w.test", nil, false),
        ] as [(String?, String?, Bool)] {
            let settings = [
                target.map { #""targets": ["\#($0)"]"# }, startTLS.map { #""starttls": "\#($0)""# },
            ].compactMap(\.self).joined(separator: ", ")
            func policy(_ pins: String) throws -> PinningPolicy {
                let text =
                    #"{ "version": 1, "domains": [{ "host": "api.test", "check": { \#(settings) }, "#
                    + #""pins": [\#(pins)] }] }"#
                return try PolicyFile(bytes: Array(text.utf8), path: "pins.jsonc").policy
            }
            let (one, other) = (try site.leaf.key.pin, unknownPin)
            let changes = try policy("\"\(one)\"").lockouts(
                from: try policy("\"\(one)\", \"\(other)\""), knowing: KnownCertificates([]))
            #expect(changes.map(\.isChecked) == [isChecked], "\(target ?? "") \(startTLS ?? "")")
        }
    }

    @Test("Anchors that were added or removed are named with their keys, so that each signer can compare them")
    func anchorNames() async throws {
        let more = directory.path + "/more.pem"
        let words = await pinctl("hash", more).output.split(whereSeparator: \.isWhitespace)
        let key = try #require(words.first { $0.hasPrefix("sha256/") })
        for (index, (before, after, message)) in [
            (#""root.pem""#, #""root.pem", "more.pem""#, "weaker: it also trusts CN=Root more (\(key))"),
            (#""root.pem", "more.pem""#, #""root.pem""#, "stricter: it no longer trusts CN=Root more (\(key))"),
        ].enumerated() {
            let first = try await sign(Row.rule("\"anchors\": { \"files\": [\(before)] }"), [], to: "first\(index)")
            try #require(first.status == 0, "\(first)")
            let run = try await sign(
                Row.rule("\"anchors\": { \"files\": [\(after)] }"),
                ["--after", directory.path + "/first\(index).json"],
                to: "next\(index)")
            #expect(run.status == 0 && run.errors.contains("api.test: \(message)"), "\(run)")
            #expect(!run.errors.contains("it trusts other anchors"))
        }
    }

    @Test(
        "Names and ports that lose their rule, or have none before, are named beside those of another rule",
        arguments: [
            (#""subdomains": true"#, "", ["*.api.test: weaker: every other name below api.test isn't pinned any more"]),
            ("", #""subdomains": true"#, ["*.api.test: stricter: every other name below api.test, without a rule"]),
            ("", #""ports": [443, 8443]"#, ["api.test: weaker: api.test at every other port isn't pinned any more"]),
            (
                #""ports": [443, 8443]"#, #""ports": [443]"#,
                ["api.test:443,8443: weaker: api.test at port 8443 isn't pinned any more"]
            ),
            (
                #""subdomains": true"#, #""subdomains": true, "ports": [443]"#,
                [
                    "*.api.test: weaker: api.test at every other port isn't pinned any more",
                    "*.api.test: weaker: every other name below api.test at every other port isn't pinned any more",
                ]
            ),
            (
                #""mode": "report""#, #""mode": "report", "subdomains": true"#,
                ["every other name below api.test, without a rule before, is in mode report"]
            ),
            ("", "", []),
        ])
    func bare(_ before: String, _ after: String, _ messages: [String]) async throws {
        let first = try await sign(Row.rule(before), [], to: "first")
        try #require(first.status == 0, "\(first)")
        let run = try await sign(Row.rule(after), ["--after", directory.path + "/first.json"], to: "next")
        #expect(run.status == 0, "\(run)")
        for message in messages { #expect(run.errors.contains(message), "\(run.errors)") }
        let parts = run.errors.split(separator: "\n").filter { $0.contains("every other") || $0.contains("at port") }
        #expect(parts.isEmpty == messages.isEmpty, "\(run.errors)")
    }

    @Test(
        "What a signer allows more is called weaker, with the host or the role",
        arguments: [
            (
                #""deny": ["@B"], "# + Row.rule(""), #""deny": [{ "pin": "@B", "role": "leaf" }], "# + Row.rule(""),
                ["all hosts: weaker: @B isn't denied as ca any more"]
            ),
            (
                #""deny": [{ "pin": "@B", "role": "ca" }], "# + Row.rule(""),
                #""deny": [{ "pin": "@B", "role": "leaf" }], "# + Row.rule(""),
                ["all hosts: stricter: @B is denied as leaf", "all hosts: weaker: @B isn't denied as ca any more"]
            ),
            (
                #""unlisted": "refuse", "# + Row.rule(""),
                #""unlisted": "refuse", "# + Row.rule(#""subdomains": true"#),
                ["weaker: every other name below api.test, without a rule before, is pinned, and was refused before"]
            ),
            (
                #""unlisted": "refuse", "domains": [{ "host": "w.test", "pins": ["@A", "@B"] }]"#,
                #""unlisted": "refuse", "# + Row.rule(""), ["api.test: weaker: is pinned, and was refused before"]
            ),
            (
                Row.rule("", host: "x.api.test"), Row.rule(#""subdomains": true, "mode": "report""#),
                ["x.api.test: weaker: its mode is report"]
            ),
            (
                Row.rule("", host: "x.api.test"), Row.rule(#""subdomains": true, "pins": ["@A", "@B", "@C"]"#),
                ["x.api.test: weaker: @C is accepted"]
            ),
        ] as [(String, String, [String])])
    func weaker(_ before: String, _ after: String, _ messages: [String]) async throws {
        let first = try await sign(before, [], to: "first")
        try #require(first.status == 0, "\(first)")
        let run = try await sign(after, ["--after", directory.path + "/first.json"], to: "next")
        for message in messages {
            let text = pins.reduce(message) { $0.replacing($1.key, with: $1.value) }
            #expect(run.errors.contains(text), "\(run.errors)")
        }
    }

    @Test("A rule for a host doesn't hide that names beside it are refused")
    func label() async throws {
        let row = Row(
            "", #""unlisted": "refuse", "domains": [{ "host": "api.test", "subdomains": true, "pins": ["@A"] }]"#,
            #""unlisted": "refuse", "# + Self.rules("api.test", "any.api.test", "any0.api.test"), .certain)
        let outcome = try await outcome(row)
        #expect(outcome.found == .certain, "\(outcome.run)")
    }

    @Test("sign --servers names the lock-outs that it doesn't check")
    func unchecked() async throws {
        try await site.serve { server in
            func rule(_ members: String = "") -> String {
                #""domains": [{ "host": "api.test", "ports": [\#(server.port)], "pins": ["@A", "@B"]\#(members), "#
                    + #""check": { "targets": ["\#(server.target())"] } }]"#
            }
            let first = try await sign(rule(), [], to: "first")
            try #require(first.status == 0, "\(first)")
            let flags = ["--after", directory.path + "/first.json", "--servers", "--ca-file", site.rootFile]
            let run = try await sign(
                #""deny": ["@C"], "# + rule(#", "require": ["leaf", "ca"]"#), flags, to: "next")
            #expect(run.status == 0, "\(run)")
            let notes = run.errors.split(separator: "\n").filter { $0.contains("isn't known") }
            #expect(notes.count == 1, "\(notes)")
            #expect(notes.first?.contains("all hosts: stricter: a server is locked out if \(unknownPin)") == true)
            #expect(notes.first?.contains(": --servers doesn't check every name and port") == true)
        }
    }

    @Test("sign --servers names lock-outs at names and ports that no target has")
    func untargeted() async throws {
        try await site.serve { server in
            func rule(_ members: String, _ target: String) -> String {
                #""domains": [{ "host": "api.test", \#(members), "check": { "targets": ["\#(target)"] } }]"#
            }
            let target = server.target()
            let flags = ["--servers", "--ca-file", site.rootFile]
            let both = #""pins": ["@A", "@B"]"#
            let one = #""pins": ["@A", "@C"]"#
            for (index, (title, scope, isNamed)) in [
                ("the port of the target", #""ports": [\#(server.port)], "#, false),
                ("another port too", #""ports": [\#(server.port), 19445], "#, true),
                ("all ports", "", true),
                ("names below", #""ports": [\#(server.port)], "subdomains": true, "#, true),
            ].enumerated() {
                let first = try await sign(rule(scope + both, target), [], to: "first\(index)")
                try #require(first.status == 0, "\(first)")
                let run = try await sign(
                    rule(scope + one, target), ["--after", directory.path + "/first\(index).json"] + flags,
                    to: "next\(index)")
                #expect(run.status == 0, "\(title): \(run)")
                let found = run.errors.contains("--servers doesn't check every name and port")
                #expect(found == isNamed, "\(title): \(run)")
            }
        }
    }
}
