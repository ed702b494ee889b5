import Foundation
import PinctlTestPKI
import Testing

/// TC18: many requests of every kind leave nothing behind.
@Suite(.timeLimit(.minutes(15)))
struct SoakTests {
    /// The number of requests; `PINNED_SOAK=10000` runs the full test.
    private static let count = ProcessInfo.processInfo.environment["PINNED_SOAK"].flatMap { Int($0) } ?? 500

    @Test(
        "TC18: Requests that succeed, fail, redirect, are cancelled, reset or time out leave nothing behind",
        .enabled(if: MemoryScan.isPossible, "a sanitizer takes memory of its own"))
    func mixed() async throws {
        let program = try await CompiledProgram("Soak", languageMode: 6)
        let site = try TestSite.pinned([.ip([127, 0, 0, 1])])
        let script = LoopbackServer.Script.answer { request in
            switch request.target {
            case "/login": .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "who?")
            case "/on": .init("302 Found", fields: ["Location: /good"])
            case "/reset": .raw(Array("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\n".utf8))
            default: .init(body: "hello")
            }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            try await LoopbackServer(chain: site.chain, .stall).run { silent in
                let lines = try await program.output(
                    [
                        "soak", "https://127.0.0.1:\(server.port)/", "https://127.0.0.1:\(silent.port)/",
                        "\(Self.count)",
                    ], roots: [site.root], limit: 800)
                let values = Dictionary(
                    uniqueKeysWithValues: lines.map { line in
                        let words = line.split(separator: " ", maxSplits: 1)
                        return (String(words[0]), String(words.last ?? ""))
                    })
                print("soak of \(Self.count):", lines.joined(separator: "; "))
                #expect(values["descriptors"].flatMap { Int($0) } ?? 1 <= 0)
                // The number of pool threads varies, but there must not be one for each request.
                #expect(values["threads"].flatMap { Int($0) } ?? 99 <= 4)
                #expect(values["memory"].flatMap { Int($0) } ?? .max <= 2 << 20)
                let ends = values["ends"] ?? ""
                for end in ["good 200", "pin -1202", "login 401", "on 200", "reset -1005", "timeout -1001"] {
                    #expect(ends.contains(end), "\(ends)")
                }
            }
        }
    }
}
