import PinctlTestPKI
import Testing

@Suite("pinctl plan, advice on removing keys")
struct PlanAdviceTests {
    let site: PinctlSite
    let spare: TestKey
    /// A chain with another key under another root, and a file with both roots.
    let moved: String
    let unrelated: TestCertificate
    let roots: String

    init() throws {
        site = try PinctlSite()
        spare = try TestKey()
        let other = try TestCertificate.root("Other Root")
        unrelated = try other.leaf("api.test")
        moved = try site.directory.add(unrelated.pemText + other.pemText)
        roots = try site.directory.add(site.root.pemText + other.pemText)
    }

    /// The leaf's key, and a backup key.
    private func policy(_ more: String = "", besides pins: String...) throws -> String {
        try site.directory.add(
            """
            { "version": 1, \(more) "pins": {
                "mine": { "pin": "\(try site.leaf.key.pin)", "role": "leaf" },
                "spare": { "pin": "\(try spare.pin)", "role": "leaf", "backup": true } },
              "domains": [{ "host": "api.test", \
            "pins": [\((["\"mine\"", "\"spare\""] + pins).joined(separator: ", "))] }] }
            """)
    }

    private func plan(_ words: String...) async -> Run { await pinctl(["plan", "--ca-file", roots] + words) }

    private func moment(_ name: String, _ run: Run) -> String? {
        run.lines.first { $0.hasPrefix("  \(name) ") }
            .map { String($0.dropFirst(name.count + 2).drop { $0 == " " }) }
    }

    @Test("A backup, and any other unused pin, is kept until the releases that pin it are retired")
    func spares() async throws {
        let (one, two) = (try policy(), try policy(besides: "\"\(unknownPin)\""))
        let run = await plan("--new", site.chainFile, "--current", site.chainFile, "--against", one, "--against", two)
        #expect(run.status == 0)
        #expect(moment("spare", run) == "when \(one), \(two) are retired (a backup for api.test)")
        #expect(moment("mine", run) == "when \(one), \(two) are retired (api.test)")
        #expect(moment(unknownPin, run) == "when \(two) is retired (a backup for api.test)")
        #expect(!run.output.contains("now"))
    }

    @Test("A key that a release denies isn't offered as a way to save it, and nothing keeps the key")
    func denied() async throws {
        func denying(_ key: TestKey, _ role: String) throws -> String {
            try policy(#""deny": [{ "pin": "\#(try key.pin)", "role": "\#(role)" }],"#)
        }
        let file = try denying(site.leaf.key, "any")
        let run = await plan("--new", site.chainFile, "--current", site.chainFile, "--against", file)
        #expect(run.status == 1)
        #expect(run.output.contains(" is denied, and is in the new chain"), "\(run)")
        #expect(!run.output.contains("if the leaf uses key"), "\(run)")
        #expect(moment("mine", run) == "not yet: the new chain has it", "\(run)")
        #expect(moment("spare", run) == "keep: a chain with this key lets \(file) connect again")
        // Another release that denies the spare can't be saved by it, and doesn't let the others be.
        let other = try denying(spare, "leaf")
        let both = await plan("--new", moved, "--against", file, "--against", other)
        #expect(both.status == 1 && !both.output.contains("if the leaf uses key"), "\(both)")
        #expect(moment("mine", both) == "keep: a chain with this key lets \(other) connect again")
        #expect(moment("spare", both) == "keep: a chain with this key lets \(file) connect again")
        // A role that the pin doesn't match in makes no difference.
        let elsewhere = try denying(spare, "root")
        #expect(
            await plan("--new", moved, "--against", elsewhere).output.contains("if the leaf uses key mine or spare"))
    }

    @Test("A key that would save a breaking release is listed as its way back")
    func wayBack() async throws {
        let file = try policy()
        let words = ["plan", "--ca-file", roots, "--new", moved, "--current", site.chainFile, "--against", file]
        let run = await pinctl(words)
        #expect(run.status == 1)
        #expect(run.output.contains("if the leaf uses key mine or spare"))
        for name in ["mine", "spare"] {
            #expect(moment(name, run) == "keep: a chain with this key lets \(file) connect again")
        }
        struct Document: Decodable {
            struct Entry: Decodable {
                let neededBy: [String]
                let wayBackFor: [String]
                let removable: String
            }
            struct Summary: Decodable { let timeline: [Entry] }
            let summary: Summary
        }
        let timeline = try await pinctl(words + ["--json"]).decoded(as: Document.self).summary.timeline
        #expect(timeline.count == 2)
        for entry in timeline {
            #expect(entry.neededBy == [file] && entry.wayBackFor == [file] && entry.removable.hasPrefix("keep: "))
        }
    }

    @Test("If the new chain isn't trusted, plan doesn't advise removing any key")
    func untrusted() async throws {
        let alone = try site.directory.add(TestCertificate.root("X").leaf("api.test").pemText)
        let run = await plan("--new", alone, "--current", site.chainFile, "--against", try policy())
        #expect(run.status == 4)
        #expect(run.lines.last?.hasPrefix("keep every key: a chain isn't trusted (api.test)") == true)
        #expect(moment("mine", run) == nil)
        let json = await plan("--new", alone, "--against", try policy(), "--json")
        #expect(json.output.contains("\"removable\":\"unknown: the new chain isn't trusted\""), "\(json.output)")
    }

    @Test("A pin is removed from the next file to ship before its key is removed")
    func file() async throws {
        let pins = ["\"\(unknownPin)\"", "\"\(try site.root.key.pin)\""]
        _ = try site.directory.add(policyText([("api.test", pins)]), name: "old")
        let next = try policy(#""releases": ["old"],"#, besides: pins[0], pins[1])
        let run = await plan("--new", site.chainFile, "--current", site.chainFile, "--policy", next)
        let old = "\(site.directory.path)/old"
        #expect(
            moment(unknownPin, run)
                == "when \(old) is retired (a backup for api.test); remove it from the next file to ship now",
            "\(run.output)")
        #expect(moment("spare", run) == "not yet: it is a backup in the next file to ship")
    }

    @Test("A file that hasn't shipped is changed, and how depends on why it breaks")
    func unshipped() async throws {
        _ = try site.directory.add(policyText([("api.test", ["\"\(unknownPin)\""])]), name: "old")
        _ = try site.directory.add(site.root.pemText, name: "own.pem")
        let leaf = "pin \(try unrelated.key.pin) in it, or the root of the new chain, before it does"
        let rows = [
            ("", leaf, true), (#""expires": "2026-06-01", "onExpiry": "fail","#, "change its rule for api.test", true),
            (#""anchors": { "files": ["own.pem"] },"#, "change its rule for api.test", false),
        ]
        for (rule, advice, breaks) in rows {
            let next = try site.directory.add(
                """
                { "version": 1, "releases": ["old"], "domains": [{ "host": "api.test", \(rule)
                  "pins": ["\(try site.leaf.key.pin)"] }] }
                """)
            let run = await plan("--new", moved, "--policy", next)
            #expect(run.status != 0 && run.output.contains("\(next) hasn't shipped: \(advice)"), "\(run)")
            let old = "\(site.directory.path)/old"
            #expect(run.output.contains("the change is safe when \(old) is retired and \(next) is changed"), "\(run)")
            #expect(run.output.contains("BREAKS       \(next)") == breaks, "\(run)")
        }
    }
}
