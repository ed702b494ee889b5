import FoundationEssentials
import PinctlCommands
import PinctlTestPKI
import Testing

/// Bundles as releases: when one expires, programs use the policy that they were built with.
@Suite("pinctl plan, check and lint, the expiry of signed bundles")
struct PlanBundleTests {
    let site: PinctlSite
    /// Valid from 2026-11-20 until 2026-12-20.
    private let bundle: String

    init() async throws {
        site = try PinctlSite()
        let key = try TestKey()
        let policy = try site.directory.add(
            policyText([("api.test", ["\"\(try site.leaf.key.pin)\"", "\"\(try site.root.key.pin)\""])]))
        let keys = try site.directory.add(
            #"{ "version": 1, "audience": "com.example.app", "number": 1, "threshold": 1, "#
                + #""keys": ["\#(try TestPEM.base64(key.publicKeyDER))"] }"#)
        bundle = site.directory.path + "/bundle.json"
        let run = await pinctl(
            "sign", policy, "--keys", keys, "--key", try site.directory.add(key.privateKeyPEM), "-o", bundle)
        try #require(run.status == 0, "\(run)")
    }

    private static let end = "2026-12-20T00:00:00Z"
    private static let effect = "programs then use the policy that they were built with"

    @Test("A release that is a bundle survives only until the bundle expires")
    func plan() async throws {
        func plan(_ words: String...) async -> Run {
            await pinctl(["plan", "--ca-file", site.rootFile, "--new", site.chainFile] + words)
        }
        #expect(await plan("--against", bundle).status == 0)
        #expect(await plan("--against", bundle, "--fail-within", "29d").status == 0)
        for words in [["--fail-within", "30d"], ["--at", "2027-01-01"], ["--at", Self.end]] {
            for source in [["--against", bundle], ["--policy", bundle]] {
                let run = await pinctl(
                    ["plan", "--ca-file", site.rootFile, "--new", site.chainFile] + source + words)
                #expect(run.status == 1, "\(run)")
                #expect(run.output.contains("; until \(Self.end): the bundle expires, and \(Self.effect)"), "\(run)")
                #expect(run.output.contains("0 of 1 combination breaks, 1 stops surviving later"))
            }
        }
        // A leaf that is valid only after the bundle's expiry.
        let later = try site.intermediate.leaf("api.test", key: site.leaf.key) {
            $0.notBefore = Int64(testTime.timeIntervalSince1970) + 31 * 86_400
        }
        let chain = try site.directory.add(later.pemText + site.intermediate.pemText)
        let run = await pinctl("plan", "--ca-file", site.rootFile, "--new", chain, "--against", bundle)
        #expect(run.status == 1, "\(run)")
        // The policy itself has no such end.
        let policy = try site.policy("\"\(try site.root.key.pin)\"")
        #expect(await plan("--against", policy, "--at", "2027-01-01").status == 0)
    }

    @Test("check and lint warn before a bundle expires and after it has")
    func warnings() async throws {
        func check(_ words: String...) async -> Run {
            await pinctl(
                ["check", "--policy", bundle, "--ca-file", site.rootFile, "--files", site.chainFile] + words)
        }
        for (time, verb) in [("2026-12-11", "expires"), ("2027-01-01", "expired")] {
            let warning = "the bundle \(verb) at \(Self.end), and \(Self.effect): publish a newer bundle"
            let checked = await check("--at", time)
            #expect(checked.status == 0 && checked.output.contains("warning: \(warning)"), "\(checked)")
            #expect(await check("--at", time, "--fail-on", "warning").status == 1)
            let linted = await pinctl("lint", bundle, "--at", time)
            #expect(linted.lines.contains("\(bundle):1:1: warning[P006] \(warning)"), "\(linted)")
        }
        for run in [
            await check("--at", "2026-12-09"), await pinctl("lint", bundle, "--at", "2026-12-09"),
            await check("--at", "2026-12-11", "--warn-within", "1d"),
        ] { #expect(!run.output.contains("the bundle"), "\(run)") }
    }
}
