import PinnedNetworking
import TestPKI
import Testing

/// What a process logs: settings and answers that the client ignores, and servers that it accepts against the rules.
@Suite(.timeLimit(.minutes(2)))
struct LogLineTests {
    /// Returns the lines of this module on a process's standard error, each without its time.
    private static func lines(_ result: ExitTest.Result?) throws -> [String] {
        let output = try #require(result).standardErrorContent
        return String(decoding: output, as: UTF8.self).split(separator: "\n").compactMap { line in
            line.range(of: "PinnedNetworking").map { String(line[$0.lowerBound...]) }
        }
    }

    @Test("Each header field that the client writes itself is logged once for a session, without its value")
    func reservedFields() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let site = try TestSite.shared.get()
            try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
                var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
                for name in ["Connection", "content-length", "Host", "X-Own"] {
                    request.setValue(name == "Host" ? "pinned.test" : "7654", forHTTPHeaderField: name)
                }
                let session = try site.session(server)
                _ = try await session.data(for: request)
                request.setValue("7654", forHTTPHeaderField: "TE")
                _ = try await session.data(for: request)
                _ = try await site.session(server).data(for: request)
            }
        }
        let lines = try Self.lines(result)
        let first = ["Connection", "Host", "TE", "content-length"]
        #expect(
            lines.sorted()
                == (first + first).sorted().map {
                    "PinnedNetworking ignores the header field \($0): the client writes it itself"
                })
    }

    @Test("A server that a delegate or a rule that only reports accepts is logged for each connection, others aren't")
    func acceptedServers() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let site = try TestSite.shared.get()
            try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
                _ = try await site.session(server).get()
                let pinned = try PinningPolicy.pinning(site.intermediate.key.pin)
                _ = try await site.session(server, policy: pinned).get()

                let accepting = SessionAsyncDelegate(acceptServer)
                let untrusting = try site.session(server, delegate: accepting) {
                    $0.trustStore = TrustStore(certificates: [])
                }
                _ = try await untrusting.get()
                _ = try await untrusting.get()

                let reporting = try PinningPolicy.pinning(strangePin, mode: .report)
                _ = try await site.session(server, policy: reporting).get()
            }
        }
        let lines = try Self.lines(result)
        #expect(lines.count == 2)
        #expect(
            lines.first?.hasPrefix("PinnedNetworking continues: a delegate accepted pinned.test port 443: ") == true)
        #expect(lines.last?.hasPrefix("PinnedNetworking continues: ") == true)
        #expect(lines.last?.hasPrefix("PinnedNetworking continues: pin mismatch for pinned.test port 443: ") == true)
    }

    @Test("A delegate that is set too late and an answer that is given twice are logged")
    func lateDelegates() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let site = try TestSite.shared.get()
            try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
                let twice = DeferringDelegate { _, challenge, handler in
                    handler(.performDefaultHandling, nil)
                    handler(.cancelAuthenticationChallenge, nil)
                }
                let session = try site.session(server)
                #expect(try await session.get(delegate: twice).body == "ok")
                let task = session.dataTask(with: try #require(URL(string: "https://pinned.test/")))
                task.delegate = SilentDelegate()
                task.resume()
                task.delegate = nil
            }
        }
        #expect(
            try Self.lines(result) == [
                "PinnedNetworking ignores a delegate's second or late answer: call the completion handler once",
                "PinnedNetworking ignores a delegate that is set on <URLSessionDataTask>: {2} GET "
                    + "https://pinned.test/: it has started",
            ])
    }

    @Test("Pins that don't apply to the requests of a protocol class are logged once for a session")
    func protocolClasses() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            _ = StubProtocol.handle("stubbed.test") {
                $0.respond()
                $0.load("stub")
                $0.finish()
            }
            let policy = try PinningPolicy.pinning(strangePin)
            for pinning in [policy, nil] {
                let session = URLSession(configuration: StubProtocol.configuration { $0.pinning = pinning })
                for _ in 1...2 { #expect(try await session.get("https://stubbed.test/").body == "stub") }
            }
        }
        #expect(
            try Self.lines(result) == [
                "PinnedNetworking: pins don't apply to requests that StubProtocol handles: use protocolClasses in tests "
                    + "only"
            ])
    }
}
