import PinctlCommands
import PinctlTestPKI
import Testing

/// New certificates that lack a name of the old one, which is an outage that pins don't explain.
@Suite("pinctl plan, names of the new certificate")
struct PlanNameTests {
    let site: PinctlSite
    private let policy: String

    init() throws {
        site = try PinctlSite()
        let pin = "\"\(try site.root.key.pin)\""
        policy = try site.directory.add(
            policyText(["api.test", "pay.test", "www.test"].map { ($0, [pin]) }), name: "pins.jsonc")
    }

    private func chain(_ names: String...) throws -> String {
        let leaf = try site.intermediate.issue(.server(names))
        return try site.directory.add(leaf.pemText + site.intermediate.pemText)
    }

    private func plan(_ words: String...) async -> Run { await pinctl(["plan", "--ca-file", site.rootFile] + words) }

    private func verdicts(_ run: Run) throws -> [String] {
        try run.decoded(as: PlanDocument.self).results.map { "\($0.host ?? "") \($0.verdict ?? "")" }
    }

    @Test("A pinned host that the new certificate isn't valid for is judged only if it is named or served today")
    func policyHost() async throws {
        let new = try chain("api.test", "pay.test")
        let run = await plan("--new", new, "--against", policy)
        #expect(run.status == 0)
        #expect(run.lines.contains("0 of 2 combinations break, 1 pinned host not judged"), "\(run)")
        #expect(
            run.errors.contains(
                "note: www.test: not judged, because the new certificate isn't valid for it, only for "
                    + "api.test, pay.test: name it with --host if it should be, or give today's chain with --current"),
            "\(run)")
        let json = await plan("--new", new, "--against", policy, "--json")
        #expect(try verdicts(json) == ["api.test survives_only", "pay.test survives_only"])
        #expect(json.output.contains("\"not_judged\":[\"www.test\"]"), "\(json)")
        let whole = try chain("api.test", "pay.test", "www.test")
        let lost = await plan("--new", new, "--current", whole, "--against", policy)
        #expect(lost.status == 1)
        #expect(
            lost.lines.contains(
                "BREAKS       \(policy)  www.test  the new certificate isn't valid for www.test, "
                    + "only for api.test, pay.test"), "\(lost.output)")
        #expect(lost.lines.contains("1 of 3 combinations breaks"))
        #expect(
            lost.output.contains("the new certificate lacks www.test: have it issued for that name too; if another"))
        // Neither a key nor retiring a release helps.
        #expect(!lost.output.contains("the change is safe") && !lost.output.contains("connect again"))
        // With all names, or with the other server's certificate, nothing breaks.
        for words in [["--new", whole], ["--new", new, "--new", try chain("www.test")]] {
            let run = await pinctl(["plan", "--ca-file", site.rootFile, "--against", policy] + words)
            #expect(run.status == 0 && !run.output.contains("not judged"), "\(run)")
        }
        let some = await plan("--new", new, "--against", policy, "--host", "api.test", "--host", "pay.test")
        #expect(some.status == 0 && !some.errors.contains("not judged"))
        let named = await plan("--new", new, "--against", policy, "--host", "www.test")
        #expect(named.status == 1 && named.output.contains("isn't valid for www.test"), "\(named)")
        // Of many hosts, five are named, and all of them in JSON.
        let many = try site.directory.add(
            policyText((1...8).map { ("h\($0).test", ["\"\(unknownPin)\""]) } + [("api.test", ["\"\(unknownPin)\""])]))
        let broken = await plan("--new", site.chainFile, "--against", many)
        #expect(broken.status == 1 && broken.errors.contains("h5.test and 3 more: not judged"), "\(broken)")
        #expect(broken.output.contains("the change is safe when \(many) is retired"), "\(broken)")
    }

    @Test("With --current, exactly the names that the current certificate has and the new one lacks break")
    func currentNames() async throws {
        let current = try chain("api.test", "pay.test")
        let lost = await plan("--new", try chain("api.test"), "--current", current, "--against", policy, "--json")
        #expect(try verdicts(lost) == ["api.test survives_only", "pay.test breaks"])
        #expect(lost.status == 1)
        let kept = await plan(
            "--new", try chain("api.test", "pay.test"), "--current", current, "--against", policy, "--json")
        #expect(try verdicts(kept) == ["api.test survives_only", "pay.test survives_only"])
        #expect(kept.status == 0)
        // A signing request contains the names that the certificate will be valid for.
        let request = try site.directory.add(
            TestSigningRequest(
                TestName(.commonName("api.test")), key: TestKey(), extensions: [.alternativeNames([.dns("api.test")])]
            ).pemText)
        let asked = await plan("--new", request, "--current", current, "--against", policy)
        #expect(asked.status == 1)
        #expect(asked.output.contains("the request isn't for pay.test, only for api.test"), "\(asked.output)")
        let other = await plan("--new", try chain("other.test"), "--current", current, "--against", policy, "--json")
        #expect(try verdicts(other) == ["api.test breaks", "pay.test breaks"])
    }

    @Test("Dropping a wildcard breaks the names below it that rules cover")
    func wildcard() async throws {
        let below = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "test.example", "subdomains": true,
              "pins": ["\(try site.root.key.pin)"] }] }
            """)
        let single = try chain("api.test.example")
        // Only today's certificate shows which names a rule with subdomains is meant for.
        let alone = await plan("--new", single, "--against", below, "--json")
        #expect(try verdicts(alone) == ["api.test.example survives_only"])
        #expect(alone.status == 0)
        let current = try chain("*.test.example", "test.example")
        let lost = await plan("--new", single, "--current", current, "--against", below, "--json")
        #expect(
            try verdicts(lost) == ["*.test.example breaks", "api.test.example survives_only", "test.example breaks"])
        #expect(await plan("--new", current, "--current", current, "--against", below).status == 0)
    }

    @Test(
        "Hosts whose pins are off aren't judged if the certificate isn't for them, and a lost host breaks every release"
    )
    func unpinned() async throws {
        let off = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": ["\(try site.root.key.pin)"] },
              { "host": "cdn.test", "mode": "off", "pins": ["\(unknownPin)"] }] }
            """)
        let run = await plan("--new", site.chainFile, "--against", off, "--json")
        #expect(try verdicts(run) == ["api.test survives_only"])
        #expect(run.status == 0)
        let today = try chain("api.test", "pay.test")
        let both = await plan(
            "--new", site.chainFile, "--current", today, "--against", off, "--against", policy, "--json")
        #expect(
            try verdicts(both) == [
                "api.test survives_only", "pay.test breaks", "api.test survives_only", "pay.test breaks",
            ])
    }

    @Test("A --host that no release has a rule for, or that no new certificate is valid for, is an error")
    func unknownHost() async throws {
        let (new, misspelled) = (
            try chain("api.test", "cdn.test"), "no release has a rule for apj.test: check the name in"
        )
        for hosts in [["apj.test"], ["api.test", "apj.test"], ["apj.test:8443"]] {
            let covering = try chain("api.test", "apj.test")
            let run = await pinctl(
                ["plan", "--ca-file", site.rootFile, "--new", covering, "--against", policy]
                    + hosts.flatMap { ["--host", $0] })
            #expect(run.status == 2 && run.output == "", "\(run)")
            #expect(run.errors.contains(misspelled.replacing("apj.test", with: hosts.last ?? "")), "\(run)")
        }
        let uncovered = await plan("--new", new, "--against", policy, "--host", "apj.test")
        #expect(uncovered.status == 2)
        #expect(
            uncovered.errors.contains(
                "the new certificate isn't valid for apj.test, only for api.test, cdn.test: check"),
            "\(uncovered)")
        // A rule without pins in force says that the host is meant.
        let off = try site.directory.add(
            #"{ "version": 1, "domains": [{ "host": "cdn.test", "mode": "off", "pins": ["\#(unknownPin)"] }] }"#)
        let both = ["--host", "api.test", "--host", "cdn.test"]
        let words = ["plan", "--ca-file", site.rootFile, "--new", new, "--against", policy]
        #expect(await pinctl(words + both).status == 2)
        #expect(await pinctl(words + both + ["--against", off]).status == 0)
        // Releases that pin nothing have no rule for any host, and accept every certificate that is valid for it.
        let open = ["plan", "--ca-file", site.rootFile, "--new", new, "--against", off]
        #expect(await pinctl(open + ["--host", "api.test"]).status == 0)
        #expect(await pinctl(open + ["--host", "apj.test"]).status == 2)
    }
}
