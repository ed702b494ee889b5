import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Every comparison of a pin's role in a plan has a row that fails if the role is ignored there.
@Suite("pinctl plan, roles of pins")
struct PlanRoleTests {
    let site: PinctlSite
    /// A key for which no certificate has been issued yet.
    private let key: TestKey
    private let publicKey: String

    init() throws {
        site = try PinctlSite()
        key = try TestKey()
        publicKey = try site.directory.add(key.publicKeyPEM, name: "new.pub")
    }

    /// A release that pins keys by name, each in a role. The keys are `key` and those of the site.
    private func release(
        _ pins: [(name: String, role: String)], require: [String] = [], deny: [(name: String, role: String)] = []
    ) throws -> String {
        let keys = [
            "key": try key.pin, "leaf": try site.leaf.key.pin, "issuer": try site.intermediate.key.pin,
            "root": try site.root.key.pin, "unknown": unknownPin,
        ]
        func objects(_ pins: [(name: String, role: String)], isNamed: Bool) -> String {
            pins.map { name, role in
                (isNamed ? "\"\(name)-\(role)\": " : "")
                    + "{ \"pin\": \"\(keys[name] ?? "")\", \"role\": \"\(role)\" }"
            }.joined(separator: ", ")
        }
        func list(_ words: [String]) -> String { words.map { "\"\($0)\"" }.joined(separator: ", ") }
        let requirement = require.isEmpty ? "" : "\"require\": [\(list(require))],"
        return try site.directory.add(
            """
            { "version": 1, "deny": [\(objects(deny, isNamed: false))], "pins": { \(objects(pins, isNamed: true)) },
              "domains": [{ "host": "api.test", \(requirement) \
            "pins": [\(list(pins.map { "\($0.name)-\($0.role)" }))] }] }
            """)
    }

    private func plan(_ new: String, _ release: String, _ words: String...) async -> Run {
        await pinctl(["plan", "--ca-file", site.rootFile, "--new", new, "--against", release] + words)
    }

    private func verdict(_ new: String, _ release: String) async throws -> String? {
        try await plan(new, release, "--json").decoded(as: PlanDocument.self).results.first?.verdict
    }

    struct KeyRow: CustomTestStringConvertible {
        var pins: [(name: String, role: String)]
        var require: [String] = []
        var deny: [(name: String, role: String)] = []
        let verdict: String

        var testDescription: String { "\(pins) \(require) \(deny)" }
    }

    @Test(
        "A key without a chain is a leaf key, and counts only for leaf pins and required leaf roles",
        arguments: [
            KeyRow(pins: [("key", "leaf")], verdict: "survives_only"),
            KeyRow(pins: [("key", "any")], verdict: "survives_only"),
            // The role of the pin.
            KeyRow(pins: [("key", "root")], verdict: "breaks"),
            KeyRow(pins: [("key", "intermediate"), ("key", "ca")], verdict: "breaks"),
            // A leaf pin isn't a CA's.
            KeyRow(pins: [("leaf", "leaf")], verdict: "breaks"),
            KeyRow(pins: [("root", "root")], verdict: "depends"),
            KeyRow(pins: [("issuer", "intermediate")], verdict: "depends"),
            KeyRow(pins: [("root", "any")], verdict: "depends"),
            // The required roles.
            KeyRow(pins: [("key", "leaf"), ("root", "root")], require: ["leaf", "root"], verdict: "depends"),
            KeyRow(pins: [("key", "any"), ("root", "root")], require: ["root"], verdict: "depends"),
            KeyRow(pins: [("leaf", "leaf"), ("root", "root")], require: ["leaf", "root"], verdict: "breaks"),
            // A required intermediate that is this key, and a root that can't replace it.
            KeyRow(pins: [("key", "intermediate"), ("root", "root")], require: ["intermediate"], verdict: "breaks"),
            KeyRow(
                pins: [("key", "root"), ("issuer", "intermediate")], require: ["root"], verdict: "breaks"),
            // Denied keys.
            KeyRow(pins: [("key", "leaf")], deny: [("key", "leaf")], verdict: "breaks"),
            KeyRow(pins: [("key", "leaf")], deny: [("key", "root")], verdict: "survives_only"),
        ])
    func keyAlone(_ row: KeyRow) async throws {
        #expect(try await verdict(publicKey, release(row.pins, require: row.require, deny: row.deny)) == row.verdict)
    }

