import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// The causes that the results of a run show together.
@Suite("Causes that several servers show together")
struct RunPatternTests {
    private let site: PinctlSite

    init() throws { site = try PinctlSite() }

    /// Runs `check` against servers, each with its own chain.
    private func check(
        _ chains: [[TestCertificate]], now: Date = testTime, _ flags: [String] = [],
        names: (Int) -> String = { "h\($0).test" }
    ) async throws -> Run {
        let servers = try chains.map { try LoopbackServer(chain: $0) }
        defer { for server in servers { server.stop() } }
        let targets = servers.enumerated().map { $1.target(names($0)) }
        return await pinctl(
            ["check", "--ca-file", site.rootFile, "--pin", unknownPin] + flags + targets, now: now)
    }

    private func leaves(_ count: Int, from start: Int64, to end: Int64) throws -> [[TestCertificate]] {
        try (0..<count).map { index in
            [
                try site.intermediate.leaf("h\(index).test") { ($0.notBefore, $0.notAfter) = (start, end) },
                site.intermediate,
            ]
        }
    }

    private var now: Int64 { Int64(testTime.timeIntervalSince1970) }

    @Test("Five of five expired certificates suggest the clock", arguments: [5, 3])
    func ahead(count: Int) async throws {
        let run = try await check(try leaves(count, from: now - 86_400 * 60, to: now - 86_400))
        #expect(run.status == 4)
        let line = try #require(run.lines.first { $0.contains("clock is probably ahead") })
        #expect(line.hasPrefix("\(count) hosts (h0.test:"))
        #expect(
            line.hasSuffix(
                ": at 2026-11-20T00:00:00Z, the time of this machine, all \(count) certificates have expired, so its "
                    + "clock is probably ahead"))
        // The summary doesn't ask for new certificates of the same hosts.
        #expect(!run.lines.contains { $0.hasPrefix("  do: renew") }, "\(run.output)")
        #expect(
            run.lines.contains(
                "  do: check this machine's clock and its NTP configuration before you renew a certificate"))
    }

    @Test("Certificates that aren't valid yet on every host suggest that the clock is behind")
    func behind() async throws {
        let run = try await check(try leaves(4, from: now + 86_400, to: now + 86_400 * 60))
        #expect(
            run.output.contains(
                "at 2026-11-20T00:00:00Z, the time of this machine, all 4 certificates are not yet valid, so its clock "
                    + "is probably behind"))
    }

    @Test("One good certificate, or only two expired ones, say nothing about the clock", arguments: [true, false])
    func noClock(isMixed: Bool) async throws {
        var chains = try leaves(isMixed ? 4 : 2, from: now - 86_400 * 60, to: now - 86_400)
        if isMixed { chains += try leaves(1, from: now - 86_400, to: now + 86_400 * 60) }
        let run = try await check(chains) { isMixed && $0 == 4 ? "h0.test" : "h\($0).test" }
        #expect(!run.output.contains("clock is probably"), "\(run.output)")
    }

    @Test("A single certificate that several names share isn't evidence about the clock")
    func shared() async throws {
        let leaf = try site.intermediate.leaf("h0.test", "h1.test", "h2.test") {
            ($0.notBefore, $0.notAfter) = (now - 86_400 * 60, now - 86_400)
        }
        let run = try await check(Array(repeating: [leaf, site.intermediate], count: 3))
        #expect(run.status == 4 && !run.output.contains("clock is probably"), "\(run.output)")
    }

    @Test("A time that was given isn't the clock's")
    func chosen() async throws {
        let run = try await check(try leaves(3, from: now - 86_400 * 60, to: now + 86_400), ["--at", "2027-06-01"])
        #expect(run.output.contains("at 2027-06-01T00:00:00Z, the time of --at, all 3 certificates have expired"))
        #expect(run.output.contains("  do: give another time with --at"))
        #expect(!run.output.contains("clock is probably"))
    }

    @Test("The same certificate on every host, for none of them, suggests a captive portal")
    func portal() async throws {
        let leaf = try site.intermediate.leaf("login.hotspot.test")
        let run = try await check(Array(repeating: [leaf, site.intermediate], count: 3))
        #expect(run.status == 4)
        #expect(run.output.contains("all 3 hosts present the same certificate, which is for none of them"))
        #expect(run.output.contains("captive portal"))
    }

    @Test(
        "Few hosts with the same foreign certificate, or many with different ones, say nothing about a captive portal",
        arguments: [(1, 1), (2, 1), (3, 2), (4, 3)])
    func noPortal(hosts: Int, certificates: Int) async throws {
        let leaves = try (0..<certificates).map { try site.intermediate.leaf("other\($0).test") }
        let run = try await check((0..<hosts).map { [leaves[$0 % certificates], site.intermediate] })
        #expect(run.status == 4 && run.lines.last == "\(hosts) checked: \(hosts) not trusted")
        #expect(!run.output.contains("captive portal") && !run.output.contains("hosts present"), "\(run.output)")
    }
}
