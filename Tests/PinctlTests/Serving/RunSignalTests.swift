import FoundationEssentials
import PinctlTestPKI
import Testing

/// Signals of a program that runs under a policy. Jobs of a shell have process groups of their own (`set -m`).
@Suite("Signals under pinctl run", .enabled(if: MemoryScan.isPossible))
struct RunSignalTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func run(_ script: String) async throws -> Run {
        let policy = try site.policy("\"\(unknownPin)\", \"\(try site.leaf.key.pin)\"")
        // Any library is enough.
        let guarded = "pinctl run --guard $(ldconfig -p | sed -n 's/.*=> //p' | grep -m1 'libz\\|libc.so.6')"
        return try await shell(
            """
            until_true() { for try in {1..200}; do eval "$1" && return; sleep 0.05; done; echo "never: $1"; }
            guarded() { exec \(guarded) --policy \(policy) --ca-file \(site.rootFile) -- "$@"; }
            set -m
            \(script)
            """, in: site.directory)
    }

    @Test("Signals that a process sends reach the program, and those of the C library's threads are left alone")
    func sent() async throws {
        let numbers = "HUP INT QUIT USR1 USR2 ALRM CONT URG XCPU VTALRM PROF WINCH IO PWR RTMIN RTMAX"
        let run = try await run(
            """
            guarded bash -c 'for s in \(numbers); do trap "echo $s >>got" $s; done
                trap "exit 9" TERM; touch ready; while :; do sleep 0.02; done' & run=$!
            until_true '[ -e ready ]'
            for s in \(numbers); do kill -$s $run; until_true "grep -qx $s got 2>/dev/null"; done
            kill -TERM $run; wait $run; echo "$?"
            """)
        #expect(run.lines.filter { !$0.hasPrefix("[") } == ["9"], "\(run)")
    }

    @Test(
        "A program ignores and blocks the signals that it would without pinctl",
        arguments: ["", "HUP", "PIPE INT TERM"])
    func ignored(signals: String) async throws {
        let ignore = signals.isEmpty ? "" : "trap '' \(signals); "
        let status = "grep -E 'Sig(Blk|Ign|Cgt)' /proc/self/status"
        let run = try await run(
            "(\(ignore)exec \(status)) >direct; (\(ignore)guarded \(status)) >run; cmp direct run && cat run")
        #expect(run.status == 0 && run.lines.count == 3, "\(run)")
    }

    @Test("A program that its shell's job control stops has pinctl stop with it, and both go on")
    func stops() async throws {
        let run = try await run(
            """
            guarded bash -c 'touch ready; while [ ! -e end ]; do sleep 0.02; done; exit 7' & run=$!
            until_true '[ -e ready ]'
            kill -TSTP $run; until_true '[ "$(cut -d" " -f3 /proc/$run/stat)" = T ]'
            until_true '[ "$(cut -d" " -f3 /proc/$(pgrep -P $run)/stat)" = T ]'
            kill -CONT $run; touch end; wait $run; echo "$?"
            """)
        #expect(run.lines.filter { !$0.hasPrefix("[") && !$0.isEmpty } == ["7"], "\(run)")
    }

    @Test(
        "Ctrl-C reaches the program once", .enabled(if: TestCommand.isPresent("script", "--version"), "no script(1)"))
    func terminal() async throws {
        let program =
            #"perl -e '$SIG{INT} = sub { syswrite STDOUT, "got\n" }; open F, ">ready"; close F; "#
            + #"$e = time + 2; select undef, undef, undef, 0.01 while time < $e; exit 5'"#
        let run = try await run(
            """
            cat >inner <<'END'
            \(program)
            END
            (until_true '[ -e ready ]'; printf '\\003'; sleep 3) | script -qec "$(declare -f guarded); guarded bash inner" out
            echo "$?"; grep -c got out
            """)
        #expect(run.output.hasSuffix("5\n1\n"), "\(run)")
    }
}
