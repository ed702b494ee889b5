import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

/// Records the calls to a data delegate in order.
private final class Recorder: URLSessionDataDelegate {
    let events = Collected<String>()
    let ends = Collected<URLError?>()
    private let body = Locked(Data())
    private let disposition: URLSession.ResponseDisposition

    var received: Data { body.withLock { $0 } }

    init(_ disposition: URLSession.ResponseDisposition = .allow) { self.disposition = disposition }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        events.append("response \((response as? HTTPURLResponse)?.statusCode ?? 0)")
        return disposition
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if events.values.last != "data" { events.append("data") }
        body.withLock { $0 += data }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        if task.delegate != nil, !metrics.transactionMetrics.isEmpty { events.append("metrics") }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.append("end")
        ends.append(error as? URLError)
    }

    func end() async throws -> URLError? {
        while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        return ends.values[0]
    }
}

/// Tasks, uploads and bytes, as the session's API documents them.
@Suite(.timeLimit(.minutes(10)))
struct SessionTaskTests {
    private static let url = URL(string: "https://pinned.test/")

    /// Returns the size and the start of the request body.
    private static let echo = LoopbackServer.Script.answer { request in
        .init(fields: ["X-Count: \(request.body.count)"], body: String(decoding: request.body.prefix(9), as: UTF8.self))
    }