    @Test("A pin of a key that is known to be a server's isn't that of an issuer, whatever form the pin has")
    func knownLeaves() async throws {
        for role in ["any", "ca", "root"] {
            let release = try release([("leaf", role), ("unknown", "leaf")])
            let alone = await plan(publicKey, release)
            #expect(alone.output.contains("survives only if issued under leaf-\(role)"), "\(alone.output)")
            let current = await plan(publicKey, release, "--current", site.chainFile)
            #expect(current.status == 1 && current.output.contains("no pin matches this key"), "\(current.output)")
        }
        // Of a certificate pin only the certificate shows whose it is.
        let bytes = site.leaf.derBytes
        let digest = sha256Digest(bytes.span).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        let map = try site.directory.add(
            "fetch('https://api.test', { allowedSHAFingerprints: ['\(digest)'] })", name: "pins.js")
        let unknown = await plan(publicKey, map, "--host", "api.test")
        #expect(unknown.output.contains("survives only if issued under"), "\(unknown.output)\(unknown.errors)")
        let known = await plan(publicKey, map, "--host", "api.test", "--current", site.chainFile)
        #expect(known.status == 1 && known.output.contains("no pin matches this key"), "\(known.output)")
        // A certificate that openssl req -x509 made says that it is a CA's.
        let own = try TestCertificate.root("api.test") { $0.alternativeNames = [.dns("api.test")] }
        let server = try site.directory.add(own.pemText, name: "own.pem")
        let pinned = try site.directory.add(policyText([("api.test", ["\"\(try own.key.pin)\""])]), name: "own.jsonc")
        let selfSigned = await pinctl(
            "plan", "--ca-file", server, "--new", publicKey, "--against", pinned, "--current", server)
        #expect(selfSigned.status == 1 && selfSigned.output.contains("no pin matches this key"), "\(selfSigned)")
        let unlisted = await pinctl("plan", "--ca-file", server, "--new", publicKey, "--against", pinned)
        #expect(unlisted.status == 1 && unlisted.output.contains("known to be a CA's"), "\(unlisted)")
    }

    @Test(
        "A key that depends on pins of which none is known to be a CA's fails",
        arguments: [
            ([("unknown", "any")], [], 1), ([("unknown", "any"), ("leaf", "any")], [], 1),
            ([("unknown", "ca")], [], 0), ([("root", "any")], [], 0), ([("issuer", "any")], [], 1),
            ([("issuer", "any")], ["--current"], 0), ([("unknown", "any"), ("root", "any")], [], 0),
        ] as [([(name: String, role: String)], [String], Int32)])
    func unknownIssuers(_ pins: [(name: String, role: String)], _ flags: [String], _ status: Int32) async throws {
        let words = ["plan", "--ca-file", site.rootFile, "--new", publicKey, "--against", try release(pins)]
        let run = await pinctl(words + flags.flatMap { [$0, site.chainFile] })
        #expect(run.status == status, "\(run.output)")
        #expect(run.output.contains("survives only if issued under"), "\(run.output)")
        #expect(run.output.contains("known to be a CA's") == (status == 1), "\(run.output)")
        #expect(run.lines.contains { $0.hasPrefix("the new key isn't pinned: ") } == (status == 1), "\(run.output)")
    }

