import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("pinctl init and lint")
struct InitTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func initialize(_ words: String...) async -> Run {
        await pinctl(["init", "--ca-file", site.rootFile] + words)
    }

    @Test("init writes a policy that check passes, and that lint rejects until the backup slot is filled")
    func roundTrip() async throws {
        try await site.serve { server in
            let file = site.directory.path + "/pins.jsonc"
            let run = await initialize(server.target(), "--output", file)
            #expect(run.lines == ["wrote \(file)"])
            #expect(
                run.errors.hasPrefix("pinctl: next: before you ship these pins, confirm on each server itself"))
            #expect(run.status == 0)
            #expect(await server.ended(1)[0].applicationBytes.isEmpty)

            let printed = await initialize(server.target())
            #expect(printed.output.contains("\"check\": { \"targets\": [\"\(server.target())\"] },"))
            #expect(await pinctl("check", "--ca-file", site.rootFile, "--policy", file).status == 0)
            #expect(
                printed.output.replacing(site.rootFile, with: "root.pem")
                    == (try String(contentsOfFile: file, encoding: .utf8)))
            for certificate in site.chain + [site.root] {
                #expect(printed.output.contains(try certificate.key.pin))
            }
            let json = await initialize(server.target(), "--json")
            let document = try json.decoded(as: Document.self)
            #expect(document.results[0].policy == printed.output)

            let checked = await pinctl("check", "--ca-file", site.rootFile, "--policy", file, server.target())
            #expect(
                checked.lines[0].contains(
                    "matched api.test-leaf (leaf), test-intermediate (intermediate), test-root (root)"))
            #expect(checked.status == 0)

            let lint = await pinctl("lint", file)
            #expect(lint.lines[0].hasPrefix("\(file):"))
            #expect(lint.lines[0].contains(" error[P020] the backup slot isn't filled"))
            #expect(lint.lines.last == "1 linted: errors 1, warnings 0")
            #expect(lint.status == 1)

            let filled = printed.lines.filter { !$0.contains("x-backup-slot") }.joined(separator: "\n")
                .replacing("\"pins\": [", with: "\"pins\": [{ \"pin\": \"\(unknownPin)\", \"backup\": true }, ")
            let clean = await pinctl("lint", try site.directory.add(filled))
            #expect(clean.lines == ["1 linted: errors 0, warnings 0"])
            #expect(clean.status == 0)
        }
    }

    struct Document: Decodable {
        struct Result: Decodable { let policy: String }
        let results: [Result]
    }

    @Test("init writes nothing if one of several hosts can't be verified")
    func allOrNothing() async throws {
        let closed = try LoopbackServer(chain: [site.leaf])
        closed.stop()
        try await site.serve { server in
            let file = site.directory.path + "/pins.jsonc"
            let run = await initialize(server.target(), server.target("www.test"), closed.target(), "-o", file)
            #expect(run.output == "")
            #expect(run.errors.contains("pinctl: www.test:\(server.port) via 127.0.0.1:\(server.port): not trusted ["))
            #expect(run.errors.contains("api.test:\(closed.port) via 127.0.0.1:\(closed.port): unreachable: "))
            #expect(run.errors.hasSuffix("pinctl: nothing is written: a policy is made only from verified chains\n"))
            #expect(run.status == 4)
            #expect(!FileManager.default.fileExists(atPath: file))
            #expect(await initialize(server.target(), closed.target()).status == 3)
        }
    }

    @Test("A CA file in the policy's repository or directory is named by a relative path, and others with a note")
    func sharedAnchors() async throws {
        let made = try await shell(
            "mkdir -p repository/.git repository/pins/below repository/ca plain/ca outside "
                + "&& cp root.pem repository/ca && cp root.pem plain/ca && cp root.pem outside "
                + "&& ln -s repository/pins link", in: site.directory)
        try #require(made.status == 0)
        let root = site.directory.path
        try await site.serve { server in
            for (policy, file, path) in [
                ("repository/pins/a.jsonc", "repository/ca/root.pem", "../ca/root.pem"),
                ("repository/pins/below/b.jsonc", "repository/ca/root.pem", "../../ca/root.pem"),
                ("repository/a.jsonc", "repository/pins/../ca/root.pem", "ca/root.pem"),
                ("link/c.jsonc", "repository/ca/root.pem", "../ca/root.pem"),
                ("plain/a.jsonc", "plain/ca/root.pem", "ca/root.pem"),
                ("repository/d.jsonc", "outside/root.pem", nil), ("plain/ca/b.jsonc", "outside/root.pem", nil),
            ] as [(String, String, String?)] {
                let run = await pinctl(
                    "init", "--ca-file", "\(root)/\(file)", "-o", "\(root)/\(policy)", server.target())
                #expect(run.status == 0, "\(run)")
                let text = try String(contentsOfFile: "\(root)/\(policy)", encoding: .utf8)
                #expect(text.contains("\"\(path ?? "\(root)/\(file)")\""), "\(text)")
                #expect(run.errors.contains("by its absolute path") == (path == nil), "\(run)")
                let check = await pinctl("check", "--policy", "\(root)/\(policy)")
                #expect(check.status == 0, "\(check)")
            }
        }
    }

    @Test("A missing directory of the policy isn't blamed on the CA file")
    func missingDirectory() async throws {
        let file = site.directory.path + "/none/pins.jsonc"
        let run = await initialize("does-not-exist.invalid", "-o", file)
        #expect(run.status == 2)
        #expect(run.errors == "pinctl: --output: \(file): its directory does not exist: create it first\n")
    }

    @Test("CL3: --output never overwrites a file, never follows a symbolic link and leaves no other file behind")
    func overwriting() async throws {
        try await site.serve { server in
            let old = try site.directory.add("old", name: "old.jsonc")
            let link = site.directory.path + "/link.jsonc"
            try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: "target.jsonc")
            let before = try FileManager.default.contentsOfDirectory(atPath: site.directory.path).sorted()
            for (file, message) in [
                (old, "already exists"), (link, "already exists"), (site.directory.path, "already exists"),
                (site.directory.path + "/none/pins.jsonc", "its directory does not exist"), ("/proc/pins.jsonc", ""),
            ] {
                let run = await initialize(server.target(), "-o", file)
                #expect(run.output == "")
                #expect(run.errors.hasPrefix("pinctl: --output: \(file): \(message)"))
                #expect(run.status == 2)
            }
            #expect(try String(contentsOfFile: old, encoding: .utf8) == "old")
            #expect(try FileManager.default.contentsOfDirectory(atPath: site.directory.path).sorted() == before)
        }
    }

    @Test("lint passes the policies of this project")
    func ownPolicies() async {
        let run = await pinctl("lint", "pins/pins.jsonc", "pins/example.jsonc")
        #expect(run.lines.last?.hasPrefix("2 linted: errors 0") == true)
        #expect(run.status == 0)
    }

    @Test("lint reports every problem of a file with its position")
    func lint() async throws {
        let file = try site.directory.add(
            """
            { "version": 1,
              "unlistd": "trust",
              "domains": [ { "host": "https://api.test", "pins": ["sha256/AAAA"] } ] }
            """, name: "bad.jsonc")
        let run = await pinctl("lint", file, "/no/such.jsonc")
        #expect(run.lines[0].hasPrefix("\(file):2:3: error[P005] "))
        #expect(run.lines[0].contains("did you mean \"unlisted\"?"))
        #expect(run.lines.filter { $0.hasPrefix("\(file):3:") }.count >= 2)
        #expect(run.errors == "pinctl: /no/such.jsonc: no such file: check the path\n")
        #expect(run.status == 2)
        #expect(await pinctl("lint", file).status == 2)

        let warned = await pinctl("lint", try site.policy("\"\(unknownPin)\""))
        #expect(warned.lines[0].contains(" warning[P003] api.test has only one pin"))
        #expect(warned.status == 0)
    }
}
