import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

// The files in which a calendar is found, and what `lint` says about the roots in it.

extension PlanCalendarTests {
    @Test("The calendar of a policy is also in files that are included by those it includes, and in standard input")
    func nested() async throws {
        let name = "calendar.jsonc"
        _ = try calendar(old: #""android": { "removed": "2026-12-01", "source": "t" }"#, name: name)
        _ = try directory.add(#"{ "version": 1, "include": ["\#(name)"] }"#, name: "names.jsonc")
        let policy = try directory.add(
            """
            { "version": 1, "include": ["names.jsonc"], "domains": [ { "host": "api.test", "pins": ["old-root"] } ] }
            """, name: "policy.jsonc")
        let plan = await pinctl(["plan", "--ca-file", roots, "--new", chain, "--policy", policy])
        #expect(plan.status == 1)
        #expect(plan.output.contains("until 2026-12-01T00:00:00Z: old-root leaves the store android"))
        for command in ["pinctl lint policy.jsonc", "pinctl lint - < policy.jsonc", "cat policy.jsonc | pinctl lint -"]
        {
            let lint = try await shell(command, in: directory)
            #expect(lint.status == 1, "\(lint.errors)")
            #expect(lint.output.contains("error[P033] old-root is a root that is removed"), "\(lint.output)")
        }
    }

    /// The entry of the old root, which is the only pin.
    private static let absentRoots: [(stores: String, level: String, text: String)] = [
        (
            #""chrome": { "absent": true, "source": "t" }, "mozilla": { "absent": true, "source": "t" }"#, "warning",
            "is absent from the store (chrome, mozilla)"
        ),
        // This store has had the root.
        (
            #""mozilla": { "absent": true, "issuedUntil": "2024-11-30", "source": "t" }"#, "error",
            "is absent from the store (mozilla)"
        ),
    ]

    @Test("lint names the stores that don't have a pinned root", arguments: absentRoots)
    func absentRoot(stores: String, level: String, text: String) async throws {
        let file = try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])]))
        let lint = await pinctl("lint", "--calendar", try calendar(old: stores), file)
        #expect(lint.output.contains("\(level)[P033]") && lint.output.contains(text), "\(lint.output)")
        #expect(lint.status == (level == "error" ? 1 : 0))
    }

    /// The day of removal of the old root, and what lint says on 2026-11-23.
    private static let removals = [
        ("2026-11-22", "was removed from the store on 2026-11-22 (mozilla)"),
        ("2026-11-24", "is removed from the store on 2026-11-24 (mozilla)"),
    ]

    @Test("lint says whether a removal is past", arguments: removals)
    func removal(day: String, text: String) async throws {
        let file = try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])]))
        let calendar = try calendar(old: "\"mozilla\": { \"removed\": \"\(day)\", \"source\": \"t\" }")
        let lint = await pinctl("lint", "--calendar", calendar, "--at", "2026-11-23", file)
        #expect(lint.output.contains("is a root that \(text): pin"), "\(lint.output)")
    }

    /// The last days of the certificates that the old root has signed for the new one, and whether the new root matters
    /// on 2026-11-23.
    private static let crossSigns: [(until: [String], isWarned: Bool)] = [
        (["2026-11-23"], true), (["2026-11-22"], false), (["2020-01-01", "2027-01-01"], true),
        (["2027-01-01", "2020-01-01"], true), (["2019-01-01", "2020-01-01"], false), ([], false),
    ]

    @Test("A root whose cross-signed certificates have all expired ends no path", arguments: crossSigns)
    func expiredCrossSign(until: [String], isWarned: Bool) async throws {
        let file = try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])]))
        let calendar = try calendar(new: #""android": { "pending": true, "source": "t" }"#, signedUntil: until)
        let lint = await pinctl("lint", "--calendar", calendar, "--at", "2026-11-23", file)
        #expect(lint.output.contains("warning[P034]") == isWarned, "\(lint.output)")
    }

    @Test("A pin of a backup key doesn't hide that the CA has another root")
    func backup() async throws {
        let calendar = try calendar(new: #""android": { "pending": true, "source": "t" }"#)
        for (other, isWarned) in [
            (#"{ "pin": "\#(unknownPin)", "backup": true }"#, true), ("\"\(unknownPin)\"", false),
        ] {
            let file = try directory.add(policyText([("api.test", ["\"\(old.key.pin)\"", other])]))
            let lint = await pinctl("lint", "--calendar", calendar, file)
            #expect(lint.output.contains("warning[P034]") == isWarned, "\(lint.output)")
        }
    }

    @Test("lint fails if every pin is a root that leaves, and names the root to pin instead")
    func lint() async throws {
        let calendar = try calendar(
            new: #""apple": { "pending": true, "source": "t" }, "android": { "since": "2027-02-01", "source": "t" }"#,
            old: #""android": { "issuedUntil": "2027-03-01", "source": "t" }"#)
        let alone = try directory.add(policyText([("api.test", ["\"\(old.key.pin)\""])]))
        let run = await pinctl("lint", "--calendar", calendar, alone)
        #expect(run.status == 1)
        #expect(
            run.output.contains(
                "is a root that is trusted only for certificates issued until 2027-03-01 (android): pin the root"))
        #expect(
            run.output.contains(
                "has signed the root new-root, which enters the store android on 2027-02-01 and is about to enter "
                    + "stores (apple)"), "\(run.output)")
        // Half a year before it is too early for an error, and a pin of the new root settles the rest.
        let early = await pinctl("lint", "--calendar", calendar, "--at", "2026-08-01", alone)
        #expect(!early.output.contains("P033"))
        let both = try directory.add(policyText([("api.test", ["\"\(old.key.pin)\"", "\"\(new.key.pin)\""])]))
        let settled = await pinctl("lint", "--calendar", calendar, both)
        #expect(settled.output.contains("warning[P033]"))
        #expect(!settled.output.contains("P034"))
        // Other dialects are checked too.
        let android = await pinctl("lint", "--calendar", calendar, try directory.add(androidText([old.key.pin])))
        #expect(android.output.contains("error[P033]"))
    }

    /// A calendar in which one root has signed many others.
    private func successors(_ count: Int) throws -> String {
        let roots = try (0..<count).map { number in
            let pin = try TestKey().pin
            return "\"r\(number)\": { \"pin\": \"\(pin)\", \"x-stores\": {}, "
                + "\"x-cross-signs\": [ { \"by\": \"a\", \"until\": \"2030-01-01\", \"source\": \"t\" } ] }"
        }
        return "{ \"x-checked\": \"2026-11-01\", \"pins\": { \(roots.joined(separator: ", ")) } }"
    }

    @Test("A file that isn't a calendar, or has errors, is rejected")
    func malformed() async throws {
        let release = try directory.add(androidText([old.key.pin]))
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
            (
                #"{ "x-checked": "2026-11-01", "pins": { "a": { "pin": "\#(pin)", "x-stores": {} }, "#
                    + #""b": { "pin": "\#(pin)", "x-stores": {} } } }"#,
                "the key of \"b\" is also that of \"a\": remove one"
            ),
            (try successors(33), "\"a\" has signed more than 32 roots"),
            ("[", "error:"),
            ("", "the file is empty"),
        ]
        for (text, reason) in files {
            let file = try directory.add(text)
            for words in [
                ["plan", "--ca-file", roots, "--new", chain, "--against", release, "--calendar", file],
                ["lint", "--calendar", file, release],
            ] {
                let run = await pinctl(words)
                #expect(run.status == 2, "\(text)")
                #expect(run.errors.contains(reason), "\(text): \(run.errors)")
            }
        }
        let missing = await pinctl("lint", "--calendar", "\(directory.path)/nothing", release)
        #expect(missing.status == 2)
    }
}
