import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Changes of public trust stores that a calendar announces. `plan` fails before they break a release, and `lint` names
/// the root to pin.
@Suite("pinctl plan and lint on coming changes of trust stores")
struct PlanCalendarTests {
    let directory: TestDirectory
    let old: TestCertificate
    let new: TestCertificate
    let roots: String
    /// A chain below the new root, which the old one has signed. The leaf is valid until 2028-01-01T00:00:00Z.
    let chain: String

    init() throws {
        directory = try TestDirectory()
        old = try TestCertificate.root("Old Root")
        new = try TestCertificate.root("New Root")
        let issuer = try new.intermediate("Issuer")
        let crossSigned = try old.crossSign(new)
        roots = try directory.add(old.pemText)
        let leaf = try issuer.leaf("api.test") { $0.notAfter = 1_830_297_600 }
        chain = try directory.add([leaf, issuer, crossSigned].map(\.pemText).joined())
    }

    /// A calendar in which the new root and the old one have these entries of `x-stores`.
    func calendar(
        new newStores: String = "", old oldStores: String = "", checked: String = "2026-11-20",
        signedUntil: [String] = ["2030-01-01"], name: String? = nil
    ) throws -> String {
        let signs = signedUntil.map { "{ \"by\": \"old-root\", \"until\": \"\($0)\", \"source\": \"test\" }" }
        let text = """
            { "version": 1, "x-checked": "\(checked)", "pins": {
              "new-root": { "pin": "\(try new.key.pin)", "role": "ca", "x-stores": { \(newStores) },
                "x-cross-signs": [ \(signs.joined(separator: ", ")) ] },
              "old-root": { "pin": "\(try old.key.pin)", "role": "ca", "x-stores": { \(oldStores) } } } }
            """
        return try name.map { try directory.add(text, name: $0) } ?? directory.add(text)
    }

    func plan(_ release: String, _ calendar: String, _ words: String...) async -> Run {
        await pinctl(
            ["plan", "--ca-file", roots, "--new", chain, "--against", release, "--calendar", calendar] + words)
    }

