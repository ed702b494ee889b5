import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

/// Reused connections, resumed TLS sessions, and the decision about each of them.
@Suite(.timeLimit(.minutes(10)))
struct ConnectionReuseTests {
    private static let closing = LoopbackServer.Response(fields: ["Connection: close"], body: "hello", closes: true)

    @Test("Consecutive requests use one connection")
    func keepAlive() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .respond(.chunked(["hel", "lo"]))).run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin))
            for _ in 0..<10 { #expect(try await session.get().body == "hello") }
            await session.flush()
            #expect(await server.ended().map(\.requests.count) == [10])
        }
    }

    @Test("Concurrent requests share at most as many connections as the configuration allows", arguments: [1, 3])
    func connectionsPerHost(limit: Int) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server) { $0.httpMaximumConnectionsPerHost = limit }
            let bodies = try await withThrowingTaskGroup(of: String.self) { group in
                for _ in 0..<30 { group.addTask { try await session.get().body } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(bodies == Array(repeating: "hello", count: 30))
            await session.flush()
            let records = await server.ended(server.records.count)
            #expect(records.count <= limit)
            #expect(records.reduce(0) { $0 + $1.requests.count } == 30)
        }
    }

    /// The parts of a decision that the observer saw.
    private struct Seen: Hashable {
        let connection: ServerTrustDecision.Connection
        let isAccepted: Bool
    }

    private static func observe(_ log: Collected<Seen>) -> @Sendable (ServerTrustDecision) -> Void {
        { decision in
            let isAccepted = if case .accepted = decision.outcome { true } else { false }
            log.append(Seen(connection: decision.connection, isAccepted: isAccepted))
        }
    }

    @Test("A task's delegate is asked about a server once per connection, not again for a login or a redirect")
    func askedOnce() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            switch request.target {
            case "/login" where request.values(of: "Authorization").isEmpty:
                .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""])
            case "/login": .init("307 Temporary Redirect", fields: ["Location: /here"])
            case "/here": .init("307 Temporary Redirect", fields: ["Location: https://start.test/there"])
            default: .init(body: "hello")
            }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = URLCredentialStorage() }
            for count in 1...2 {
                let hosts = Collected<String>()
                let delegate = TaskHandlerDelegate { challenge in
                    guard challenge.protectionSpace.serverTrust != nil else {
                        return (.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
                    }
                    hosts.append(challenge.protectionSpace.host)
                    return acceptServer(challenge)
                }
                #expect(try await session.get("https://pinned.test/login", delegate: delegate).body == "hello")
                #expect(hosts.values == ["pinned.test", "start.test"], "task \(count)")
            }
            await session.flush()
            #expect(await server.ended(2).map(\.requests.count) == [6, 2])
        }
    }

    @Test(
        "The observer sees every decision about new, reused and resumed connections (TC1–TC9)",
        arguments: [LoopbackServer.TLSVersion.tls12, .tls13],
        [LoopbackServer.Resumption.tickets, .identifiers, .refused, .none])
    func observed(version: LoopbackServer.TLSVersion, resumption: LoopbackServer.Resumption) async throws {
        let site = try TestSite.shared.get()
        let log = Collected<Seen>()
        let script = LoopbackServer.Script.answer { $0.target == "/last" ? Self.closing : .init(body: "hello") }
        let server = try LoopbackServer(chain: site.chain, script) {
            $0.protocolVersions = version...version
            $0.resumption = resumption
        }
        try await server.run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin)) {
                $0.serverTrustObserver = Self.observe(log)
            }
            for path in ["a", "last", "last"] { _ = try await session.get("https://pinned.test/\(path)") }
            session.pinning = try .pinning(unknownPin)
            #expect(try await session.failure().code == .serverCertificateUntrusted)
            await session.flush()
            let isResumed = resumption == .tickets || resumption == .identifiers
            let records = await server.ended(server.records.count)
            // The TLS session of the last one was accepted under another policy, and isn't resumed.
            #expect(records.map(\.sessionResumed) == [false, isResumed, false])
            #expect(records.map(\.requests.count) == [2, 1, 0])
            #expect(records.allSatisfy { !$0.offeredEarlyData })
            let second = ServerTrustDecision.Connection.resumed
            #expect(
                log.values == [
                    Seen(connection: .new, isAccepted: true), Seen(connection: .reused, isAccepted: true),
                    Seen(connection: isResumed ? second : .new, isAccepted: true),
                    Seen(connection: .new, isAccepted: false),
                ])
        }
    }

    @Test("TLS sessions of 256 hosts are kept, and forgotten when there are more")
    func manyHosts() async throws {
        let site = try TestSite.pinned([.dns("*.pinned.test")])
        try await LoopbackServer(chain: site.chain, .respond(Self.closing)).run { server in
            let session = try site.session(server)
            for number in [0, 0] + Array(1...256) + [0, 256] {
                #expect(try await session.get("https://h\(number).pinned.test/").body == "hello")
            }
            let resumed = await server.ended(260).map(\.sessionResumed)
            #expect(resumed == [false, true] + Array(repeating: false, count: 256) + [false, true])
        }
    }

    @Test("Flushing closes connections and forgets TLS sessions, but a running request continues")
    func flush() async throws {
        let site = try TestSite.shared.get()
        let asked = Collected<Void>()
        let isOpen = Locked(false)
        let script = LoopbackServer.Script.answer { request in
            guard request.target == "/slow" else { return .init(body: "hello") }
            asked.append(())
            while !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
            return .init(body: "slow")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            _ = try await session.get()
            async let slow = session.get("https://pinned.test/slow").body
            while asked.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            await session.flush()
            isOpen.withLock { $0 = true }
            #expect(try await slow == "slow")
            _ = try await session.get()
            await session.flush()
            let records = await server.ended(server.records.count)
            #expect(records.map(\.requests.count) == [2, 1])
            #expect(records.map(\.sessionResumed) == [false, false])
        }
    }

    @Test("A session without references closes its connections")
    func dropped() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            _ = try await site.session(server).get()
            let record = await server.ended()[0]
            #expect(record.alerts == [.closeNotify])
        }
    }

    /// When a server sends unrequested bytes.
    enum Surplus: CaseIterable, Sendable {
        /// In one write with the response, which is then an error.
        case atOnce
        /// In the next write.
        case rightAfter
        /// After the client has the response.
        case late
        /// Starting with part of a record, or of a response.
        case inParts
    }

    @Test(
        "Bytes after a response never answer a request, and no request follows them (HA12, DS1)",
        arguments: [true, false],
        Surplus.allCases)
    func surplus(isPlain: Bool, surplus: Surplus) async throws {
        let site = try TestSite.shared.get()
        let evil = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)
        let (taken, sent) = (Locked(0), Locked(0))
        let script = LoopbackServer.Script.handle { connection in
            while let request = try connection.readRequest() {
                let response = LoopbackServer.Response(body: request.target).bytes
                let round = request.target.hasPrefix("/s") ? Int(request.target.dropFirst(2)) : nil
                try connection.write(round != nil && surplus == .atOnce ? response + evil : response)
                guard let round else { continue }
                if surplus == .late || surplus == .inParts {
                    while taken.withLock({ $0 }) < round { connection.pause(.milliseconds(1)) }
                }
                switch surplus {
                case .atOnce: break
                case .rightAfter, .late: try connection.write(evil)
                case .inParts where isPlain: try connection.write(Array(evil.prefix(9)))
                case .inParts: try connection.writeBelow([23, 3, 3, 0, 64] + [UInt8](repeating: 7, count: 32))
                }
                sent.withLock { $0 = round }
            }
        }
        let server = isPlain ? try LoopbackServer(plain: script) : try LoopbackServer(chain: site.chain, script)
        try await server.run { server in
            let session = try site.session(server)
            let origin = isPlain ? "http://start.test" : "https://pinned.test"
            for round in 1...20 {
                if surplus == .atOnce {
                    #expect(try await session.failure("\(origin)/s\(round)").code == .cannotParseResponse)
                } else {
                    let first = try? await session.get("\(origin)/s\(round)").body
                    // They may have arrived before the response was read.
                    #expect(first == "/s\(round)" || surplus == .rightAfter && first == nil)
                }
                taken.withLock { $0 = round }
                while sent.withLock({ $0 }) < round { try await Task.sleep(for: .milliseconds(1)) }
                #expect(try await session.get("\(origin)/next").body == "/next")
            }
            await session.flush()
            // Every "next" starts another connection, and surplus bytes end their own connection.
            let targets = await server.ended(server.records.count).map { $0.requests.map(\.target) }
            #expect(targets == [["/s1"]] + (1..<20).map { ["/next", "/s\($0 + 1)"] } + [["/next"]])
        }
    }

    @Test(
        "Bytes that a server sends before the request on a new connection aren't its answer (DS1)",
        arguments: ["GET", "POST"])
    func surplusBeforeFirst(method: String) async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.handle { connection in
            // In one segment with the server's Finished.
            try connection.write(LoopbackServer.Response(body: "evil").bytes)
            connection.uncork()
            while try connection.readRequest() != nil {}
        }
        let server = try LoopbackServer(chain: site.chain, script) {
            $0.protocolVersions = .tls12 ... .tls12
            $0.isCorked = true
        }
        try await server.run { server in
            let session = try site.session(server)
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.httpMethod = method
            let sent = request
            let error = await #expect(throws: URLError.self) { try await session.data(for: sent) }
            #expect(error?.code == .cannotParseResponse)
            #expect(await server.ended()[0].requests.isEmpty)
        }
    }

    @Test(
        "Bytes that arrive while a delegate or the observer runs never answer a request (DS1)",
        arguments: [false, true])
    func surplusBeforeUse(isObserved: Bool) async throws {
        let site = try TestSite.shared.get()
        let evil = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)
        let (isAsked, isSent) = (Locked(false), Locked(false))
        let script = LoopbackServer.Script.handle { connection in
            while let request = try connection.readRequest() {
                try connection.write(LoopbackServer.Response(body: request.target))
                guard request.target == "/first" else { continue }
                while !isAsked.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
                try connection.write(evil)
                isSent.withLock { $0 = true }
            }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let isFirst = Locked(true)
            // Returns at once for the first connection, and after the server's surplus bytes for the reused one.
            let wait: @Sendable () -> Void = {
                if !isFirst.withLock({ first in
                    defer { first = false }
                    return first
                }) {
                    isAsked.withLock { $0 = true }
                    while !isSent.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
                }
            }
            let session = try site.session(server) {
                if isObserved { $0.serverTrustObserver = { _ in wait() } }
            }
            let delegate =
                isObserved
                ? nil
                : TaskHandlerDelegate { challenge in
                    wait()
                    return acceptServer(challenge)
                }
            #expect(try await session.get("https://pinned.test/first", delegate: delegate).body == "/first")
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/next")))
            request.httpMethod = "POST"
            let (body, _) = try await session.data(for: request, delegate: delegate)
            #expect(String(decoding: body, as: UTF8.self) == "/next")
            await session.flush()
            let targets = await server.ended(server.records.count).map { $0.requests.map(\.target) }
            #expect(targets == [["/first"], ["/next"]])
        }
    }

    @Test("Bytes that arrive while a request waits for a thread never answer it (DS1)")
    func surplusWhileWaiting() async throws {
        let site = try TestSite.shared.get()
        let evil = Array("HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil".utf8)
        let (begun, sent) = (Locked(0), Locked(0))
        let script = LoopbackServer.Script.handle { connection in
            while let request = try connection.readRequest() {
                try connection.write(LoopbackServer.Response(body: request.target))
                guard let round = Int(request.target.dropFirst()) else { continue }
                // The next request comes first if it never had to wait.
                var isAsked = false
                while !isAsked, begun.withLock({ $0 }) < round {
                    isAsked = connection.waitForInput(atMost: .milliseconds(1))
                }
                if !isAsked { try connection.write(evil) }
                sent.withLock { $0 = round }
            }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            // Its cookies are in memory, but the request is continued after they were looked up.
            let session = try site.session(server) { $0.httpCookieStorage = HTTPCookieStorage() }
            for round in 1...20 {
                #expect(try await session.get("https://pinned.test/\(round)").body == "/\(round)")
                let executor = SlowExecutor {
                    begun.withLock { $0 = round }
                    while sent.withLock({ $0 }) < round { Thread.sleep(forTimeInterval: 0.001) }
                }
                let work = Task(executorPreference: executor) { try await session.get("https://pinned.test/next").body }
                #expect(try await work.value == "/next")
            }
        }
    }

    @Test(
        "Session tickets and key updates after every response don't prevent reuse of the connection",
        arguments: [false, true])
    func unaskedTickets(isProxied: Bool) async throws {
        let site = try TestSite.shared.get()
        let (taken, sent) = (Locked(0), Locked(0))
        let script = LoopbackServer.Script.handle { connection in
            while let request = try connection.readRequest() {
                try connection.write(LoopbackServer.Response(body: request.target))
                while taken.withLock({ $0 }) == sent.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
                try connection.sendTicket()
                try connection.updateKeys()
                sent.withLock { $0 += 1 }
            }
        }
        let server = try LoopbackServer(chain: site.chain, script) { $0.protocolVersions = .tls13 ... .tls13 }
        try await server.run { server in
            let proxy = try LoopbackServer(
                chain: site.proxyChain(), .proxy(to: ["pinned.test:443": server.port]))
            try await proxy.run { proxy in
                let session = try site.session(server) {
                    if isProxied {
                        $0.proxyConfigurations = [try? proxy.configuration(usesTLS: true)].compactMap(\.self)
                    }
                }
                for round in 1...10 {
                    #expect(try await session.get("https://pinned.test/\(round)").body == "/\(round)")
                    taken.withLock { $0 = round }
                    while sent.withLock({ $0 }) < round { try await Task.sleep(for: .milliseconds(1)) }
                }
                await session.flush()
                #expect(await server.ended().map(\.requests.count) == [10])
            }
        }
    }

    /// Answers the first request of a connection. Reads the second one, and closes.
    private static let losesSecond = LoopbackServer.Script.handle { connection in
        guard try connection.readRequest() != nil else { return }
        try connection.write(LoopbackServer.Response(body: "hello"))
        _ = try connection.readRequest()
    }

    @Test(
        "TC20: A request lost on a closed connection is retried only if it is idempotent",
        arguments: ["GET", "PUT", "DELETE", "POST", "PATCH"])
    func repetition(method: String) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, Self.losesSecond).run { server in
            let session = try site.session(server)
            _ = try await session.get()
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/again")))
            request.httpMethod = method
            let isRepeated = method != "POST" && method != "PATCH"
            if isRepeated {
                #expect(String(decoding: try await session.data(for: request).0, as: UTF8.self) == "hello")
            } else {
                let error = await #expect(throws: URLError.self) { try await session.data(for: request) }
                #expect(error?.code == .networkConnectionLost)
            }
            await session.flush()
            let records = await server.ended(server.records.count)
            #expect(records.flatMap(\.requests).count { $0.target == "/again" } == (isRepeated ? 2 : 1))
        }
    }

    @Test("TC20: A request whose stream was read isn't repeated, even if a delegate would provide another stream")
    func readStream() async throws {
        let site = try TestSite.shared.get()
        // A 100 would already be part of an answer.
        let server = try LoopbackServer(chain: site.chain, Self.losesSecond) { $0.expectation = .ignored }
        try await server.run { server in
            let session = try site.session(server)
            _ = try await session.get()
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/again")))
            request.httpMethod = "PUT"
            request.httpBodyStream = InputStream(data: Data("own".utf8))
            let sent = request
            let error = await #expect(throws: URLError.self) {
                try await session.data(for: sent, delegate: AsyncStreams())
            }
            #expect(error?.code == .networkConnectionLost)
            await session.flush()
            #expect(await server.ended(server.records.count).map(\.requests.count) == [2])
        }
    }

    @Test(
        "TC20: A request isn't repeated after any part of an answer",
        arguments: [
            "H", "HTTP/1.1 200 OK\r\n", "HTTP/1.1 100 Continue\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n",
        ])
    func partOfAnswer(part: String) async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.handle { connection in
            guard try connection.readRequest() != nil else { return }
            try connection.write(LoopbackServer.Response(body: "hello"))
            guard try connection.readRequest() != nil else { return }
            try connection.write(Array(part.utf8))
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            _ = try await session.get()
            let error = await #expect(throws: URLError.self) { try await session.get() }
            #expect(error?.code == .networkConnectionLost)
            await session.flush()
            #expect(await server.ended(server.records.count).map(\.requests.count) == [2])
        }
    }

    @Test("A task that is already cancelled sends nothing on a kept connection", arguments: [false, true])
    func cancelled(isObserved: Bool) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server) { if isObserved { $0.serverTrustObserver = { _ in } } }
            for _ in 0..<20 {
                _ = try await session.get()
                let work = Task {
                    while !Task.isCancelled { await Task.yield() }
                    return try await session.get("https://pinned.test/cancelled")
                }
                work.cancel()
                let error = await #expect(throws: URLError.self) { try await work.value }
                #expect(error?.code == .cancelled)
            }
            await session.flush()
            let requests = await server.ended(server.records.count).flatMap(\.requests)
            #expect(requests.count == 20 && requests.allSatisfy { $0.target != "/cancelled" })
        }
    }
}