    @Test("Where clients trust only the roots of a rule, the pin of another root isn't that of an issuer")
    func ownRoots() async throws {
        let other = try TestCertificate.root("Other Root")
        _ = try site.directory.add(site.root.pemText, name: "own-root.pem")
        let others = try site.directory.add(other.pemText + site.root.pemText, name: "others.pem")
        let anchors = "\"anchors\": { \"files\": [\"own-root.pem\"] }, "
        let publicRoot = "sha256/C5+lpZ7tcVwmwQIMcRtPbsQtWLABXhQzejna0wHFr8M="
        let rows = [
            (try other.key.pin, anchors, "breaks"), (try other.key.pin, "", "depends"),
            (publicRoot, anchors, "breaks"), (publicRoot, "", "depends"),
            (try site.root.key.pin, anchors, "depends"), (try site.intermediate.key.pin, anchors, "depends"),
        ]
        for (index, (pin, anchors, verdict)) in rows.enumerated() {
            let policy =
                "{ \"version\": 1, \"domains\": [{ \"host\": \"api.test\", \(anchors)\"pins\": [\"\(pin)\"] }] }"
            let release = try site.directory.add(policy, name: "own-\(index).jsonc")
            let run = await pinctl("plan", "--ca-file", others, "--new", publicKey, "--against", release, "--json")
            #expect(try run.decoded(as: PlanDocument.self).results.map(\.verdict) == [verdict], "\(index): \(run)")
        }
        // A root that isn't known could be the issuer.
        let config =
            "<network-security-config><domain-config><domain>api.test</domain><pin-set>"
            + "<pin digest=\"SHA-256\">\(publicRoot.dropFirst(7))</pin></pin-set><trust-anchors>"
            + "<certificates src=\"@raw/own\"/></trust-anchors></domain-config></network-security-config>"
        let release = try site.directory.add(config, name: "own.xml")
        for (store, verdict) in [("x", "depends"), ("@raw/own", "breaks")] {
            let run = await pinctl(
                "plan", "--store", "\(store)=\(site.rootFile)", "--new", publicKey, "--against", release, "--json")
            #expect(try run.decoded(as: PlanDocument.self).results.map(\.verdict).last == verdict, "\(store): \(run)")
        }
    }

    @Test(
        "A key depends only on CAs that aren't denied and that can have all required roles",
        arguments: [
            ([("issuer", "any"), ("root", "any")], [], [], "depends"),
            ([("issuer", "any")], [], [("issuer", "any")], "breaks"),
            ([("issuer", "any")], [], [("issuer", "leaf")], "depends"),
            ([("issuer", "any"), ("root", "any")], [], [("issuer", "ca")], "depends"),
            ([("issuer", "any")], ["intermediate", "root"], [], "breaks"),
            ([("issuer", "any"), ("root", "root")], ["intermediate", "root"], [], "depends"),
            ([("root", "root")], ["ca", "root"], [], "depends"),
        ] as [([(name: String, role: String)], [String], [(name: String, role: String)], String)])
    func possibleIssuers(
        _ pins: [(name: String, role: String)], _ require: [String], _ deny: [(name: String, role: String)],
        _ expected: String
    ) async throws {
        let release = try release(pins, require: require, deny: deny)
        let run = await plan(publicKey, release, "--json", "--current", site.chainFile)
        #expect(try run.decoded(as: PlanDocument.self).results.first?.verdict == expected, "\(run.output)")
    }

    @Test("The key of a request is recognized in pins of any digest")
    func digests() async throws {
        let key = try key.publicKeyDER
        let digest = sha512Digest(key.span)
        let long = try #require(digest)
        func hex(_ bytes: [UInt8]) -> String { bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() }
        let digests = [
            "1 0 \(hex(key))", "1 1 \(hex(sha256Digest(key.span)))", "1 2 \(hex(long))",
        ]
        for digest in digests {
            for (usage, isPinned) in [(3, true), (1, true), (2, false), (0, false)] {
                let zone = try site.directory.add("_443._tcp.api.test. IN TLSA \(usage) \(digest)\n")
                let run = await plan(publicKey, zone, "--host", "api.test")
                #expect((run.status == 0) == isPinned, "\(usage) \(digest): \(run.output)\(run.errors)")
                #expect(!run.output.contains("issued under"), "\(usage) \(digest): \(run.output)")
            }
        }
    }

