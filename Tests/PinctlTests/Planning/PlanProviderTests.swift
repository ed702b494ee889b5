import CertificatePinning
import Foundation
import PinctlBasics
import PinctlTestPKI
import Testing

@Suite("pinctl plan --provider")
struct PlanProviderTests {
    private let directory: TestDirectory

    init() throws { directory = try TestDirectory() }

    /// Returns the pins of each provider's roots by their names, as the files have them.
    private static func roots() throws -> [(provider: String, roots: [(name: String, pin: String)])] {
        func file(_ name: String) throws -> JSONValue {
            let bytes = try Data(contentsOf: URL(filePath: Repository.root + "/pins/\(name)"))
            return try #require(JSONCReader.read(Array(bytes), dialect: .jsonc).root)
        }
        let (file, known) = (try file("providers.jsonc"), try file("public-roots.jsonc"))
        return try #require(file["x-providers"]?.members).map { provider in
            let names = (provider.value["authorities"]?.members ?? []).flatMap { authority in
                // Those of today.
                (file["x-authorities"]?[authority.key]?["roots"]?.members ?? [])
                    .filter { ($0.value["until"]?.string ?? "9999") > "2026-11-28" }.map(\.key)
            }
            return (
                provider.key,
                try names.map { ($0, try #require((known["pins"]?[$0] ?? file["pins"]?[$0])?["pin"]?.string)) }
            )
        }
    }

    @Test("A release with every root of a provider survives, and one without any of them breaks, in every system")
    func each() async throws {
        let providers = try Self.roots()
        #expect(providers.count >= 10)
        for (provider, roots) in providers {
            var words = ["plan", "--provider", provider]
            let full = try directory.add(androidText(roots.map(\.pin)), name: "\(provider)-full.xml")
            let whole = await pinctl(words + ["--against", full])
            #expect(whole.status == 0, "\(whole.output) \(whole.errors)")
            #expect(whole.output.contains("0 of 1 combination breaks"), "\(whole.output)")
            for (name, _) in roots {
                let others = roots.filter { $0.name != name }.map(\.pin)
                let text =
                    name < "h" ? androidText(others) : policyText([("api.test", others.map { "\"\($0)\"" })])
                let file = name < "h" ? "\(provider)-\(name).xml" : "\(provider)-\(name).jsonc"
                words += ["--against", try directory.add(text, name: file)]
            }
            let run = await pinctl(words)
            #expect(run.status == 1)
            #expect(run.output.contains("\(roots.count) of \(roots.count) combinations break"), "\(run.output)")
            for (name, _) in roots {
                let line = run.lines.first { $0.hasPrefix("BREAKS") && $0.contains("\(provider)-\(name).") }
                #expect(
                    line?.hasSuffix(" (\(name)); the others survive") == true, "\(line ?? run.output)")
            }
        }
    }

    @Test("A pin of a root as root breaks for clients that have only the root which signed it")
    func crossSigned() async throws {
        let roots = try #require(try Self.roots().first { $0.provider == "google-cloud" }).roots
        func plan(_ role: String) async throws -> Run {
            let pins = roots.map { #"{ "pin": "\#($0.pin)", "role": "\#(role)" }"# }
            let file = try directory.add(policyText([("api.test", pins)]), name: "\(role).jsonc")
            return await pinctl("plan", "--provider", "google-cloud", "--against", file)
        }
        #expect(try await plan("ca").status == 0)
        let run = try await plan("root")
        #expect(run.status == 1)
        #expect(
            run.output.contains("no pin matches the new chain below Google Trust Services (gts-root-r1),"),
            "\(run.output)")
    }

