import CertificatePinning
import CertificateTrust
import PinctlBasics
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinctlCommands

/// The connections of pinctl to servers, and their time limits.
@Suite struct ProbeTests {
    let site: PinctlSite

    init() throws { site = try PinctlSite() }

    private func probe(_ flags: String...) throws -> ServerProbe {
        let command = try #require(CommandDefinition.named("check"))
        return try ServerProbe(
            Arguments(flags, for: command), in: CommandEnvironment(variables: { [:] }, now: { testTime }))
    }

    private func failure(_ probe: Probe) -> String {
        if case .failure(let error) = probe.outcome { error.description } else { "" }
    }

    @Test("--starttls, targets and policies support the same protocols")
    func protocols() {
        #expect(StartTLSProtocol.allCases.map(\.rawValue) == CheckSettings.startTLSProtocols)
    }

    @Test("Every command that connects to servers has every connection flag", arguments: ["check", "init", "explain"])
    func flags(name: String) throws {
        let command = try #require(CommandDefinition.named(name))
        #expect(Flag.probing().allSatisfy(command.allFlags.contains))
        let letters = command.allFlags.compactMap(\.short)
        #expect(Set(letters).count == letters.count)
        #expect(Set(command.allFlags.map(\.long)).count == command.allFlags.count)
    }

    @Test(
        "An invalid value is a usage error",
        arguments: [
            (["--keys=dsa"], "--keys does not support \"dsa\""),
            (["--starttls=https"], "--starttls does not support \"https\""),
            (["--jobs=0"], "--jobs: \"0\" isn't valid: give a number from 1 to 100000"),
            (["--retries=-1"], "--retries: \"-1\" isn't valid"), (["--rate=0"], "--rate: \"0\" isn't valid"),
            (["--min-tls=1.1"], "--min-tls does not support \"1.1\""),
            (["--min-tls=1.3", "--max-tls=1.2"], "--min-tls is newer than --max-tls"),
            (["--ipv4", "--ipv6"], "--ipv4 and --ipv6 cannot be used together"),
            (["--sni=192.0.2.1"], "isn't a DNS name"),
            (["--resolve=a.test:443"], "isn't HOST:PORT:ADDRESS"),
            (["--resolve=a.test:443:b.test"], "isn't HOST:PORT"),
            (["--resolve=a.test:443:::1", "--resolve=A.test:443:192.0.2.1"], "a.test:443 is given twice"),
            (["--proxy=https://127.0.0.1:1"], "isn't the URL of a supported proxy"),
            (["--proxy=http://127.0.0.1"], "has no port"),
            (["--proxy=http://u:p@127.0.0.1:1"], "a login isn't allowed in the URL"),
            (["--proxy=http://127.0.0.1:1", "--all-addresses"], "cannot be used together"),
            (["--proxy-login=x"], "--proxy is required"), (["--key=x"], "--cert is required"),
            (["--cert=/no/such/file"], "/no/such/file"),
        ])
    func usage(flags: [String], message: String) async {
        let run = await pinctl(["check"] + flags + ["--pin", unknownPin, "api.test"])
        #expect(run.status == 2 && run.errors.contains(message), "\(run.errors)")
    }

