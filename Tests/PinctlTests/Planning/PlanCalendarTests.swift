import CertificateTrust
import FoundationEssentials
import PinctlCommands
import TestPKI
import Testing

/// Changes of public trust stores that a calendar announces. `plan` fails before they break a release, and `lint` names
/// the root to pin.
@Suite("pinctl plan and lint on coming changes of trust stores")
struct PlanCalendarTests {
    private let folder: TestFolder
    private let old: TestCertificate
    private let new: TestCertificate
    private let roots: String
    /// A chain below the new root, which the old one has signed.
    private let chain: String

    init() throws {
        folder = try TestFolder()
        old = try TestCertificate.root("Old Root")
        new = try TestCertificate.root("New Root")
        let issuer = try new.intermediate("Issuer")
        let crossSigned = try old.crossSign(new)
        roots = try folder.add(old.pemText)
        chain = try folder.add([issuer.leaf("api.test"), issuer, crossSigned].map(\.pemText).joined())
    }

    /// A calendar in which the new root and the old one have these entries of `x-stores`.
    private func calendar(
        new newStores: String = "", old oldStores: String = "", checked: String = "2026-11-20", name: String? = nil
    ) throws -> String {
        let text = """
            { "version": 1, "x-checked": "\(checked)", "pins": {
              "new-root": { "pin": "\(try new.key.pin)", "role": "ca", "x-stores": { \(newStores) },
                "x-cross-signs": [ { "by": "old-root", "until": "2030-01-01", "source": "test" } ] },
              "old-root": { "pin": "\(try old.key.pin)", "role": "ca", "x-stores": { \(oldStores) } } } }
            """
        return try name.map { try folder.add(text, name: $0) } ?? folder.add(text)
    }

    private func plan(_ release: String, _ calendar: String, _ words: String...) async -> Run {
        await pinctl(
            ["plan", "--ca-file", roots, "--new", chain, "--against", release, "--calendar", calendar] + words)
    }

    @Test("A root that enters stores shortens the path of clients that pin the root above it: Brave, 2026-01")
    func arrival() async throws {
        let pending = try calendar(new: #""android": { "pending": true, "source": "test" }"#)
        let red = try folder.add(androidText([old.key.pin]))
        let before = await plan(red, pending)
        #expect(before.status == 1)
        #expect(
            before.output.contains(
                "survives only by CN=Old Root (root); but new-root is about to enter the store android, and clients that "
                    + "have it end their paths there"), "\(before.output)")
        #expect(before.output.contains("  ends\n"))
        // With a pin of the new root, the same plan passes.
        let green = await plan(try folder.add(androidText([old.key.pin, new.key.pin])), pending)
        #expect(green.status == 0, "\(green.output)")
        // This project's clients also try the longer path, as long as the old root is trusted.
        let ours = await plan(try folder.add(policyText([("api.test", ["\"\(old.key.pin)\""])])), pending)
        #expect(ours.status == 0, "\(ours.output)")
        // Without the calendar, nothing is known.
        let blind = await pinctl("plan", "--ca-file", roots, "--new", chain, "--against", red)
        #expect(blind.status == 0)
    }

    /// The stores of the new or of the old root, and the day and reason of the end for a release that pins the old root.
    struct Change: Sendable, CustomTestStringConvertible {
        var new = ""
        var old = ""
        var words: [String] = []
        var end: String?
        let testDescription: String
    }