    @Test("A data task starts with resume, and calls its handler once")
    func dataTask() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server)
            let ends = Collected<(Data?, Int?, URLError?)>()
            let task = session.dataTask(with: try #require(Self.url)) { data, response, error in
                ends.append((data, (response as? HTTPURLResponse)?.statusCode, error as? URLError))
            }
            #expect(task.state == .suspended)
            #expect(server.records.isEmpty)
            task.resume()
            task.resume()
            while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            task.cancel()
            let (data, status, error) = ends.values[0]
            #expect(data == Data("hello".utf8))
            #expect(status == 200)
            #expect(error == nil)
            #expect(task.state == .completed)
            #expect(task.countOfBytesReceived == 5)
            #expect(task.countOfBytesExpectedToReceive == 5)
            await session.flush()
            #expect(await server.ended().flatMap(\.requests).count == 1)
            #expect(ends.values.count == 1)
        }
    }

    @Test("A task that is cancelled before it starts completes, and sends nothing")
    func cancelledBeforeItBegins() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server)
            let ends = Collected<URLError?>()
            let task = session.dataTask(with: try #require(Self.url)) { _, _, error in
                ends.append(error as? URLError)
            }
            task.cancel()
            task.resume()
            while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(ends.values.map { $0?.code } == [.cancelled])
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("A data delegate receives the response, the body in order, and the end")
    func dataDelegate() async throws {
        let site = try TestSite.shared.get()
        let text = String(repeating: "0123456789", count: 100_000)
        try await LoopbackServer(chain: site.chain, .respond(.init(body: text))).run { server in
            let recorder = Recorder()
            let session = try site.session(server, delegate: recorder)
            session.dataTask(with: try #require(Self.url)).resume()
            #expect(try await recorder.end() == nil)
            #expect(recorder.events.values == ["response 200", "data", "end"])
            #expect(recorder.received == Data(text.utf8))
        }
    }

    @Test("After an answered challenge, a delegate receives only the final response, without the URL's login")
    func answeredChallenge() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            request.values(of: "Authorization").isEmpty
                ? .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "who?")
                : .init(body: "hello")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let recorder = Recorder()
            let session = try site.session(server, delegate: recorder)
            let task = session.dataTask(with: try #require(URL(string: "https://me:secret@pinned.test/a?b")))
            task.resume()
            #expect(try await recorder.end() == nil)
            #expect(recorder.events.values == ["response 200", "data", "end"])
            #expect(recorder.received == Data("hello".utf8))
            #expect(task.response?.url?.absoluteString == "https://pinned.test/a?b")
            // Only after the server has asked for it.
            let sent = server.records.flatMap(\.requests).map { $0.values(of: "Authorization") }
            #expect(sent == [[], ["Basic bWU6c2VjcmV0"]])
        }
    }

    @Test("A task's delegate can be set until the task starts")
    func settableDelegate() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server)
            let (first, second, late) = (Recorder(), Recorder(), Recorder())
            let task = session.dataTask(with: try #require(Self.url))
            task.delegate = first
            task.delegate = second
            task.resume()
            task.delegate = late
            #expect(task.delegate === second)
            let error = try await second.end()
            #expect(error == nil)
            #expect(second.events.values == ["response 200", "data", "metrics", "end"])
            #expect(first.events.values.isEmpty)
            #expect(late.events.values.isEmpty)
        }
    }

    @Test("A data delegate can stop at the response, and receives failures at the end")
    func dataDelegateStops() async throws {
        let site = try TestSite.shared.get()
        var endless = LoopbackServer.Response.raw(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
        endless.endless = Array(repeating: 0x61, count: 1024)
        try await LoopbackServer(chain: site.chain, .respond(endless)).run { server in
            let stopping = Recorder(.cancel)
            try site.session(server, delegate: stopping).dataTask(with: try #require(Self.url)).resume()
            #expect(try await stopping.end()?.code == .cancelled)
            #expect(stopping.events.values == ["response 200", "end"])
            let refused = Recorder()
            try site.session(server, policy: .pinning(unknownPin), delegate: refused)
                .dataTask(with: try #require(Self.url)).resume()
            #expect(try await refused.end()?.code == .serverCertificateUntrusted)
            #expect(refused.events.values == ["end"])
            _ = await server.ended(2)
        }
    }

    @Test("Uploads of every size arrive complete", arguments: [0, 1, 65_536, 65_537, 1_048_575, 5_000_000])
    func upload(size: Int) async throws {
        let site = try TestSite.shared.get()
        let body = Data((0..<size).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
        try await LoopbackServer(chain: site.chain, Self.echo).run { server in
            let session = try site.session(server)
            var request = URLRequest(url: try #require(Self.url))
            request.httpMethod = "PUT"
            let (_, response) = try await session.upload(for: request, from: body)
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Count") == "\(size)")
            let ends = Collected<Int>()
            let task = session.uploadTask(with: request, from: body) { data, _, _ in ends.append(data?.count ?? -1) }
            task.resume()
            while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(ends.values == [min(size, 9)])
            #expect(task.countOfBytesSent == Int64(size))
            await session.flush()
            let requests = await server.ended().flatMap(\.requests)
            #expect(requests.map { Data($0.body) == body } == [true, true])
            #expect(requests.allSatisfy { $0.values(of: "Expect").isEmpty == (size < 1_048_576) })
        }
    }

    struct ExpectationRow: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let expectation: LoopbackServer.Expectation
        let status: Int
        let isSent: Bool
    }

    static let expectationRows = [
        ExpectationRow(testDescription: "met", expectation: .met, status: 200, isSent: true),
        ExpectationRow(testDescription: "ignored", expectation: .ignored, status: 200, isSent: true),
        ExpectationRow(
            testDescription: "too large", expectation: .answered(.init("413 Content Too Large", body: "no")),
            status: 413, isSent: false),
        ExpectationRow(
            testDescription: "a login wanted",
            expectation: .answered(
                .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "no")),
            status: 401, isSent: false),
    ]

    @Test("A long body waits for the server's 100, and is not sent after a rejection", arguments: expectationRows)
    func expectation(row: ExpectationRow) async throws {
        let site = try TestSite.shared.get()
        let server = try LoopbackServer(chain: site.chain, Self.echo) { $0.expectation = row.expectation }
        try await server.run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            var request = URLRequest(url: try #require(Self.url))
            request.httpMethod = "POST"
            let body = Data(repeating: 1, count: 5_000_000)
            let (_, response) = try await session.upload(for: request, from: body)
            #expect((response as? HTTPURLResponse)?.statusCode == row.status)
            await session.flush()
            let record = await server.ended()[0]
            #expect((record.applicationBytes.count > 5_000_000) == row.isSent)
        }
    }

    // RFC 9110, section 10.1.1: a client that gets 417 sends the request again without the expectation.
    @Test("A server that rejects every expectation gets the body without one")
    func expectationFailed() async throws {
        let site = try TestSite.shared.get()
        let server = try LoopbackServer(chain: site.chain, Self.echo) {
            $0.expectation = .answered(.init("417 Expectation Failed", body: "no"))
        }
        try await server.run { server in
            let session = try site.session(server)
            var request = URLRequest(url: try #require(Self.url))
            request.httpMethod = "POST"
            let (_, response) = try await session.upload(for: request, from: Data(repeating: 1, count: 2_000_000))
            #expect((response as? HTTPURLResponse)?.value(forHTTPHeaderField: "X-Count") == "2000000")
            await session.flush()
            let requests = await server.ended(2).flatMap(\.requests)
            #expect(requests.map { $0.values(of: "Expect") } == [["100-continue"], []])
        }
    }

    @Test("Without a reader the server is slowed down, and dropping the bytes ends the connection")
    func backpressure() async throws {
        let site = try TestSite.shared.get()
        var endless = LoopbackServer.Response.raw(Array("HTTP/1.1 200 OK\r\n\r\n".utf8))
        endless.endless = Array(repeating: 0x61, count: 16_384)
        try await LoopbackServer(chain: site.chain, .respond(endless)).run { server in
            let session = try site.session(server)
            do {
                let (bytes, response) = try await session.bytes(from: try #require(Self.url))
                #expect((response as? HTTPURLResponse)?.statusCode == 200)
                var count = 0
                for try await byte in bytes {
                    if byte != 0x61 { Issue.record("another byte") }
                    count += 1
                    if count == 100_000 { break }
                }
                // The server continues until the kernel's buffers are full.
                var written = -1
                while written != server.records[0].writtenCount {
                    written = server.records[0].writtenCount
                    try await Task.sleep(for: .milliseconds(200))
                }
                #expect(written < 64 << 20)
                #expect(server.records[0].hasEnded == false)
                withExtendedLifetime(bytes) {}
            }
            _ = await server.ended()
        }
    }

    @Test("Bytes can be read to their end, and an early end is an error")
    func bytes() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            let response = LoopbackServer.Response.chunked(["hel", "lo"])
            return request.target == "/cut" ? response.cut(at: response.bytes.count - 4) : response
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let (whole, _) = try await session.bytes(from: try #require(Self.url))
            var text: [UInt8] = []
            for try await byte in whole { text.append(byte) }
            #expect(text == Array("hello".utf8))
            #expect(whole.task.state == .completed)
            let (cut, _) = try await session.bytes(from: try #require(URL(string: "https://pinned.test/cut")))
            let error = await #expect(throws: URLError.self) { for try await _ in cut {} }
            #expect(error?.code == .networkConnectionLost)
            #expect((cut.task.error as? URLError)?.code == .networkConnectionLost)
        }
    }

    @Test("A body of more than 1 GiB is rejected in memory, and can be read as bytes")
    func longBody() async throws {
        let site = try TestSite.shared.get()
        var long = LoopbackServer.Response.headOnly("200 OK", fields: ["Content-Length: \(1 << 30 + 1)"])
        long.endless = Array(repeating: 0x61, count: 16_384)
        try await LoopbackServer(chain: site.chain, .respond(long)).run { server in
            let session = try site.session(server)
            #expect(try await session.failure().code == .dataLengthExceedsMaximum)
            let (bytes, response) = try await session.bytes(from: try #require(Self.url))
            #expect(response.expectedContentLength == 1 << 30 + 1)
            var count = 0
            for try await byte in bytes.prefix(100_000) where byte == 0x61 { count += 1 }
            #expect(count == 100_000)
            bytes.task.cancel()
        }
    }

    @Test("A pending trust decision delays no other transfer")
    func pendingDecision() async throws {
        let site = try TestSite.shared.get()
        let handlers = Collected<DeferringDelegate.Handler>()
        let waiting = DeferringDelegate { _, _, handler in handlers.append(handler) }
        try await LoopbackServer(chain: site.chain).run { server in
            // Other tasks of the same session, and another session to the same server.
            let session = try site.session(server)
            async let pending = session.get(delegate: waiting).body
            while handlers.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            for _ in 0..<20 {
                #expect(try await session.get("https://start.test/").body == "hello")
                #expect(try await site.session(server).get().body == "hello")
            }
            #expect(server.records[0].applicationBytes.isEmpty)
            handlers.values[0](.performDefaultHandling, nil)
            #expect(try await pending == "hello")
        }
    }

    @Test("policy.respond(to:) can be a delegate's whole implementation", arguments: [true, false])
    func respond(isPinned: Bool) async throws {
        let site = try TestSite.shared.get()
        let policy = try PinningPolicy.pinning(isPinned ? site.leaf.key.pin : unknownPin)
        let delegate = SessionAsyncDelegate { challenge in
            let (disposition, credential) = policy.respond(to: challenge)
            return (disposition, credential)
        }
        let script = LoopbackServer.Script.respond(
            .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "who?"))
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server, delegate: delegate) { $0.urlCredentialStorage = nil }
            // Other methods and other hosts are left to default handling.
            #expect(try await session.get("https://start.test/").body == "who?")
            if isPinned {
                #expect(try await session.get().body == "who?")
            } else {
                #expect(try await session.failure().code == .serverCertificateUntrusted)
            }
            await session.flush()
            let records = await server.ended(2)
            #expect(records[1].applicationBytes.isEmpty == !isPinned)
        }
    }
}