    @Test("A root that enters stores shortens the path of clients that pin the root above it: Brave, 2026-01")
    func arrival() async throws {
        let pending = try calendar(new: #""android": { "pending": true, "source": "test" }"#)
        let red = try directory.add(androidText([old.key.pin]))
        let before = await plan(red, pending)
        #expect(before.status == 1)
        #expect(
            before.output.contains(
                "survives only by CN=Old Root (root); but new-root is about to enter the store android, and clients "
                    + "that have it end their paths there"), "\(before.output)")
        #expect(before.output.contains("  ends\n"))
        // With a pin of the new root, the same plan passes.
        let green = await plan(try directory.add(androidText([old.key.pin, new.key.pin])), pending)
        #expect(green.status == 0, "\(green.output)")
        // This project's clients also try the longer path, as long as the old root is trusted.
        let ours = await plan(try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])])), pending)
        #expect(ours.status == 0, "\(ours.output)")
        // Without the calendar, nothing is known.
        let blind = await pinctl("plan", "--ca-file", roots, "--new", chain, "--against", red)
        #expect(blind.status == 0)
    }

    @Test("A root that the machine doesn't have, but the store does, isn't a local one")
    func notLocal() async throws {
        let change = try calendar(
            new: #""mozilla": { "since": "2020-01-01", "source": "t" }"#,
            old: #""mozilla": { "removed": "2027-01-01", "source": "t" }"#)
        for bypasses in [false, true] {
            let text = policyText([("api.test", ["\"\(try old.key.pin)\""])])
            let release = try directory.add(
                text.replacing("\"host\":", with: "\"localAnchorsBypassPins\": \(bypasses), \"host\":"))
            let run = try await shell(
                "SSL_CERT_FILE=\(roots) pinctl plan --new \(chain) --against \(release) --calendar \(change) "
                    + "--fail-within 9999d")
            #expect(run.status == 1, "\(run.output)\(run.errors)")
            #expect(
                run.output.contains("until 2027-01-01T00:00:00Z: old-root leaves the store mozilla"), "\(run.output)")
        }
    }

    /// The stores of the new or of the old root, and the day and reason of the end for a release that pins the old
    /// root.
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
            new: #""android": { "since": "2099-01-01", "source": "t" }"#,
            testDescription: "a day after the leaf's end"),
        Change(
            new: #""android": { "since": "2029-01-01", "source": "t" }"#, words: ["--fail-within", "773d"],
            end: "until 2029-01-01T00:00:00Z: new-root enters", testDescription: "the last moment of --fail-within"),
        Change(
            new: #""android": { "since": "2029-01-01", "source": "t" }"#, words: ["--fail-within", "772d"],
            testDescription: "a day after --fail-within and the leaf's end"),
        Change(
            new: #""android": { "since": "2028-01-01", "source": "t" }"#,
            end: "until 2028-01-01T00:00:00Z: new-root enters", testDescription: "the last moment of the leaf"),
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
                try directory.add(androidText([old.key.pin])),
            ] + change.words)
        #expect(run.status == (change.end == nil ? 0 : 1), "\(run.output)")
        if let end = change.end { #expect(run.output.contains(end), "\(run.output)") }
    }

    @Test("A store given with --store is judged by its own entry only, and a private root by none")
    func namedStores() async throws {
        let calendar = try calendar(new: #""apple": { "pending": true, "source": "test" }"#)
        let release = try directory.add(androidText([old.key.pin]))
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

    /// The entry of the new root, at which the path ends, and the end for a release that pins it.
    private static let lastRoots: [(stores: String, end: String?)] = [
        (#""android": { "source": "t" }"#, nil),
        (#""android": { "since": "2020-01-01", "source": "t" }"#, nil),
        (#""apple": { "absent": true, "source": "t" }"#, nil),
        (#""android": { "absent": true, "source": "t" }"#, "; but new-root isn't in the store android\n"),
        (
            #""android": { "absent": true, "issuedUntil": "2024-11-30", "source": "t" }"#,
            "; but new-root isn't in the store android\n"
        ),
        (#""android": { "pending": true, "source": "t" }"#, "; but new-root isn't yet in the store android\n"),
        (
            #""android": { "since": "2027-01-01", "source": "t" }"#,
            "; but new-root isn't in the store android before 2027-01-01\n"
        ),
    ]

    @Test("A release breaks in a store that doesn't have the root where the path ends", arguments: lastRoots)
    func lastRoot(stores: String, end: String?) async throws {
        let newRoots = try directory.add(new.pemText)
        let calendar = try calendar(new: stores)
        let release = try directory.add(androidText([new.key.pin]))
        let run = await pinctl(
            "plan", "--ca-file", newRoots, "--new", chain, "--against", release, "--calendar", calendar)
        #expect(run.status == (end == nil ? 0 : 1), "\(run.output)")
        if let end { #expect(run.output.contains(end), "\(run.output)") }
        // Clients find another path if the old root has signed the new one.
        let bothRoots = try directory.add(old.pemText + new.pemText)
        let other = await pinctl(
            "plan", "--ca-file", bothRoots, "--new", chain, "--against", release, "--calendar", calendar)
        #expect(other.status == 0, "\(other.output)")
    }

    @Test("A rule that adds roots to those of the system is judged by the calendar, and one with others only isn't")
    func ownAnchors() async throws {
        let calendar = try calendar(old: #""android": { "removed": "2027-01-01", "source": "t" }"#)
        for (anchors, status) in [("", 0), (#", "system": true"#, 1), (#", "system": false"#, 0)] {
            let rule = """
                { "host": "api.test", "pins": ["\(try old.key.pin)"], "anchors": { "files": ["\(roots)"]\(anchors) } }
                """
            let run = await plan(try directory.add(#"{ "version": 1, "domains": [\#(rule)] }"#), calendar)
            #expect(run.status == Int32(status), "\(run.output)\(run.errors)")
            // A calendar that says nothing is told, and so are the stores that clients may not have.
            #expect(run.errors.contains("a rule trusts only its own roots, so the calendar") == (status == 0))
            #expect(run.errors.contains("every store in the calendar counts") == (status == 1), "\(run.errors)")
        }
        let named = await pinctl(
            "plan", "--store", "android=\(roots)", "--new", chain, "--calendar", calendar, "--against",
            try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])])))
        #expect(named.status == 1 && !named.errors.contains("every store"), "\(named.errors)")
    }

    @Test("A key whose issuer isn't known yet doesn't hide the end of a chain that is given with it")
    func besideKey() async throws {
        let calendar = try calendar(old: #""android": { "removed": "2027-01-01", "source": "t" }"#)
        let release = try directory.add(androidText([old.key.pin]))
        let key = try directory.add(try TestKey().publicKeyPEM)
        let alone = await pinctl(
            "plan", "--host", "api.test", "--new", key, "--against", release, "--calendar", calendar)
        #expect(alone.status == 1 && alone.output.contains("depends"), "\(alone.output)\(alone.errors)")
        let run = await plan(release, calendar, "--new", key)
        #expect(run.status == 1, "\(run.output)\(run.errors)")
        #expect(run.output.contains("until 2027-01-01T00:00:00Z: old-root leaves the store android"))
    }

    @Test("An exported file whose pins are off doesn't hide that the policy stops surviving")
    func exported() async throws {
        let calendar = try calendar(old: #""android": { "removed": "2027-01-01", "source": "t" }"#)
        _ = try directory.add(androidText([old.key.pin], expiration: "2026-01-01"), name: "nsc.xml")
        let policy = try directory.add(
            policyText(
                [("api.test", ["\"\(old.key.pin)\""])], #""exports": [ { "to": "android", "file": "nsc.xml" } ],"#),
            name: "exporting.jsonc")
        let report = "\(directory.path)/report.xml"
        let run = await pinctl(
            "plan", "--ca-file", roots, "--new", chain, "--policy", policy, "--calendar", calendar, "--report",
            "junit=\(report)")
        #expect(run.status == 1, "\(run.output)\(run.errors)")
        #expect(run.output.contains("nsc.xml: pinning off since 2026-01-01; until 2027-01-01T00:00:00Z: old-root"))
        let text = try String(contentsOfFile: report, encoding: .utf8)
        #expect(text.contains(#"failures="1""#) && text.contains(#"<failure type="ends""#), "\(text)")
    }

    @Test("A root that every store drops ends every release below it, ours too")
    func departure() async throws {
        let calendar = try calendar(old: #""android": { "removed": "2027-01-01", "source": "t" }"#)
        let ours = await plan(try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])])), calendar)
        #expect(ours.status == 1)
        #expect(ours.output.contains("until 2027-01-01T00:00:00Z: old-root leaves the store android"))
        let json = await plan(
            try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])])), calendar, "--json")
        #expect(json.output.contains(#""until":"2027-01-01T00:00:00Z""#), "\(json.output)")
    }

    @Test("The files that a policy includes are its calendar")
    func included() async throws {
        let name = "calendar.jsonc"
        _ = try calendar(
            new: #""apple": { "pending": true, "source": "t" }"#,
            old: #""android": { "removed": "2026-12-01", "source": "t" }"#, name: name)
        let policy = try directory.add(
            """
            { "version": 1, "include": ["\(name)"],
              "domains": [ { "host": "api.test", "pins": ["old-root", "\(unknownPin)"] } ] }
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

    @Test("A calendar that is older than half a year is used with a note")
    func age() async throws {
        let release = try directory.add(androidText([old.key.pin]))
        let stores = #""android": { "pending": true, "source": "t" }"#
        let stale = await plan(release, try calendar(new: stores, checked: "2026-05-01"))
        #expect(stale.errors.contains("are those of 2026-05-01, more than six months ago: get a newer file"))
        #expect(stale.status == 1)
        let fresh = await plan(release, try calendar(new: stores))
        #expect(!fresh.errors.contains("six months"))
        let coming = await plan(release, try calendar(new: stores, checked: "2099-01-01"))
        #expect(coming.errors.contains("are those of 2099-01-01, which hasn't come yet: correct \"x-checked\""))
        let lint = await pinctl("lint", "--calendar", try calendar(new: stores, checked: "2026-05-01"), release)
        #expect(lint.errors.contains("more than six months ago"))
    }
}