    private static let changes = [
        Change(
            new: #""apple": { "pending": true, "source": "t" }"#, testDescription: "a store of another system"),
        Change(new: #""android": { "absent": true, "source": "t" }"#, testDescription: "a store without the root"),
        Change(
            new: #""android": { "since": "2027-01-01", "source": "t" }"#,
            end: "until 2027-01-01T00:00:00Z: new-root enters the store android",
            testDescription: "a day while the leaf is valid"),
        Change(
            new: #""android": { "since": "2025-01-01", "source": "t" }"#,
            end: "until 2025-01-01T00:00:00Z: new-root enters the store android", testDescription: "a day in the past"),
        Change(
            new: #""android": { "source": "t" }"#, end: "but new-root is in the store android",
            testDescription: "a store that has had the root for long"),
        Change(
            new: #""android": { "since": "2099-01-01", "source": "t" }"#, testDescription: "a day after the leaf's end"),
        Change(
            new: #""android": { "since": "2029-01-01", "source": "t" }"#, words: ["--fail-within", "9999d"],
            end: "until 2029-01-01T00:00:00Z: new-root enters", testDescription: "a day within --fail-within"),
        Change(
            new: #""android": { "since": "2025-01-01", "removed": "2026-01-01", "source": "t" }"#,
            testDescription: "a new root that was removed again"),
        Change(
            old: #""android": { "removed": "2027-01-01", "source": "t" }"#,
            end: "until 2027-01-01T00:00:00Z: old-root leaves the store android", testDescription: "a removed root"),
        Change(
            old: #""android": { "issuedUntil": "2020-01-01", "source": "t" }"#,
            end: "until 2020-01-01T00:00:00Z: the store android trusts no certificates issued later below old-root",
            testDescription: "a leaf that was issued too late"),
        Change(
            old: #""android": { "issuedUntil": "2099-01-01", "source": "t" }"#,
            testDescription: "a leaf that was issued in time"),
        Change(
            old: #""android": { "since": "2020-01-01", "source": "t" }"#, testDescription: "an old root that stays"),
    ]

    @Test("A change counts while the leaf is valid or within --fail-within", arguments: changes)
    func change(_ change: Change) async throws {
        let calendar = try calendar(new: change.new, old: change.old)
        let run = await pinctl(
            [
                "plan", "--ca-file", roots, "--new", chain, "--calendar", calendar, "--against",
                try folder.add(androidText([old.key.pin])),
            ] + change.words)
        #expect(run.status == (change.end == nil ? 0 : 1), "\(run.output)")
        if let end = change.end { #expect(run.output.contains(end), "\(run.output)") }
    }

    @Test("A store given with --store is judged by its own entry only, and a private root by none")
    func namedStores() async throws {
        let calendar = try calendar(new: #""apple": { "pending": true, "source": "test" }"#)
        let release = try folder.add(androidText([old.key.pin]))
        for (name, status) in [("apple", 1), ("android", 0), ("other", 0)] {
            let run = await pinctl(
                "plan", "--store", "\(name)=\(roots)", "--new", chain, "--against", release, "--calendar", calendar)
            #expect(run.status == Int32(status), "\(name): \(run.output)")
        }
        let site = try PinctlSite()
        let own = await pinctl(
            "plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--calendar", calendar, "--against",
            try site.policy("\"\(site.root.key.pin)\""))
        #expect(own.status == 0, "\(own.output)")
    }

    @Test("A root that every store drops ends every release below it, ours too")
    func departure() async throws {
        let calendar = try calendar(old: #""android": { "removed": "2027-01-01", "source": "t" }"#)
        let ours = await plan(try folder.add(policyText([("api.test", ["\"\(old.key.pin)\""])])), calendar)
        #expect(ours.status == 1)
        #expect(ours.output.contains("until 2027-01-01T00:00:00Z: old-root leaves the store android"))
        let json = await plan(
            try folder.add(policyText([("api.test", ["\"\(old.key.pin)\""])])), calendar, "--json")
        #expect(json.output.contains(#""until":"2027-01-01T00:00:00Z""#), "\(json.output)")
    }

    @Test("The files that a policy includes are its calendar")
    func included() async throws {
        let name = "calendar.jsonc"
        _ = try calendar(
            new: #""apple": { "pending": true, "source": "t" }"#,
            old: #""android": { "removed": "2026-12-01", "source": "t" }"#, name: name)
        let policy = try folder.add(
            """
            { "version": 1, "include": ["\(name)"],
              "domains": [ { "host": "api.test", "pins": ["old-root", "\(strangePin)"] } ] }
            """)
        let plan = await pinctl(["plan", "--ca-file", roots, "--new", chain, "--policy", policy])
        #expect(plan.status == 1)
        #expect(plan.output.contains("until 2026-12-01T00:00:00Z: old-root leaves the store android"))
        // The other pin may be of a server's key, so lint only warns.
        let lint = await pinctl("lint", policy)
        #expect(
            lint.output.contains(
                "warning[P033] old-root is a root that is removed from the store on 2026-12-01 (android)"))
        #expect(!lint.output.contains("P034"))
        #expect(lint.status == 0, "\(lint.output)")
    }

    @Test("lint fails if every pin is a root that leaves, and names the root to pin instead")
    func lint() async throws {
        let calendar = try calendar(
            new: #""apple": { "pending": true, "source": "t" }, "android": { "since": "2027-02-01", "source": "t" }"#,
            old: #""android": { "issuedUntil": "2027-03-01", "source": "t" }"#)
        let alone = try folder.add(policyText([("api.test", ["\"\(old.key.pin)\""])]))
        let run = await pinctl("lint", "--calendar", calendar, alone)
        #expect(run.status == 1)
        #expect(
            run.output.contains(
                "is a root that is trusted only for certificates issued until 2027-03-01 (android): pin the root"))
        #expect(
            run.output.contains(
                "has signed the root new-root, which enters the store android on 2027-02-01 and is about to enter stores "
                    + "(apple)"), "\(run.output)")
        // Half a year before it is too early for an error, and a pin of the new root settles the rest.
        let early = await pinctl("lint", "--calendar", calendar, "--at", "2026-08-01", alone)
        #expect(!early.output.contains("P033"))
        let both = try folder.add(policyText([("api.test", ["\"\(old.key.pin)\"", "\"\(new.key.pin)\""])]))
        let settled = await pinctl("lint", "--calendar", calendar, both)
        #expect(settled.output.contains("warning[P033]"))
        #expect(!settled.output.contains("P034"))
        // Other dialects are checked too.
        let android = await pinctl("lint", "--calendar", calendar, try folder.add(androidText([old.key.pin])))
        #expect(android.output.contains("error[P033]"))
    }

    @Test("A calendar that is older than half a year is used with a note")
    func age() async throws {
        let release = try folder.add(androidText([old.key.pin]))
        let stores = #""android": { "pending": true, "source": "t" }"#
        let stale = await plan(release, try calendar(new: stores, checked: "2026-05-01"))
        #expect(stale.errors.contains("are those of 2026-05-01, more than six months ago: get a newer file"))
        #expect(stale.status == 1)
        let fresh = await plan(release, try calendar(new: stores))
        #expect(!fresh.errors.contains("six months"))
        let lint = await pinctl("lint", "--calendar", try calendar(new: stores, checked: "2026-05-01"), release)
        #expect(lint.errors.contains("more than six months ago"))
    }

    @Test("A file that isn't a calendar, or has errors, is rejected")
    func malformed() async throws {
        let release = try folder.add(androidText([old.key.pin]))
        let pin = try old.key.pin
        let files = [
            (#"{ "version": 1, "pins": { "a": "\#(pin)" } }"#, #"no pin has "x-stores""#),
            (
                #"{ "version": 1, "pins": { "a": { "pin": "\#(pin)", "x-stores": {} } } }"#,
                #"the file has no "x-checked": add the day of its facts"#
            ),
            (
                #"{ "x-checked": "soon", "pins": { "a": { "pin": "\#(pin)", "x-stores": {} } } }"#,
                #""x-checked" isn't a day"#
            ),
            (
                #"{ "x-checked": "2026-11-01", "pins": { "a": { "pin": "\#(pin)", "x-stores": { "opera": {} } } } }"#,
                "unknown key \"opera\""
            ),
            (
                #"{ "x-checked": "2026-11-01", "pins": { "a": { "pin": "\#(pin)", "x-stores": { "apple": {} } } } }"#,
                "has no \"source\""
            ),
            (
                #"{ "x-checked": "2026-11-01", "pins": { "a": { "pin": "\#(pin)", "#
                    + #""x-stores": { "apple": { "since": "2026-13-01", "source": "t" } } } } }"#,
                "isn't a day: write 2026-11-20"
            ),
            (
                #"{ "x-checked": "2026-11-01", "pins": { "a": { "file": "a.pem", "x-stores": {} } } }"#,
                "has \"x-stores\" but no \"pin\""
            ),
            ("[", "error:"),
            ("", "the file is empty"),
        ]
        for (text, reason) in files {
            let file = try folder.add(text)
            for words in [
                ["plan", "--ca-file", roots, "--new", chain, "--against", release, "--calendar", file],
                ["lint", "--calendar", file, release],
            ] {
                let run = await pinctl(words)
                #expect(run.status == 2, "\(text)")
                #expect(run.errors.contains(reason), "\(text): \(run.errors)")
            }
        }
        let missing = await pinctl("lint", "--calendar", "\(folder.path)/nothing", release)
        #expect(missing.status == 2)
    }
}
