import CertificateTrust
import FoundationEssentials
import PinctlCommands
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinctlCommands

@Suite("Proxies in the environment")
struct EnvironmentProxyTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let variables: [String: String]
        /// The variable and the proxy, or `nil` for a direct connection.
        let expected: String?
        var host = "api.test"
        var port: UInt16 = 443
        var testDescription: String { "\(host):\(port) with \(variables.sorted { $0.key < $1.key })" }
    }

    static let rows: [Row] = [
        Row(variables: [:], expected: nil), Row(variables: ["HTTPS_PROXY": ""], expected: nil),
        Row(variables: ["HTTP_PROXY": "http://p.test:1", "http_proxy": "http://p.test:1"], expected: nil),
        Row(variables: ["HTTPS_PROXY": "http://p.test:3128"], expected: "HTTPS_PROXY http://p.test:3128"),
        Row(variables: ["https_proxy": "p.test:3128/"], expected: "https_proxy http://p.test:3128"),
        Row(variables: ["https_proxy": "p.test"], expected: "https_proxy http://p.test:1080"),
        Row(variables: ["all_proxy": "socks5h://p.test:9"], expected: "all_proxy socks5://p.test:9"),
        Row(variables: ["ALL_PROXY": "SOCKS4A://[::1]:9"], expected: "ALL_PROXY socks4a://[::1]:9"),
        Row(
            variables: ["https_proxy": "a.test:1", "HTTPS_PROXY": "b.test:2"], expected: "https_proxy http://a.test:1"),
        Row(variables: ["https_proxy": "", "HTTPS_PROXY": "b.test:2"], expected: "HTTPS_PROXY http://b.test:2"),
        Row(variables: ["HTTPS_PROXY": "https://p.test:1"], expected: "HTTPS_PROXY nil"),
        Row(
            variables: ["HTTPS_PROXY": "p.test:1", "ALL_PROXY": "nothing://"], expected: "HTTPS_PROXY http://p.test:1"),
        Row(variables: ["HTTPS_PROXY": "http://u:p%40ss@p.test:1"], expected: "HTTPS_PROXY http://p.test:1"),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "NO_PROXY": "api.test"], expected: nil),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "a.example, .test"], expected: nil),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "*"], expected: nil),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "pi.test"], expected: "HTTPS_PROXY http://p.test:1"),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "10.0.0.0/8"], expected: nil, host: "10.9.8.7"),
        Row(
            variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "10.0.0.0/8"], expected: "HTTPS_PROXY http://p.test:1",
            host: "11.9.8.7"),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "2001:db8::/32"], expected: nil, host: "2001:db8::7"),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "api.test:443"], expected: nil),
        Row(
            variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "api.test:443"], expected: "HTTPS_PROXY http://p.test:1",
            port: 8_443),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "[::1]:8443, .test:25"], expected: nil, port: 25),
        Row(variables: ["HTTPS_PROXY": "p.test:1", "NO_PROXY": "[::1]:8443"], expected: nil, host: "::1", port: 8_443),
        Row(
            variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "", "NO_PROXY": "*"], expected: nil),
        Row(
            variables: ["HTTPS_PROXY": "p.test:1", "no_proxy": "b.test", "NO_PROXY": "*"],
            expected: "HTTPS_PROXY http://p.test:1"),
    ]

    @Test("The variables of curl choose the proxy", arguments: rows)
    func variables(row: Row) throws {
        let server = Endpoint(name: try ServerName(row.host), port: row.port)
        let environment = try ProxyEnvironment(row.variables, onlyForTLS: true)
        let used = environment.proxy(forTLSTo: server)
        let found = used.map { "\($0.name) \($0.url.cleartext.map { "\($0)" } ?? "nil")" }
        #expect(found == row.expected)
        let choice = ProxyChoice.environment(environment)
        #expect(choice.proxy(for: server)?.description == used?.url.cleartext?.description)
        let ignored = ProxyChoice.none(ignoring: IgnoredProxy(row.variables))
        #expect(ignored.ignoredVariable(for: server) == used?.name)
        #expect(ignored.hint(for: server)?.contains("is set and ignored") == (used == nil ? nil : true))
        let isExempt = row.variables.keys.contains { $0.lowercased() == "no_proxy" }
        #expect((choice.hint(for: server) == nil) == (used != nil))
        if used == nil, !isExempt { #expect(choice.hint(for: server)?.contains("https_proxy isn't set") == true) }
        #expect(ignored.proxy(for: server) == nil)
    }

    @Test("--proxy env connects through the proxy of the environment, with its login, and no message has the login")
    func honoured() async throws {
        let site = try PinctlSite()
        try await site.serve { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.test:443": origin.port]) { request in
                request.fields.contains { $0.contains("Basic cmVhZGVyOnNlY3JldA==") }
                    ? .tunnel(after: .established) : .respond(.init("407 Proxy Authentication Required"))
            }
            try await LoopbackServer(plain: script).run { proxy in
                let words = [
                    "check", "--ca-file", site.rootFile, "--pin", try site.leaf.key.pin, "--proxy", "env", "api.test",
                ]
                let place = "127.0.0.1:\(proxy.port)"
                let good = await pinctl(words, variables: ["HTTPS_PROXY": "http://reader:secret@\(place)"])
                #expect(good.status == 0, "\(good.output)\(good.errors)")
                let missing = await pinctl(words, variables: ["https_proxy": place])
                #expect(missing.status == 3)
                #expect(missing.output.contains("response 407"))
                #expect(
                    missing.output.contains("write USER:PASSWORD@ before the host in https_proxy"), "\(missing.output)")
                let wrong = await pinctl(words, variables: ["https_proxy": "http://reader:other-secret@\(place)"])
                #expect(wrong.output.contains("correct the login in https_proxy"), "\(wrong.output)")
                for run in [good, missing, wrong] { #expect(!(run.output + run.errors).contains("secret")) }
            }
            let closed = await pinctl(
                "check", "--pin", unknownPin, "--proxy", "env", "--retries", "0", "--ca-file", site.rootFile,
                origin.target(), variables: ["no_proxy": "test", "all_proxy": "http://127.0.0.1:1"])
            #expect(closed.status == 1, "a host in no_proxy is reached directly")
        }
    }

    @Test(
        "A result that came through a proxy names it without its login, and one that didn't because of no_proxy doesn't"
    )
    func named() async throws {
        let site = try PinctlSite()
        try await site.serve { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.test:443": origin.port, "api.test:444": 1]) { request in
                request.target.hasSuffix(":444")
                    ? .respond(.init("403 Forbidden")) : .tunnel(after: .established)
            }
            try await LoopbackServer(plain: script).run { server in
                let proxy = "http://127.0.0.1:\(server.port)"
                let variables = [
                    "https_proxy": "http://reader:secret@127.0.0.1:\(server.port)",
                    "no_proxy": "api.test:\(origin.port)",
                ]
                let trust = ["--ca-file", site.rootFile, "--proxy", "env"]
                let targets = ["api.test", origin.target()]
                var outputs: [String] = []
                for pin in [try site.leaf.key.pin, unknownPin] {
                    let report = "\(site.directory.path)/report.xml"
                    let words = ["check", "--in-order", "--pin", pin] + trust
                    let text = await pinctl(words + ["--report", "junit=\(report)"] + targets, variables: variables)
                    #expect(text.lines[0].contains("  api.test:443 (through \(proxy))  "), "\(text.output)")
                    #expect(
                        text.output.split(separator: "\n").filter { $0.contains(proxy) }.count == 1, "\(text.output)")
                    let document = String(
                        decoding: try #require(FileManager.default.contents(atPath: report)), as: UTF8.self)
                    #expect(document.contains("name=\"api.test:443 (through \(proxy))\""), "\(document)")
                    let json = await pinctl(words + ["--ndjson"] + targets, variables: variables)
                    #expect(json.lines[0].contains("\"proxy\":\"\(proxy)\""), "\(json.output)")
                    #expect(!json.lines[1].contains("proxy"), "\(json.output)")
                    outputs += [text.output, text.errors, document, json.output, json.errors]
                }
                let refused = await pinctl(
                    ["check", "--pin", unknownPin, "--json"] + trust + ["api.test:444"], variables: variables)
                #expect(refused.output.contains("\"proxy\":\"\(proxy)\""), "\(refused.output)")
                #expect(
                    refused.output.contains("\"reason\":\"through the proxy 127.0.0.1:\(server.port): "),
                    "\(refused.output)")
                for words in [["show"], ["show", "--json"]] {
                    let shown = await pinctl(words + trust + ["api.test"], variables: variables)
                    #expect(shown.status == 0 && shown.output.contains(proxy), "\(shown)")
                    let direct = await pinctl(words + trust + [origin.target()], variables: variables)
                    #expect(direct.status == 0 && !direct.output.contains("proxy"), "\(direct)")
                    outputs += [shown.output, shown.errors]
                }
                let explained = await pinctl(
                    ["explain", try site.leaf.key.pin, "--in", "api.test"] + trust, variables: variables)
                #expect(explained.output.contains("through \(proxy)"), "\(explained)")
                let distrusted = await pinctl(["init", "--proxy", "env", "api.test"], variables: variables)
                #expect(distrusted.status == 4 && distrusted.errors.contains("(through \(proxy))"), "\(distrusted)")
                outputs += [refused.output, explained.output, explained.errors, distrusted.errors]
                for output in outputs { #expect(!output.contains("secret") && !output.contains("reader"), "\(output)") }
            }
        }
    }

    @Test(
        "A proxy that isn't reached is named with the setting it comes from, and nothing is said about the server",
        arguments: ["http", "socks5"])
    func closed(scheme: String) async throws {
        let site = try PinctlSite()
        let port = try DeadPort(.refusing).port
        let words = ["--ca-file", site.rootFile, "--pin", unknownPin, "--retries", "0"]
        for (host, reason, remedy) in [
            (
                "127.0.0.1", "could not connect to the proxy 127.0.0.1:\(port) (",
                "check the proxy: its host and port in "
            ),
            (
                "does-not-exist.invalid",
                "could not connect to the proxy does-not-exist.invalid:\(port), could not resolve host ",
                "check the proxy's name in "
            ),
        ] {
            let proxy = "\(scheme)://\(host):\(port)"
            for (flags, variables, setting) in [
                (["--proxy", proxy], [:], "--proxy"), (["--proxy", "env"], ["ALL_PROXY": proxy], "ALL_PROXY"),
            ] {
                let run = await pinctl(["check"] + words + flags + ["api.test", "www.test"], variables: variables)
                #expect(run.status == 3)
                #expect(run.lines[0].contains("unreachable: \(reason)"), "\(run.output)")
                #expect(run.output.contains(remedy + setting), "\(run.output)")
                #expect(run.lines.contains { $0.hasPrefix("2 hosts (") && $0.contains("proxy \(host):\(port)") })
                for word in ["that the server is running", "/etc/hosts", "chose the address"] {
                    #expect(!(run.output + run.errors).contains(word), "\(run.output)")
                }
                let json = await pinctl(
                    ["check"] + words + flags + ["--json", "api.test"], variables: variables)
                #expect(json.output.contains(#""unreachable":"proxy""#), "\(json.output)")
                #expect(!json.output.contains(#""address""#), "\(json.output)")
            }
        }
    }

    @Test("A run through a proxy says that the proxy chose the addresses, once and only if there may be others")
    func chosenAddress() async throws {
        let site = try PinctlSite()
        try await site.serve { origin in
            let script = LoopbackServer.Script.proxy(
                to: ["api.test:443": origin.port, "api.test:444": origin.port, "127.0.0.1:445": origin.port]
            ) { _ in .tunnel(after: .established) }
            try await LoopbackServer(plain: script).run { proxy in
                let words = ["check", "--ca-file", site.rootFile, "--pin", try site.leaf.key.pin, "--proxy"]
                let variables = ["HTTPS_PROXY": "http://127.0.0.1:\(proxy.port)"]
                let note = "pinctl: note: the proxy chose the address of"
                let one = await pinctl(words + ["env", "api.test"], variables: variables)
                #expect(one.errors == "\(note) 1 target, so other addresses of its name were not checked\n", "\(one)")
                for flags in [["env", "--all-addresses"], ["http://127.0.0.1:\(proxy.port)"]] {
                    let two = await pinctl(words + flags + ["api.test", "api.test:444"], variables: variables)
                    #expect(two.errors == "\(note) 2 targets, so other addresses of their names were not checked\n")
                }
                let first = await pinctl(words + ["env", "--first", "api.test"], variables: variables)
                #expect(first.errors == "" && first.status == 0, "\(first)")
                let fixed = await pinctl(words + ["env", "api.test:445@127.0.0.1"], variables: variables)
                #expect(fixed.errors == "" && fixed.status == 0, "\(fixed)")
            }
        }
    }

    @Test("A proxy that is set and ignored is named in a failure before TLS, without its login, and only then")
    func ignored() async throws {
        let site = try PinctlSite()
        let variables = ["HTTPS_PROXY": "http://u:secret@p.test:3128"]
        let words = ["--ca-file", site.rootFile, "--pin", try site.leaf.key.pin, "--retries", "0"]
        let named = "HTTPS_PROXY is set and ignored: if servers are reached through that proxy, add --proxy env"
        let closed = try DeadPort(.refusing)
        for target in ["api.test:\(closed.port)@127.0.0.1", "does-not-exist.invalid"] {
            let run = await pinctl(["check"] + words + [target], variables: variables)
            #expect(run.status == 3)
            #expect(run.lines[0].hasSuffix(named), "\(run.output)")
            #expect(!run.output.contains("secret") && !run.output.contains("p.test"))
            let exempt = await pinctl(
                ["check"] + words + [target], variables: variables.merging(["no_proxy": "api.test,.invalid"]) { $1 })
            #expect(!exempt.output.contains("HTTPS_PROXY"), "\(exempt.output)")
            let none = await pinctl(["check"] + words + [target])
            #expect(!none.output.contains("PROXY"))
            for unreadable in [["HTTPS_PROXY": "u:secret@:x"], ["HTTPS_PROXY": "p.test:1", "no_proxy": "10.*"]] {
                let run = await pinctl(["check"] + words + [target], variables: unreadable)
                #expect(run.lines[0].hasSuffix(named) && !run.output.contains("secret"), "\(run.output)")
            }
        }
        try await LoopbackServer(plain: .handle { try $0.write(Array("220 ESMTP\r\n".utf8)) }).run { server in
            let answered = await pinctl(["check"] + words + [server.target()], variables: variables)
            #expect(answered.status == 3 && !answered.output.contains("PROXY"), "\(answered.output)")
        }
        try await site.serve { server in
            let good = await pinctl(["check"] + words + [server.target()], variables: variables)
            #expect(good.status == 0 && !(good.output + good.errors).contains("PROXY"))
        }
    }

    @Test("A proxy of the environment that isn't supported is a usage error, and so is a login besides it")
    func unusable() async throws {
        let site = try PinctlSite()
        let words = ["check", "--ca-file", site.rootFile, "--pin", unknownPin, "--proxy", "env", "api.test"]
        for value in ["https://p.test:1", "http://p.test:x", "ftp://p.test", "http://u:secret@"] {
            let run = await pinctl(words, variables: ["HTTPS_PROXY": value])
            #expect(run.status == 2 && run.errors.contains("HTTPS_PROXY isn't the URL of a supported proxy"))
            #expect(!run.errors.contains("secret"))
        }
        for (variables, problem) in [
            (["no_proxy": "10.*"], "no_proxy has \"10.*\", which is not a DNS name"),
            (["NO_PROXY": "a.test,*"], "NO_PROXY has * beside other entries"),
            (["HTTPS_PROXY": "socks4a://u:secret@p.test:1"], "HTTPS_PROXY has a login that its proxy can't be sent"),
        ] {
            let run = await pinctl(
                words, variables: ["HTTPS_PROXY": "http://p.test:1"].merging(variables) { $1 })
            #expect(run.status == 2 && run.errors.contains(problem), "\(run.errors)")
            #expect(!run.errors.contains("secret"))
        }
        let login = try site.directory.add("u:p\n")
        let both = await pinctl(words + ["--proxy-login", login], variables: ["HTTPS_PROXY": "http://p.test:1"])
        #expect(both.status == 2 && both.errors.contains("--proxy-login and --proxy env cannot be used together"))
    }
}
