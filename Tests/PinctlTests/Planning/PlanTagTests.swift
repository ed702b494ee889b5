import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Releases that are tags of real repositories, made here with the installed git. Without git, the suite is skipped.
@Suite("pinctl plan, against tags", .enabled(if: TestCommand.isPresent("git", "--version")))
struct PlanTagTests {
    let site: PinctlSite
    let repository: String

    init() throws {
        site = try PinctlSite()
        repository = site.directory.path + "/repository"
        try git("init", "-q", repository)
        try write("pins/pins.jsonc", policyText([("api.test", ["\"\(unknownPin)\""])]))
        try tag("v5.0")
        try write("pins/pins.jsonc", policyText([("api.test", ["\"\(unknownPin)\"", "\"\(try site.root.key.pin)\""])]))
        try tag("v5.1", annotated: true)
    }

    func git(_ words: String...) throws {
        let identity = ["-c", "user.name=Test", "-c", "user.email=test@example.test"]
        let result = try TestCommand.run(
            ["git"] + identity + words, environment: ["LC_ALL=C", "HOME=\(site.directory.path)"])
        try #require(result.status == 0, "\(words): \(result.text)")
    }

    func write(_ path: String, _ text: String) throws {
        let file = "\(repository)/\(path)"
        let directory = file[..<(file.lastIndex(of: "/") ?? file.endIndex)]
        _ = try TestCommand.run(["mkdir", "-p", String(directory)])
        try Data(text.utf8).write(to: URL(filePath: file))
    }

    func tag(_ name: String, annotated: Bool = false) throws {
        try git("-C", repository, "add", "-A")
        try git("-C", repository, "commit", "-q", "--allow-empty", "-m", name)
        if annotated {
            try git("-C", repository, "tag", "-a", "-m", name, name)
        } else {
            try git("-C", repository, "update-ref", "refs/tags/\(name)", "HEAD")
        }
    }

    func plan(_ source: String, in directory: String? = nil, _ words: String...) async -> Run {
        await pinctl(
            ["plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--repository", directory ?? repository]
                + ["--against", source] + words, variables: ["PATH": path, "HOME": site.directory.path])
    }

    private var path: String { ProcessInfo.processInfo.environment["PATH"] ?? "" }

    func verdicts(_ run: Run) throws -> [String] {
        try run.decoded(as: PlanDocument.self).results.map { "\($0.release ?? "") \($0.verdict ?? "")" }
    }

    @Test("A git in a relative directory of PATH isn't run")
    func relativePath() async throws {
        let directory = try TestDirectory()
        let program = try directory.add("#!/bin/sh\necho >\(directory.path)/ran\nexit 1\n", name: "git")
        try #require(try TestCommand.run(["chmod", "+x", program]).status == 0)
        // From any working directory, because the parent of the root directory is the root directory.
        let relative = String(repeating: "../", count: 99) + directory.path.dropFirst()
        try #require(FileManager.default.isExecutableFile(atPath: relative + "/git"))
        func plan(_ path: String) async -> Run {
            await pinctl(
                "plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--repository", repository, "--against",
                "git:v5.1:pins/pins.jsonc", variables: ["PATH": path, "HOME": site.directory.path])
        }
        let run = await plan("\(relative)::\(path)")
        #expect(run.status == 0, "\(run)")
        let without = await plan(relative)
        #expect(without.status == 2)
        #expect(without.errors.contains("the program git is in no directory of PATH"), "\(without)")
        #expect(!FileManager.default.fileExists(atPath: directory.path + "/ran"))
        // The program does run from an absolute directory.
        #expect(await plan(directory.path).status == 2)
        #expect(FileManager.default.fileExists(atPath: directory.path + "/ran"))
    }