    @Test("--resolve sets the address, and the hostname stays the target's")
    func resolve() async throws {
        try await site.serve { server in
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", (try site.leaf.key.pin), "--resolve",
                "api.test:443:127.0.0.1", "--resolve", "api.test:\(server.port):127.0.0.1", "api.test:\(server.port)")
            #expect(run.status == 0, "\(run.errors)\(run.output)")
            #expect(await server.ended()[0].serverName == "api.test")
        }
    }

    @Test("--sni is sent to the server but isn't verified", arguments: ["none", "other.test"])
    func sni(name: String) async throws {
        try await site.serve { server in
            let run = await pinctl(
                "check", "--ca-file", site.rootFile, "--pin", (try site.leaf.key.pin), "--sni", name, server.target())
            #expect(run.status == 0, "\(run.output)")
            #expect(await server.ended()[0].serverName == (name == "none" ? nil : name))
        }
    }

    @Test(
        "A kind of key that a server lacks is reported on request, and skipped if both kinds are asked for",
        arguments: [TestKey.Kind.p256, .rsa2048], ["1.2", "1.3"])
    func keys(kind: TestKey.Kind, version: String) async throws {
        let leaf = try site.intermediate.leaf("api.test", key: try .shared(kind))
        let (own, other): (Probe.Key, Probe.Key) = kind == .p256 ? (.ecdsa, .rsa) : (.rsa, .ecdsa)
        try await site.serve([leaf, site.intermediate]) { server in
            let target = try Target(server.target())
            let probe = try probe("--max-tls=\(version)", "--timeout=60")
            let both = await probe.probes(of: target, keys: .both)
            #expect(both.map(\.key) == [own])
            let served = try both[0].outcome.get()
            #expect(
                served.version == "TLSv\(version)" && served.cipherSuite.hasPrefix(version == "1.3" ? "TLS_" : "ECDHE"))
            let missing = await probe.probes(of: target, keys: other == .rsa ? .rsa : .ecdsa)
            #expect(failure(missing[0]).contains("has no \(other.rawValue.uppercased()) key"))
            let any = await probe.probes(of: target)
            #expect(any.count == 1 && any[0].key == nil)
        }
    }

    @Test("A server with a key of neither kind is still checked when both kinds are asked for")
    func otherKind() async throws {
        let leaf = try site.intermediate.leaf("api.test", key: try .shared(.ed25519))
        try await site.serve([leaf, site.intermediate]) { server in
            let both = await (try probe("--timeout=60")).probes(of: try Target(server.target()), keys: .both)
            #expect(both.map(\.key) == [nil])
            #expect(throws: Never.self) { try both[0].outcome.get() }
        }
    }

    @Test(
        "A server with only finite-field key exchange fails with what to enable, in check and show (KX1)",
        arguments: ["check", "show"], [[], ["--keys", "both"]])
    func finiteFieldOnly(command: String, keys: [String]) async throws {
        let server = try LoopbackServer(chain: site.chain) { $0.groups = "ffdhe2048" }
        await server.run { server in
            let pins = command == "check" ? ["--pin", unknownPin] : []
            let run = await pinctl([command, "--ca-file", site.rootFile] + pins + keys + [server.target()])
            #expect(run.status == 3, "\(run.errors)\(run.output)")
            let text = run.errors + run.output
            #expect(text.contains("finite-field DHE") && text.contains("enable ECDHE"), "\(text)")
            let records = await server.ended(server.records.count)
            #expect(records.allSatisfy { !$0.handshakeCompleted && $0.applicationBytes.isEmpty })
        }
    }

    @Test("Every address of a host is checked, each with its own probe")
    func addresses() async throws {
        // localhost has one address or two, depending on the machine's hosts file. The literal has one.
        try await site.serve { server in
            let target = try Target("api.test:443@localhost:\(server.port)")
            let four = await (try probe("-4", "--all-addresses", "--timeout=60")).probes(of: target)
            #expect(four.map(\.address) == ["127.0.0.1:\(server.port)"])
            let all = await (try probe("--timeout=60", "--retries=0")).probes(of: target, allAddresses: true)
            #expect(all.contains { $0.address == "127.0.0.1:\(server.port)" })
            #expect(Set(all.map(\.address)).count == all.count)
            let six = await (try probe("-6", "--timeout=60")).probes(of: try Target("api.test:443@127.0.0.1"))
            #expect(failure(six[0]).contains("127.0.0.1 is not an IPv6 address"))
        }
    }

    @Test("A connection is retried only if nothing answers")
    func retries() async throws {
        let dead = try DeadPort(.refusing)
        let target = try Target("api.test:443@127.0.0.1:\(dead.port)")
        #expect(await (try probe("--timeout=60")).probes(of: target)[0].tries == 3)
        #expect(await (try probe("--timeout=60", "--retries=0")).probes(of: target)[0].tries == 1)
        // The total time limit takes precedence.
        #expect(await (try probe("--timeout=0.05", "--retries=100")).probes(of: target)[0].tries < 5)
        try await LoopbackServer(chain: [site.leaf], .closeAfterAccept).run { server in
            let probe = await (try probe("--timeout=60")).probes(of: try Target(server.target()))[0]
            #expect(probe.tries == 1)
            #expect(await server.ended().count == 1)
        }
    }

    @Test("Connections don't start faster than --rate")
    func rate() async throws {
        let rate = ConnectionRate(perSecond: 50)
        let start = ContinuousClock.now
        var waited = Duration.zero
        for _ in 0..<6 { waited += await rate.turn() }
        // Never sooner, but possibly later.
        #expect(.now - start >= .milliseconds(99) && waited >= .milliseconds(80))
    }

    @Test("The question for the version of an old server counts toward --rate, and waits outside of the time limit")
    func rateOfOldVersion() async throws {
        try await LoopbackServer(chain: [site.leaf]) { $0.protocolVersions = .tls10 ... .tls10 }.run { server in
            let target = try Target(server.target())
            // On a busy machine, the connections themselves may take longer than the limit.
            for attempt in 1...10 {
                let start = ContinuousClock.now
                let text = failure(await (try probe("--rate=1", "--timeout=0.9", "--retries=0")).probes(of: target)[0])
                let time = ContinuousClock.now - start
                guard text.contains("offers TLS 1.0 alone") || attempt == 10 else { continue }
                #expect(text.contains("offers TLS 1.0 alone") && time >= .milliseconds(990), "\(text), \(time)")
                return
            }
        }
    }

    @Test("The time limit for a target applies wherever a server stalls", arguments: stalls.indices)
    func bounded(index: Int) async throws {
        let (_, script, scheme) = stalls[index]
        try await LoopbackServer(plain: script).run { server in
            let target = try Target((scheme.map { $0 + "://" } ?? "") + server.target())
            let probes = await (try probe("--timeout=0.3")).probes(of: target, keys: .both, allAddresses: true)
            #expect(probes.count == 1 && failure(probes[0]).contains("within 0.3 s: "), "\(probes)")
        }
    }

    @Test("If a server stalls before TLS, the error names STARTTLS")
    func startTLSStalls() async throws {
        try await LoopbackServer(plain: .handle { while try $0.read() != nil {} }).run { server in
            let target = try Target("smtp://" + server.target())
            var text = ""
            // On a busy machine, the connection itself may take longer than the first limits.
            for limit in ["0.3", "3", "30"] where !text.contains("no greeting before STARTTLS within") {
                text = failure(await (try probe("--timeout=\(limit)")).probes(of: target)[0])
            }
            #expect(text.contains("no greeting before STARTTLS within"), "\(text)")
        }
    }

    @Test(
        "The time limit for a target applies before a stapled response and to a handshake of one byte per second",
        arguments: [true, false])
    func handshakeStalls(drips: Bool) async throws {
        let server = try LoopbackServer(chain: site.chain) {
            $0.staple = [UInt8](repeating: 0x30, count: 900)
            $0.protocolVersions = .tls12 ... .tls12
        }
        try await server.run { server in
            let relay = try RecordRelay(to: server) { record in
                guard record.sender == .server else { return .pass }
                // ServerHello and Certificate arrive, CertificateStatus doesn't.
                return drips ? .slowly(.seconds(1)) : record.index < 2 ? .pass : .replace([])
            }
            try await relay.run { relay in
                let target = try Target("api.test:\(relay.port)@127.0.0.1")
                // On a busy machine a short limit can expire before the server's certificate arrives.
                for limit in ["0.8", "4", "20"] {
                    let probes = await (try probe("--timeout=\(limit)")).probes(of: target)
                    #expect(probes.count == 1 && failure(probes[0]).contains("within \(limit) s: "), "\(probes)")
                    if drips || relay.records.count(where: { $0.sender == .server }) > 2 { return }
                }
                Issue.record("the certificate didn't arrive within any limit")
            }
        }
    }

    @Test(
        "With hardly any descriptors left, every target is reached or reported as unreachable",
        .enabled(if: MemoryScan.isPossible, "a sanitizer makes it too slow for its time limit"), arguments: [16, 10])
    func descriptors(limit: Int) async throws {
        try await site.serve { server in
            let list = String(repeating: server.target() + "\n", count: 64)
            let file = try site.directory.add(list)
            let command =
                "ulimit -n \(limit); pinctl check --ndjson --at 2026-11-20 --ca-file \(site.rootFile) "
                + "--pin \(try site.leaf.key.pin) --timeout 40 -j 64 --targets \(file)"
            var run = try await shell(command)
            // With 10, one descriptor is left for a connection and for libdispatch, which traps if it finds none at the
            // moment when it opens a file in /proc, once a second.
            for _ in 0..<3 where limit == 10 && run.status == 70 { run = try await shell(command) }
            let results = run.lines.filter { $0.contains("\"type\":\"check\"") }
            #expect(results.count == 64, "\(run)")
            for line in results {
                #expect(line.contains("\"verdict\":\"ok\"") || line.contains("\"verdict\":\"unreachable\""))
            }
            #expect(run.status == 0 || run.status == 3, "\(run)")
        }
    }

    @Test("The time limit for a target applies while a proxy stalls", arguments: [true, false])
    func proxyStalls(drips: Bool) async throws {
        let script = LoopbackServer.Script.handle { connection in
            while drips {
                try connection.write([0x48])
                connection.pause(.milliseconds(50))
            }
            while try connection.read() != nil {}
        }
        try await LoopbackServer(plain: script).run { server in
            let probes = await (try probe("--timeout=0.3", "--proxy=http://127.0.0.1:\(server.port)"))
                .probes(of: try Target("api.test:443"))
            #expect(probes.count == 1 && !failure(probes[0]).isEmpty)
        }
    }

    @Test("A proxy opens the tunnel with a login from a file, and no message contains the login")
    func proxy() async throws {
        let login = try site.directory.add("reader:secret\r\n")
        try await site.serve { origin in
            let script = LoopbackServer.Script.proxy(to: ["api.test:443": origin.port]) { request in
                request.fields.contains { $0.contains("Basic cmVhZGVyOnNlY3JldA==") }
                    ? .tunnel(after: .established) : .respond(.init("407 Proxy Authentication Required"))
            }
            try await LoopbackServer(plain: script).run { proxy in
                let flags = [
                    "--ca-file", site.rootFile, "--pin", (try site.leaf.key.pin),
                    "--proxy", "http://127.0.0.1:\(proxy.port)",
                ]
                let run = await pinctl(["check", "api.test"] + flags)
                #expect(
                    run.status == 3 && run.output.contains("response 407 (proxy authentication required)"),
                    "\(run.output)")
                let good = await pinctl(["check", "api.test", "--proxy-login", login] + flags)
                #expect(good.status == 0, "\(good.output)")
                #expect(!(run.output + run.errors + good.output + good.errors).contains("secret"))
            }
        }
    }

    @Test(
        "A mail server's greeting that arrives with the proxy's answer goes to the protocol, never to TLS",
        arguments: ["http", "socks5", "socks4a"])
    func greetingWithReply(scheme: String) async throws {
        let reply: [UInt8] =
            switch scheme {
            case "http": Array("HTTP/1.1 200 Connected\r\n\r\n".utf8)
            case "socks5": [5, 0, 0, 1, 127, 0, 0, 1, 0, 80]
            default: [0, 90, 0, 0, 0, 0, 0, 0]
            }
        let said = Locked<[UInt8]>([])
        let script = LoopbackServer.Script.handle { connection in
            if scheme == "socks5" {
                guard try connection.readExactly(3) != nil else { return }
                try connection.write([5, 0])
            }
            guard try connection.read() != nil else { return }
            try connection.write(reply + Array("220 mail.test ESMTP\r\n".utf8))
            guard let line = try connection.read() else { return }
            said.withLock { $0 = line }
            try connection.write(Array("502 no\r\n".utf8))
            while try connection.read() != nil {}
        }
        try await LoopbackServer(plain: script).run { proxy in
            let flags = ["--pin", unknownPin, "--proxy", "\(scheme)://127.0.0.1:\(proxy.port)"]
            let run = await pinctl(["check", "smtp://mail.test", "--ca-file", site.rootFile] + flags)
            #expect(run.status == 3, "\(run.output)")
            #expect(String(decoding: said.withLock { $0 }, as: UTF8.self).hasPrefix("EHLO "), "\(run.output)")
        }
    }

    @Test("A proxy login is split by bytes, and one that can't be sent is rejected before connecting")
    func proxyLogins() async throws {
        for (login, scheme, reason) in [
            ("u:\u{200D}secret:x", "socks4a", "SOCKS 4a has no password"), ("user", "http", "has no colon"),
            (":x", "socks5", "allows 1 to 255 bytes"), ("u\0:x", "http", "isn't text"),
            (String(repeating: "u", count: 256) + ":x", "socks5", "allows 1 to 255 bytes"),
        ] {
            let file = try site.directory.add(login + "\n")
            let run = await pinctl(
                "check", "a.test", "--pin", unknownPin, "--proxy", "\(scheme)://127.0.0.1:1", "--proxy-login", file)
            #expect(run.status == 2 && run.errors.contains(reason) && !run.errors.contains("secret"), "\(run.errors)")
        }
        for proxy in ["soc\u{212A}s5://127.0.0.1:1", "http://u:secret@\u{301}h:1"] {
            let run = await pinctl("check", "a.test", "--pin", unknownPin, "--proxy", proxy)
            #expect(run.status == 2 && !run.errors.contains("secret"), "\(run.errors)")
        }
    }

    @Test("A SOCKS proxy connects to a host by its hostname", arguments: ["socks5", "socks5h", "SOCKS4A"])
    func socksProxy(scheme: String) async throws {
        let isFifth = scheme.hasPrefix("socks5")
        let login = try site.directory.add(isFifth ? "reader:secret\n" : "reader:\n")
        try await site.serve { origin in
            let script = LoopbackServer.Script.socks(
                version: isFifth ? 5 : 4, to: origin.port, login: ("reader", isFifth ? "secret" : ""))
            try await LoopbackServer(plain: script).run { proxy in
                let flags = [
                    "--ca-file", site.rootFile, "--pin", (try site.leaf.key.pin),
                    "--proxy", "\(scheme)://127.0.0.1:\(proxy.port)",
                ]
                let run = await pinctl(["check", "api.test", "--retries", "0"] + flags)
                #expect(run.status == 3 && run.output.contains("login"), "\(run.output)")
                let good = await pinctl(["check", "api.test", "--proxy-login", login] + flags)
                #expect(good.status == 0, "\(good.output)")
                #expect(!(run.output + run.errors + good.output + good.errors).contains("secret"))
            }
        }
    }
}

/// Points at which a server may stop answering, and the script of each.
private let stalls: [(String, LoopbackServer.Script, String?)] = [
    ("smtp silent", .handle { while try $0.read() != nil {} }, "smtp"),
    (
        "smtp half way",
        .handle { connection in
            try connection.write(Array("220 x\r\n".utf8))
            while try connection.read() != nil {}
        }, "smtp"
    ),
    (
        "smtp drips",
        .handle { connection in
            while true {
                try connection.write([0x32])
                connection.pause(.milliseconds(50))
            }
        }, "smtp"
    ),
    (
        "postgres, then no TLS",
        .handle { connection in
            try connection.write([0x53])
            while try connection.read() != nil {}
        }, "postgres"
    ),
    ("no handshake", .handle { while try $0.read() != nil {} }, nil),
    (
        "a handshake in drops",
        .handle { connection in
            for byte: UInt8 in [22, 3, 3, 0x40, 0] + [UInt8](repeating: 2, count: 10_000) {
                try connection.write([byte])
                connection.pause(.milliseconds(50))
            }
        }, nil
    ),
]
