import CertificatePinning
import CertificateTrust
import FoundationEssentials
import PinDialects
import PinctlBasics
import PinctlTestPKI
import Testing

/// Tests of lint findings in rules that can be read but can't match or don't pin anything.
@Suite("Lint: anchors, denied pins, roles, backups")
struct LintRuleTests {
    private let server: TestSite
    private let directory: TestDirectory

    init() throws {
        server = try TestSite()
        directory = try TestDirectory()
        _ = try directory.add(server.leaf.pemText + server.intermediate.pemText, name: "chain.pem")
        _ = try directory.add(server.root.pemText, name: "root.pem")
    }

    private static let other = PolicyFileTests.pinA

    /// Returns the findings for one rule of a policy, each in the form `P024 error`. Leaves out P003, P012 and P021
    /// unless `rules` lists them.
    private func lint(
        _ pins: [String], rule: String = "", top: String = "", only rules: [LintRule]? = nil
    ) throws -> [String] {
        let text = """
            { "version": 1, \(top) "domains": [
            { "host": "a.test", \(rule) "pins": [\(pins.joined(separator: ", "))] } ] }
            """
        let file = try PolicyFile(bytes: Array(text.utf8), path: directory.path + "/pins.jsonc")
        return file.lint(at: TestSite.time)
            .filter { rules?.contains($0.rule) ?? ![.noBackup, .onlyRoots, .onlyIntermediates].contains($0.rule) }
            .map { "\($0.rule.rawValue) \($0.severity)" }
    }

    private func pin(_ certificate: TestCertificate, _ more: String = "") throws -> String {
        #"{ "pin": "\#(try certificate.key.pin)"\#(more.isEmpty ? "" : ", \(more)") }"#
    }

