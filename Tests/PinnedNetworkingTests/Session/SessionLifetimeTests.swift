import PinctlTestPKI
import PinnedNetworking
import Testing

/// Metrics, and how a session ends.
@Suite(.timeLimit(.minutes(10)))
struct SessionLifetimeTests {
    private let site: TestSite
    init() throws { site = try TestSite.shared.get() }

    @Test("Metrics cover every request: new and reused connections, redirects, TLS and the time for trust")
    func metrics() async throws {
        let redirect = LoopbackServer.Response("302 Found", fields: ["Location: /"])
        let final = LoopbackServer.Response(body: "hello").after("103 Early Hints")
        let script = LoopbackServer.Script.answer { $0.target == "/on" ? redirect : final }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let witness = Witness()
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin), delegate: witness)
            _ = try await session.get("https://pinned.test/on")
            let metrics = try #require(witness.metrics.values.first)
            #expect(metrics.redirectCount == 1)
            #expect(metrics.transactionMetrics.count == 2)
            let (first, second) = (metrics.transactionMetrics[0], metrics.transactionMetrics[1])
            #expect(!first.isReusedConnection)
            #expect(second.isReusedConnection)
            #expect(first.negotiatedTLSProtocolVersion == .TLSv13)
            #expect(first.negotiatedTLSCipherSuiteName?.hasPrefix("TLS_") ?? false)
            #expect(first.remoteAddress == "127.0.0.1")
            #expect(first.remotePort == Int(server.port))
            #expect((first.trustEvaluationDuration ?? 0) > 0)
            #expect(second.trustEvaluationDuration == nil)
            #expect(!first.isProxyConnection)
            #expect(second.countOfResponseBodyBytesReceived == 5)
            #expect(first.countOfRequestHeaderBytesSent > 20)
            #expect(first.countOfResponseHeaderBytesReceived == Int64(redirect.bytes.count))
            #expect(second.countOfResponseHeaderBytesReceived == Int64(final.bytes.count - "hello".count))
            #expect(first.resourceFetchType == .networkLoad && first.domainResolutionProtocol == .unknown)
            let dates = [
                metrics.taskInterval.start, first.fetchStartDate, first.connectStartDate,
                first.secureConnectionStartDate,
                first.connectEndDate, first.requestStartDate, first.requestEndDate, first.responseStartDate,
                second.fetchStartDate, second.requestStartDate, second.responseStartDate, second.responseEndDate,
                metrics.taskInterval.end,
            ]
            #expect(dates.compactMap(\.self).count == dates.count)
            #expect(dates.compactMap(\.self) == dates.compactMap(\.self).sorted())
            #expect(second.connectStartDate == nil)
            // The lookup isn't separate.
            #expect(first.domainLookupStartDate == nil && first.domainLookupEndDate == nil)
            #expect(first.networkProtocolName == "http/1.1")
        }
    }

    @Test("Metrics of a request that was never sent contain the phases that took place")
    func failedMetrics() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let witness = Witness()
            let session = try site.session(server, policy: .pinning(unknownPin), delegate: witness)
            _ = try await session.failure()
            let transaction = try #require(witness.metrics.values.first?.transactionMetrics.first)
            #expect(transaction.connectStartDate != nil)
            #expect(transaction.requestStartDate == nil)
            #expect(transaction.response == nil)
        }
    }

    @Test("A session that finishes its tasks accepts no more, and notifies its delegate at the end")
    func finishes() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let witness = Witness()
            let session = try site.session(server, delegate: witness)
            let url = try #require(URL(string: "https://pinned.test/"))
            let running = session.dataTask(with: url)
            let idle = session.dataTask(with: url)
            running.resume()
            #expect(await session.allTasks.map(\.taskIdentifier) == [1, 2])
            session.finishTasksAndInvalidate()
            try await witness.end("invalid")
            #expect(witness.events.values.last == "invalid")
            #expect(witness.events.values.count { $0 == "end" } == 2)
            #expect(running.error == nil)
            #expect((idle.error as? URLError)?.code == .cancelled)
            #expect(session.delegate == nil)
            #expect(await session.allTasks.isEmpty)
            #expect(try await session.failure().code == .cancelled)
        }
    }

    @Test("A session that is cancelled ends all of its tasks")
    func cancels() async throws {
        try await LoopbackServer(chain: site.chain, .stall).run { server in
            let witness = Witness()
            let session = try site.session(server, delegate: witness)
            let url = try #require(URL(string: "https://pinned.test/"))
            session.dataTask(with: url).resume()
            session.downloadTask(with: url).resume()
            let (data, upload, download) = await session.tasks
            #expect(data.count == 1)
            #expect(upload.isEmpty)
            #expect(download.count == 1)
            session.invalidateAndCancel()
            try await witness.end("invalid")
            #expect(witness.errors.values.compactMap { $0?.code } == [.cancelled, .cancelled])
        }
    }

    @Test("A delegate is released at the end of its session, or with the last reference to the session")
    func releasesDelegate() async throws {
        for isInvalidated in [true, false] {
            weak var released: Witness?
            var session: URLSession?
            do {
                let witness = Witness()
                released = witness
                session = URLSession(configuration: .ephemeral, delegate: witness, delegateQueue: nil)
            }
            #expect(released != nil)
            if isInvalidated { session?.finishTasksAndInvalidate() } else { session = nil }
            while released != nil { try await Task.sleep(for: .milliseconds(2)) }
            withExtendedLifetime(session) {}
        }
    }

    @Test("A suspended task reads nothing until it is resumed")
    func suspend() async throws {
        let script = LoopbackServer.Script.answer { _ in .init(body: String(repeating: "x", count: 3_000_000)) }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let (bytes, _) = try await session.bytes(from: try #require(URL(string: "https://pinned.test/")))
            bytes.task.suspend()
            #expect(bytes.task.state == .suspended)
            let count = Collected<Int>()
            let reading = Task {
                var total = 0
                for try await _ in bytes { total += 1 }
                count.append(total)
            }
            try await Task.sleep(for: .milliseconds(100))
            #expect(bytes.task.countOfBytesReceived == 0)
            bytes.task.resume()
            try await reading.value
            #expect(count.values == [3_000_000])
            #expect(bytes.task.state == .completed)
        }
    }

    @Test("Lines end where they do on Apple's platforms, and empty ones are skipped")
    func lines() async throws {
        let body = "one\ntwo\r\nthree\r\r\rfour\u{2028}five\u{85}six\u{B}\u{C}\n\nsev\u{E9}n"
        try await LoopbackServer(chain: site.chain, .answer { _ in .init(body: body) }).run { server in
            let session = try site.session(server)
            let (bytes, _) = try await session.bytes(from: try #require(URL(string: "https://pinned.test/")))
            var lines: [String] = []
            for try await line in bytes.lines { lines.append(line) }
            #expect(lines == ["one", "two", "three", "four", "five", "six", "sev\u{E9}n"])
        }
    }

    @Test("A priority is kept, and a task's descriptions contain nothing of its request")
    func priority() throws {
        let session = URLSession(configuration: .ephemeral)
        let task = session.dataTask(with: try #require(URL(string: "https://pinned.test/")))
        #expect(task.priority == URLSessionTask.defaultPriority)
        task.priority = URLSessionTask.highPriority
        #expect(task.priority == 0.75)
    }
}
