import CertificateTrust
import PinctlTestPKI
import Testing

@Suite("pinctl plan --next-issuer")
struct PlanNextIssuerTests {
    private let site: PinctlSite
    private let chain: String
    private let providers: String
    private let root: String
    private let second = "sha256/AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE="
    private let foreign = "sha256/AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI="

    init() throws {
        site = try PinctlSite()
        root = try site.root.key.pin
        chain = site.chainFile
        providers = try site.directory.add(
            """
            { "version": 1,
              "pins": { "first": { "pin": "\(root)" }, "second": { "pin": "\(second)" }, "foreign": { "pin": "\(foreign)" } },
              "x-sources": { "page": { "url": "https://ca.test/", "day": "2026-11-01" } },
              "x-authorities": {
                "ours": { "title": "Example CA", "roots": { "first": { "source": "page" }, "second": { "source": "page" } } },
                "other": { "title": "Other CA", "roots": { "foreign": { "source": "page" } } } },
              "x-providers": { "cdn": { "title": "CDN", "authorities": { "other": "page" } } } }
            """, name: "providers.jsonc")
    }

    private func plan(_ words: String..., pins: [String], host: String = "api.test") async throws -> Run {
        let policy = try site.directory.add(
            policyText([(host, pins.map { #"{ "pin": "\#($0)", "role": "ca" }"# })])
        )
        return await pinctl(
            ["plan", "--next-issuer", "--providers", providers, "--ca-file", site.rootFile, "--against", policy] + words
        )
    }

    @Test("Every root of the CA that issued today's chain is judged, and no other")
    func judged() async throws {
        for flag in ["--current", "--new"] {
            let whole = try await plan(flag, chain, pins: [root, second])
            #expect(whole.status == 0, "\(whole.output) \(whole.errors)")
            #expect(!whole.output.contains("foreign"))
            let gap = try await plan(flag, chain, pins: [root])
            #expect(gap.status == 1)
            #expect(gap.output.contains("Example CA (second)"), "\(gap.output)")
        }
    }

    @Test("Only the hosts of today's certificate are judged")
    func hosts() async throws {
        let run = try await plan("--current", chain, pins: [root], host: "elsewhere.example")
        #expect(run.status == 2)
        #expect(run.errors.contains("no release has a rule for a hostname of Example CA (first)"), "\(run.errors)")
    }

    @Test("Without a chain of a CA whose roots are known, nothing is green")
    func refused() async throws {
        let none = try await plan(pins: [root, second])
        #expect(none.status == 2)
        #expect(none.errors.contains("--current"), "\(none.errors)")

        let key = try await plan(
            "--current", try site.directory.add(try site.leaf.key.privateKeyPEM), pins: [root, second])
        #expect(key.status == 2)
        #expect(key.errors.contains("is a key, whose CA isn't known"), "\(key.errors)")

        let policy = try site.directory.add(policyText([("api.test", ["\"\(root)\""])]))
        let unknown = await pinctl(
            "plan", "--next-issuer", "--ca-file", site.rootFile, "--current", chain, "--against", policy)
        #expect(unknown.status == 2)
        #expect(unknown.errors.contains("the roots of its CA aren't known, only those of Amazon"), "\(unknown.errors)")

        let untrusted = await pinctl(
            "plan", "--next-issuer", "--providers", providers, "--current", chain, "--against", policy)
        #expect(untrusted.status == 2)
        #expect(untrusted.errors.contains("its CA isn't known: "), "\(untrusted.errors)")
    }
}
