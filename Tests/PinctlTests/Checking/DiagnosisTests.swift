import FoundationEssentials
import PinctlTestPKI
import Testing

@Suite("Causes that pinctl reports")
struct DiagnosisTests {
    struct Document: Decodable {
        struct Result: Decodable {
            struct Cause: Decodable {
                let cause: String
                let finding: String
                let remedy: String
            }
            let verdict: String
            let diagnosis: [Cause]?
        }
        let results: [Result]
    }

    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func verify(_ words: String...) async throws -> [Document.Result] {
        try await pinctl(["verify", site.chainFile, "--ca-file", site.rootFile, "--json"] + words)
            .decoded(as: Document.self).results
    }

    @Test("JSON lists each cause with its remedy, and has no diagnosis for a good result")
    func json() async throws {
        let policy = try site.policy(#"{ "pin": "\#(try site.root.key.pin)", "role": "leaf" }"#)
        let mismatch = try await verify("--host", "api.test", "--policy", policy)
        #expect(mismatch.map(\.verdict) == ["pin_mismatch"])
        #expect(mismatch[0].diagnosis?.map(\.cause) == ["wrong-position"])
        #expect(mismatch[0].diagnosis?[0].finding.contains("is on the path as root") == true)
        #expect(mismatch[0].diagnosis?[0].remedy.contains(", give the pin the role root, or ") == true)
        let good = try await verify("--host", "api.test", "--pin", try site.leaf.key.pin)
        #expect(good.map(\.verdict) == ["ok"])
        #expect(good[0].diagnosis == nil)
    }

    @Test("A wrong clock is reported below the chain, and a host that no rule covers below the verdict")
    func lines() async throws {
        let early = await pinctl(
            "verify", site.chainFile, "--ca-file", site.rootFile, "--host", "api.test", "--pin", unknownPin, "--at",
            "2001-01-01")
        #expect(early.lines.suffix(2).first?.hasPrefix("  cause: the clock is probably behind, ") == true)
        #expect(early.lines.contains("  presented, not verified:"))
        #expect(early.status == 4)
        let policy = try site.policy("\"\(unknownPin)\"", host: "api.example.test")
        let missed = await pinctl("check", "--policy", policy, "www.example.test:1@127.0.0.1")
        #expect(
            missed.lines[1...2] == [
                "  cause: no rule covers www.example.test, and the nearest one, for api.example.test at "
                    + "\(policy):3:1, is for a neighboring name",
                "  do: add a rule for the host",
            ])
        #expect(missed.status == 1)
    }
}
