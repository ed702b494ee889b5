import FoundationEssentials
import PinctlTestPKI
import Testing

@testable import PinctlCommands

private let secondUnknownPin = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="

/// A client that doesn't verify its server, in C, as other programs are.
private let client = #"""
    #include <openssl/err.h>
    #include <openssl/ssl.h>
    int main(int count, char **words) {
        BIO *bio = BIO_new_ssl_connect(SSL_CTX_new(TLS_client_method()));
        SSL *ssl = NULL;
        BIO_get_ssl(bio, &ssl);
        if (count == 2) SSL_set_tlsext_host_name(ssl, "localhost");
        BIO_set_conn_hostname(bio, words[count - 1]);
        if (BIO_do_handshake(bio) <= 0) {
            ERR_print_errors_fp(stderr);
            return 3;
        }
        char text[1000];
        BIO_puts(bio, "GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        int length = BIO_read(bio, text, sizeof text);
        return length > 0 ? !fwrite(text, length, 1, stdout) : 4;
    }
    """#

/// The guard and a client are built, as the toolchain's C compiler allows.
@Suite("pinctl run", .enabled(if: MemoryScan.isPossible))
struct RunCommandTests {
    let site: PinctlSite
    private static let root = String(#filePath.dropLast("Tests/PinctlTests/Serving/RunCommandTests.swift".count))
    /// The directory of the guard.
    private static let built: Result<TestDirectory, any Error> = Result {
        let directory = try TestDirectory()
        let path = ProcessInfo.processInfo.environment["PATH"] ?? ""
        _ = try TestCommand.run(
            ["bash", root + "tools/guard", directory.path], environment: ["PATH=\(path)", "HOME=\(directory.path)"])
        let source = try directory.add(client, name: "client.c")
        let compile = "$(command -v clang || command -v cc) \(source) -lssl -lcrypto -o \(directory.path)/client"
        _ = try TestCommand.run(["bash", "-c", compile], environment: ["PATH=\(path)"])
        return directory
    }
    private let library: String

    init() throws {
        site = try PinctlSite(host: "localhost")
        library = try Self.built.get().path + "/pinctl-guard.so"
    }

    private func run(_ script: String) async throws -> Run {
        let flags = "--ca-file \(site.rootFile) --guard \(library)"
        return try await shell("guarded() { pinctl run \(flags) \"$@\"; }; \(script)", in: site.directory)
    }

    @Test("A program that doesn't verify is refused a server with another key, before it sends anything")
    func pins() async throws {
        let pin = try site.leaf.key.pin
        let right = try site.policy("\"\(pin)\", \"\(unknownPin)\"", host: "localhost")
        let wrong = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"", host: "localhost")
        try await site.serve { server in
            let client = "-- \(try Self.built.get().path)/client 127.0.0.1:\(server.port)"
            let accepted = try await run("guarded --require-judged --policy \(right) \(client)")
            #expect(accepted.status == 0, "\(accepted)")
            #expect(accepted.output.hasSuffix("hello"), "\(accepted)")
            #expect(accepted.errors == "pinctl: 1 connection accepted, 0 refused\n", "\(accepted)")
            let refused = try await run("guarded --require-judged --policy \(wrong) \(client)")
            #expect(refused.status == 3 && refused.output == "", "\(refused)")
            #expect(refused.errors.contains("certificate verify failed"), "\(refused)")
            #expect(refused.errors.contains("pinctl: refused localhost:\(server.port) for client ("), "\(refused)")
            #expect(refused.errors.contains("0 connections accepted, 1 refused:"), "\(refused)")
            #expect(await server.ended(2).map { $0.applicationBytes.isEmpty } == [false, true])
        }
    }

    @Test("The address of the peer isn't the name of a server, because the peer may be a proxy")
    func nameless() async throws {
        let pin = try site.leaf.key.pin
        // The certificate is for localhost. The client sends no name.
        for (host, pins, isAccepted) in [
            ("localhost", "\"\(pin)\", \"\(unknownPin)\"", true),
            ("localhost", "\"\(unknownPin)\", \"\(secondUnknownPin)\"", false),
            ("192.0.2.9", "\"\(pin)\", \"\(unknownPin)\"", false),
        ] {
            let policy = try site.policy(pins, host: host)
            try await site.serve { server in
                let client = "-- \(try Self.built.get().path)/client no-name 127.0.0.1:\(server.port)"
                let run = try await run("guarded --require-judged --policy \(policy) \(client)")
                // What was judged without a name isn't judged as required.
                #expect(run.status == (isAccepted ? 125 : 3), "\(host): \(run)")
                #expect(run.output.hasSuffix("hello") == isAccepted, "\(host): \(run)")
                #expect(await server.ended().first?.applicationBytes.isEmpty == !isAccepted)
            }
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
            ("guarded --policy no-such.jsonc -- true", 2),
            ("pinctl run --guard no-such.so --policy \(policy) true", 2),
        ] {
            let run = try await run("mkdir -p t; export TMPDIR=$PWD/t; unset XDG_RUNTIME_DIR; \(script)")
            #expect(run.status == Int32(status), "\(script): \(run)")
            let left = try FileManager.default.contentsOfDirectory(atPath: site.directory.path + "/t")
            #expect(left.isEmpty, "\(script): \(left)")
        }
    }

    @Test("A guard that the loader would ignore, and a policy inside of another one, are refused")
    func refusedStarts() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"")
        for directory in ["a b", "a:b", "a$b"] {
            let copy = "mkdir -p '\(directory)'; cp \(library) '\(directory)/'; "
            let flags = "--policy \(policy) --guard '\(directory)/pinctl-guard.so'"
            let refused = try await run("\(copy)pinctl run \(flags) -- echo ran")
            #expect(refused.status == 2 && refused.output == "", "\(refused)")
        }
        let nested = try await run("export PINCTL_SOCKET=x; guarded --policy \(policy) -- echo ran")
        #expect(nested.output == "" && nested.errors.contains("PINCTL_SOCKET is set"), "\(nested)")
    }

    @Test("Words and variables that aren't UTF-8 reach the program unchanged")
    func bytes() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"")
        let program = #"bash -c 'printf "%s" "$1|$V|$2"' - $'a\xff' ''"#
        let script = #"export V=$'\xff\xfe'; "# + "guarded --policy \(policy) -- \(program) | od -An -tx1"
        #expect(try await run(script).output == " 61 ff 7c ff fe 7c\n")
    }

    @Test("Programs whose connections can't be seen are named, and fail --require-judged")
    func unguarded() async throws {
        let policy = try site.policy("\"\(unknownPin)\", \"\(secondUnknownPin)\"")
        let build =
            "echo 'int main(void) { return 0; }' >n.c; $(command -v clang || command -v cc) -static n.c -o fixed"
        for program in ["./fixed", "env -i ./fixed"] {
            let run = try await run("\(build); guarded --policy \(policy) --require-judged -- sh -c '\(program); true'")
            #expect(run.status == 125 && run.errors.contains("connections can't be seen"), "\(run)")
            #expect(run.errors.contains("  ./fixed\n"), "\(run)")
        }
        let other = try await run("\(build); guarded --policy \(policy) --require-judged -- sh -c 'env -i true; true'")
        #expect(other.status == 0, "\(other)")
    }

    @Test("A mismatch of a rule that only reports is printed")
    func reported() async throws {
        let policy = try site.policy(
            "\"\(unknownPin)\", \"\(secondUnknownPin)\"", rule: "\"mode\": \"report\",", host: "localhost")
        try await site.serve { server in
            let client = "-- \(try Self.built.get().path)/client 127.0.0.1:\(server.port)"
            let run = try await run("guarded --policy \(policy) \(client)")
            #expect(run.status == 0 && run.output.hasSuffix("hello"), "\(run)")
            let line = "reported localhost:\(server.port) for client ("
            #expect(run.errors.contains("pinctl: \(line)") && run.errors.contains("  \(line)"), "\(run)")
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
            _ = GuardedProgram.obstacle(try directory.add(damaged), path: "")
        }
    }
}
