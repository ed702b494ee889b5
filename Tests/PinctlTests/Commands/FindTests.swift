import CertificateTrust
import FoundationEssentials
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// Two keys that no certificate has.
private let (first, second) = (
    "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=", "CAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

@Suite("pinctl find")
struct FindTests {
    let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    func write(_ path: String, _ text: String) throws {
        let file = "\(directory.path)/\(path)"
        let parent = String(file[..<(file.lastIndex(of: "/") ?? file.endIndex)])
        try FileManager.default.createDirectory(atPath: parent, withIntermediateDirectories: true)
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    func script(_ pins: String...) -> String {
        "pins = { 'api.test': [\(pins.map { "'\($0)'" }.joined(separator: ", "))] }\n"
    }

    func config(_ pins: String...) -> String {
        "<network-security-config><domain-config><domain>api.test</domain><pin-set>\n"
            + pins.map { "<pin digest=\"SHA-256\">\($0)</pin>\n" }.joined()
            + "</pin-set></domain-config></network-security-config>\n"
    }

    func git(_ words: String...) throws {
        let result = try TestCommand.run(
            ["git", "-C", directory.path] + words, environment: ["LC_ALL=C", "HOME=\(directory.path)"])
        try #require(result.status == 0, "\(words): \(result.text)")
    }

    /// Runs `find` with git in PATH.
    func find(_ words: String..., path: String? = nil) async -> Run {
        let path = path ?? ProcessInfo.processInfo.environment["PATH"] ?? ""
        let words = words.contains { !$0.hasPrefix("-") } ? words : words + [directory.path]
        return await pinctl(["find"] + words, variables: ["PATH": path, "HOME": directory.path])
    }

    private static let hasGit = TestCommand.isPresent("git", "--version")

    private struct Document: Decodable {
        struct Host: Decodable {
            struct Pin: Decodable {
                struct Place: Decodable {
                    let file: String
                    let line: Int
                    let dialect: String?
                    let inForce: Bool
                }
                let pin: String
                let kind: String
                let places: [Place]
                let missing: [String]
            }
            let host: String?
            let agrees: Bool?
            let pins: [Pin]?
            let error: String?
        }
        struct Summary: Decodable {
            let places: Int
            let pins: Int
            let hosts: Int
            let disagreeing: Int
            let files: Int
            let links: Int
            let tooLarge: [String]
            let exitCode: Int
        }
        let results: [Host]
        let summary: Summary
    }

    @Test("Places that agree exit with 0, and a place that lacks a pin is named with exit code 1")
    func agreement() async throws {
        try write("app/res/xml/config.xml", config(first, second))
        try write("src/pins.ts", script(second, first))
        let good = await find()
        #expect(good.status == 0 && good.errors == "")
        #expect(good.lines.first == "ok api.test: 2 pins in 2 places")
        #expect(good.lines.last == "2 places, 2 pins, 1 host: no disagreement (2 files searched)")
        try write("src/pins.ts", script(first))
        let bad = await find()
        #expect(bad.status == 1 && bad.errors == "")
        let top = directory.path
        #expect(
            bad.lines == [
                "FAIL api.test: 2 pins in 2 places, which disagree", "  sha256/\(first)",
                "    \(top)/app/res/xml/config.xml:2:23 (android)", "    \(top)/src/pins.ts:1:24 (map)",
                "  sha256/\(second)", "    \(top)/app/res/xml/config.xml:3:23 (android)",
                "    missing in \(top)/src/pins.ts",
                "2 places, 2 pins, 1 host: 1 host disagrees (2 files searched)",
            ])
    }

    @Test("A digest without a word of pinning is a place if the same digest is a pin elsewhere")
    func sameDigest() async throws {
        try write("hosts.yaml", "api.test: \(first)\nother.test: \(second)\n")
        try write("pins.ts", script(first))
        let run = await find()
        #expect(run.lines.first == "ok api.test: 1 pin in 2 places")
        #expect(run.lines.last == "2 places, 1 pin, 1 host: no disagreement (2 files searched)")
    }

    @Test("The JSON has every pin with its places, and the counts")
    func json() async throws {
        try write("config.xml", config(first, second))
        try write("README.md", "Pins of api.test: sha256/\(first)\n")
        try write("pins.ts", script(first))
        let run = await find("--json")
        let document = try run.decoded(as: Document.self)
        let host = try #require(document.results.first)
        #expect(document.results.count == 1 && host.host == "api.test" && host.agrees == false)
        let pins = try #require(host.pins)
        #expect(pins.map(\.pin) == ["sha256/\(first)", "sha256/\(second)"] && pins.map(\.kind) == ["key", "key"])
        #expect(pins[0].places.map(\.inForce) == [false, true, true])
        #expect(pins[0].places.map(\.dialect) == [nil, "android", "map"])
        #expect(pins[0].missing == [] && pins[1].missing == [directory.path + "/pins.ts"])
        let summary = document.summary
        #expect(summary.places == 3 && summary.pins == 2 && summary.hosts == 1 && summary.disagreeing == 1)
        #expect(summary.files == 3 && summary.exitCode == 1)
        let lines = await find("--ndjson")
        #expect(lines.lines.count == 2 && lines.lines[0].hasPrefix(#"{"type":"host","host":"api.test""#))
    }

    @Test("SARIF names the missing pin at the first pin of the place that lacks it")
    func sarif() async throws {
        try write("config.xml", config(first, second))
        try write("pins.ts", "\n" + script(first))
        let run = await find("--report=sarif=-")
        #expect(run.status == 1)
        #expect(run.output.contains(#""ruleId":"pins_disagree""#))
        #expect(run.output.contains("lacks sha256/\(second), which \(directory.path)/config.xml:3:23 has"))
        #expect(run.output.contains(#"pins.ts"},"region":{"startLine":2,"startColumn":24}"#))
    }

    @Test("The results of a host with many places that disagree don't grow with the square of their number")
    func manyPlaces() async throws {
        var sizes: [Int] = []
        for index in 0..<500 {
            let pin = Data((0..<32).map { UInt8(truncatingIfNeeded: index &* (7 + $0) &+ $0) }).base64EncodedString()
            try write("\(index).ts", script(pin))
            guard [249, 499].contains(index) else { continue }
            let report = directory.path + "/report.txt"
            let run = await find("--json", "--report=json=\(report)")
            #expect(run.status == 1)
            let written = FileManager.default.contents(atPath: report)?.count ?? 0
            #expect(written < 2 * run.output.utf8.count)
            sizes.append(run.output.utf8.count)
            try FileManager.default.removeItem(atPath: report)
        }
        #expect(sizes[1] < sizes[0] * 5 / 2)
    }

    @Test("A directory without pins exits with 1, and one that doesn't exist with 2")
    func nothing() async throws {
        try write("a.txt", "nothing")
        let run = await find()
        #expect(run.status == 1)
        #expect(run.errors == "pinctl: no pins: \(directory.path) pins nothing: give the directory of the sources\n")
        let missing = await find(directory.path + "/missing")
        #expect(missing.status == 2)
        #expect(missing.errors == "pinctl: \(directory.path)/missing: no such directory: check the path\n")
    }

    @Test("A pin file that can't be read is reported with exit code 2, unless it belongs to tests")
    func unreadable() async throws {
        try write("pins.ts", script(first))
        try write("tests/config.xml", "<network-security-config>")
        let run = await find()
        #expect(run.status == 0)
        #expect(run.errors.hasPrefix("pinctl: note: \(directory.path)/tests/config.xml:"))
        try write("app/config.xml", "<network-security-config>")
        let broken = await find()
        #expect(broken.status == 2)
        #expect(broken.errors.contains("pinctl: \(directory.path)/app/config.xml:1:1: error: "))
    }

    @Test("In a work tree of git, ignored files are skipped, and untracked ones are searched", .enabled(if: hasGit))
    func ignored() async throws {
        try git("init", "-q")
        try write(".gitignore", "build/\n")
        try write("build/pins.ts", script(second))
        try write("tracked.ts", script(first))
        try git("add", "tracked.ts")
        try write("untracked.ts", script(first))
        try write("removed.ts", script(second))
        try git("add", "removed.ts")
        try FileManager.default.removeItem(atPath: directory.path + "/removed.ts")
        let run = await find()
        #expect(run.status == 0)
        #expect(run.lines.last == "2 places, 1 pin, 1 host: no disagreement (3 files searched)")
        // Named by itself, an ignored directory is searched.
        #expect(await find(directory.path + "/build").lines.last?.hasPrefix("1 place, 1 pin") == true)
        let withoutGit = await find(path: "/nowhere")
        #expect(withoutGit.status == 1)
        #expect(withoutGit.errors.contains("files that git ignores are searched too"))
    }

    @Test("git's pins for all other servers aren't those of a server that its configuration names")
    func gitConfiguration() async throws {
        func pin(_ byte: UInt8) -> String { Base64.encode(sha256Digest([byte].span).span) }
        try write(
            ".gitconfig",
            """
            [http]
            \tpinnedPubkey = "sha256//\(pin(1));sha256//\(pin(2))"
            [http "https://git.example.com"]
            \tpinnedPubkey = sha256//\(pin(3))
            """)
        try write("pins.ts", "export const pins = { 'git.example.com': ['sha256/\(pin(3))'] }")
        let run = await find()
        #expect(run.status == 0, "\(run.output)")
        #expect(run.lines.last == "2 places, 3 pins, 1 host: no disagreement (2 files searched)", "\(run.output)")
        // The repository's own configuration is one of its places, without the rest of .git.
        try write(".git/config", "[http \"https://git.example.com\"]\n\tpinnedPubkey = sha256//\(pin(4))\n")
        try write(".git/other.ts", "export const pins = { 'other.example.com': ['sha256/\(pin(5))'] }")
        let own = await find()
        #expect(own.status == 1)
        #expect(own.output.contains(".git/config:2:17") && !own.output.contains("other.example.com"), "\(own.output)")
        #expect(own.output.contains("(3 files searched)"))
    }

    @Test("import of a directory with a file whose pins may name no host says how to import it")
    func withoutHost() async throws {
        try write(
            "gitconfig", "[http]\n\tpinnedPubkey = sha256//\(Base64.encode([UInt8](repeating: 1, count: 32).span))\n")
        let run = await pinctl("import", directory.path)
        #expect(run.status == 2)
        #expect(run.errors.contains("gitconfig: its pins name no host"), "\(run.errors)")
        #expect(run.errors.contains("--host"))
        let named = await pinctl("import", "--host", "git.example.com", directory.path + "/gitconfig")
        #expect(named.status == 0 && named.output.contains("git.example.com"), "\(named.errors)")
    }

    @Test("import of a directory takes headers and git's pins that name their hosts, and names the files of the others")
    func hosts() async throws {
        func pin(_ byte: UInt8) -> String { Base64.encode(sha256Digest([byte].span).span) }
        let header = "Public-Key-Pins \"pin-sha256=\\\"\(pin(1))\\\"; pin-sha256=\\\"\(pin(2))\\\"; max-age=600\""
        try write("web/site.conf", "server { server_name web.example.com; add_header \(header); }\n")
        try write("gitconfig", "[http \"https://git.example.com\"]\n\tpinnedPubkey = sha256//\(pin(3))\n")
        try write(".curlrc", "pinnedpubkey = \"sha256//\(pin(4))\"\n")
        let run = await pinctl("import", directory.path, "--lossy")
        #expect(run.status == 0, "\(run)")
        let expected: [(UInt8, String)] = [(1, "web.example.com"), (2, "web.example.com"), (3, "git.example.com")]
        for (byte, host) in expected {
            #expect(run.output.contains(pin(byte)) && run.output.contains(host), "\(run)")
        }
        #expect(!run.output.contains(pin(4)))
        #expect(run.errors.contains("/.curlrc: its pins name no host"), "\(run)")
        #expect(!run.errors.contains("can't be read by a dialect"), "\(run)")
        let named = await pinctl("import", directory.path, "--lossy", "--host", "api.example.com")
        #expect(named.status == 0 && named.output.contains(pin(4)), "\(named)")
        // A damaged file isn't one without a host.
        try write(".curlrc", "pinnedpubkey = \"sha256//\(pin(4));sha256//AAAA\"\n")
        #expect(await pinctl("import", directory.path, "--lossy").status == 2)
    }

    @Test("Code that pins in a way that isn't read is a problem unless its pins were found")
    func unread() async throws {
        let delegate = """
            func urlSession(_ s: URLSession, didReceive challenge: URLAuthenticationChallenge) {
                accept(hash(SecTrustCopyKey(trust)) == Config.pinnedHash)
            }
            """
        try write("Delegate.swift", delegate)
        try write("net.ts", "http.setServerTrustMode('pinned')\n")
        let run = await find()
        #expect(run.status == 2 && run.errors.contains("/Delegate.swift:2:17: error: this delegate compares"), "\(run)")
        #expect(run.errors.contains("/net.ts:1:6: error: this call pins the certificates"), "\(run)")
        try write("Config.swift", "let keyPin = \"sha256/\(first)\"\n")
        let known = await find()
        #expect(!known.errors.contains("Delegate.swift") && known.errors.contains("/net.ts:1:6"), "\(known)")
        // The pins of the same file are those of its code.
        try write("net.ts", "http.setServerTrustMode('pinned'); \(script(first))")
        #expect(await find().status == 0)
    }

    @Test("A repository in another one is searched", .enabled(if: hasGit))
    func nested() async throws {
        try git("init", "-q")
        try write("a.ts", script(first))
        try write("module/pins.ts", script(first, second))
        _ = try TestCommand.run(["git", "init", "-q", directory.path + "/module"])
        #expect(await find().lines.last == "2 places, 2 pins, 1 host: 1 host disagrees (2 files searched)")
    }

    @Test("A submodule that isn't checked out is reported as one", .enabled(if: hasGit))
    func emptySubmodule() async throws {
        try git("init", "-q")
        try write("a.ts", script(first))
        _ = try TestCommand.run(["mkdir", directory.path + "/module"])
        let commit = String(repeating: "1", count: 40)
        try git("update-index", "--add", "--cacheinfo", "160000,\(commit),module")
        let run = await find()
        let expected =
            "pinctl: \(directory.path)/module: is a submodule without files: run git submodule update --init\n"
        #expect(run.status == 2 && run.errors == expected)
    }

    @Test("Links, devices, binary files and large files aren't searched (XI8)", arguments: [false, true])
    func otherFiles(isRepository: Bool) async throws {
        let outside = try TestDirectory()
        let other = try outside.add(script(second), name: "pins.ts")
        try write("pins.ts", script(first))
        if isRepository {
            guard Self.hasGit else { return }
            try git("init", "-q")
        }
        let files = FileManager.default
        try files.createSymbolicLink(atPath: directory.path + "/link.ts", withDestinationPath: other)
        try files.createSymbolicLink(atPath: directory.path + "/linked", withDestinationPath: outside.path)
        try files.createSymbolicLink(atPath: directory.path + "/loop", withDestinationPath: ".")
        _ = try TestCommand.run(["mkfifo", directory.path + "/pipe"])
        try write("binary.ts", "\u{7F}ELF\u{2}\u{1}\0\0" + script(second) + "\0")
        try write("large.sql", String(repeating: "sha256", count: 3 << 19))
        let document = try await find("--json").decoded(as: Document.self)
        #expect(document.results.count == 1 && document.summary.pins == 1 && document.summary.files == 1)
        #expect(document.summary.links == 3)
        #expect(document.summary.tooLarge == [directory.path + "/large.sql"])
        let end = "(1 file searched, \(directory.path)/large.sql too large to be searched)"
        #expect(await find().lines.last?.hasSuffix(end) == true)
        // A pin can be anywhere in it, as at the end of a part that was read.
        for count in [0, (8 << 20) - 3, (9 << 20) + 65_530] {
            try write(
                "large.sql",
                String(repeating: "x", count: count) + "sha256/\(second)" + String(repeating: "x", count: 8 << 20))
            let run = await find()
            #expect(run.status == 2 && run.errors.contains("large.sql: may have pins and is larger than 8 MiB"))
        }
    }

    @Test("A link in the way of a tracked file isn't followed (XI8)", .enabled(if: hasGit))
    func replacedDirectory() async throws {
        let outside = try TestDirectory()
        _ = try outside.add(script(second), name: "pins.ts")
        try git("init", "-q")
        try write("sub/pins.ts", script(first))
        try write("pins.ts", script(first))
        try git("add", ".")
        try FileManager.default.removeItem(atPath: directory.path + "/sub")
        try FileManager.default.createSymbolicLink(
            atPath: directory.path + "/sub", withDestinationPath: outside.path)
        #expect(await find().lines.last?.hasPrefix("1 place, 1 pin, 1 host: no disagreement") == true)
    }

    @Test("A file of NULs, which a crash may leave, isn't skipped as binary if its name is one of pins")
    func nulFile() async throws {
        try write("a.ts", script(first))
        try write("pins.json", String(repeating: "\0", count: 4_096))
        try write("image.bin", String(repeating: "\0", count: 4_096))
        let run = await find()
        #expect(run.status == 2 && run.errors.contains("pins.json: is empty, although its name is that of a file with"))
        #expect(!run.errors.contains("image.bin"))
    }

    @Test("A file of pins that isn't text, and a link to one that is gone, are named with exit code 2")
    func lostFiles() async throws {
        try write("a.ts", script(first))
        for (name, text) in [
            ("pins.json", "\u{1}\0\u{2}\u{3}\0\u{4}\u{5}"),
            ("res/network_security_config.xml", "\u{3}\0\u{8}\0\0\u{1}\0"),
        ] {
            try write(name, text)
            try write("other.bin", text)
            let run = await find()
            #expect(run.status == 2 && run.errors.contains("\(name): isn't text, although its name"), "\(run)")
            #expect(!run.errors.contains("other.bin"))
            let lint = await pinctl("lint", directory.path)
            #expect(lint.status == 2 && lint.errors.contains("\(name): isn't text"), "\(lint)")
            try FileManager.default.removeItem(atPath: "\(directory.path)/\(name)")
        }
        for (link, status) in [("other.json", 0), ("pins.json", 2), ("tests/pins.json", 2)] as [(String, Int32)] {
            _ = try TestCommand.run(["mkdir", "-p", directory.path + "/tests"])
            try FileManager.default.createSymbolicLink(
                atPath: "\(directory.path)/\(link)", withDestinationPath: "missing.json")
            let run = await find()
            #expect(run.status == status, "\(link): \(run)")
            #expect(run.errors.contains("pins.json: is a link to a file that doesn't exist") == (status == 2))
        }
    }

    @Test("A file that can't be read is named with exit code 2")
    func unreadableFile() async throws {
        try write("pins.ts", script(first))
        // Not even the superuser can name it in a text.
        _ = try TestCommand.run(["sh", "-c", "printf x > \(directory.path)/$(printf 'a\\377')"])
        let run = await find()
        #expect(run.status == 2 && run.errors.contains("its name is not UTF-8"))
        #expect(run.lines.last == "1 place, 1 pin, 1 host: 1 problem, no disagreement in the rest (1 file searched)")
    }

    @Test("A tree with deep directories is searched up to the limit (XI8)")
    func deep() async throws {
        try write("pins.ts", script(first))
        try write(Array(repeating: "d", count: 99).joined(separator: "/") + "/pins.ts", script(first))
        #expect(await find().status == 0)
        try write(Array(repeating: "d", count: 100).joined(separator: "/") + "/pins.ts", script(first))
        let run = await find()
        #expect(run.status == 2 && run.errors.contains("is nested too deeply: search it by itself"))
    }
}

/// Directories in place of files.
extension FindTests {
    @Test("lint of a directory checks the files of every dialect in it, without those of tests")
    func lintDirectory() async throws {
        try write("app/config.xml", config(first))
        try write("tests/config.xml", config(first))
        try write("Pins.kt", "CertificatePinner.Builder().add(host, \"sha256/\(first)\")")
        try write("pins.py", script(first))
        let run = await pinctl("lint", directory.path)
        #expect(run.status == 2)
        #expect(run.lines.last?.hasPrefix("2 linted: ") == true)
        #expect(run.lines.first?.hasPrefix("\(directory.path)/Pins.kt:1:33: error: ") == true)
        #expect(run.lines.contains { $0.hasPrefix("\(directory.path)/app/config.xml:1:") })
        #expect(run.errors.contains("\(directory.path): 2 pins in other files can't be read by a dialect"))
        try write("large.yaml", String(repeating: "x", count: (8 << 20) + 1))
        #expect(await !pinctl("lint", directory.path).errors.contains("large.yaml"))
        try write("large.yaml", "sha256/\(first)" + String(repeating: "x", count: 8 << 20))
        #expect(await pinctl("lint", directory.path).errors.contains("large.yaml: may have pins and is larger"))
        try write("app/broken.xml", "<network-security-config>")
        #expect(await pinctl("lint", directory.path).status == 2)
    }

    @Test("A file that can't be opened is a result of lint, and the others are judged")
    func lintUnreadable() async throws {
        try write("app/config.xml", config(first, second))
        // Not even the superuser can name it in a text.
        _ = try TestCommand.run(["sh", "-c", "printf x > \(directory.path)/$(printf 'a\\377')"])
        let run = await pinctl("lint", directory.path)
        #expect(run.status == 2 && run.errors.contains("its name is not UTF-8"))
        #expect(run.lines.last?.hasPrefix("1 linted: errors ") == true)
    }

    @Test("import of a directory with a broken policy writes nothing")
    func importBrokenPolicy() async throws {
        try write("app/config.xml", config(first, second))
        try write("pins.jsonc", #"{ "version": 1, "domains": [ { "host": "api.test", "#)
        let run = await pinctl("import", directory.path)
        #expect(run.status == 2 && run.output == "" && run.errors.contains("pins.jsonc:1:"))
    }

    @Test("A text with a NUL and a text in UTF-16 are searched")
    func otherTexts() async throws {
        try write("pins.ts", script(first) + "\0")
        try write("more.ts", script(first))
        let wide: [UInt8] = [0xFF, 0xFE] + script(second).utf16.flatMap { [UInt8($0 & 0xFF), UInt8($0 >> 8)] }
        _ = try directory.add(wide, name: "wide.ts")
        let run = await find()
        #expect(run.lines.last == "3 places, 2 pins, 1 host: 1 host disagrees (3 files searched)")
    }

    @Test("import of a directory merges the files of other systems that pin")
    func importDirectory() async throws {
        try write("a/config.xml", config(first))
        try write("b/config.xml", config(first))
        try write("c/config.xml", "<network-security-config/>")
        try write("pins.jsonc", policyText([("api.test", ["\"sha256/\(second)\""])]))
        let run = await pinctl("import", directory.path)
        #expect(run.status == 0)
        #expect(run.output.contains("from \(directory.path)/a/config.xml:2, \(directory.path)/b/config.xml:2"))
        #expect(!run.output.contains(second))
        let empty = await pinctl("import", directory.path + "/c")
        #expect(empty.status == 2)
        #expect(empty.errors.contains("has no pin file of a known dialect: search it with pinctl find"))
    }
}