    @Test("A key that depends on its issuer doesn't hide that the rule expires")
    func expiringKey() async throws {
        func release(_ effect: String) throws -> String {
            try site.directory.add(
                """
                { "version": 1, "domains": [{ "host": "api.test", "expires": "2026-12-20T00:00:00Z",
                  "onExpiry": "\(effect)", "pins": [{ "pin": "\(try site.root.key.pin)", "role": "root" }] }] }
                """)
        }
        for effect in ["fail", "stop-pinning"] {
            let file = try release(effect)
            #expect(await plan(publicKey, file).status == 0)
            let soon = await plan(publicKey, file, "--fail-within", "60d")
            #expect(soon.status == 1 && soon.output.contains("until 2026-12-20"), "\(soon)")
            let both = await plan(site.chainFile, file, "--new", publicKey, "--fail-within", "60d")
            #expect(both.status == 1, "\(both)")
        }
    }

    @Test("An exported file that depends on unknown keys is named")
    func exportedFile() async throws {
        let file = try site.directory.add(androidText([unknownPin]), name: "nsc.xml")
        let policy = try site.directory.add(
            """
            { "version": 1, "exports": [{ "to": "android", "file": "\(file)" }], "domains": [{ "host": "api.test",
              "pins": [{ "pin": "\(try site.root.key.pin)", "role": "root" }] }] }
            """, name: "exporting.jsonc")
        let run = await plan(publicKey, policy)
        #expect(run.status == 1, "\(run)")
        let finding = "nsc.xml: survives only if issued under \(unknownPin), which isn't known"
        #expect(run.output.contains(finding), "\(run)")
    }

