import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// The policy of a process, in processes of their own: programs that see only public declarations adopt it, and a
/// dependency without pins tries to reach a server.
@Suite(.timeLimit(.minutes(10)))
struct ProcessPinningTests {
    let site: TestSite
    let directory: TestDirectory
    let program: CompiledProgram

    init() async throws {
        site = try TestSite.pinned([.dns("localhost"), .dns("pinned.test")])
        directory = try TestDirectory()
        program = try await ProgramCache.process.value
    }

    /// Answers every request with `hello`, and a WebSocket with a message.
    private static let hello = LoopbackServer.Script.handle { connection in
        while let request = try connection.readRequest() {
            if !request.values(of: "Sec-WebSocket-Key").isEmpty {
                try connection.write(try WebSocketPeer.answer(to: request) + WebSocketPeer.frame("hello"))
                while try connection.read() != nil {}
                return
            }
            try connection.write(LoopbackServer.Response(body: "hello"))
        }
    }

    /// Writes a policy with one rule for `host`.
    private func policy(_ pin: String, host: String = "localhost", _ more: String = "") throws -> String {
        try directory.add(#"{ "version": 1, "domains": [{ "host": "\#(host)", "pins": ["\#(pin)"]\#(more) }] }"#)
    }

    private var right: String { get throws { try policy(site.leaf.key.pin) } }
    private var wrong: String { get throws { try policy(unknownPin) } }

    private func run(
        _ command: String, _ server: LoopbackServer, _ files: [String] = [], environment file: String? = nil,
        roots: [TestCertificate]? = nil, host: String = "localhost"
    ) async throws -> (lines: [String], log: String) {
        let store = try directory.add((roots ?? [site.root]).map(\.pemText).joined())
        let port = host == "localhost" ? ":\(server.port)" : ""
        let result = try await CompiledProgram.run(
            ["timeout", "120", program.path, command, "https://\(host)\(port)/"] + files,
            environment: ["SSL_CERT_FILE=\(store)"] + (file.map { ["PINCTL_POLICY=\($0)"] } ?? []))
        #expect(result.status == 0, "\(command): \(result.text)")
        let log = String(decoding: result.errors, as: UTF8.self)
        return (String(decoding: result.output, as: UTF8.self).split(separator: "\n").map(String.init), log)
    }

    @Test("PE28: Every way of a dependency to send a request is pinned by the policy of the process")
    func ways() async throws {
        try await LoopbackServer(chain: site.chain, Self.hello).run { server in
            let (accepted, log) = try await run("ways", server, environment: right)
            #expect(accepted.count == 19)
            #expect(accepted.dropLast().allSatisfy { $0.hasSuffix(": hello") }, "\(accepted)")
            #expect(accepted.last == "cleartext: process")
            let lines = log.split(separator: "\n").filter { $0.contains("applies to every session") }
            #expect(lines.count == 1 && lines[0].contains("localhost, other hosts: trust"), "\(log)")
        }
        try await LoopbackServer(chain: site.chain, Self.hello).run { server in
            let (refused, _) = try await run("ways", server, environment: wrong)
            #expect(refused.count == 19 && refused.allSatisfy { $0.hasSuffix(": process") }, "\(refused)")
            #expect(server.applicationBytes.isEmpty)
        }
        // Careless delegates accept an untrusted chain of a host without pins, but not of one with pins.
        let unlisted = try policy(unknownPin, host: "other.test")
        let other = try TestSite.pinned()
        for (file, isReached) in [(try right, false), (unlisted, true)] {
            try await LoopbackServer(chain: site.chain, Self.hello).run { server in
                let (lines, _) = try await run("ways", server, environment: file, roots: [other.root])
                #expect(lines.contains("session delegate: hello") == isReached, "\(lines)")
                #expect(server.applicationBytes.isEmpty == !isReached)
            }
        }
    }

    @Test("PE28: A policy of the process applies to open connections, TLS sessions and sessions from before")
    func earlier() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, log) = try await run("earlier", server, [wrong, right])
            #expect(
                lines == [
                    "before: hello", "kept connection: process", "new connection: process", "replaced: hello",
                    "again: hello", "replaced again: process", "earlier: 1",
                ])
            #expect(log.contains("1 session existed before: adopt the policy earlier"))
            #expect(await server.ended().map(\.requests.count).reduce(0, +) == 3)
        }
    }

    @Test("A replaced policy of the process is part of what approves a connection")
    func replaced() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, _) = try await run("earlier", server, [wrong, policy(site.root.key.pin)])
            #expect(lines.suffix(3) == ["again: hello", "replaced again: process", "earlier: 1"])
        }
    }

    @Test("The policy of the process and that of a session both have to accept a server", arguments: 0..<4)
    func addition(case number: Int) async throws {
        let (process, own) = (number & 1 == 0, number & 2 == 0)
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, _) = try await run("addition", server, [process ? right : wrong, own ? right : wrong])
            #expect(lines == ["own: \(!process ? "process" : own ? "hello" : "session")"])
            #expect(server.applicationBytes.isEmpty == !(process && own))
        }
    }

    @Test("Only the object that adopted the policy can give a configuration another one, and no session passes it on")
    func overrides() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, log) = try await run("override", server, [wrong, right])
            #expect(
                lines == [
                    "configuration: hello", "copy: hello", "session's: process", "other: process",
                    "after a replacement: hello", "overriding: 1", "too late: process",
                ])
            #expect(log.contains("a configuration has a policy in place of the process's"))
            #expect(log.contains("HAS NO EFFECT on the session"))
        }
    }

    @Test("PE28: A dependency can't switch the policy of the process off")
    func attacks() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let off = try policy(unknownPin, #", "mode": "off""#)
            let (lines, _) = try await run("attacks", server, [off], environment: wrong)
            #expect(lines.count == 7 && lines[0].contains("has already adopted a policy"), "\(lines)")
            #expect(
                lines.dropFirst() == [
                    "not from the environment", "second adoption: process", "session with mode off: process",
                    "its configuration without pins: process", "respond: process", "adopted: true",
                ])
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("PE28: Sessions that other threads create during the adoption are pinned too")
    func race() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            for _ in 0..<5 {
                let (lines, _) = try await run("race", server, [wrong])
                #expect(lines == ["unpinned: 0 of 400", "last: process"])
            }
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("A program that adopts the policy of its environment gets it or an error, and is pinned by nothing else")
    func environment() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let broken = try directory.add("{")
            for (file, line, pinned) in [
                (nil, "PINCTL_POLICY isn't set: set it to the path of the policy file", "not pinned 0"),
                ("", "PINCTL_POLICY isn't set: set it to the path of the policy file", "not pinned 0"),
                (broken, "PINCTL_POLICY: \(broken)", "not pinned 0"),
                ("/nonexistent", "PINCTL_POLICY: /nonexistent", "not pinned 0"),
                (try right, "adopted", "pinned 1"),
            ] {
                let (lines, _) = try await run("environment", server, environment: file)
                #expect(lines.first?.hasPrefix(line) == true && lines.last == pinned, "\(lines)")
            }
            // Without the program's own call, the variable does nothing.
            let (lines, _) = try await run("earlier", server, [right, right], environment: wrong)
            #expect(lines.first == "before: hello")
        }
    }

    @Test(
        "PE28: A proxy over TLS and the origin behind it are both pinned by the policy of the process",
        arguments: 0..<3)
    func proxy(case number: Int) async throws {
        let right = try site.leaf.key.pin
        let (proxyPin, originPin) = (number == 1 ? unknownPin : right, number == 2 ? unknownPin : right)
        let rules = [("localhost", proxyPin), ("pinned.test", originPin)].map {
            #"{ "host": "\#($0)", "pins": ["\#($1)"] }"#
        }
        let file = try directory.add(#"{ "version": 1, "domains": [\#(rules.joined(separator: ", "))] }"#)
        try await LoopbackServer(chain: site.chain).run { server in
            let script = LoopbackServer.Script.proxy(to: ["pinned.test:443": server.port])
            try await LoopbackServer(chain: site.chain, script).run { proxy in
                let (lines, _) = try await run(
                    "proxy", server, ["\(proxy.port)"], environment: file, host: "pinned.test")
                #expect(lines == ["proxy: \(number == 0 ? "hello" : "process")"])
                #expect(server.applicationBytes.isEmpty == (number != 0))
                #expect(proxy.applicationBytes.isEmpty == (number == 1))
            }
        }
    }

    @Test("PE28: Roots of a dependency's own don't bypass the pins of the process")
    func bypass() async throws {
        let local = try TestSite.pinned([.dns("localhost")])
        let file = try policy(unknownPin, #", "localAnchorsBypassPins": true"#)
        let anchors = try directory.add(local.root.pemText, name: "root.pem")
        let own = try policy(local.root.key.pin, #", "anchors": { "files": ["root.pem"] }"#)
        try await LoopbackServer(chain: local.chain).run { server in
            let (lines, _) = try await run("store", server, [anchors, own], environment: file)
            #expect(lines == ["system's roots: process", "own roots: process", "own anchors: process"], "\(lines)")
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("PE28: Roots that a dependency chooses for the operating system's don't bypass the pins of the process")
    func roots() async throws {
        let local = try TestSite.pinned([.dns("localhost")])
        let file = try policy(unknownPin, #", "localAnchorsBypassPins": true"#)
        let anchors = try directory.add(local.root.pemText)
        try await LoopbackServer(chain: local.chain).run { server in
            let (lines, _) = try await run("roots", server, [anchors], environment: file)
            #expect(lines == ["other roots: process"])
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("PE28: No spelling of a host evades the policy of the process")
    func spellings() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, _) = try await run("spellings", server, environment: wrong)
            #expect(lines.count == 11 && lines.allSatisfy { $0.hasPrefix("spelling: ") && !$0.hasSuffix("hello") })
            #expect(lines.count { $0 == "spelling: process" } >= 7, "\(lines)")
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("PE28: No request to a host of the process's policy is sent without TLS, also through a proxy or a redirect")
    func cleartext() async throws {
        try await LoopbackServer(plain: Self.hello).run { server in
            let redirect = LoopbackServer.Script.answer { _ in
                .init("302 Found", fields: ["Location: http://localhost:\(server.port)/"], body: "")
            }
            try await LoopbackServer(plain: redirect).run { other in
                try await LoopbackServer(plain: .proxy(to: ["localhost:\(server.port)": server.port])).run { proxy in
                    let (lines, _) = try await run(
                        "cleartext", server, ["\(proxy.port)", "\(other.port)"], environment: right)
                    #expect(lines == [String](repeating: "process", count: 7), "\(lines)")
                    #expect(proxy.applicationBytes.isEmpty && server.applicationBytes.isEmpty)
                    #expect(!other.applicationBytes.isEmpty)
                }
            }
        }
    }

    @Test("PE28: What an upload and a WebSocket have still to send is judged by a policy that is adopted meanwhile")
    func begun() async throws {
        for (file, result) in [(try wrong, "process"), (try right, nil)] {
            try await LoopbackServer(chain: site.chain, Self.hello).run { server in
                let (lines, _) = try await run("begun", server, [file])
                #expect(
                    lines == [
                        "WebSocket before: hello", "upload: \(result ?? "hello")", "WebSocket: \(result ?? "sent")",
                    ])
                let text = String(decoding: server.applicationBytes, as: UTF8.self)
                #expect(text.contains("before") && text.contains("after") == (result == nil))
            }
        }
    }

    @Test("PE28: Both connections of FTP over TLS are pinned by the policy of the process", arguments: 0..<3)
    func ftp(case number: Int) async throws {
        let other = [try site.intermediate.server([.dns("localhost")]), site.intermediate]
        let files = try LoopbackServer(chain: number == 2 ? other : site.chain, FTPTests.file("hello"))
        try await files.run { files in
            let script = FTPTests.script([
                "USER": "331 password", "PASS": "230 in", "SIZE": "213 5", "EPSV": "229 go (|||\(files.port)|)",
                "RETR": "150 coming\r\n226 done",
            ])
            try await LoopbackServer(chain: site.chain, script).run { server in
                let (lines, _) = try await run("ftp", server, environment: number == 1 ? wrong : right)
                #expect(lines == ["ftps: \(number == 0 ? "hello" : "process")"])
                #expect(server.applicationBytes.isEmpty == (number == 1))
            }
        }
    }

    @Test("A policy updater is judged by the policy of the process, or by the one in its place", arguments: 0..<4)
    func updates(case number: Int) async throws {
        let key = try MessageSigningKey(pem: Array(TestKey(.ed25519).privateKeyPEM.utf8), password: nil).publicKey
        let keySet = try directory.add(
            """
            {"version": 1, "audience": "a", "number": 1, "threshold": 1, \
            "keys": ["\(Data(key.derBytes).base64EncodedString())"]}
            """)
        let (builtIn, override) = (number & 1 == 0, number & 2 == 0)
        try await LoopbackServer(chain: site.chain, Self.hello).run { server in
            let files = [builtIn ? try right : try wrong, override ? try right : try wrong, keySet]
            let (lines, _) = try await run("updates", server, files, environment: wrong)
            let result = !override ? "process" : builtIn ? "answered" : "session"
            #expect(lines == ["default: process", "overriding: \(result)"])
            #expect(server.applicationBytes.isEmpty == !(builtIn && override))
        }
    }

    @Test("Data and String load no remote URL in a program without FoundationNetworking")
    func contents() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, _) = try await run("contents", server)
            #expect(lines == ["262", "262"])
            #expect(server.records.isEmpty)
        }
    }

    @Test("A program can ask what the policy of the process pins, and what it doesn't")
    func status() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let (lines, _) = try await run("count", server, [wrong, right])
            let text =
                "the policy of the process applies to every session: localhost, other hosts: trust; "
                + "1 session existed before: adopt the policy earlier; 1 session with another policy"
            #expect(lines == ["nothing", "4 1 1", text, "1 2"])
        }
    }
}

/// Programs that several tests of a suite run, compiled once.
enum ProgramCache {
    static let process = Task {
        try await CompiledProgram("Process", languageMode: 6, adding: ["PolicyUpdates"])
    }
}
