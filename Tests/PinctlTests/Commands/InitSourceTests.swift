import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl init --from and --into")
struct InitSourceTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func initialize(_ words: String...) async -> Run {
        await pinctl(["init", "--ca-file", site.rootFile] + words)
    }

    @Test("init --from makes a policy from certificates offline, for the leaf's hostnames or for --host")
    func certificates() async throws {
        let chain = try site.directory.add(site.intermediate.pemText + site.leaf.pemText)
        let run = await initialize("--from", chain)
        #expect(run.status == 0)
        #expect(run.output.contains("\"host\": \"api.test\""))
        for certificate in site.chain + [site.root] {
            #expect(run.output.contains(try certificate.key.pin))
        }
        let wild = try site.intermediate.leaf("*.shop.test")
        let file = try site.directory.add(wild.pemText + site.intermediate.pemText)
        #expect(
            await initialize("--from", file).errors.contains("its leaf certificate names no host: give one with --host")
        )
        let named = await initialize("--from", file, "--host", "a.shop.test", "--host", "b.shop.test:8443")
        #expect(named.output.contains("\"host\": \"a.shop.test\""))
        #expect(named.output.contains("\"check\": { \"targets\": [\"b.shop.test:8443\"] }"))
        let other = await initialize("--from", chain, "--host", "www.test")
        #expect(other.errors.contains("www.test:443: not trusted [name-mismatch]: "))
        #expect(other.output == "")
        #expect(other.status == 4)
        #expect(await initialize("--from", chain, "api.test").status == 2)
        #expect(await initialize("--host", "api.test", "api.test").status == 2)
        #expect(await initialize("--from", try site.directory.add(site.leaf.key.publicKeyPEM)).status == 2)
    }

    @Test("init --from reads targets from a file, one per line, and names an invalid line")
    func list() async throws {
        try await site.serve { server in
            let list = try site.directory.add("# ours\n\n  \(server.target())   # the one\n")
            let run = await initialize("--from", list)
            #expect(run.status == 0)
            #expect(run.output.contains("\"host\": \"api.test\""))
        }
        let wrong = try site.directory.add("api.test\ngopher://x\n", name: "list.hosts")
        #expect(await initialize("--from", wrong).errors.contains("list.hosts:2: unsupported scheme \"gopher\""))
        #expect(await initialize("--from", try site.directory.add("# none\n")).status == 2)
    }

    @Test("--ca-file is written as anchors, relative to the policy, so that check needs no flag")
    func anchors() async throws {
        _ = try await shell("mkdir pins", in: site.directory)
        let run = try await shell(
            "pinctl init --at 2026-11-20 --ca-file root.pem --from chain.pem -o pins/p.jsonc && cat pins/p.jsonc",
            in: site.directory)
        #expect(run.output.contains("\"anchors\": { \"files\": [\"../root.pem\"] },"))
        try await site.serve { server in
            let policy = site.directory.path + "/pins/p.jsonc"
            #expect(await pinctl("check", "--policy", policy, server.target()).status == 0)
        }
    }

    static let policies = [
        // The policies that rules are added to, which must stay byte for byte.
        "{ \"version\": 1, // one\n  \"pins\": { /* none yet */ },\n  \"domains\": [ // all\n"
            + "    { \"host\": \"www.test\", \"pins\": [\"\(unknownPin)\"] }, // w\u{E4}re sch\u{F6}n\n  ]\n}\n",
        "{\r\n\"version\": 1,\r\n\"domains\": [{ \"host\": \"www.test\", \"pins\": [\"\(unknownPin)\"] }]}",
        "{ \"domains\": [ { \"host\": \"api.test\", \"ports\": [8443], \"pins\": [\"test-root\"] } ],"
            + " \"pins\": { \"test-root\": \"\(unknownPin)\" }, \"version\": 1 }\n",
    ]

    @Test("--into adds rules and pins, and keeps every other byte", arguments: policies, ["p.jsonc", "p.json"])
    func insertion(text: String, name: String) async throws {
        let isStrict = name.hasSuffix(".json")
        if isStrict, text.contains("/*") { return }
        let file = try site.directory.add(text, name: name)
        let run = await pinctl("init", "--ca-file", site.rootFile, "--from", site.chainFile, "--into", file)
        #expect(run.errors == "")
        #expect(run.lines == ["added 1 rule to \(file)"])
        let result = try String(contentsOfFile: file, encoding: .utf8)
        // Removing the inserted text yields the old text.
        var rest = Substring(result)
        for byte in text.unicodeScalars {
            guard let index = rest.unicodeScalars.firstIndex(of: byte) else {
                Issue.record("a character is lost: \(byte)")
                break
            }
            rest = rest[rest.unicodeScalars.index(after: index)...]
        }
        #expect(result.contains("\"host\": \"api.test\""))
        #expect(result.contains("x-backup-slot"))
        #expect(result.contains("// ") == !isStrict)
        let lint = await pinctl("lint", file)
        #expect(lint.lines.contains { $0.contains("P020") })
        #expect(!lint.output.contains("P005"))

        let again = await pinctl("init", "--ca-file", site.rootFile, "--from", site.chainFile, "--into", file)
        #expect(again.errors.contains("a rule for api.test:443 already exists here: change it"))
        #expect(again.errors.hasPrefix("pinctl: \(file):"))
        #expect(again.status == 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == result)
    }

    @Test("--into leaves the file unchanged if anything fails")
    func untouched() async throws {
        let text = "{ \"version\": 1, \"domains\": [{ \"host\": \"www.test\", \"pins\": [\"\(unknownPin)\"] }] }"
        let file = try site.directory.add(text, name: "p.jsonc")
        #expect(await pinctl("init", "--from", site.chainFile, "--into", file).status == 4)
        #expect(await initialize("--from", site.chainFile, "--into", file, "-o", "x").status == 2)
        #expect(try String(contentsOfFile: file, encoding: .utf8) == text)
        #expect(await initialize("--from", site.chainFile, "--into", "/no/such").status == 2)
        let broken = try site.directory.add("{ \"version\": 1 ", name: "broken.jsonc")
        #expect(await initialize("--from", site.chainFile, "--into", broken).status == 2)
    }
}