    @Test("plan names the issuer pins that a key depends on, and no leaf pins")
    func issuers() async throws {
        let file = try release([("leaf", "leaf"), ("root", "root"), ("issuer", "ca"), ("unknown", "any")])
        let run = await plan(publicKey, file)
        #expect(
            run.lines.contains {
                $0.hasSuffix("survives only if issued under root-root or issuer-ca or unknown-any")
            }, "\(run.output)")
    }

    @Test(
        "A key of the chain matches only at the position that its pin's role names",
        arguments: [
            ("leaf", "leaf", true), ("leaf", "any", true), ("leaf", "root", false), ("leaf", "intermediate", false),
            ("leaf", "ca", false), ("issuer", "intermediate", true), ("issuer", "ca", true), ("issuer", "leaf", false),
            ("issuer", "root", false), ("root", "root", true), ("root", "ca", true), ("root", "leaf", false),
            ("root", "intermediate", false),
        ])
    func inChain(name: String, role: String, survives: Bool) async throws {
        let run = await plan(site.chainFile, try release([(name, role), ("unknown", "any")]))
        #expect(run.status == (survives ? 0 : 1))
        #expect(run.output.contains("survives only by \(name)-\(role) (") == survives, "\(run.output)")
    }

    @Test("A way back is a key that is pinned for the leaf, where a leaf pin is enough")
    func sufficientPins() async throws {
        let unrelated = try TestCertificate.root("Other Root")
        let leaf = try unrelated.leaf("api.test")
        let new = try site.directory.add(leaf.pemText + unrelated.pemText)
        let roots = try site.directory.add(site.root.pemText + unrelated.pemText)
        func ways(_ releases: String...) async -> String? {
            await pinctl(
                ["plan", "--ca-file", roots, "--new", new] + releases.flatMap { ["--against", $0] }
            ).lines.first { $0.hasPrefix("the change is safe") }
        }
        let old = try release([("leaf", "leaf"), ("key", "leaf"), ("unknown", "root")])
        #expect(
            await ways(old)
                == "the change is safe when \(old) is retired, or if the leaf uses key leaf-leaf or key-leaf")
        let required = try release([("leaf", "any"), ("unknown", "root")], require: ["root"])
        #expect(await ways(required) == "the change is safe when \(required) is retired")
        // A release that survives by its leaf wouldn't survive with another leaf whose key it pins only as root.
        let moved = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": [
              { "pin": "\(try leaf.key.pin)", "role": "leaf" },
              { "pin": "\(try key.pin)", "role": "root" }, { "pin": "\(try site.leaf.key.pin)", "role": "leaf" }] }] }
            """)
        #expect(
            await ways(old, moved) == "the change is safe when \(old) is retired, or if the leaf uses key leaf-leaf")
    }

    @Test("The key of a CA isn't named as one for the leaf")
    func authorityKey() async throws {
        let unrelated = try TestCertificate.root("Other Root")
        let new = try site.directory.add(try unrelated.leaf("api.test").pemText + unrelated.pemText)
        let old = try release([("root", "any"), ("issuer", "any"), ("key", "any")])
        // Today's chain shows which of the pinned keys are those of CAs.
        let run = await pinctl([
            "plan", "--ca-file", try site.directory.add(site.root.pemText + unrelated.pemText), "--new", new,
            "--against",
            old, "--current", site.chainFile,
        ])
        let way = "the change is safe when \(old) is retired, or if the leaf uses key key-any"
        #expect(run.lines.contains(way), "\(run)")
    }

    @Test("Of two matching pins, those whose roles the rule requires are needed")
    func essential() async throws {
        let pins = [("leaf", "leaf"), ("root", "root")]
        let (leaf, root) = (try site.leaf.key.pin, try site.root.key.pin)
        for (require, expected) in [([], []), (["leaf", "root"], [leaf, root]), (["root"], [root])] {
            let run = await plan(site.chainFile, try release(pins, require: require), "--json")
            #expect(try run.decoded(as: PlanDocument.self).results.first?.needs == expected)
        }
    }

    @Test("On paths of different lengths, a pin is needed if a system requires it on one of them")
    func severalPaths() async throws {
        let other = try TestCertificate.root("Other Root")
        let crossSigned = try other.crossSign(site.root)
        let chain = try site.directory.add(site.leaf.pemText + site.intermediate.pemText + crossSigned.pemText)
        let roots = try site.directory.add(site.root.pemText + other.pemText)
        func needs(_ file: String) async throws -> [String] {
            let run = await pinctl("plan", "--ca-file", roots, "--new", chain, "--against", file, "--json")
            return try #require(try run.decoded(as: PlanDocument.self).results.first?.needs)
        }
        let (root, second) = (try site.root.key.pin, try other.key.pin)
        // Its clients find either path, and the roots match without the leaf.
        let policy = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "require": ["root"], "pins": [
              "\(try site.leaf.key.pin)", "\(root)", "\(second)"] }] }
            """)
        let ours = try await needs(policy)
        #expect(ours == [])
        // Android builds one path, and the path without the second root needs the first.
        let theirs = try await needs(site.directory.add(androidText([root, second])))
        #expect(theirs == [root])
    }

    @Test("The leaf's expiration counts if a rule requires its key, even if a root matches too")
    func leafEnds() async throws {
        let end = Int64(testTime.timeIntervalSince1970) + 30 * 86_400
        let leaf = try site.intermediate.leaf("api.test", key: site.leaf.key) { $0.notAfter = end }
        let chain = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        let pins = [("leaf", "leaf"), ("root", "root")]
        let lenient = await plan(chain, try release(pins), "--fail-within", "100d")
        #expect(lenient.status == 0)
        for require in [["leaf", "root"], ["leaf"]] {
            let run = await plan(chain, try release(pins, require: require), "--fail-within", "100d")
            #expect(run.status == 1)
            #expect(run.output.contains("the leaf expires, and only its key is pinned"), "\(run.output)")
        }
    }
}