    private func deny(_ pins: String...) -> String { #""deny": [\#(pins.joined(separator: ", "))],"# }

    @Test("P025: a rule whose pins are all denied is an error")
    func allDenied() throws {
        let pins = [try pin(server.leaf), try pin(server.root)]
        let leaf = #""\#(try server.leaf.key.pin)""#
        let root = #""\#(try server.root.key.pin)""#
        #expect(try lint(pins, top: deny(leaf, root)) == ["P025 error"])
        #expect(try lint(pins, top: deny(#""\#(Self.other)""#)) == [])
        // All pins of one required role are denied.
        let roles = [try pin(server.leaf, #""role": "leaf""#), try pin(server.root, #""role": "root""#)]
        #expect(try lint(roles, rule: #""require": ["leaf", "root"],"#, top: deny(root)) == ["P025 error"])
        #expect(try lint(roles, top: deny(root)) == ["P029 warning"])
        // A pin that is denied only at another position of the chain can still match.
        let elsewhere = #"{ "pin": \#(root), "role": "leaf" }"#
        #expect(try lint(roles, rule: #""require": ["leaf", "root"],"#, top: deny(elsewhere)) == [])
    }

    @Test("P029: a denied backup is an error, and another denied pin is a warning")
    func deniedPin() throws {
        let pins = [try pin(server.leaf), try pin(server.root, #""backup": true"#)]
        #expect(try lint(pins, top: deny(#""\#(try server.root.key.pin)""#)) == ["P029 error"])
        #expect(try lint(pins, top: deny(#""\#(try server.leaf.key.pin)""#)) == ["P029 warning"])
        #expect(try lint(pins, top: deny(#""\#(Self.other)""#)) == [])
    }

    @Test("P003: each required role needs a backup of its own")
    func backupOfEachRole() throws {
        let required = #""require": ["leaf", "root"],"#
        func found(_ more: String..., rule: String = required) throws -> [String] {
            let pins = [try pin(server.leaf, #""role": "leaf""#), try pin(server.root, #""role": "root""#)]
            return try lint(pins + more, rule: rule, only: [.noBackup])
        }
        let leaf = #"{ "pin": "\#(Self.other)", "role": "leaf", "backup": true }"#
        let root = #"{ "pin": "\#(PolicyFileTests.pinB)", "role": "root", "backup": true }"#
        #expect(try found() == ["P003 warning", "P003 warning"])
        #expect(try found(leaf) == ["P003 warning"])
        #expect(try found(root) == ["P003 warning"])
        #expect(try found(leaf, root) == [])
        #expect(try found(leaf, rule: "") == [])
    }

    @Test("P003: the backup of pins of CAs is a second CA, also if only the library knows the roots")
    func backupOfAuthority() throws {
        let roots = ["C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M=", "diGVwiVYbubAI3RW4hB9xU8e/CH2GnkuvVFZE8zmgzI="]
        let values = try roots.map { try #require(Base64.decodeCanonical(Array($0.utf8))) }
        let leaf = CanonicalPin(.publicKey, .sha256, Array(1...32))
        func advice(_ pins: [CanonicalPin]) throws -> String {
            let rule = CanonicalRule(patterns: [HostPattern("a.test", .exact)], pins: pins)
            let found = CanonicalPolicy(rules: [rule], combination: .closest).lint([], path: "x", at: TestSite.time)
            return try #require(found.first { $0.rule == .noBackup }).message
        }
        let first = CanonicalPin(.publicKey, .sha256, values[0])
        #expect(try advice([first]).hasSuffix("add the pin of a second CA that you can get a certificate from"))
        #expect(try advice([leaf]).hasSuffix("add the pin of a key that is kept offline"))
        // The digest of a certificate isn't that of a root's key.
        let certificate = CanonicalPin(.certificate, .sha256, values[0])
        #expect(try advice([certificate]).hasSuffix("add the pin of a key that is kept offline"))
        let own = try server.leaf.key.pin.dropFirst("sha256/".count)
        for (pins, isAuthority) in [(roots, true), ([roots[0]], true), ([roots[0], String(own)], false)] {
            let text = """
                { "version": 1, "domains": [
                { "host": "a.test", "pins": [\(pins.map { "\"sha256/\($0)\"" }.joined(separator: ", "))] } ] }
                """
            let file = try PolicyFile(bytes: Array(text.utf8), path: directory.path + "/pins.jsonc")
            let message = try #require(file.lint(at: TestSite.time).first { $0.rule == .noBackup }).message
            #expect(message.contains("second CA") == isAuthority, "\(message)")
            #expect(message.contains("kept offline") != isAuthority && message.hasSuffix(", with \"backup\": true"))
        }
    }

    @Test("P016: an anchor that expires within 180 days is reported, as an error if no other anchor is left")
    func anchors() throws {
        let now = Int64(TestSite.time.timeIntervalSince1970)
        for (name, days) in [("past", Int64(-1)), ("soon", 179), ("later", 181)] {
            let root = try TestCertificate.root("Root \(name)") { $0.notAfter = now + days * 86_400 }
            _ = try directory.add(root.pemText, name: name + ".pem")
        }
        func found(_ anchors: String) throws -> [String] {
            try lint([pin(server.leaf)], rule: #""anchors": \#(anchors),"#)
        }
        #expect(try found(#"{ "files": ["past.pem"] }"#) == ["P016 error"])
        #expect(try found(#"{ "files": ["soon.pem"] }"#) == ["P016 error"])
        #expect(try found(#"{ "files": ["past.pem", "soon.pem"] }"#) == ["P016 error", "P016 error"])
        #expect(try found(#"{ "files": ["past.pem", "later.pem"] }"#) == ["P016 warning"])
        #expect(try found(#"{ "files": ["past.pem"], "system": true }"#) == ["P016 warning"])
        #expect(try found(#"{ "files": ["later.pem"] }"#) == [])
    }

    @Test("P030: a pinned root that isn't among the rule's own anchors is reported because it never matches")
    func unanchoredRoot() throws {
        let unrelated = try TestCertificate.root("Unrelated")
        _ = try directory.add(unrelated.pemText, name: "unrelated.pem")
        func found(_ certificate: TestCertificate, _ more: String, _ anchors: String) throws -> [String] {
            try lint([pin(server.leaf), pin(certificate, more)], rule: anchors)
        }
        let own = #""anchors": { "files": ["root.pem"] },"#
        let both = #""anchors": { "files": ["root.pem"], "system": true },"#
        #expect(try found(unrelated, #""role": "root""#, own) == ["P030 error"])
        #expect(try found(unrelated, #""from": "unrelated.pem""#, own) == ["P030 warning"])
        #expect(try found(server.root, #""role": "root""#, own) == [])
        #expect(try found(unrelated, #""role": "root""#, both) == [])
        #expect(try found(unrelated, #""role": "root""#, "") == [])
        // A file called "system" isn't the system's trust store.
        _ = try directory.add(server.root.pemText, name: "system")
        let named = #""anchors": { "files": ["system"] },"#
        #expect(try found(unrelated, #""role": "root""#, named) == ["P030 error"])
        let whole = SPKIFingerprint(hashing: server.root.derBytes.span).description.replacing(
            "sha256/", with: "cert-sha256/")
        #expect(
            try lint(
                [pin(server.leaf), #"{ "pin": "\#(whole)", "role": "root" }"#], rule: own, only: [.unanchoredRoot])
                == [])
    }

    @Test("P025: a rule that requires transparency of private roots only is a warning")
    func privateTransparency() throws {
        func found(_ rule: String) throws -> [String] { try lint([pin(server.leaf)], rule: rule) }
        let own = #""anchors": { "files": ["root.pem"] },"#
        let both = #""anchors": { "files": ["root.pem"], "system": true },"#
        #expect(try found(own + #""certificateTransparency": "require","#) == ["P025 warning"])
        #expect(try found(own + #""certificateTransparency": "report","#) == [])
        #expect(try found(both + #""certificateTransparency": "require","#) == [])
        #expect(try found(#""certificateTransparency": "require","#) == [])
    }

    @Test("P024, P027: localAnchorsBypassPins pins nothing with only private anchors, and otherwise bypasses the pins")
    func bypass() throws {
        func found(_ rule: String) throws -> [String] { try lint([pin(server.leaf)], rule: rule) }
        let own = #""anchors": { "files": ["root.pem"] },"#
        let bypass = #""localAnchorsBypassPins": true,"#
        #expect(try found(own + bypass) == ["P024 error"])
        #expect(try found(own) == [])
        #expect(try found(own + #""localAnchorsBypassPins": false,"#) == [])
        for anchors in [
            #""anchors": { "files": ["root.pem"], "system": true },"#, #""anchors": { "system": true },"#, "",
        ] {
            #expect(try found(anchors + bypass) == ["P027 warning"])
            let reported = try found(anchors + bypass + #""mode": "report","#)
            #expect(reported.contains("P027 warning"))
            let off = try found(anchors + bypass + #""mode": "off","#)
            #expect(!off.contains("P027 warning"))
            #expect(try found(anchors + #""localAnchorsBypassPins": false,"#) == [])
        }
        #expect(try found(own + bypass + #""mode": "off","#) == ["P024 error"])
    }

    @Test("P024: a named backup that no rule has is a warning at its name")
    func unusedPin() throws {
        func found(_ names: String, _ more: String = "") throws -> [LintFinding] {
            let key = "sha256/\(String(repeating: "A", count: 42))E="
            let backup = #"{ "pin": "\#(key.replacing("AE=", with: "BE="))", "backup": true }"#
            let text =
                #"{ "version": 1, "pins": { "used": "\#(key)", "kept": "\#(key)", "backup": \#(backup) }, \#(more) "#
                + #""domains": [{ "host": "api.test", "pins": [\#(names)] }] }"#
            return try PolicyFile(bytes: Array(text.utf8), path: "p").lint(at: .distantFuture)
                .filter { $0.rule == .pinsNothing }
        }
        let unused = try found(#""used""#)
        #expect(unused.map(\.severity) == [.warning] && unused.map(\.location.line) == [1])
        #expect(unused.first?.message.hasPrefix("no rule has the backup \"backup\"") == true)
        #expect(try found(#""used", "backup""#) == [])
        #expect(try found(#""used""#, #""deny": ["backup"],"#) == [])
    }

    @Test("P024: a policy whose rules are all off pins nothing")
    func allOff() throws {
        let off = #""mode": "off","#
        #expect(try lint([pin(server.leaf)], rule: off) == ["P024 error"])
        #expect(try lint([pin(server.leaf)]) == [])
        #expect(try lint([pin(server.leaf)], rule: off, top: deny(#""\#(Self.other)""#)) == [])
        #expect(try lint([pin(server.leaf)], rule: off, top: #""unlisted": "refuse","#) == [])
        let text = """
            { "version": 1, "domains": [ { "host": "a.test", "mode": "off", "pins": ["\(Self.other)"] },
            { "host": "b.test", "pins": ["\(Self.other)"] } ] }
            """
        #expect(try PolicyFileTests.read(text).lint(at: TestSite.time).allSatisfy { $0.rule != .pinsNothing })
    }

    @Test("P031: a pin whose certificate can't have the pin's role is an error")
    func role() throws {
        func found(_ certificate: TestCertificate, _ role: String) throws -> [String] {
            let file = try directory.add(certificate.pemText)
            return try lint(
                [pin(certificate, #""role": "\#(role)", "from": "\#(file)""#), #""\#(Self.other)""#],
                only: [.impossibleRole])
        }
        for role in ["root", "intermediate", "ca"] {
            #expect(try found(server.leaf, role) == ["P031 error"])
            #expect(try found(server.root, role) == [])
        }
        #expect(try found(server.leaf, "leaf") == [])
        #expect(try found(server.leaf, "any") == [])
        #expect(try found(server.root, "leaf") == ["P031 error"])
        #expect(try found(server.intermediate, "leaf") == ["P031 error"])
        // A server that signed its own certificate with OpenSSL's default settings, and a root of version 1.
        var own = TestCertificate.Settings.authority("a.test")
        own.alternativeNames = [.dns("a.test")]
        #expect(try found(TestCertificate.selfSigned(own), "leaf") == [])
        var old = TestCertificate.Settings.authority("Old Root")
        old.version = 1
        #expect(try found(TestCertificate.selfSigned(old), "root") == [])
    }

    @Test("P032: an enforced rule, or a required role of one, is an error if all of its pins are backups")
    func onlyBackups() throws {
        func found(_ rule: String, _ pins: String...) throws -> [String] {
            try lint(pins, rule: rule, only: [.onlyBackups])
        }
        let used = try pin(server.leaf)
        let backup = #"{ "pin": "\#(Self.other)", "backup": true }"#
        let second = #"{ "pin": "\#(PolicyFileTests.pinB)", "backup": true }"#
        #expect(try found("", backup) == ["P032 error"])
        #expect(try found("", backup, second) == ["P032 error"])
        #expect(try found("", backup, second, used) == [])
        #expect(try found("", used) == [])
        #expect(try found(#""mode": "report","#, backup, second) == [])
        #expect(try found(#""mode": "off","#, backup, second) == [])
        let required = #""require": ["leaf", "root"],"#
        let leaf = try pin(server.leaf, #""role": "leaf""#)
        let root = try pin(server.root, #""role": "root""#)
        let leafBackup = #"{ "pin": "\#(Self.other)", "role": "leaf", "backup": true }"#
        let rootBackup = #"{ "pin": "\#(PolicyFileTests.pinB)", "role": "root", "backup": true }"#
        #expect(try found(required, leafBackup, root) == ["P032 error"])
        #expect(try found(required, leafBackup, rootBackup) == ["P032 error", "P032 error"])
        #expect(try found(required, leaf, leafBackup, root, rootBackup) == [])
        // A pin for any position can match as the leaf too.
        #expect(try found(required, leafBackup, used, root) == [])
        // Without required roles, a match of the root is enough.
        #expect(try found("", leafBackup, root) == [])
    }

    @Test(
        "P011: a certificate that is valid for less than 100 days is short-lived",
        arguments: [(90, 0, true), (99, 0, true), (100, -1, true), (100, 0, false), (100, 1, false)])
    func shortLived(days: Int64, seconds: Int64, isShort: Bool) throws {
        let start = Int64(TestSite.time.timeIntervalSince1970) - 86_400
        let leaf = try server.intermediate.leaf("a.test") { settings in
            settings.notBefore = start
            // Both ends are part of the validity (RFC 5280, section 4.1.2.5).
            settings.notAfter = start + days * 86_400 + seconds - 1
        }
        _ = try directory.add(leaf.pemText, name: "leaf.pem")
        let found = try lint([pin(leaf, #""role": "leaf", "from": "leaf.pem""#)], only: [.shortLivedLeaf])
        #expect(found == (isShort ? ["P011 error"] : []))
    }

    @Test("P003: rules whose pins are combined can share a backup")
    func united() throws {
        func lint(_ rules: [(String, HostPattern.Scope, [UInt8])], _ combination: RuleCombination) -> [String] {
            let rules = rules.enumerated().map { index, rule in
                CanonicalRule(
                    patterns: [HostPattern(rule.0, rule.1)],
                    pins: rule.2.map { CanonicalPin(.publicKey, .sha256, [UInt8](repeating: $0, count: 31) + [1]) },
                    location: PolicyLocation(path: "x", line: index + 1, column: 1))
            }
            return CanonicalPolicy(rules: rules, combination: combination).lint([], path: "x", at: TestSite.time)
                .filter { $0.rule == .noBackup }.map { "\($0.location.line)" }
        }
        let rules: [(String, HostPattern.Scope, [UInt8])] = [("a.test", .exact, [1]), ("a.test", .exactAndBelow, [2])]
        // Hosts below a.test have one pin, and a.test itself has two.
        #expect(lint(rules, .union) == ["2"])
        #expect(lint(rules, .closest) == ["1", "2"])
        #expect(lint([("a.test", .exact, [1]), ("a.test", .exact, [2])], .union) == [])
        #expect(lint([("a.test", .exact, [1]), ("a.test", .exactAndBelow, [1])], .union) == ["1", "2"])
        #expect(lint([("b.a.test", .exact, [1]), ("a.test", .oneLabelBelow, [2, 3])], .union) == [])
        #expect(lint([("c.b.a.test", .exact, [1]), ("a.test", .oneLabelBelow, [2, 3])], .union) == ["1"])
    }

    @Test("Lint accepts a file that has only named pins, and checks those pins")
    func names() throws {
        func read(_ text: String, allowsNamesAlone: Bool = true) throws -> [String] {
            do throws(PolicyFileError) {
                let file = try PolicyFile(
                    bytes: Array(text.utf8), path: directory.path + "/names.jsonc", in: .current,
                    allowsNamesAlone: allowsNamesAlone)
                return file.lint(at: TestSite.time).map(\.rule.rawValue)
            } catch {
                return error.problems.map(\.message)
            }
        }
        let good =
            #"{ "version": 1, "pins": { "leaf": { "pin": "\#(try server.leaf.key.pin)", "from": "chain.pem" } } }"#
        #expect(try read(good) == [])
        let missing = ["the policy has no \"domains\": add it"]
        #expect(try read(good, allowsNamesAlone: false) == missing)
        #expect(try read(good.replacing("chain.pem", with: "root.pem")) == ["P013"])
        let facts = #"{ "version": 1, "x-checked": "2026-11-24", "x-sources": {},"#
        #expect(try read(good.replacing("{ \"version\": 1,", with: facts)) == [])
        // A file with anything else is a policy that lost its rules.
        for other in [
            #""unlisted": "refuse""#, #""deny": ["sha256/AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA="]"#,
            #""x-domains": []"#,
        ] {
            #expect(try read(good.replacing("{ \"version\": 1,", with: "{ \"version\": 1, \(other),")) == missing)
        }
        for empty in [#"{ "version": 1 }"#, #"{ "version": 1, "pins": {} }"#] { #expect(try read(empty) == missing) }
        #expect(
            try read(#"{ "version": 1, "pins": { "leaf": "sha256/AAAA" } }"#).first?.contains("sha256/AAAA") == true)
    }
}
