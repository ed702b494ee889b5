import CertificateTrust
import FoundationEssentials
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@Suite("Key exchange")
struct KeyExchangeTests {
    private let site: PinctlSite

    init() throws { site = try PinctlSite() }

    /// Runs `body` with a server for `api.test` that accepts only these groups.
    private func serve(
        _ groups: String?, _ versions: ClosedRange<LoopbackServer.TLSVersion> = .tls12 ... .tls13,
        _ body: (LoopbackServer) async throws -> Void
    ) async throws {
        try await LoopbackServer(chain: site.certificates.chain) {
            $0.groups = groups
            $0.protocolVersions = versions
        }.run(body)
    }

    private func check(_ words: String...) async -> Run {
        await pinctl(["check", "--ca-file", site.rootFile] + words)
    }

    private static let hasHybrid = (try? Transport.shared.keyExchangeGroups().contains("X25519MLKEM768")) ?? false

    @Test(
        "The group, the TLS version and the cipher suite are in JSON, and show prints them",
        arguments: ["X25519", "P-384"])
    func told(group: String) async throws {
        try await serve(group) { server in
            let json = await check("--json", "--pin", try site.root.key.pin, server.target())
            #expect(
                json.output.contains(#""tls":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384","group":"\#(group)","#),
                "\(json.output)")
            let shown = await pinctl("show", "--ca-file", site.rootFile, "--json", server.target())
            #expect(
                shown.output.contains(#""tls":"TLSv1.3","cipher":"TLS_AES_256_GCM_SHA384","group":"\#(group)","#),
                "\(shown.output)")
            let text = await pinctl("show", "--ca-file", site.rootFile, server.target())
            #expect(text.lines[1] == "  key exchange \(group), cipher TLS_AES_256_GCM_SHA384")
        }
    }

    @Test("In TLS 1.2 the group isn't known before the certificate")
    func old() async throws {
        try await serve("P-256", .tls12 ... .tls12) { server in
            let json = await check("--json", "--pin", try site.root.key.pin, server.target())
            #expect(json.output.contains(#""tls":"TLSv1.2","cipher":"ECDHE-"#), "\(json.output)")
            #expect(!json.output.contains(#""group""#))
            let shown = await pinctl("show", "--ca-file", site.rootFile, "--json", server.target())
            #expect(shown.output.contains(#""group":null"#))
            let required = await check("--require-group", "P-256", "--pin", try site.root.key.pin, server.target())
            #expect(
                required.lines[0].contains(
                    "TLSv1.2 is used, in which the key exchange isn't known in time, but P-256 is required"))
            #expect(required.status == 1)
        }
    }

    @Test("--require-group fails for another group, whatever the pins, and passes for the required one")
    func required() async throws {
        try await serve("P-384") { server in
            let pin = try site.root.key.pin
            let good = await check("--require-group", "P-384", "--pin", pin, server.target())
            #expect(good.lines[0].contains("matched \(pin)"))
            #expect(good.status == 0)
            let other = await check("--require-group", "X25519", "--pin", pin, server.target())
            #expect(
                other.lines[0]
                    == "FAIL  \(server.target().replacing("@", with: " via ")):\(server.port)  the key exchange uses "
                    + "P-384, but X25519 is required (--pin)")
            #expect(other.lines.last == "1 checked: 1 failed")
            #expect(other.status == 1)
            let json = await check("--json", "--require-group", "X25519", "--pin", pin, server.target())
            #expect(json.output.contains(#""verdict":"group_mismatch","trusted":true,"#))
            #expect(json.output.contains(#""required_group":"X25519","reason":"the key exchange uses P-384, but"#))
            // Worse findings take precedence.
            let mismatch = await check("--require-group", "X25519", "--pin", unknownPin, server.target())
            #expect(mismatch.lines[0].contains("pin mismatch"))
            #expect(await check("--require-group", "P-384", "--pin", unknownPin, server.target()).status == 1)
            let untrusted = await pinctl("check", "--require-group", "X25519", "--pin", pin, server.target())
            #expect(untrusted.status == 4)
            // The required group of the second run is another failure than that of the baseline.
            let baseline = try site.directory.add(json.output, name: "baseline.json")
            let known = await check("--require-group", "X25519", "--pin", pin, "--baseline", baseline, server.target())
            #expect(known.status == 0)
            let new = await check("--require-group", "P-521", "--pin", pin, "--baseline", baseline, server.target())
            #expect(new.status == 1)
        }
    }

    @Test("A policy requires a group for the servers of a rule, and the flag overrides it")
    func policy() async throws {
        try await serve("P-256") { server in
            func policy(_ group: String) throws -> String {
                try site.policy(
                    "\"\(try site.root.key.pin)\"",
                    rule: #""check": { "requireGroup": "\#(group)", "targets": ["\#(server.target())"] },"#)
            }
            #expect(await check("--policy", try policy("P-256")).status == 0)
            let other = await check("--policy", try policy("X25519"))
            #expect(other.lines[0].contains("the key exchange uses P-256, but X25519 is required (policy "))
            #expect(other.status == 1)
            #expect(await check("--require-group", "P-256", "--policy", try policy("X25519")).status == 0)
            let unknown = await check("--policy", try policy("x25519"))
            #expect(unknown.errors.contains("X25519MLKEM768"), "\(unknown.errors)")
            #expect(unknown.status == 2)
        }
    }

    @Test("X25519MLKEM768 is required of OpenSSL before it is required of a server")
    func hybrid() async throws {
        let pin = try site.root.key.pin
        let policy = try site.policy("\"\(pin)\"", rule: #""check": { "requireGroup": "X25519MLKEM768" },"#)
        try await serve(nil) { server in
            for words in [["--require-group", "X25519MLKEM768", "--pin", pin], ["--policy", policy]] {
                let run = await pinctl(["check", "--ca-file", site.rootFile] + words + [server.target()])
                guard !Self.hasHybrid else {
                    #expect(run.status == 0, "\(run.output)")
                    continue
                }
                #expect(
                    run.errors.contains(
                        "OpenSSL \(OpenSSLVersion.loaded) doesn't offer the group X25519MLKEM768: run pinctl with "
                            + "OpenSSL 3.5 or later"), "\(run.errors)")
                #expect(run.output == "")
                #expect(run.status == 2)
            }
        }
        guard Self.hasHybrid else { return }
        try await serve("X25519") { server in
            let run = await check("--require-group", "X25519MLKEM768", "--pin", pin, server.target())
            #expect(run.lines[0].contains("the key exchange uses X25519, but X25519MLKEM768 is required"))
            #expect(run.status == 1)
        }
    }

    @Test("Other groups, and files, are refused")
    func refused() async throws {
        let unknown = await check("--require-group", "ffdhe2048", "--pin", unknownPin, "a.test")
        #expect(unknown.errors.contains("use one of X25519MLKEM768, X25519, P-256, P-384, P-521"))
        #expect(unknown.status == 2)
        let files = await check("--require-group", "X25519", "--pin", unknownPin, "--files", site.chainFile)
        #expect(files.errors.contains("--files and --require-group cannot be used together"))
        #expect(files.status == 2)
    }
}
