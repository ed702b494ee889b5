import PinctlTestPKI
import Testing

@Suite("Baselines")
struct BaselineTests {
    private let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func check(_ words: [String]) async -> Run { await pinctl(["check", "--ca-file", site.rootFile] + words) }

    @Test("A baseline with a failure of the ECDSA key doesn't excuse a failure of the same target's RSA key")
    func keyKind() async throws {
        try await site.serve { server in
            let words = ["--keys", "ecdsa", "--pin", unknownPin, server.target()]
            let earlier = await check(["--ndjson"] + words)
            #expect(earlier.status == 1)
            #expect(earlier.output.contains("\"key\":\"ecdsa\""))
            let same = try site.directory.add(earlier.output)
            let known = await check(["--baseline", same] + words)
            #expect(known.lines.last == "1 checked: 1 known")
            #expect(known.status == 0)
            let other = try site.directory.add(earlier.output.replacing("\"key\":\"ecdsa\"", with: "\"key\":\"rsa\""))
            let new = await check(["--baseline", other] + words)
            #expect(new.lines.last == "1 checked: 1 failed")
            #expect(new.status == 1)
            // A good key doesn't fix the failure of the other key either.
            let good = ["--keys", "ecdsa", "--pin", try site.leaf.key.pin, server.target()]
            #expect(await check(["--baseline", same] + good).lines.last == "1 checked: 1 ok, 1 fixed")
            #expect(await check(["--baseline", other] + good).lines.last == "1 checked: 1 ok")
        }
    }

    @Test("A baseline line of up to 8 MiB is read, and a longer one is rejected with its size and never skipped")
    func longLine() async throws {
        try await site.serve { server in
            let words = ["--pin", unknownPin, server.target()]
            let lines = await check(["--ndjson"] + words).lines
            let limit = 8 << 20
            /// The failure as a line of this many bytes, padded with spaces after its first member, and the summary.
            func baseline(_ count: Int, end: String = "\n") throws -> String {
                let padding = String(repeating: " ", count: count - lines[0].utf8.count)
                let line = lines[0].replacing("{\"type\":\"check\",", with: "{\"type\":\"check\",\(padding)")
                return try site.directory.add("\(line)\n\(lines[1])\(end)")
            }
            let longest = await check(["--baseline", try baseline(limit)] + words)
            #expect(longest.lines.last == "1 checked: 1 known")
            #expect(longest.status == 0)
            for count in [limit + 1] {
                let file = try baseline(count)
                let run = await check(["--baseline", file] + words)
                #expect(
                    run.errors
                        == "pinctl: --baseline: \(file): has a line of more than 8388608 bytes, which is the limit: "
                        + "give the output of check --json or --ndjson\n")
                #expect(run.output == "")
                #expect(run.status == 2)
            }
            let endless = try site.directory.add(String(repeating: "{", count: limit + 1))
            #expect(
                await check(["--baseline", endless] + words).errors.contains("has a line of more than 8388608 bytes"))
        }
    }
}
