import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Clients verify a chain before its pins, so that no release accepts a chain that it doesn't trust.
@Suite("pinctl plan, trust before pins (GA1)")
struct PlanTrustTests {
    let site: PinctlSite
    let own: TestCertificate
    let ownFile: String

    init() throws {
        site = try PinctlSite()
        own = try TestCertificate.root("Corporate Root")
        ownFile = try site.directory.add(own.pemText, name: "corp.pem")
    }

    private func config(_ text: String, _ name: String = "nsc.xml") throws -> String {
        try site.directory.add("<network-security-config>\(text)</network-security-config>", name: name)
    }

    private func verdicts(_ run: Run) throws -> [String] {
        try run.decoded(as: PlanDocument.self).results.compactMap(\.verdict)
    }

    private static func roots(_ sources: String...) -> String {
        let list = sources.map { "<certificates src=\"\($0)\"/>" }.joined()
        return "<trust-anchors>\(list)</trust-anchors>"
    }

    private static func pinSet(_ pin: String, _ expiration: String = "") -> String {
        "<pin-set\(expiration)><pin digest=\"SHA-256\">\(pin.dropFirst(7))</pin></pin-set>"
    }

    @Test("plan says to which hosts --ca-file and --store don't apply, because their rules have their own anchors")
    func ownAnchors() async throws {
        let pins = #""pins": ["\#(try site.root.key.pin)"]"#
        let policy = try site.directory.add(
            #"{ "version": 1, "domains": [{ "host": "api.test", "anchors": { "files": ["root.pem"] }, \#(pins) }] }"#)
        func plan(_ policy: String, _ roots: String...) async -> Run {
            await pinctl(["plan", "--new", site.chainFile, "--against", policy] + roots)
        }
        let note = "doesn't apply to hosts whose rules have their own anchors: api.test\n"
        let run = await plan(policy, "--ca-file", ownFile)
        #expect(run.status == 0 && run.errors.contains("note: --ca-file \(note)"), "\(run)")
        let store = await plan(policy, "--store", "a=\(ownFile)")
        #expect(store.status == 0 && store.errors.contains("note: --store \(note)"), "\(store)")
        let android = try config(
            "<domain-config><domain>api.test</domain>\(Self.pinSet(try site.root.key.pin))"
                + Self.roots("@raw/corp") + "</domain-config>")
        let named = await plan(android, "--store", "@raw/corp=\(site.rootFile)")
        #expect(named.status == 0 && !named.errors.contains("own anchors"), "\(named)")
        for words in [["--ca-file", site.rootFile], ["--store", "a=\(site.rootFile)"]] {
            let plain = await pinctl(
                [
                    "plan", "--new", site.chainFile, "--against",
                    try site.policy(
                        "\"\(try site.root.key.pin)\""),
                ] + words)
            #expect(plain.status == 0 && !plain.errors.contains("own anchors"), "\(plain)")
        }
    }

    @Test("A release without pins doesn't accept a chain that is expired, of an unknown root or not yet valid")
    func withoutPins() async throws {
        let unrelated = try TestCertificate.root("X")
        let now = Int64(testTime.timeIntervalSince1970)
        let expired = try site.intermediate.leaf("api.test") { $0.notAfter = now - 1 }
        let early = try site.intermediate.leaf("api.test") { $0.notBefore = now - 1 }
        let chains = [
            ("good", site.chainFile, Int32(0)),
            ("unknown", try site.directory.add(unrelated.leaf("api.test").pemText), 4),
            ("expired", try site.directory.add(expired.pemText + site.intermediate.pemText), 4),
            ("alone", try site.directory.add(site.leaf.pemText), 4),
            ("fresh", try site.directory.add(early.pemText + site.intermediate.pemText), 0),
        ]
        let pin = try site.leaf.key.pin
        let past = "\"expires\": \"2026-06-01\", \"onExpiry\": \"stop-pinning\","
        let releases = [
            try site.policy("\"\(pin)\"", rule: "\"mode\": \"off\","), try site.policy("\"\(pin)\"", rule: past),
            try site.policy("\"\(pin)\"", rule: "\"mode\": \"report\","),
            try config("<base-config/>", "empty.xml"),
            try config("<domain-config><domain>api.test</domain></domain-config>", "unpinned.xml"),
        ]
        for release in releases {
            for (name, chain, status) in chains {
                let run = await pinctl(
                    "plan", "--ca-file", site.rootFile, "--new", chain, "--against", release, "--json")
                #expect(run.status == status, "\(name), \(release): \(run)")
                #expect(try verdicts(run).allSatisfy { ($0 == "not_trusted") == (status == 4) }, "\(name): \(run)")
            }
        }
    }

    @Test("A chain that only some of the stores trust breaks a release without pins")
    func stores() async throws {
        let release = try site.policy("\"\(unknownPin)\"", rule: "\"mode\": \"off\",")
        let run = await pinctl(
            "plan", "--new", site.chainFile, "--against", release, "--store", "a=\(site.rootFile)", "--store",
            "b=\(ownFile)")
        #expect(run.status == 1 && run.output.contains("under b"), "\(run)")
    }

    @Test("An app that trusts only its own roots refuses a chain of others, whether its pins are in force or not")
    func ownRoots() async throws {
        let pin = try site.leaf.key.pin
        let past = " expiration=\"2026-01-01\""
        func domain(_ text: String) -> String { "<domain-config><domain>api.test</domain>\(text)</domain-config>" }
        let rows: [(String, Bool)] = [
            (domain(Self.roots("@raw/corp")), false), (domain(Self.pinSet(pin, past) + Self.roots("@raw/corp")), false),
            (domain(Self.pinSet(pin) + Self.roots("@raw/corp")), false), (domain(Self.roots("user")), false),
            ("<base-config>\(Self.roots("@raw/corp"))</base-config>", false),
            ("<base-config>\(Self.roots("@raw/corp"))</base-config>" + domain(Self.roots("system")), true),
            (domain(Self.roots("system", "@raw/corp")), true), (domain(Self.roots("system", "user")), true),
        ]
        for (index, (text, isTrusted)) in rows.enumerated() {
            let file = try config(text, "row-\(index).xml")
            let run = await pinctl(
                "plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against", file, "--host", "api.test")
            #expect(run.status == (isTrusted ? 0 : 4), "\(text): \(run)")
            guard !isTrusted else { continue }
            #expect(run.output.contains("not trusted"), "\(run)")
            #expect(run.output.contains("which isn't known: give these roots with --store "), "\(run)")
        }
    }

    @Test("An app's own roots come from its resources, or from --store under the name that the config gives them")
    func knownRoots() async throws {
        let leaf = try site.directory.add(own.leaf("api.test").pemText)
        let text = "<domain-config><domain>api.test</domain>\(Self.roots("@raw/corp"))</domain-config>"
        let bare = try config(text)
        func plan(_ release: String, _ chain: String, _ words: String...) async -> Int32 {
            await pinctl(["plan", "--ca-file", site.rootFile, "--new", chain, "--against", release] + words).status
        }
        #expect(await plan(bare, leaf) == 4)
        #expect(await plan(bare, leaf, "--store", "@raw/corp=\(ownFile)") == 0)
        #expect(await plan(bare, leaf, "--store", "@raw/other=\(ownFile)") == 2)
        #expect(await plan(bare, site.chainFile, "--store", "@raw/corp=\(ownFile)") == 4)
        for end in ["pem", "crt", "der"] {
            let app = site.directory.path + "/app-\(end)/res"
            _ = try TestCommand.run(["mkdir", "-p", app + "/xml", app + "/raw"])
            let bytes = end == "der" ? own.derBytes : Array(own.pemText.utf8)
            _ = try site.directory.add(bytes, name: "app-\(end)/res/raw/corp.\(end)")
            let file = try site.directory.add(
                "<network-security-config>\(text)</network-security-config>", name: "app-\(end)/res/xml/nsc.xml")
            #expect(await plan(file, leaf) == 0, "\(end)")
            #expect(await plan(file, site.chainFile) == 4, "\(end)")
        }
        // Only the roots that override pins do.
        let pinned =
            Self.pinSet(unknownPin) + "<trust-anchors><certificates src=\"system\"/>"
            + "<certificates src=\"@raw/corp\" overridePins=\"true\"/></trust-anchors>"
        let both = try config("<domain-config><domain>api.test</domain>\(pinned)</domain-config>", "both.xml")
        #expect(await plan(both, leaf, "--store", "@raw/corp=\(ownFile)") == 0)
        #expect(await plan(both, site.chainFile, "--store", "@raw/corp=\(ownFile)") == 1)
    }

    @Test("A root that the config names twice overrides the pins if one of the two does, as on Android")
    func rootOfTwoSources() async throws {
        let leaf = try site.directory.add(own.leaf("api.test").pemText)
        let plain = "<certificates src=\"@raw/a\"/>"
        let overriding = "<certificates src=\"@raw/b\" overridePins=\"true\"/>"
        let rows: [(anchors: String, finding: String?)] = [
            (plain + overriding, "survives: no pin is needed for chains to @raw/b roots (overridePins)"),
            (overriding + plain, "survives: no pin is needed for chains to @raw/b roots (overridePins)"),
            (plain + overriding.replacing("true", with: "false"), nil),
        ]
        for (index, (anchors, finding)) in rows.enumerated() {
            let release = try config(
                "<domain-config><domain>api.test</domain>\(Self.pinSet(unknownPin))"
                    + "<trust-anchors>\(anchors)</trust-anchors></domain-config>", "\(index).xml")
            let run = await pinctl(
                "plan", "--new", leaf, "--against", release, "--store", "@raw/a=\(ownFile)", "--store",
                "@raw/b=\(ownFile)")
            #expect(run.status == (finding == nil ? 1 : 0), "\(anchors): \(run)")
            // One row, for one path.
            #expect(run.lines.filter { $0.contains("api.test  ") }.count == 1, "\(anchors): \(run.output)")
            if let finding { #expect(run.output.contains("api.test  \(finding)\n"), "\(anchors): \(run.output)") }
        }
    }

    @Test("The trust anchor of a TLSA record may be in the record or in the chain, and no store needs to have it")
    func trustAnchors() async throws {
        func hex(_ bytes: [UInt8]) -> String {
            bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        }
        func zone(_ record: String) throws -> String {
            try site.directory.add("_443._tcp.api.test. IN TLSA \(record)\n")
        }
        let root = site.root
        let digest = hex(sha256Digest(root.derBytes.span))
        let other = try TestCertificate.root("Test Root")
        let whole = try site.directory.add((site.chain + [root]).map(\.pemText).joined())
        let named = try site.directory.add(site.intermediate.leaf("other.test").pemText + site.intermediate.pemText)
        let rows: [(String, String, Bool)] = [
            ("2 0 0 \(hex(root.derBytes))", site.chainFile, true), ("2 0 1 \(digest)", whole, true),
            ("2 0 1 \(digest)", site.chainFile, false),
            ("2 0 0 \(hex(site.intermediate.derBytes))", site.chainFile, true),
            ("2 0 0 \(hex(other.derBytes))", site.chainFile, false), ("2 0 0 \(hex(root.derBytes))", named, false),
        ]
        for (record, chain, survives) in rows {
            let run = await pinctl(
                "plan", "--ca-file", ownFile, "--new", chain, "--against", try zone(record), "--host", "api.test")
            #expect((run.status == 0) == survives, "\(record.prefix(30)), \(chain): \(run)")
        }
    }
}