    @Test("The remedy for the file of the working tree names the roots to pin, and no key of the leaf")
    func remedy() async throws {
        let roots = try #require(try Self.roots().first { $0.provider == "lets-encrypt" }).roots
        let pins = roots.dropFirst().map { "\"\($0.pin)\"" }
        let policy = try directory.add(policyText([("api.test", pins)]), name: "pins.jsonc")
        let run = await pinctl("plan", "--provider", "lets-encrypt", "--policy", policy)
        #expect(run.status == 1)
        #expect(
            run.output.contains("pin \(roots[0].name) (\(roots[0].pin)) in it before it does"), "\(run.output)")
        #expect(!run.output.contains("if the leaf uses key"))
        let off = try directory.add(policyText([("b.test", pins)]))
        #expect(await pinctl("plan", "--provider", "lets-encrypt", "--against", off, "--host", "c.test").status == 2)
    }

    @Test("An unknown provider, and a file of providers that can't be read, are errors")
    func names() async throws {
        let policy = try directory.add(policyText([("api.test", ["\"\(unknownPin)\""])]))
        let unknown = await pinctl("plan", "--provider", "cloudfare", "--against", policy)
        #expect(unknown.status == 2)
        #expect(unknown.errors.contains("did you mean cloudflare?"), "\(unknown.errors)")
        for command in [["plan", "--provider", "cloudflare", "--against", policy], ["lint", policy]] {
            let missing = await pinctl(command + ["--providers", directory.path + "/missing.jsonc"])
            #expect(missing.status == 2, "\(missing.errors)")
            #expect(missing.errors.contains("missing.jsonc"), "\(missing.errors)")
            let other = await pinctl(command + ["--providers", policy])
            #expect(other.status == 2)
            #expect(other.errors.contains("the file has no \"x-providers\""), "\(other.errors)")
        }
    }

    @Test("plan and lint say when the list of a provider is old")
    func age() async throws {
        let roots = try #require(try Self.roots().first { $0.provider == "netlify" }).roots
        let pins = roots.map { #"{ "pin": "\#($0.pin)", "role": "ca" }"# }.joined(separator: ", ")
        let policy = try directory.add(
            #"{ "version": 1, "domains": [ { "host": "api.test", "x-provider": "netlify", "pins": [\#(pins)] } ] }"#)
        for command in [["plan", "--provider", "netlify", "--against", policy], ["lint", policy]] {
            let run = await pinctl(command)
            #expect(run.status == 0)
            #expect(run.errors.contains("note: the CAs of Netlify are those that "), "\(run.errors)")
        }
    }
}

@Suite("pinctl init --provider")
struct InitProviderTests {
    private let site: PinctlSite

    init() throws { site = try PinctlSite() }

    /// Returns a file in which a provider has these roots.
    private func providers(_ pins: [String: String]) throws -> String {
        let names = pins.keys.sorted()
        return try site.directory.add(
            """
            { "version": 1,
              "pins": { \(names.map { #""\#($0)": { "pin": "\#(pins[$0] ?? "")" }"# }.joined(separator: ", ")) },
              "x-sources": { "page": { "url": "https://ca.test/", "day": "2026-11-01" } },
              "x-authorities": { "ca": { "title": "Example CA", "roots": {
                \(names.map { #""\#($0)": { "source": "page" }"# }.joined(separator: ", ")) } } },
              "x-providers": { "cdn": { "title": "CDN", "authorities": { "ca": "page" } } } }
            """)
    }

    @Test("init --provider pins every root of the provider, so that lint and plan pass")
    func covers() async throws {
        let file = try providers(["served-root": site.root.key.pin, "next-root": unknownPin])
        let run = await pinctl(
            "init", "--ca-file", site.rootFile, "--from", site.chainFile, "--provider", "cdn", "--providers", file)
        #expect(run.status == 0, "\(run.errors)")
        #expect(run.output.contains("\"x-provider\": \"cdn\","))
        #expect(run.output.contains("\"served-root\": { \"pin\": \"\(try site.root.key.pin)\", \"role\": \"ca\" }"))
        #expect(
            run.output.contains("\"next-root\": { \"pin\": \"\(unknownPin)\", \"role\": \"ca\", \"backup\": true }"))
        #expect(run.output.contains("\"pins\": [\"next-root\", \"served-root\"]"))
        #expect(!run.output.contains("x-backup-slot"))
        #expect(!run.output.contains(try site.leaf.key.pin))
        let policy = try site.directory.add(run.output, name: "pins.jsonc")
        let lint = await pinctl("lint", "--providers", file, policy)
        #expect(lint.lines == ["1 linted: errors 0, warnings 0"], "\(lint.output) \(lint.errors)")
        let plan = await pinctl("plan", "--provider", "cdn", "--providers", file, "--policy", policy)
        #expect(plan.status == 0, "\(plan.output)")
        // Without the file, the provider isn't known.
        #expect(await pinctl("lint", policy).output.contains("error[P038] \"cdn\" isn't a known provider"))
    }

    @Test("init --provider refuses a chain that has none of the provider's roots, and other choices of keys")
    func otherProvider() async throws {
        func initialize(_ words: String...) async -> Run {
            await pinctl(["init", "--ca-file", site.rootFile, "--from", site.chainFile] + words)
        }
        let other = await initialize("--provider", "cloudflare")
        #expect(other.status == 2)
        #expect(other.output == "")
        #expect(other.errors.contains("and has no root of the provider: check --provider"), "\(other.errors)")
        #expect(await initialize("--provider", "cloudfare").errors.contains("did you mean cloudflare?"))
        let role = await initialize("--provider", "cloudflare", "--role", "root")
        #expect(role.errors.contains("--provider and --role cannot be used together"))
        let two = await initialize("--provider", "cloudflare", "--provider", "fastly")
        #expect(two.errors.contains("--provider was given twice"))
    }
}
