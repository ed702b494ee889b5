import PinctlTestPKI
import Testing

@Suite("pinctl explain")
struct ExplainTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    @Test("explain checks both keys of a server, as show does, and reports which ones it asked for")
    func bothKeys() async throws {
        let rsa = try site.intermediate.leaf("api.test", key: .shared(.rsa2048))
        let server = try LoopbackServer(chain: site.chain) {
            $0.otherChain = [rsa, site.intermediate]
        }
        try await server.run { server in
            func explain(_ pin: String, _ words: String...) async -> Run {
                await pinctl(
                    ["explain", pin, "--in", server.target(), "--ca-file", site.rootFile, "--timeout=60"] + words)
            }
            for key in [site.leaf.key, rsa.key] {
                let run = await explain(try key.pin)
                #expect(run.status == 0 && run.output.contains("the pin of api.test:"), "\(run.output)\(run.errors)")
                #expect(run.lines.count == 2)
            }
            let unknown = await explain(unknownPin)
            #expect(unknown.status == 1)
            #expect(unknown.output.contains("not a digest of the 4 keys"))
            #expect(unknown.lines.last?.hasSuffix(" for its ECDSA key and its RSA key") == true, "\(unknown.output)")
            let one = await explain(try rsa.key.pin, "--keys", "ecdsa")
            #expect(one.status == 1 && one.lines.last?.hasSuffix(" for its ECDSA key") == true, "\(one.output)")
        }
    }

    @Test(
        "explain says as check does by what a rule misses a host",
        arguments: [
            ("api.test:8444", "covers other ports", "add the port to the rule, or omit its ports to cover all"),
            ("api.test:443", "covers other ports", "omit its ports to cover all"),
            ("https://api.test/login", "covers other ports", "omit its ports to cover all"),
            ("www.api.test:8443", "doesn't include subdomains", "add \"subdomains\": true to that rule"),
            ("unrelated.example", nil, nil),
        ])
    func missed(host: String, miss: String?, remedy: String?) async throws {
        let policy = try site.policy("\"\(unknownPin)\"", rule: #""ports": [8443],"#)
        let run = await pinctl("explain", host, "--policy", policy)
        #expect(run.status == 1)
        // The rule for the other port follows.
        #expect(run.lines.count == (miss == nil ? 1 : miss == "covers other ports" ? 4 : 3), "\(run.output)")
        guard let miss, let remedy else { return }
        let start = miss == "covers other ports" ? "  cause: the rule for api.test at " : "  cause: no rule covers "
        #expect(run.lines[1].hasPrefix(start) && run.lines[1].hasSuffix(miss), "\(run.output)")
        #expect(run.lines[2].hasPrefix("  do: ") && run.lines[2].contains(remedy), "\(run.output)")
        let target = host.contains("//") ? host : "\(host)@127.0.0.1:1"
        let check = await pinctl("check", "--ca-file", site.rootFile, "--policy", policy, target)
        #expect(Array(check.lines[1...2]) == Array(run.lines[1...2]), "\(check.output)")
        let json = await pinctl("explain", host, "--policy", policy, "--json")
        #expect(json.output.contains("\"cause\":\"host-missed\""))
        // A rule that applies needs no hint.
        #expect(await pinctl("explain", "api.test:8443", "--policy", policy).lines.allSatisfy { !$0.contains("cause") })
    }

    /// An exception for `api.test`, which was served the site's chain.
    private func exception() throws -> String {
        try site.directory.add(
            """
            javax.net.ssl.SSLPeerUnverifiedException: Certificate pinning failure!
              Peer certificate chain:
                \(try site.leaf.key.pin): CN=api.test
                \(try site.intermediate.key.pin): CN=Test Intermediate
                \(try site.root.key.pin): CN=Test Root
              Pinned certificates for api.test:
                \(unknownPin)
            """, name: "logcat.txt")
    }

    @Test(
        "explain applies a policy to OkHttp's exception by its rule for that host, including roles",
        arguments: [
            ("api.test", "ca", "takes", "pinned: \"ours\""),
            ("api.test", "any", "takes", "pinned: \"ours\""),
            ("api.test", "leaf", "refuses", "pinned as leaf, but served at another position: \"ours\""),
            ("pay.test", "ca", "refuses", "pinned for another host: \"ours\" of the rule for pay.test"),
        ])
    func policy(host: String, role: String, answer: String, remark: String) async throws {
        let other = host == "api.test" ? "pay.test" : "api.test"
        _ = try site.directory.add(
            """
            { "version": 1, "pins": { "ours": { "pin": "\(try site.intermediate.key.pin)", "role": "\(role)" } },
              "domains": [{ "host": "\(host)", "pins": ["ours"] }, { "host": "\(other)", "pins": ["\(unknownPin)"] }] }
            """, name: "p.jsonc")
        let command = "pinctl explain - --policy p.jsonc < \(try exception())"
        let run = try await shell(command, in: site.directory)
        #expect(run.status == 1)
        #expect(run.output.contains(remark), "\(run.output)")
        let takes = "accepts this chain, but the app has other pins: release the app with the pins of p.jsonc"
        #expect(
            run.output.contains("the rule of p.jsonc for api.test " + (answer == "takes" ? takes : "also refuses this"))
        )
        #expect(run.output.contains("serve a pinned key again") == (answer == "refuses"))
        #expect(try await shell(command + " --json", in: site.directory).output.contains("\"policy\":\"\(answer)\""))
    }

    @Test("A policy without a rule for the exception's host gives no verdict, and one that denies the key rejects")
    func otherPolicies() async throws {
        let file = try exception()
        _ = try site.directory.add(policyText([("pay.test", ["\"\(unknownPin)\""])]), name: "p.jsonc")
        let none = try await shell("pinctl explain - --policy p.jsonc < \(file)", in: site.directory)
        #expect(none.output.contains("p.jsonc has no rule for api.test, so "), "\(none.output)")
        let deny = "\"deny\": [\"\(try site.leaf.key.pin)\"],"
        _ = try site.directory.add(policyText([("api.test", ["\"\(try site.root.key.pin)\""])], deny), name: "d.jsonc")
        let denied = try await shell("pinctl explain - --policy d.jsonc < \(file)", in: site.directory)
        #expect(denied.output.contains("for api.test also refuses this chain"), "\(denied.output)")
    }

    @Test("Input meant for another command is answered with that command")
    func otherCommands() async throws {
        let explained = await pinctl("explain", site.chainFile)
        #expect(explained.status == 2 && explained.errors.contains("pinctl hash \(site.chainFile)"))
        #expect(!explained.errors.contains("explain -"))
        let unnamed = await pinctl("explain", "api.test")
        #expect(
            unnamed.status == 2
                && unnamed.errors
                    == "pinctl: no policy was given, and the default, /no/such/pins.jsonc, doesn't exist: "
                    + "give --policy FILE, or create one with pinctl init\n"
        )

        let linted = await pinctl("lint", site.chainFile)
        #expect(linted.status == 2)
        #expect(linted.errors.contains("chain.pem: contains certificates or keys: lint reads policies"))
        #expect(linted.output == "1 linted: errors 1, warnings 0\n")
        let none = await pinctl("lint")
        #expect(
            none.status == 2
                && none.errors == "pinctl: no policy was given, and the default, /no/such/pins.jsonc, doesn't exist: "
                    + "name a FILE, or create one with pinctl init\n"
        )
        #expect(await pinctl("lint", "/no/such").errors.hasSuffix("no such file: check the path\n"))

        for server in ["example.test", "https://example.test", "localhost:8443"] {
            let hashed = await pinctl("hash", server)
            #expect(
                hashed.status == 2 && hashed.errors.contains("print the pins of a server with pinctl show \(server)"))
        }
        for path in ["api.pem", "nothing", "/no/such.example"] {
            #expect(await pinctl("hash", path).errors.hasSuffix("no such file: check the path\n"))
        }
    }
}
