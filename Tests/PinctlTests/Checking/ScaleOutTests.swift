import FoundationEssentials
import PinctlTestPKI
import Testing

/// The program under tools that start many processes of it, and with lists that don't fit into memory.
@Suite("check at scale")
struct ScaleOutTests {
    let site: PinctlSite

    init() throws {
        site = try PinctlSite()
        _ = try site.directory.add(
            """
            { "version": 1, "domains": [{ "host": "api.test", "pins": ["\(try site.root.key.pin)"] }] }
            """, name: "pins.jsonc")
    }

    private func shell(_ script: String, patience: Int = 120) async throws -> Run {
        try await PinctlTests.shell(
            "export PINCTL_POLICY=pins.jsonc SSL_CERT_FILE=root.pem; " + script, in: site.directory, patience: patience)
    }

    @Test(
        "Two thousand servers in one run use less than 64 MiB",
        .enabled(if: MemoryScan.isPossible, "a sanitizer takes memory of its own"),
        .enabled(if: TestCommand.isPresent("python3", "--version"), "python3 is not installed"))
    func memory() async throws {
        try await site.serve { server in
            let script = """
                for n in {1..2000}; do echo "api.test:$n@127.0.0.1:\(server.port)"; done > targets
                python3 - <<'END'
                import resource, subprocess
                run = subprocess.run(["pinctl", "check", "--at", "2026-11-20", "--ndjson", "--timeout", "100", \
                "--targets", "targets"],
                    stdout=subprocess.PIPE)
                lines = run.stdout.splitlines()
                print(run.returncode, len(lines), sum(b'"verdict":"ok"' in line for line in lines),
                    resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss < 64 * 1024)
                END
                """
            let run = try await shell(script)
            #expect(run.output == "0 2001 2000 True\n", "\(run.errors)")
        }
    }

    @Test(
        "Memory doesn't grow with the list", .enabled(if: MemoryScan.isPossible, "a sanitizer takes memory of its own"),
        .enabled(if: TestCommand.isPresent("python3", "--version"), "python3 is not installed"))
    func flat() async throws {
        let run = try await shell(
            """
            python3 - <<'END'
            import os, resource, subprocess
            def peak(count):
                reader = subprocess.Popen(["pinctl", "check", "--at", "2026-11-20", "--ndjson", "--targets", "-"], \
            stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE)
                if os.fork() == 0:
                    reader.stdout.close()
                    for n in range(count): reader.stdin.write(b"h%d.example.test\\n" % n)
                    reader.stdin.close()
                    os._exit(0)
                reader.stdin.close()
                lines = sum(1 for _ in reader.stdout)
                _, status, usage = os.wait4(reader.pid, 0)
                reader.returncode = 0
                assert lines == count + 1 and os.waitstatus_to_exitcode(status) == 1, (lines, status)
                return usage.ru_maxrss
            few, many = peak(2_000), peak(60_000)
            print(many < few + 8 * 1024, few, many)
            END
            """)
        #expect(run.output.hasPrefix("True "), "\(run.output) \(run.errors)")
    }

    @Test("Results are printed while the list is still being written")
    func slowInput() async throws {
        let run = try await shell(
            """
            mkfifo lines
            pinctl check --at 2026-11-20 --ndjson --targets lines > out & exec 3> lines
            echo a.test >&3
            while ! grep -q '"target":"a.test:443"' out; do sleep 0.05; done
            echo b.test >&3; exec 3>&-; wait $!; echo $? $(wc -l < out)
            """)
        #expect(run.output == "1 3\n", "\(run.errors)")
    }

    @Test("Under xargs -P each input line gives one result line")
    func xargs() async throws {
        try await site.serve { server in
            let run = try await shell(
                """
                check='pinctl check --targets - --at 2026-11-20 --ndjson --timeout 100'
                (echo "# a remark"; for n in {1..199}; do echo "api.test:$n@127.0.0.1:\(server.port)"; done) |
                    xargs -d '\\n' -P 4 -n 25 sh -c 'printf "%s\\n" "$@" | '"$check" - > out; echo $?
                grep -c '"verdict":"ok"' out; grep -c '"input":"api.test' out; grep -c '"type":"summary"' out
                """)
            #expect(run.output == "0\n199\n199\n8\n", "\(run.errors)")
        }
    }

    @Test("An empty list is an error, except on standard input as a part of a larger list")
    func emptyPart() async throws {
        let run = try await shell(
            """
            : > none; pinctl check --targets none; echo $?
            pinctl check --at 2026-11-20 --ndjson --targets - < none | grep -c '"checked":0'
            """)
        #expect(run.errors == "pinctl: --targets: nothing to check in none: give at least one target\n")
        #expect(run.output.hasSuffix("2\n1\n"))
    }
}
