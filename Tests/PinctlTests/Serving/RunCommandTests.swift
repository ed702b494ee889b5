import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

private let secondUnknownPin = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

/// The guard is built, and preloaded into pinctl itself, which uses OpenSSL like other programs.
@Suite("pinctl run", .enabled(if: MemoryScan.isPossible))
struct RunCommandTests {
    let site: PinctlSite
    private static let root = String(#filePath.dropLast("Tests/PinctlTests/Serving/RunCommandTests.swift".count))

    init() throws { site = try PinctlSite(host: "localhost") }

    private func run(_ script: String) async throws -> Run {
        try await shell(
            "\(Self.root)tools/guard \"$PWD\" >/dev/null && "
                + "guarded() { pinctl run --ca-file \(site.rootFile) --guard \"$PWD/pinctl-guard.so\" \"$@\"; }; \(script)",
            in: site.directory)
    }

    @Test("A program that doesn't verify is refused a server with another key, before it sends anything")
    func pins() async throws {
        let pin = try site.leaf.key.pin
        let right = try site.policy("\"\(pin)\", \"\(unknownPin)\"", host: "localhost")
        let wrong = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"", host: "localhost")
        try await site.serve { server in
            // It prints what the server presents, whether or not it is trusted.
            let show = "-- pinctl show localhost:\(server.port)"
            let accepted = try await run("guarded --require-judged --policy \(right) \(show)")
            #expect(accepted.status == 0, "\(accepted)")
            #expect(accepted.output.contains(pin), "\(accepted)")
            #expect(accepted.errors.contains("pinctl: 1 connection accepted, 0 refused\n"), "\(accepted)")
            let refused = try await run("guarded --require-judged --policy \(wrong) \(show)")
            #expect(refused.status == 3, "\(refused)")
            #expect(!refused.output.contains(pin), "\(refused)")
            #expect(
                refused.errors.contains("pinctl: refused localhost:\(server.port) for pinctl ("), "\(refused)")
            #expect(refused.errors.contains("0 connections accepted, 1 refused:"), "\(refused)")
        }
    }

    @Test("The exit code is that of the program, and the directory of the socket is removed")
    func exitCodes() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"")
        for (script, status) in [
            ("guarded --policy \(policy) -- sh -c 'exit 7'", 7), ("guarded --policy \(policy) -- ./no-such", 127),
            ("guarded --policy \(policy) -- \(policy)", 126),
            ("guarded --policy \(policy) -- sh -c 'kill -TERM $$'", 143),
            ("guarded --policy \(policy) --require-judged -- true", 0),
            ("guarded --policy no-such.jsonc -- true", 2), ("guarded --guard no-such.so --policy \(policy) true", 2),
            ("guarded --policy \(policy) --require-judged -- sh -c 'exec 3<>/dev/tcp/127.0.0.1/1' ; true", 0),
        ] {
            let run = try await run("mkdir -p t; export TMPDIR=$PWD/t; unset XDG_RUNTIME_DIR; \(script)")
            #expect(run.status == Int32(status), "\(script): \(run)")
            let left = try FileManager.default.contentsOfDirectory(atPath: site.directory.path + "/t")
            #expect(left.isEmpty, "\(script): \(left)")
        }
    }

    @Test("--require-judged fails after a connection without TLS, and names it")
    func unjudged() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"")
        try await site.serve { server in
            let connect = "bash -c 'exec 3<>/dev/tcp/127.0.0.1/\(server.port)'"
            let strict = try await run("guarded --policy \(policy) --require-judged -- \(connect)")
            #expect(strict.status == 125, "\(strict)")
            #expect(strict.errors.contains("  127.0.0.1:\(server.port) by bash ("), "\(strict)")
            #expect(try await run("guarded --policy \(policy) -- \(connect)").status == 0)
        }
    }
}

@Suite("Programs that can't be guarded")
struct GuardedProgramTests {
    @Test("A program without a loader is static, and a script or a program with one isn't")
    func obstacles() throws {
        let directory = try TestDirectory()
        var bytes = [UInt8](repeating: 0, count: 200)
        bytes.replaceSubrange(0..<6, with: [0x7F, 0x45, 0x4C, 0x46, 2, 1])
        (bytes[32], bytes[54], bytes[56], bytes[64]) = (64, 56, 1, 1)
        let fixed = try directory.add(bytes, name: "static")
        bytes[64] = 3
        let loaded = try directory.add(bytes, name: "dynamic")
        let script = try directory.add("#!/bin/sh\n", name: "script")
        #expect(GuardedProgram.obstacle(fixed, path: "")?.contains("statically") == true)
        for file in [loaded, script, "/no/such", "sh"] { #expect(GuardedProgram.obstacle(file, path: "/bin") == nil) }
        // Damaged headers end nothing.
        for index in bytes.indices {
            var damaged = bytes
            damaged[index] ^= 0xFF
            _ = GuardedProgram.obstacle(try directory.add(damaged, name: "damaged"), path: "")
        }
    }
}