    @Test("Two sources at one tag have rows of two names, also if one of them is unread")
    func secondSource() async throws {
        try write("app/pins.jsonc", policyText([("api.test", ["\"\(unknownPin)\""])]))
        try write("app/broken.jsonc", "{")
        try tag("v5.2")
        let others = ["git:v5.*:app/pins.jsonc", "git:v5.2:app/broken.jsonc"]
        let run = await plan("git:v5.*:pins/pins.jsonc", "--against", others[0], "--against", others[1], "--json")
        #expect(run.status == 2, "\(run)")
        let names = try verdicts(run).compactMap { $0.split(separator: " ").first }.filter { $0 != "unread" }
        #expect(names == ["v5.0", "v5.1", "v5.2", "v5.2:app/pins.jsonc"], "\(names)")
        let text = await plan("git:v5.*:pins/pins.jsonc", "--against", others[0], "--against", others[1])
        for row in ["v5.0:app/pins.jsonc ", "v5.1:app/pins.jsonc ", "v5.2:app/broken.jsonc "] {
            #expect(text.lines.contains { $0.hasPrefix(row) && $0.contains("unread") }, "\(text)")
        }
        #expect(text.output.contains("3 releases unread"), "\(text)")
    }

    @Test("The share of a tag counts for all of its files")
    func shares() async throws {
        try write("app/pins.jsonc", policyText([("api.test", ["\"\(unknownPin)\""])]))
        try tag("v5.2")
        for sources in [["pins/pins.jsonc", "app/pins.jsonc"], ["app/pins.jsonc", "pins/pins.jsonc"]] {
            let run = await plan(
                "git:v5.2:\(sources[0])", "--against", "git:v5.2:\(sources[1])", "--share", "v5.2=10%")
            #expect(run.status == 1 && run.output.contains(", 10 % of users"), "\(run)")
        }
        let several = await plan("git:v5.2:pins/pins.jsonc:app/pins.jsonc", "--share", "v5.2=10%")
        #expect(several.status == 1 && several.output.contains(", 10 % of users"), "\(several)")
    }

    @Test("P5: A release whose tag name isn't UTF-8 isn't skipped")
    func foreignTagName() async throws {
        let script = "cd \(repository)/.git/refs/tags && cp v5.1 $'v5.2\\xff'"
        try #require(try await shell(script).status == 0)
        let run = await plan("git:v5.*:pins/pins.jsonc")
        #expect(run.errors.contains("the tag v5.2\u{FFFD} has a name that is not UTF-8"))
        #expect(run.status == 2)
        #expect(await plan("git:v5.1:pins/pins.jsonc").status == 0)
    }

    @Test("P5: A file that a tag has but the clone lacks isn't skipped")
    func damagedClone() async throws {
        let script = """
            cd \(repository) && object=$(git rev-parse v5.0:pins/pins.jsonc) &&
            rm -f .git/objects/${object:0:2}/${object:2}
            """
        try #require(try await shell(script).status == 0)
        let run = await plan("git:v5.*:pins/pins.jsonc")
        #expect(run.errors.hasPrefix("pinctl: v5.0: pins/pins.jsonc: "))
        #expect(!run.errors.contains("passed over"))
        #expect(run.status == 2)
    }

