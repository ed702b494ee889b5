import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// A release that a plan can't read isn't skipped.
@Suite("pinctl plan, releases that are hard to read (GA1)")
struct PlanReleaseTests {
    let site: PinctlSite
    private let directory: String

    init() throws {
        site = try PinctlSite()
        directory = site.directory.path + "/releases"
        _ = try TestCommand.run(["mkdir", directory])
        _ = try site.directory.add(androidText([try site.root.key.pin]), name: "releases/good.xml")
    }

    /// Adds a file in place of one with the same name.
    private func replace(_ name: String, _ bytes: [UInt8]) throws -> String {
        try? FileManager.default.removeItem(atPath: "\(site.directory.path)/\(name)")
        return try site.directory.add(bytes, name: name)
    }

    private func plan(_ words: String...) async -> Run {
        await pinctl(["plan", "--ca-file", site.rootFile, "--new", site.chainFile] + words)
    }

    @Test("A plan against releases of which none can be read isn't green, whatever is allowed")
    func nothingRead() async throws {
        _ = try TestCommand.run(["mkdir", site.directory.path + "/broken"])
        _ = try site.directory.add("<network-security-config>", name: "broken/app.xml")
        let broken = site.directory.path + "/broken"
        for words in [[], ["--allow-unread"]] {
            let run = await pinctl(
                ["plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--against", broken] + words)
            #expect(run.status == 2 && run.errors.contains("app.xml"), "\(run)")
            #expect(run.errors.contains("none of the releases could be read, so nothing was judged"), "\(run)")
        }
        let read = await plan("--against", broken, "--against", directory, "--allow-unread")
        #expect(read.status == 0 && !read.errors.contains("nothing was judged"), "\(read)")
    }

    private func verdicts(_ run: Run) throws -> [String] {
        try run.decoded(as: PlanDocument.self).results.compactMap { result in
            result.release.map { "\($0.split(separator: "/").last ?? "") \(result.verdict ?? "")" }
        }
    }

    private func wide(_ text: String, isLittle: Bool = true) -> [UInt8] {
        (isLittle ? [0xFF, 0xFE] : [0xFE, 0xFF])
            + text.utf16.flatMap {
                isLittle ? [UInt8($0 & 0xFF), UInt8($0 >> 8)] : [UInt8($0 >> 8), UInt8($0 & 0xFF)]
            }
    }

    @Test("XML in UTF-16 with a byte order mark is read, and other encodings are unread")
    func encodings() async throws {
        let text = androidText([unknownPin])
        let list = try await pinctl(
            "export", "--to", "apple", "--lossy", site.policy("{ \"pin\": \"\(unknownPin)\", \"role\": \"leaf\" }")
        ).output
        let rows: [([UInt8], Int32)] = [
            (wide(text), 1), (wide(text, isLittle: false), 1),
            (wide("<?xml version=\"1.0\" encoding=\"utf-16\"?>" + text), 1),
            (wide(list.replacing("UTF-8", with: "UTF-16")), 1),
            (wide("<?xml version=\"1.0\" encoding=\"UTF-8\"?>" + text), 2), (Array(wide(text).dropFirst(2)), 2),
            (wide(text).dropLast(), 2), (wide(policyText([("api.test", ["\"\(unknownPin)\""])])), 2),
            ([0x50, 0x4B, 3, 4, 0, 0], 2), ([3, 0, 8, 0, 0x90, 1, 0, 0], 2),
        ]
        for (index, (bytes, status)) in rows.enumerated() {
            let file = try replace("releases/app", bytes)
            let run = await plan("--against", directory, "--json")
            #expect(run.status == status, "\(index): \(run)")
            let found = try verdicts(run)
            #expect(found.contains("good.xml survives_only"), "\(index): \(found)")
            #expect(found.contains("app breaks") == (status == 1), "\(index): \(found)")
            if status == 2 {
                #expect(run.output.contains("\"unread\":1"), "\(index): \(run)")
                let allowed = await plan("--against", directory, "--allow-unread")
                #expect(allowed.status == 0 && allowed.output.contains("1 release unread"), "\(index): \(allowed)")
                #expect(allowed.lines.contains { $0.hasPrefix("\(file) ") && $0.hasSuffix("  unread") }, "\(allowed)")
            }
        }
    }

