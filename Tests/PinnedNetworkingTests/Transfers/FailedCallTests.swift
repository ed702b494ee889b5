import PinctlTestPKI
import PinnedNetworking
import Testing

/// Transfers in which a system call fails, in a process of their own. `tools/torture/run` fails every call.
@Suite(
    .timeLimit(.minutes(10)), .enabled(if: MemoryScan.isPossible, "a sanitizer's library must be loaded first"))
struct FailedCallTests {
    let interposer: TestInterposer
    let program: CompiledProgram
    let directory: TestDirectory

    init() async throws {
        interposer = try await TestInterposer()
        program = try await CompiledProgram("Transfers", languageMode: 6)
        directory = try TestDirectory()
    }

    /// Fails the first call of a function, then the second, until the program doesn't make so many. Returns what it
    /// printed each time.
    private func outputs(
        _ words: [String], failing function: String, _ rest: String, _ server: LoopbackServer, _ site: TestSite
    ) async throws -> [String] {
        let roots = try directory.add(site.root.pemText)
        let temporary = directory.path + "/tmp"
        try FileManager.default.createDirectory(atPath: temporary, withIntermediateDirectories: true)
        var outputs: [String] = []
        for number in 1... {
            let command = [program.path, words[0], "https://localhost:\(server.port)/"] + words.dropFirst()
            let (result, hasFailed) = try await interposer.run(
                command, failing: "\(function) \(number) \(rest)",
                environment: ["SSL_CERT_FILE=\(roots)", "TMPDIR=\(temporary)"])
            #expect(try FileManager.default.contentsOfDirectory(atPath: temporary) == [], "\(function) \(number)")
            #expect(result.status == 0, "\(function) \(number): \(result.text)")
            outputs.append(String(decoding: result.output, as: UTF8.self))
            // The first call may be one that the failure doesn't apply to.
            if !hasFailed, number > 30 { break }
        }
        return outputs
    }

    @Test("An upload goes on after an interrupted read, and reports one that failed")
    func upload() async throws {
        let site = try TestSite("localhost", isValidNow: true)
        let body = try directory.add(String(repeating: "x", count: 200_000))
        try await LoopbackServer(chain: site.chain, .answer { .init(body: "\($0.body.count)") }).run { server in
            let interrupted = try await outputs(["upload", body], failing: "read", "4 f once", server, site)
            #expect(interrupted.allSatisfy { $0 == "200000\n" }, "\(Set(interrupted))")
            let failed = Set(try await outputs(["upload", body], failing: "read", "5 f once", server, site))
            #expect(
                failed.contains("error: the body's file \(body): cannot read it: Input/output error\n"), "\(failed)")
            #expect(!failed.contains { $0.contains("shorter") })
        }
    }

    @Test("A download that can't create or move its file leaves none, and gives the system's reason")
    func download() async throws {
        let site = try TestSite("localhost", isValidNow: true)
        try await LoopbackServer(chain: site.chain).run { server in
            for (function, rest, reason) in [
                ("open", "28 n once", "No space left on device"), ("open", "13 no once", "Permission denied"),
                ("rename", "28 * once", "No space left on device"),
            ] {
                let printed = Set(try await outputs(["download"], failing: function, rest, server, site))
                #expect(printed.contains("hello\n"))
                #expect(printed.contains { $0.contains("the download") && $0.contains(reason) }, "\(printed)")
                #expect(!printed.contains { $0.contains("NSCocoaErrorDomain") }, "\(printed)")
            }
        }
    }
}
