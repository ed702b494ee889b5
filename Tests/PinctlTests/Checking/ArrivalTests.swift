import CertificatePinning
import FoundationEssentials
import PinctlBasics
import PinctlCommands
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// The order in which results are printed, the progress line, and what Ctrl-C leaves.
@Suite("Results as they finish")
struct ArrivalTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private var words: [String] {
        get throws { ["check", "--ca-file", site.rootFile, "--pin", try site.leaf.key.pin] }
    }

    /// Runs `body` with a server that never answers and one that does.
    private func serve(_ body: (_ slow: LoopbackServer, _ good: LoopbackServer) async throws -> Void) async throws {
        try await site.serve(script: .stall) { slow in
            try await site.serve { good in try await body(slow, good) }
        }
    }

    /// The subjects of lines of text or of NDJSON, in order.
    private func subjects(_ run: Run) -> [String] {
        run.lines.compactMap { line in
            guard !line.hasPrefix("  "), !line.contains(" checked") else { return nil }
            for name in ["slow.test", "www.test", "api.test"] where line.contains("\(name):") { return name }
            return nil
        }
    }

    @Test(
        "A slow host holds back no known result, except with --in-order or in a document",
        arguments: [
            ([], false), (["--ndjson"], false), (["--failures"], false), (["--in-order"], true),
            (["--in-order", "--ndjson"], true), (["-j", "1"], true),
        ])
    func order(flags: [String], isOrdered: Bool) async throws {
        try await serve { slow, good in
            let list = try site.directory.add("\(slow.target("slow.test"))\n\(good.target("www.test"))\n")
            for targets in [[slow.target("slow.test"), good.target("www.test")], ["--targets", list]] {
                let run = await pinctl(try words + flags + ["--timeout", "1"] + targets)
                let both = ["www.test", "slow.test"]
                #expect(subjects(run) == (isOrdered ? both.reversed() : both), "\(run.output)")
                #expect(run.status == 4)
            }
            let document = await pinctl(
                try words + ["--json", "--timeout", "1", slow.target("slow.test"), good.target("www.test")])
            let slowAt = try #require(document.output.firstRange(of: "slow.test")).lowerBound
            let goodAt = try #require(document.output.firstRange(of: "www.test")).lowerBound
            #expect(slowAt < goodAt)
        }
    }

    @Test("Reports and the summary of causes are in the order of the targets, whatever finishes first")
    func reports() async throws {
        try await serve { slow, good in
            let file = site.directory.path + "/report.json"
            let targets = [slow.target("slow.test")] + (0..<12).map { good.target("h\($0).test") }
            let flags = ["--timeout", "1", "--report", "json=\(file)"]
            let run = await pinctl(try words + flags + targets)
            let text = String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self)
            let places = ["slow.test"] + (0..<12).map { "h\($0).test" }
            let found = try places.map { try #require(text.firstRange(of: "\"host\":\"\($0)\"")).lowerBound }
            #expect(found == found.sorted())
            let summary = try #require(run.lines.first { $0.contains(" and 9 more): ") })
            let examples = try (0..<3).map { try #require(summary.firstRange(of: "h\($0).test:")).lowerBound }
            #expect(examples == examples.sorted())
        }
    }

    @Test(
        "Ctrl-C prints what is known, the summary and the reports, in every format",
        arguments: [[], ["--ndjson"], ["--json"]])
    func interrupted(flags: [String]) async throws {
        try await serve { slow, good in
            let metrics = site.directory.path + "/metrics"
            let targets = [slow.target("slow.test"), good.target(), good.target("www.test")]
            // Both results are there well before the third second, and the slow host has a minute.
            let start = ContinuousClock.now
            let run = await pinctl(
                try words + flags + ["--report", "prometheus=\(metrics)"] + targets,
                isInterrupted: { .now - start > .seconds(3) })
            #expect(.now - start < .seconds(50))
            #expect(run.status == 130)
            #expect(
                run.errors
                    == "pinctl: interrupted before 1 of 3 targets was checked (slow.test:\(slow.port) via "
                    + "127.0.0.1:\(slow.port)): run it again for those without a result\n")
            switch flags {
            case []: #expect(run.lines.last == "2 checked: 1 ok, 1 not trusted")
            case ["--json"]:
                struct Document: Decodable {
                    struct Summary: Decodable {
                        let checked: Int
                        let exitCode: Int
                        let verdict: String
                    }
                    let summary: Summary
                }
                let summary = try run.decoded(as: Document.self).summary
                #expect(summary.checked == 2 && summary.exitCode == 130 && summary.verdict == "interrupted")
            default:
                #expect(run.lines.last?.contains("\"verdict\":\"interrupted\",\"exit_code\":130") == true)
                #expect(run.lines.count == 4)
            }
            let text = String(decoding: try Data(contentsOf: URL(filePath: metrics)), as: UTF8.self)
            #expect(text.contains("pinctl_exit_code{command=\"check\"} 130\n"))
            #expect(!text.contains("pinctl_last_success"))
            #expect(text.contains("verdict=\"name_mismatch\"") && !text.contains("slow.test"))
        }
    }

    @Test("An interrupted run names the first targets without a result, and how many there are")
    func pending() throws {
        func server(_ name: String) throws -> CheckItem {
            .server(try Target(name), CheckSettings(), rule: nil, input: nil)
        }
        var targets = PendingTargets()
        targets.add(try ["a.test", "b.test"].map(server) + [.problem("not a target", [])])
        targets.add(try ["c.test", "d.test", "e.test"].map(server))
        #expect(
            targets.interruption(after: 0, of: 6)
                == "interrupted before any of 6 targets was checked (a.test:443, b.test:443, c.test:443 and 2 more): "
                + "run it again")
        targets.remove(0)
        targets.remove(2)
        #expect(
            targets.interruption(after: 2, of: nil)
                == "interrupted before all targets of the list were checked (pending: b.test:443, c.test:443, "
                + "d.test:443 and 1 more): run it again for those without a result")
        for item in [1, 3, 4] { targets.remove(item) }
        #expect(
            targets.interruption(after: 5, of: 6)
                == "interrupted before 1 of 6 targets was checked (e.test:443): run it again for those without a result"
        )
    }

    @Test("SIGINT ends the program with the signal after the summary, also while a list on standard input is open")
    func signal() async throws {
        try await serve { slow, good in
            let command = "pinctl check --at 2026-11-20 --ca-file root.pem --pin \(try site.leaf.key.pin) --timeout 100"
            let run = try await shell(
                """
                mkfifo list; exec 3<>list; echo '\(good.target())' >&3; echo '\(slow.target("slow.test"))' >&3
                timeout --preserve-status --signal INT 3 \(command) \(slow.target("slow.test")) \(good.target()) \
                >out 2>err
                echo $?; cat out; timeout --preserve-status --signal INT 3 \(command) --targets list > out 2>> err
                echo $?; cat out; cat err >&2
                """, in: site.directory)
            let again = "run it again for those without a result"
            let pending = "slow.test:\(slow.port) via 127.0.0.1:\(slow.port)"
            let ok = "ok    api.test:\(good.port) via 127.0.0.1:\(good.port)  matched \(try site.leaf.key.pin) (leaf)"
            #expect(run.lines == ["130", ok, "1 checked: 1 ok", "130", ok, "1 checked: 1 ok"], "\(run)")
            #expect(
                run.errors == """
                    pinctl: interrupted before 1 of 2 targets was checked (\(pending)): \(again)
                    pinctl: interrupted before all targets of the list were checked (pending: \(pending)): \(again)

                    """)
        }
    }

    @Test("The second SIGINT of a wrapper such as timeout doesn't cut off the summary")
    func repeatedSignal() async throws {
        try await site.serve { good in
            let command = "pinctl check --at 2026-11-20 --ca-file root.pem --pin \(try site.leaf.key.pin) --timeout 100"
            let run = try await shell(
                """
                mkfifo list; exec 3<>list
                for run in 1 2 3 4 5; do
                    echo '\(good.target())' >&3
                    \(command) --targets list >out 2>err & pid=$!
                    until [ -s out ]; do sleep 0.1; done
                    kill -INT $pid; sleep 0.01; kill -INT $pid; wait $pid; echo $?; tail -n 1 out; rm out
                done
                """, in: site.directory)
            #expect(run.lines == Array(repeating: ["130", "1 checked: 1 ok"], count: 5).flatMap(\.self), "\(run)")
        }
    }

    @Test("The progress line counts from zero, and unreachable targets apart from failures")
    func progress() async throws {
        let closed = try LoopbackServer(chain: [site.leaf])
        closed.stop()
        try await serve { slow, good in
            let terminal = Terminal(columns: nil, showsProgress: true)
            let targets = [closed.target(), good.target("www.test"), slow.target("slow.test")]
            let run = await pinctl(
                try words + ["--timeout", "2", "--retries", "0", "--in-order"] + targets, terminal: terminal)
            let lines = run.errors.split(separator: "\r").map { $0.replacing("\u{1B}[K", with: "") }.filter {
                !$0.isEmpty
            }
            #expect(
                lines == [
                    "0 of 3 checked", "1 of 3 checked, 1 unreachable", "2 of 3 checked, 1 failed, 1 unreachable",
                    "3 of 3 checked, 1 failed, 2 unreachable",
                ], "\(run.errors)")
            #expect(run.errors.hasSuffix("\r\u{1B}[K"))
            let list = try site.directory.add(good.target() + "\n")
            let listed = await pinctl(try words + ["--targets", list], terminal: terminal)
            #expect(listed.errors.hasPrefix("\r\u{1B}[K0 checked\r") && listed.errors.contains("\u{1B}[K1 checked\r"))
            #expect(await pinctl(try words + [good.target()]).errors == "")
        }
    }
}
