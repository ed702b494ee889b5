import PinctlTestPKI
import Testing

/// A part of what `tools/torture/run` does, which fails every call of many more runs.
@Suite("Failed calls", .enabled(if: MemoryScan.isPossible, "a sanitizer's library must be loaded first"))
struct FailedCallTests {
    let interposer: TestInterposer
    let directory: TestDirectory

    init() async throws {
        interposer = try await TestInterposer()
        directory = try TestDirectory()
    }

    private func run(_ words: [String], failing call: String) async throws -> (run: Run, hasFailed: Bool) {
        let program = try TestBuild.directory() + "/pinctl"
        let (result, hasFailed) = try await interposer.run([program] + words, failing: call)
        let output = String(decoding: result.output, as: UTF8.self)
        let errors = String(decoding: result.errors, as: UTF8.self)
        return (Run(status: result.status, output: output, errors: errors), hasFailed)
    }

    @Test("CB25: Without memory for OpenSSL, no chain becomes valid, and verify says that memory ran out")
    func memory() async throws {
        let site = try TestSite("api.test", isValidNow: true)
        let root = try directory.add(site.root.pemText, name: "root.pem")
        let chain = try directory.add(site.chain.map(\.pemText).joined(), name: "chain.pem")
        let trusted = ["verify", chain, "--host", "api.test", "--ca-file", root]
        let rows = [
            (words: trusted + ["--pin", try site.leaf.key.pin], status: Int32(0)),
            (words: trusted + ["--pin", unknownPin], status: 1),
        ]
        for (words, status) in rows {
            let normal = try await run(words, failing: "allocate 1000000 12 * once")
            #expect(!normal.hasFailed)
            #expect(normal.run.status == status, "\(normal.run.output)")
            var reports = 0
            for mode in ["once", "onward"] {
                for number in stride(from: 1, to: 1_000_000, by: 977) {
                    let call = "allocate \(number) 12 * \(mode)"
                    let (run, hasFailed) = try await run(words, failing: call)
                    guard hasFailed else { break }
                    if run.status == 0 {
                        #expect(status == 0 && run.output == normal.run.output, "\(call): \(run.output)")
                    } else {
                        // OpenSSL 3.0 crashes where it doesn't look for a null pointer.
                        #expect([status, 2, 3, 4, 128 + 11].contains(run.status), "\(call): \(run.status)")
                    }
                    if run.output.contains("[out-of-memory]: OpenSSL ran out of memory, so nothing is known") {
                        #expect(run.status == 4)
                        reports += 1
                    }
                }
            }
            #expect(reports > 4)
        }
    }