    @Test("Equal files at several tags are separate releases, and files that a policy refers to are read at each tag")
    func equalFiles() async throws {
        for name in ["v5.2", "v5.3"] { try tag(name) }
        let run = await plan("git:v5.*:pins/pins.jsonc", in: nil, "--json")
        #expect(
            try verdicts(run) == ["v5.0 breaks", "v5.1 survives_only", "v5.2 survives_only", "v5.3 survives_only"])
        let named =
            #"{ "version": 1, "domains": [{ "host": "api.test", "pins": [{ "file": "a.pem" }, "\#(unknownPin)"] }] }"#
        try write("pins/pins.jsonc", named)
        for (name, certificate) in [("v6.0", site.root), ("v6.1", try TestCertificate.root("Another"))] {
            try write("pins/a.pem", certificate.pemText)
            try tag(name)
        }
        #expect(
            try verdicts(await plan("git:v6.*:pins/pins.jsonc", in: nil, "--json")) == [
                "v6.0 survives_only", "v6.1 breaks",
            ])
    }

    @Test("Reports name releases and hosts, and count unreadable input")
    func reports() async throws {
        try write("pins/pins.jsonc", "{")
        try tag("v5.2")
        let file = site.directory.path + "/plan.prom"
        let run = await plan("git:v5.*:pins/pins.jsonc", in: nil, "--report", "prometheus=\(file)")
        #expect(run.status == 2)
        let text = try String(contentsOf: URL(filePath: file), encoding: .utf8)
        #expect(text.contains(#"pinctl_plan_verdict{release="v5.0",host="api.test",verdict="breaks"} 1"#), "\(text)")
        #expect(text.contains(#"pinctl_entries{command="plan",outcome="bad_input"} 1"#))
        #expect(text.contains(#"pinctl_exit_code{command="plan"} 2"#))
    }

    @Test("A policy is read at each tag, lightweight or annotated, and the work tree is ignored")
    func tags() async throws {
        try write("pins/pins.jsonc", "not read")
        let run = await plan("git:v5.*:pins/pins.jsonc", in: nil, "--json")
        #expect(run.errors == "")
        #expect(try verdicts(run) == ["v5.0 breaks", "v5.1 survives_only"])
        #expect(run.status == 1)
        #expect(try verdicts(await plan("git:v5.1:pins/pins.jsonc", in: repository + "/pins", "--json")).count == 1)
    }

    @Test("Files that a policy includes or refers to are read at the same tag")
    func included() async throws {
        try write("pins/roots.jsonc", #"{ "version": 1, "pins": { "r": "\#(try site.root.key.pin)" } }"#)
        try write("pins/keys/leaf.pem", site.leaf.pemText)
        try write("pins/root.pem", site.root.pemText)
        try write(
            "pins/pins.jsonc",
            """
            { "version": 1, "include": ["roots.jsonc"], "domains": [{ "host": "api.test",
              "pins": ["r", { "file": "keys/leaf.pem" }], "anchors": { "files": ["root.pem"] } }] }
            """)
        try tag("v6.0")
        for file in ["roots.jsonc", "keys/leaf.pem", "root.pem"] { try write("pins/\(file)", "other") }
        let run = await plan("git:v6.0:pins/pins.jsonc", in: nil, "-v")
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("survives by CN=api.test (leaf), r (root)"))
        try git("-C", repository, "rm", "-q", "-f", "--cached", "pins/roots.jsonc")
        try git("-C", repository, "commit", "-q", "-m", "gone")
        try git("-C", repository, "tag", "v6.1")
        let gone = await plan("git:v6.1:pins/pins.jsonc")
        #expect(gone.status == 2)
        #expect(gone.errors.contains("v6.1: pins/pins.jsonc:1:"))
        #expect(gone.errors.contains("\"roots.jsonc\" cannot be included: no such file"))
    }

    @Test("Dots in a path at a tag stay within the repository's tree, and a path that leaves it is an error")
    func dots() async throws {
        func policy(leaf: String = "../keys/./leaf.pem", include: String = "roots.jsonc") -> String {
            "{ \"version\": 1, \"include\": [\"\(include)\"], \"domains\": [{ \"host\": \"api.test\", "
                + "\"pins\": [{ \"file\": \"\(leaf)\" }, \"r\"], \"anchors\": { \"files\": [\"../root.pem\"] } }] }"
        }
        try write("keys/leaf.pem", site.leaf.pemText)
        try write("root.pem", site.root.pemText)
        try write("pins/roots.jsonc", #"{ "version": 1, "pins": { "r": "\#(try site.root.key.pin)" } }"#)
        try write("pins/pins.jsonc", policy())
        try tag("v6.0")
        for path in [
            "pins/pins.jsonc", "config/../pins/pins.jsonc", "./pins/./pins.jsonc", "a/b/../../pins/pins.jsonc",
        ] {
            let run = await plan("git:v6.0:\(path)", in: repository + "/keys", "-v")
            #expect(run.status == 0, "\(path): \(run.errors)")
            #expect(run.output.contains("survives by CN=api.test (leaf), r (root)"), "\(run.output)")
        }
        for path in ["../pins/pins.jsonc", "pins/../../pins/pins.jsonc", ".."] {
            let run = await plan("git:v6.0:\(path)")
            #expect(run.status == 2)
            #expect(
                run.errors.contains("\(path) is outside the repository: give the path from its top directory"), "\(run)"
            )
        }
        for path in ["/pins/pins.jsonc", "."] { #expect(await plan("git:v6.0:\(path)").status == 2) }
        // Files that the policy refers to can't leave the tree either, whatever lies outside the repository.
        try write("pins/pins.jsonc", policy(leaf: "../../chain.pem"))
        try tag("v6.1")
        let named = await plan("git:v6.1:pins/pins.jsonc")
        #expect(named.errors.contains("it leads out of the repository: name a file inside"), "\(named.errors)")
        #expect(named.status == 2)
        // Included files must be below the policy's own directory, as in every program that loads it.
        try write("shared/roots.jsonc", #"{ "version": 1, "pins": { "r": "\#(try site.root.key.pin)" } }"#)
        try write("pins/pins.jsonc", policy(include: "../shared/roots.jsonc"))
        try tag("v6.2")
        let included = await plan("git:v6.2:pins/pins.jsonc")
        #expect(included.errors.contains("\"../shared/roots.jsonc\" isn't below"), "\(included.errors)")
        #expect(included.status == 2)
    }

    @Test("The constants of a program at a tag are those of its own tag and project")
    func constants() async throws {
        let client = """
            package com.x
            val pinner = CertificatePinner.Builder().add("api.test", Config.PIN).build()

            """
        func config(_ pin: String) -> String { "package com.x\nobject Config { const val PIN = \"\(pin)\" }\n" }
        try write("android/settings.gradle", "")
        try write("android/app/src/main/Client.kt", client)
        try write("android/core/Config.kt", config(unknownPin))
        // Another project of the repository.
        try write("server/Config.kt", config("sha256/AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="))
        try tag("v7.0")
        try write("android/core/Config.kt", config(site.root.key.pin))
        try tag("v7.1")
        try write("README", "The same pins.")
        try tag("v7.2")
        let path = "android/app/src/main/Client.kt"
        let run = await plan("git:v7.*:\(path)", in: nil, "--json")
        #expect(
            try verdicts(run) == ["v7.0 breaks", "v7.1 survives_only", "v7.2 survives_only"], "\(run)")
        // The working tree.
        let file = await plan("\(repository)/\(path)", in: nil, "--json")
        #expect(try verdicts(file) == ["\(repository)/\(path) survives_only"], "\(file)")
        // A policy that lists the program among its exports.
        try write(
            "android/pins.jsonc",
            policyText(
                [("api.test", ["\"\(try site.root.key.pin)\""])],
                #""exports": [{ "to": "okhttp", "file": "app/src/main/Client.kt" }],"#))
        try tag("v7.3")
        let exported = await plan("git:v7.3:android/pins.jsonc", in: nil, "--json")
        #expect(exported.status != 2, "\(exported)")
        try write("android/core/Config.kt", "package com.x\nobject Config { val PIN = load() }")
        try tag("v8.0")
        let computed = await plan("git:v8.0:\(path)")
        #expect(
            computed.status == 2
                && computed.errors.contains(
                    "v8.0: \(path):2:58: error: \"Config.PIN\" isn't a constant string or list at "),
            "\(computed)")
    }

    @Test("Rows of sources with the same label have distinct titles, which --share accepts")
    func sameLabels() async throws {
        try write("other.jsonc", policyText([("api.test", ["\"\(unknownPin)\""])]))
        try tag("v6.0")
        let sources = ["git:v6.0:pins/pins.jsonc", "git:v6.0:other.jsonc", "git:v6.0:other.jsonc"]
        let words = sources.flatMap { ["--against", $0] }
        let file = try site.policy("\"\(unknownPin)\"")
        let run = await pinctl(
            ["plan", "--ca-file", site.rootFile, "--new", site.chainFile, "--repository", repository, "--json"]
                + words + ["--against", file, "--against", file, "--share", "v6.0:other.jsonc (2)=7%"],
            variables: ["PATH": path, "HOME": site.directory.path])
        #expect(
            try verdicts(run) == [
                "v6.0 survives_only", "v6.0:other.jsonc breaks", "v6.0:other.jsonc (2) breaks", "\(file) breaks",
                "\(file) (2) breaks",
            ], "\(run.errors)")
        #expect(run.output.contains("\"share_percent\":\"7\""))
    }

    @Test("P5: A policy behind a link to a directory, or in a submodule, isn't skipped")
    func behindLink() async throws {
        try git("-C", repository, "mv", "pins", "real")
        try FileManager.default.createSymbolicLink(atPath: repository + "/pins", withDestinationPath: "real")
        try tag("v8.0")
        try git("-C", repository, "rm", "-q", "-f", "pins")
        let module = "160000,\(String(repeating: "1", count: 40)),pins"
        try git("-C", repository, "update-index", "--add", "--cacheinfo", module)
        try git("-C", repository, "commit", "-q", "-m", "module")
        try git("-C", repository, "update-ref", "refs/tags/v9.0", "HEAD")
        let run = await plan("git:v[589]*:pins/pins.jsonc")
        #expect(run.errors.contains("v8.0: pins/pins.jsonc: is unavailable: pins is a symbolic link at this tag"))
        #expect(run.errors.contains("v9.0: pins/pins.jsonc: is unavailable: pins is a submodule"))
        #expect(run.status == 2)
    }

    @Test("A path that some tags lack is reported, and one that all tags lack exits with 2")
    func absent() async throws {
        try write("new.jsonc", policyText([("api.test", ["\"\(try site.root.key.pin)\""])]))
        try tag("v7.0")
        let run = await plan("git:v*:new.jsonc", in: nil, "--json")
        #expect(run.status == 2 && run.output.contains("\"unread\":2"))
        #expect(run.errors.contains("new.jsonc doesn't exist at 2 of 3 tags: v5.0, v5.1: add the path that it had"))
        let allowed = await plan("git:v*:new.jsonc", in: nil, "--json", "--allow-unread")
        #expect(try verdicts(allowed) == [" unread", "v7.0 survives_only"] && allowed.status == 0)
        let none = await plan("git:v*:pins/none.jsonc")
        #expect(none.status == 2)
        #expect(none.errors.contains("pins/none.jsonc exists at none of the 3 matching tags: check the path"))
        let directory = await plan("git:v*:pins")
        #expect(directory.status == 2)
    }

    @Test("A missing git, repository or tag exits with 2, and a shallow clone is reported with its remedy")
    func nothing() async throws {
        let other = await plan("git:w*:pins/pins.jsonc")
        #expect(other.status == 2)
        #expect(other.errors.contains("no tag matches \"w*\": see git tag --list"))
        let clone = site.directory.path + "/clone"
        try git("clone", "-q", "--depth", "1", "--no-tags", "file://\(repository)", clone)
        let shallow = await plan("git:v*:pins/pins.jsonc", in: clone)
        #expect(shallow.status == 2)
        #expect(shallow.errors.contains("the repository has no tags, and it is a shallow clone: fetch them"))
        #expect(shallow.errors.contains("git fetch --tags, or set fetch-depth: 0"))
        let bare = await plan("git:v*:pins/pins.jsonc", in: "/")
        #expect(bare.status == 2)
        #expect(bare.errors.contains("/ is in no repository that git can read"))
        let missing = await pinctl(
            ["plan", "--new", site.chainFile, "--against", "git:v*:x"], variables: ["PATH": ".:\(site.directory.path)"])
        #expect(missing.status == 2)
        #expect(missing.errors.contains("the program git is in no directory of PATH: install it"))
    }

    @Test("A hostile repository can't run programs through its configuration or attributes")
    func hostileRepository() async throws {
        let mark = site.directory.path + "/ran"
        let script = try site.directory.add(Array("#!/bin/sh\ntouch \(mark)\ncat\n".utf8), name: "run", mode: 0o700)
        try write(".gitattributes", "*.jsonc diff=evil filter=evil\n")
        try tag("v8.0")
        let settings = [
            "core.fsmonitor", "core.pager", "diff.evil.textconv", "filter.evil.smudge", "filter.evil.process",
            "alias.cat-file", "alias.for-each-ref", "alias.rev-parse", "core.sshCommand", "core.editor",
            "core.askPass", "gpg.program", "diff.external", "core.alternateRefsCommand", "pager.cat-file",
            "pager.for-each-ref", "remote.origin.uploadpack",
        ]
        for name in settings {
            try git("-C", repository, "config", name, name.hasPrefix("alias") ? "!\(script)" : script)
        }
        try git("-C", repository, "config", "core.hooksPath", site.directory.path)
        let run = await plan("git:v8.*:pins/pins.jsonc", in: nil, "--json")
        #expect(try verdicts(run) == ["v8.0 survives_only"])
        #expect(!FileManager.default.fileExists(atPath: mark))

        // A partial clone asks its remote for missing objects, and the remote may be any program.
        let partial = site.directory.path + "/partial"
        try git("-C", repository, "config", "uploadpack.allowFilter", "true")
        for name in settings where name != "core.fsmonitor" { try git("-C", repository, "config", "--unset", name) }
        try git("clone", "-q", "--filter=blob:none", "--no-checkout", "file://\(repository)", partial)
        try git("-C", partial, "config", "remote.origin.url", "ext::\(script)")
        try git("-C", partial, "config", "protocol.ext.allow", "always")
        let lacking = await plan("git:v5.0:pins/pins.jsonc", in: partial)
        #expect(lacking.status == 2 && lacking.errors.contains("fetch a partial clone whole"), "\(lacking.errors)")
        #expect(!FileManager.default.fileExists(atPath: mark))
    }

    @Test("Tag and file names that look like flags, patterns or control sequences are treated as names")
    func hostileNames() async throws {
        for name in ["--upload-pack=touch", "-p", "a\u{1B}", "b c"] {
            let result = try TestCommand.run(["git", "-C", repository, "update-ref", "refs/tags/\(name)", "HEAD"])
            // git itself refuses some of them, but accepts them in a packed-refs file.
            if result.status != 0 { continue }
        }
        let head = try TestCommand.run(["git", "-C", repository, "rev-parse", "HEAD"])
        let object = String(decoding: head.output, as: UTF8.self).trimmed
        try Data(
            """
            # pack-refs with: peeled fully-peeled sorted
            \(object) refs/tags/--help
            \(object) refs/tags/\u{202E}evil

            """.utf8
        ).write(to: URL(filePath: repository + "/.git/packed-refs"))
        let run = await plan("git:*:pins/pins.jsonc", in: nil, "-v")
        #expect(run.output.contains("--help"))
        #expect(run.output.contains("\\u{202E}evil"))
        #expect(!run.output.unicodeScalars.contains("\u{202E}"))
        #expect(!run.output.contains("\u{1B}"))
        for path in ["--textconv", "-p", "../pins/pins.jsonc", "pins/\npins.jsonc", "/etc/passwd"] {
            let run = await plan("git:v5.1:\(path)")
            #expect(run.status == 2, "\(path)")
        }
        #expect(await plan("git:--help:pins/pins.jsonc").status == 0)
    }

    @Test("A symbolic link at a tag isn't followed")
    func link() async throws {
        _ = try TestCommand.run(["ln", "-s", "/etc/passwd", repository + "/link.jsonc"])
        try tag("v9.0")
        let run = await plan("git:v9.0:link.jsonc")
        #expect(run.status == 2)
        #expect(run.errors.contains("v9.0: link.jsonc: no dialect is recognized"))
    }

    @Test("A thousand tags and fifty hosts are handled in one run")
    func many() async throws {
        let hosts = (0..<50).map { "h\($0).test" }
        try write("many.jsonc", policyText(hosts.map { ($0, ["\"\(unknownPin)\""]) }))
        try tag("m0")
        let head = try TestCommand.run(["git", "-C", repository, "rev-parse", "HEAD"])
        let object = String(decoding: head.output, as: UTF8.self).trimmed
        let refs = (1..<1000).map { "\(object) refs/tags/m\($0)\n" }.sorted().joined()
        try Data("# pack-refs with: peeled fully-peeled sorted\n\(refs)".utf8)
            .write(to: URL(filePath: repository + "/.git/packed-refs"))
        let leaf = try site.intermediate.issue(.server(hosts))
        let chain = try site.directory.add(leaf.pemText + site.intermediate.pemText)
        let run = await pinctl(
            ["plan", "--ca-file", site.rootFile, "--new", chain, "--repository", repository, "--against"]
                + ["git:m*:many.jsonc", "--quiet"], variables: ["PATH": path])
        #expect(run.status == 1)
        #expect(run.errors == "")
    }
}

extension String {
    fileprivate var trimmed: String { String(prefix { !$0.isWhitespace }) }
}
