import FoundationEssentials
import PinctlTestPKI
import Testing

/// Stapled OCSP responses, printed by `show` and evaluated by `check --revocation`.
@Suite("Stapled OCSP responses")
struct StapleTests {
    let site: PinctlSite
    let leaf: TestCertificate
    let pin: String

    init() throws {
        site = try PinctlSite()
        // Directly below the root, so that only the leaf needs a response.
        leaf = try site.root.leaf("api.test")
        pin = try leaf.key.pin
    }

    private func serve(
        _ status: TestOCSPResponse.Status?, _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        var response = TestOCSPResponse(leaf, issuedBy: site.root)
        let now = Int64(testTime.timeIntervalSince1970)
        (response.thisUpdate, response.nextUpdate) = (now - 3_600, now + 3_600)
        if let status { response.status = status }
        let staple = status == nil ? [] : try response.signed(by: site.root)
        try await LoopbackServer(chain: [leaf]) { $0.staple = staple }.run(body)
    }

    private func check(_ server: LoopbackServer, _ flags: String...) async -> Int32 {
        await pinctl(["check", "--ca-file", site.rootFile, "--pin", pin, server.target()] + flags).status
    }

    @Test("A revoked leaf isn't trusted with --revocation use or require, and show prints its status")
    func revoked() async throws {
        try await serve(.revoked(reason: 1)) { server in
            #expect(await check(server) == 0)
            #expect(await check(server, "--revocation", "use") == 4)
            #expect(await check(server, "--revocation", "require") == 4)
            #expect(await check(server, "--revocation", "use", "--max-tls", "1.2") == 4)
            let run = await pinctl("show", "--ca-file", site.rootFile, server.target())
            #expect(
                run.lines.contains { $0.hasPrefix("  stapled OCSP: revoked until 2026-11-20T01:00:00Z; ") }, "\(run)")
        }
    }

    @Test("A good response is enough for a leaf, and a missing one fails only with --revocation require")
    func good() async throws {
        try await serve(.good) { server in
            #expect(await check(server, "--revocation", "use") == 0)
            #expect(await check(server, "--revocation", "require") == 0)
            let run = await pinctl("show", "--ca-file", site.rootFile, server.target())
            #expect(run.lines.contains("  stapled OCSP: good until 2026-11-20T01:00:00Z"), "\(run)")
        }
        try await serve(nil) { server in
            #expect(await check(server, "--revocation", "use") == 0)
            #expect(await check(server, "--revocation", "require") == 4)
            let run = await pinctl("show", "--ca-file", site.rootFile, server.target())
            #expect(!run.output.contains("stapled"))
        }
    }

    @Test("show asks for both kinds of key", arguments: ["1.2", "1.3"])
    func bothKeys(version: String) async throws {
        let other = try site.intermediate.leaf("api.test", key: try .shared(.rsa2048))
        try await LoopbackServer(chain: site.chain) {
            $0.otherChain = [other, site.intermediate]
        }.run { server in
            let run = await pinctl("show", "--ca-file", site.rootFile, "--max-tls", version, server.target())
            #expect(run.status == 0 && run.lines.contains { $0.hasPrefix("  also serves ") }, "\(run)")
            for pin in [try site.leaf.key.pin, try other.key.pin] { #expect(run.output.contains(pin)) }
            for (key, leaf) in [("rsa", other), ("ecdsa", site.leaf)] {
                let pem = await pinctl(
                    "show", "--ca-file", site.rootFile, "--max-tls", version, "--keys", key, "--pem", server.target())
                #expect(pem.output == leaf.pemText + site.intermediate.pemText)
            }
        }
    }
}
