import PinctlTestPKI
import PinnedNetworking
import Testing

/// What a process logs: settings and answers that the client ignores, and servers that it accepts against the rules.
@Suite(.timeLimit(.minutes(10)))
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

                let reporting = try PinningPolicy.pinning(unknownPin, mode: .report)
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

    @Test("A change of a configuration that a session has copied is logged each time, with what to write instead")
    func copiedConfigurations() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            let policy = try PinningPolicy.pinning(unknownPin)
            let configuration = URLSessionConfiguration.default
            // Before the session exists, everything counts.
            configuration.pinning = policy
            configuration.trustPolicy = .strict
            let session = URLSession(configuration: configuration)
            // What doesn't protect requests, another configuration, and the session's own settings.
            configuration.timeoutIntervalForRequest = 5
            let copy = try #require(configuration.copy() as? URLSessionConfiguration)
            copy.pinning = nil
            session.pinning = policy
            session.trustPolicy = .default

            configuration.pinning = nil
            configuration.pinning = policy
            session.configuration.pinning = policy
            URLSession.shared.configuration.trustStore = TrustStore(certificates: [])
            configuration.trustPolicy.revocation = .require
            configuration.revocationEvidence = .none
            configuration.certificateTransparencyLogs = nil
            configuration.serverTrustObserver = { _ in }
            configuration.pinReportSink = nil
            configuration.tlsMinimumSupportedProtocolVersion = .TLSv13
            let copied = session.configuration.copy() as? URLSessionConfiguration
            copied?.pinning = nil
            #expect(session.pinning?.digest == policy.digest)
        }
        func line(_ name: String, _ remedy: String) -> String {
            "PinnedNetworking: \(name) HAS NO EFFECT on the session that has already copied this configuration: "
                + "\(remedy)"
        }
        let replaceable = [
            "pinning", "pinning", "pinning", "trustStore", "trustPolicy", "revocationEvidence",
            "certificateTransparencyLogs",
        ]
        let others = ["serverTrustObserver", "pinReportSink", "tlsMinimumSupportedProtocolVersion"]
        #expect(
            try Self.lines(result)
                == replaceable.map {
                    line($0, "set session.\($0), or set configuration.\($0) before you create the session")
                } + others.map { line($0, "set configuration.\($0) before you create the session") })
    }

    @Test("A report sink that no rule has an address for is logged once for a session")
    func unusedReportSinks() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            struct Sink: PinReportSink { func take(_ report: PinFailureReport) {} }
            let silent = try PinningPolicy.pinning(unknownPin)
            let reporting = try PinningPolicy(rules: [
                PinningRule(
                    host: try ServerName("pinned.test"), pins: [try Pin(unknownPin)],
                    reports: [try #require(URL(string: "https://collector.test/"))])
            ])
            func session(_ policy: PinningPolicy?, _ sink: (any PinReportSink)?) -> URLSession {
                let configuration = URLSessionConfiguration.default
                configuration.pinning = policy
                configuration.pinReportSink = sink
                return URLSession(configuration: configuration)
            }
            // No sink, addresses, or no pins yet.
            _ = (session(silent, nil), session(reporting, Sink()), session(nil, Sink()))
            // At the start, when pins are set, and when they are replaced.
            let first = session(silent, Sink())
            first.pinning = silent
            session(nil, Sink()).pinning = silent
            session(reporting, Sink()).pinning = silent
        }
        let line =
            "PinnedNetworking: no rule of the policy has \"reports\", so pinReportSink is never called: add "
            + "\"reports\": [\"https://…\"] to the rules, or remove the sink"
        #expect(try Self.lines(result) == [line, line, line])
    }

    @Test("Pins that don't apply to the requests of a protocol class are logged once for a session")
    func protocolClasses() async throws {
        let result = await #expect(processExitsWith: .success, observing: [\.standardErrorContent]) {
            _ = StubProtocol.handle("stubbed.test") {
                $0.respond()
                $0.load("stub")
                $0.finish()
            }
            let policy = try PinningPolicy.pinning(unknownPin)
            for pinning in [policy, nil] {
                let session = URLSession(configuration: StubProtocol.configuration { $0.pinning = pinning })
                for _ in 1...2 { #expect(try await session.get("https://stubbed.test/").body == "stub") }
            }
        }
        #expect(
            try Self.lines(result) == [
                "PinnedNetworking: pins don't apply to requests that StubProtocol handles: use protocolClasses in "
                    + "tests only"
            ])
    }
}