    @Test("Subdirectories are read, and what has nothing to do with pins is counted")
    func subdirectories() async throws {
        for name in ["android/1.0", "ios", "keys", ".git"] {
            _ = try TestCommand.run(["mkdir", "-p", "\(directory)/\(name)"])
        }
        _ = try site.directory.add(androidText([unknownPin]), name: "releases/android/1.0/nsc.xml")
        let files: [(String, String)] = [
            ("keys/leaf.pem", site.leaf.pemText), ("README.md", "CertificatePinner and sha256/ pins"),
            ("ios/notes.txt", "nothing here"), ("ios/config.json", "{ \"a\": 1 }"), (".git/config", "sha256/"),
            ("roots.jsonc", #"{ "version": 1, "pins": { "r": "\#(unknownPin)" } }"#),
        ]
        for (name, text) in files { _ = try site.directory.add(text, name: "releases/\(name)") }
        let run = await plan("--against", directory, "--json")
        #expect(run.status == 1)
        #expect(try verdicts(run) == ["nsc.xml breaks", "good.xml survives_only"], "\(run)")
        #expect(run.output.contains("\"irrelevant\":5") && run.output.contains("\"unread\":0"), "\(run)")
        let text = await plan("--against", directory)
        #expect(text.lines.contains("1 of 2 combinations breaks, 5 files irrelevant"), "\(text)")
        // A text with pins in no dialect, and a link to another directory, aren't irrelevant.
        _ = try TestCommand.run(["rm", "\(directory)/android/1.0/nsc.xml"])
        _ = try site.directory.add("pins:\n  - \(unknownPin.dropFirst(7))\n", name: "releases/ios/pins.yaml")
        _ = try TestCommand.run(["ln", "-s", site.directory.path, "\(directory)/link"])
        let unread = await plan("--against", directory, "--json")
        #expect(unread.status == 2 && unread.output.contains("\"unread\":2"), "\(unread)")
    }

    @Test("A file that was written by half is unread, and a complete one of something else is irrelevant")
    func damaged() async throws {
        let text = androidText([unknownPin])
        let rows: [(String, String, Int32)] = [
            ("nsc.xml", "", 2), ("nsc.xml", "<network-sec", 2), ("nsc.xml", String(text.prefix(60)), 2),
            ("Info.plist", " \n", 2), ("pins.kt", "", 2),
            ("strings.xml", "<resources><string>a</string></resources>", 0),
            ("page", "<!DOCTYPE html><p>unclosed", 0), ("notes.txt", "", 0), ("a.bin", "\u{0}\u{1}", 2),
        ]
        for (name, contents, status) in rows {
            let file = try replace("releases/\(name)", Array(contents.utf8))
            let run = await plan("--against", directory)
            #expect(run.status == status, "\(name), \(contents): \(run)")
            try FileManager.default.removeItem(atPath: file)
        }
    }

    @Test("No key is reported as removable while a release is unread, and the change isn't called safe")
    func keysOfUnread() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\", \"\(unknownPin)\"")
        let off = try site.policy(
            "\"\(unknownPin)\"", rule: "\"expires\": \"2026-06-01\", \"onExpiry\": \"stop-pinning\",")
        let words = ["--current", site.chainFile, "--against", off, "--allow-unread", "--timeline", "--against"]
        func run(_ source: String) async -> Run {
            await pinctl(
                ["plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--new", site.chainFile] + words + [
                    source
                ])
        }
        #expect(await run(policy).output.contains("  when \(policy) is retired (a backup for api.test)\n"))
        #expect(await run(off).output.contains("now: nothing needs it"))
        _ = try replace("releases/app.zip", [0x50, 0x4B, 3, 4])
        let unread = await run(directory)
        #expect(unread.status == 0 && unread.output.contains("  unknown: a release is unread\n"), "\(unread)")
        #expect(unread.output.contains("is retired (api.test), unless an unread release needs it"), "\(unread)")
        let broken = try site.policy("\"\(unknownPin)\"")
        let all = await pinctl(
            ["plan", "--ca-file", site.rootFile, "--new", site.chainFile] + words + [directory, "--against", broken])
        #expect(all.output.contains("the breaks end when \(broken) is retired"), "\(all)")
    }

    @Test("Exported Swift is imported, linted and compared with its policy like other formats")
    func swiftCommands() async throws {
        let policy = try site.policy("\"\(try site.root.key.pin)\", \"\(unknownPin)\"")
        let text = await pinctl("export", "--to", "swift", policy).output
        let file = try replace("Pins.swift", Array(text.utf8))
        let imported = await pinctl("import", file)
        #expect(imported.status == 0 && imported.output.contains(unknownPin), "\(imported)")
        #expect(await pinctl("export", "--to", "swift", "--check", "--into", file, policy).status == 0)
        let other = try replace(
            "Other.swift", Array(text.replacing(unknownPin, with: try site.leaf.key.pin).utf8))
        let drift = await pinctl("export", "--to", "swift", "--check", "--into", other, policy)
        #expect(drift.status == 1, "\(drift)")
    }

    @Test("Swift that export wrote is judged, and other Swift is unread")
    func swift() async throws {
        for (pin, status) in [(unknownPin, Int32(1)), (try site.root.key.pin, 0)] {
            let policy = try site.policy("\"\(pin)\"", rule: "\"subdomains\": true,")
            let text = await pinctl("export", "--to", "swift", policy).output
            _ = try replace("releases/Pins.swift", Array(text.utf8))
            let run = await plan("--against", directory, "--json")
            #expect(run.status == status, "\(run)")
            #expect(try verdicts(run).contains { $0.hasPrefix("Pins.swift") }, "\(run)")
            for changed in [
                text.replacing("Pin(\"", with: "Pin(\"x"), text.replacing("pins: [", with: "pins: more + ["),
                text.replacing(
                    "        try PinningPolicy(",
                    with: "        if debug { return .none }\n        try PinningPolicy("),
                text + "\nextension PinningPolicy { static let other = 1 }\n",
            ] {
                #expect(changed != text)
                _ = try replace("releases/Pins.swift", Array(changed.utf8))
                let other = await plan("--against", directory)
                #expect(other.status == 2 && other.errors.contains("Pins.swift:"), "\(changed): \(other)")
            }
        }
    }
}