    @Test(
        "Without its arguments, which Swift reads from /proc, pinctl says so",
        .enabled(if: TestCommand.isPresent("unshare", "-rm", "mount", "-t", "tmpfs", "none", "/proc"), "no namespaces"))
    func arguments() async throws {
        let run = try await shell(
            "program=$(command -v pinctl); unshare -rm sh -c \"mount -t tmpfs none /proc; exec $program hash c.pem\"")
        #expect(run.status == 2)
        #expect(
            run.errors
                == "pinctl: cannot read its arguments from /proc/self/cmdline: mount /proc, or close some files\n")
    }

    @Test(
        "In a namespace of processes without its own /proc, in which libdispatch would trap, pinctl says what to do",
        .enabled(if: TestCommand.isPresent("unshare", "-r", "--pid", "--fork", "true"), "no namespaces"))
    func namespace() async throws {
        let certificate = try directory.add(try TestCertificate.root("Test Root").pemText, name: "c.pem")
        for command in ["hash \(certificate)", "check api.test"] {
            let run = try await shell("unshare -r --pid --fork pinctl \(command)")
            #expect(run.status == 2)
            #expect(
                run.errors
                    == "pinctl: /proc belongs to another namespace of processes, so it lacks /proc/self/task/1/stat: "
                    + "mount it again (with unshare, add --mount-proc)\n")
        }
        let mounted = try await shell("unshare -r --pid --fork --mount-proc pinctl hash \(certificate)")
        #expect(mounted.status == 0, "\(mounted)")
    }

    @Test("Without memory or processes for its threads, pinctl says so and doesn't wait")
    func threads() async throws {
        let certificate = try directory.add(try TestCertificate.root("Test Root").pemText, name: "c.pem")
        let message =
            "pinctl: cannot create threads: Resource temporarily unavailable: "
            + "raise the limit on memory (ulimit -v) or on processes (ulimit -u)\n"
        // Enough for the program and its libraries, but not for eight stacks.
        let limited = try await shell("ulimit -s 8192 -v 80000; timeout 60 pinctl show \(certificate)")
        #expect(limited.status == 2)
        #expect(limited.errors == message)
        for number in [1, 8] {
            let (run, hasFailed) = try await run(
                ["show", certificate], failing: "pthread_create \(number) 11 * onward")
            #expect(hasFailed)
            #expect(run.status == 2)
            #expect(run.errors == message)
        }
        // Under a limit on memory, the allocator takes no space from the stacks.
        let sufficient = try await shell("ulimit -s 8192 -v 250000; timeout 60 pinctl show \(certificate)")
        #expect(sufficient.status == 0, "\(sufficient.errors)")
    }

    @Test(
        "A signal while files are replaced leaves no temporary file, and all files or none are replaced",
        arguments: ["fsync", "rename"], [Int32(2), 15])
    func signals(call: String, signal: Int32) async throws {
        let backup = try TestKey().pin
        let text = policyText([("api.test", [unknownPin, backup].map { "\"\($0)\"" })])
        let policy = try directory.add(
            text.replacing(
                "\"domains\"",
                with: """
                    "exports": [{ "to": "map", "file": "a.ts" }, { "to": "map", "file": "b.ts" },
                      { "to": "map", "file": "c.ts" }], "domains"
                    """), name: "pins.jsonc")
        for number in 1...3 {
            for name in ["a.ts", "b.ts", "c.ts"] {
                _ = try await TestCommand.runAside(["rm", "-f", "\(directory.path)/\(name)"])
                _ = try directory.add("export const pins = { 'api.test': ['\(unknownPin)'] }\n", name: name)
            }
            let (run, hasCome) = try await run(
                ["export", "--update", policy],
                failing: "\(call) \(number) \(signal) \(call == "fsync" ? "f" : "*") signal")
            #expect(hasCome)
            #expect(run.status == 128 + signal, "\(run)")
            #expect(
                try await TestCommand.runAside(["ls", directory.path]).text == "a.ts\nb.ts\nc.ts\npins.jsonc\n")
            let changed = try await TestCommand.runAside(
                ["grep", "-lF", backup]
                    + ["a.ts", "b.ts", "c.ts"].map {
                        "\(directory.path)/\($0)"
                    })
            #expect(changed.text.split(separator: "\n").count == 3, "\(changed.text)")
        }
    }

    @Test("A file that can't be written whole is left as it was", arguments: ["write", "fsync", "rename", "close"])
    func files(call: String) async throws {
        let backup = try TestKey().pin
        let pins = [unknownPin, backup].map { pin in "{ \"pin\": \"\(pin)\", \"role\": \"leaf\" }" }
        let policy = try directory.add(policyText([("api.test", pins)]), name: "pins.jsonc")
        let old = """
            <?xml version="1.0" encoding="UTF-8"?>
            <plist version="1.0"><dict><key>CFBundleName</key><string>Reader</string></dict></plist>
            """
        let target = try directory.add(old, name: "Info.plist")
        let words = ["export", "--to", "apple", policy, "--into", target]
        #expect(try await run(words, failing: "\(call) 1000 28 f once").run.status == 0)
        let new = try await TestCommand.runAside(["cat", target]).output
        var refused = 0
        for number in 1...50 {
            _ = try await TestCommand.runAside(["rm", target])
            _ = try directory.add(old, name: "Info.plist")
            let kinds = call == "rename" ? "*" : "f"
            let (run, hasFailed) = try await run(words, failing: "\(call) \(number) 28 \(kinds) once")
            let now = try await TestCommand.runAside(["cat", target]).output
            if run.status == 0 {
                #expect(now == new)
            } else {
                // The message about success can fail after the file was replaced.
                #expect(now == Array(old.utf8) || now == new && run.errors.contains("standard output"))
                #expect(run.errors.lowercased().contains("space left on device"), "\(run.errors)")
                refused += 1
            }
            #expect(try await TestCommand.runAside(["ls", directory.path]).text == "Info.plist\npins.jsonc\n")
            if !hasFailed, run.status == 0, number > 20 { break }
        }
        #expect(refused > 0)
    }
}