extension PlanTagTests {
    @Test("A file that moved is read at each tag by several paths or a pattern, and tags without one are unread")
    func moved() async throws {
        try write("app/nsc.xml", androidText([unknownPin]))
        try git("-C", repository, "rm", "-q", "-f", "pins/pins.jsonc")
        try tag("v6.0")
        try git("-C", repository, "mv", "app/nsc.xml", "nsc.xml")
        try write("mobile/nsc.xml", androidText([try site.root.key.pin]))
        try git("-C", repository, "rm", "-q", "-f", "nsc.xml")
        try tag("v6.1")
        let both = await plan("git:v6.*:app/nsc.xml:mobile/nsc.xml", in: nil, "--json")
        #expect(try verdicts(both) == ["v6.0 breaks", "v6.1 survives_only"], "\(both)")
        let glob = await plan("git:v6.*:*/nsc.xml", in: nil, "--json")
        #expect(try verdicts(glob) == ["v6.0 breaks", "v6.1 survives_only"], "\(glob)")
        let all = await plan("git:v*:pins/*.jsonc:*/nsc.xml", in: nil, "--json")
        #expect(
            try verdicts(all) == ["v5.0 breaks", "v5.1 survives_only", "v6.0 breaks", "v6.1 survives_only"], "\(all)")
        let one = await plan("git:v6.*:mobile/nsc.xml")
        #expect(one.status == 2 && one.output.contains("1 release unread"), "\(one)")
        #expect(one.errors.contains("mobile/nsc.xml doesn't exist at 1 of 2 tags: v6.0: add the path"), "\(one)")
        let allowed = await plan("git:v6.*:mobile/nsc.xml", in: nil, "--allow-unread")
        #expect(allowed.status == 0 && allowed.output.contains("v6.0  unread"), "\(allowed)")
        let most = await plan("git:v*:app/nsc.xml:mobile/nsc.xml")
        #expect(most.status == 2, "\(most)")
        #expect(
            most.errors.contains("none of app/nsc.xml, mobile/nsc.xml exists at 2 of 4 tags: v5.0, v5.1"), "\(most)")
        #expect(await plan("git:v*:none/*.xml").status == 2)
        // Two files of one tag are two releases.
        try write("pins/pins.jsonc", policyText([("api.test", ["\"\(unknownPin)\""])]))
        try tag("v7.0")
        let two = await plan("git:v7.0:pins/*:mobile/*", in: nil, "--json")
        #expect(
            try verdicts(two) == ["v7.0:pins/pins.jsonc breaks", "v7.0:mobile/nsc.xml survives_only"], "\(two)")
    }

    @Test("A repository of another user is named with the setting that makes git read it")
    func foreignOwner() async throws {
        guard try TestCommand.run(["chown", "-R", "4711", repository]).status == 0 else { return }
        let run = await plan("git:v5.*:pins/pins.jsonc")
        #expect(run.status == 2)
        #expect(
            run.errors.contains(
                "belongs to another user, and git reads it only if you trust it: run git config --global --add "
                    + "safe.directory \(repository)"), "\(run)")
        #expect(!run.errors.contains("--repository DIR"))
    }
}
