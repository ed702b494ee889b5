import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// Requests on kept connections, for which nothing has to be awaited but their responses.
@Suite(.timeLimit(.minutes(10)))
struct DirectRequestTests {
    struct Row: Sendable, CustomTestStringConvertible {
        let testDescription: String
        /// The answer to the path `/`.
        let answer: LoopbackServer.Response
        /// The body that the program gets, or nil for an error.
        let body: String?

        init(_ name: String, _ answer: LoopbackServer.Response, gives body: String?) {
            (testDescription, self.answer, self.body) = (name, answer, body)
        }
    }

    /// The result of a request, as the program gets it.
    private struct Outcome: Hashable {
        var status: Int?
        var body: Data?
        var code: URLError.Code?
    }

    private static let slow = {
        var response = LoopbackServer.Response(body: "hello")
        response.pause = .milliseconds(1)
        return response
    }()

    private static let untilClose = LoopbackServer.Response.raw(Array("HTTP/1.1 200 OK\r\n\r\nhello".utf8))

    private static let long = String(repeating: "long", count: 100_000)

    private static let url = URL(string: "https://pinned.test/")

    /// Fetches the path `/first`, so that a connection is kept.
    private func prepared(_ session: URLSession) async throws -> URLSession {
        #expect(try await session.get("https://pinned.test/first").body == "first")
        return session
    }

    private func outcome(_ work: () async throws -> (Data, URLResponse)) async -> Outcome {
        do {
            let (body, response) = try await work()
            return Outcome(status: (response as? HTTPURLResponse)?.statusCode, body: body)
        } catch {
            return Outcome(code: (error as? URLError)?.code)
        }
    }

    @Test(
        "A request on a kept connection has the same result as a whole, in parts, and with a delegate that is asked",
        arguments: [
            Row("a body", .init(body: "hello"), gives: "hello"),
            Row("404", .init("404 Not Found", body: "where?"), gives: "where?"),
            Row("no content", .headOnly("204 No Content"), gives: ""),
            Row("chunks", .chunked(["hel", "lo"]), gives: "hello"),
            Row("one byte at a time", slow, gives: "hello"),
            Row("an interim response", LoopbackServer.Response(body: "hello").after("103 Early Hints"), gives: "hello"),
            Row("a body up to the end", untilClose, gives: "hello"),
            Row("a redirect", .init("302 Found", fields: ["Location: /first"]), gives: "first"),
            Row(
                "a login", .init("401 No", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "who?"),
                gives: "who?"),
            Row("417", .init("417 Expectation Failed", body: "no"), gives: "no"),
            Row("a body that isn't gzip", .init(fields: ["Content-Encoding: gzip"], body: "hello"), gives: nil),
            Row("a long body", .init(body: long), gives: long),
            Row("a truncated body", LoopbackServer.Response(body: "hello").cut(at: 40), gives: nil),
            Row("a truncated header", LoopbackServer.Response(body: "hello").cut(at: 20), gives: nil),
            Row("no response", .raw([]), gives: nil),
            Row("a malformed response", .raw(Array("HTTP/9.9 200 OK\r\n\r\n".utf8), closes: false), gives: nil),
            Row(
                "surplus bytes", .raw(LoopbackServer.Response(body: "hello").bytes + [33], closes: false), gives: nil),
        ])
    private func sameResult(row: Row) async throws {
        let site = try TestSite.shared.get()
        let url = try #require(Self.url)
        let script = LoopbackServer.Script.answer { $0.target == "/" ? row.answer : .init(body: "first") }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try await prepared(site.session(server, policy: .pinning(site.leaf.key.pin)))
            let found = await outcome { try await session.data(from: url) }
            #expect(found.body == row.body.map { Data($0.utf8) })
            let inParts = await outcome {
                let (bytes, response) = try await prepared(session).bytes(from: url)
                var body = Data()
                for try await byte in bytes { body.append(byte) }
                return (body, response)
            }
            #expect(inParts == found)

            // Each answer of a delegate is awaited.
            let other = try await prepared(
                site.session(server, policy: .pinning(site.leaf.key.pin), delegate: SilentDataDelegate()))
            #expect(await outcome { try await other.data(from: url) } == found)
        }
    }

    @Test(
        "A request on a kept connection is cancelled, or times out, and its connection is closed",
        arguments: [true, false])
    func ended(isCancelled: Bool) async throws {
        let site = try TestSite.shared.get()
        let url = try #require(Self.url)
        let asked = Collected<Void>()
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.read()
            try connection.write(LoopbackServer.Response(body: "first").bytes)
            while try connection.read() != nil { asked.append(()) }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try await prepared(site.session(server))
            let request = URLRequest(url: url, timeoutInterval: isCancelled ? 600 : 0.2)
            let work = Task { try await session.data(for: request) }
            if isCancelled {
                while asked.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
                work.cancel()
            }
            let found = await outcome { try await work.value }
            #expect(found.code == (isCancelled ? .cancelled : .timedOut))
            // The session keeps the connection otherwise.
            #expect(await server.ended(1).count == 1)
        }
    }

    @Test("An iterator that reads a body at the same time as another one gets an error, and the other one the body")
    func readers() async throws {
        let site = try TestSite.shared.get()
        let url = try #require(Self.url)
        let isOpen = Locked(false)
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.read()
            try connection.write(Array(LoopbackServer.Response(body: "hello").bytes.dropLast(5)))
            while !isOpen.withLock({ $0 }) { connection.pause(.milliseconds(2)) }
            try connection.write(Array("hello".utf8))
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            // Both would wait for the same bytes until this limit.
            let session = try site.session(server) { $0.timeoutIntervalForRequest = 5 }
            let (bytes, _) = try await session.bytes(from: url)
            let outcomes = await withTaskGroup(of: (count: Int, error: String?).self) { group in
                for _ in 0..<2 {
                    group.addTask {
                        var count = 0
                        do {
                            for try await _ in bytes { count += 1 }
                            return (count, nil)
                        } catch {
                            return (count, "\(error.localizedDescription)")
                        }
                    }
                }
                let first = await group.next()
                isOpen.withLock { $0 = true }
                return [first, await group.next()]
            }
            #expect(outcomes[0]?.error?.contains("two iterators") == true && outcomes[0]?.count == 0)
            #expect(outcomes[1]?.error == nil && outcomes[1]?.count == 5)
        }
    }

    @Test("A task on a kept connection has its response when the header has arrived, before the body")
    func early() async throws {
        let site = try TestSite.shared.get()
        let url = try #require(Self.url)
        let isOpen = Locked(false)
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.read()
            try connection.write(LoopbackServer.Response(body: "first").bytes)
            _ = try connection.read()
            try connection.write(Array(LoopbackServer.Response(body: "hello").bytes.dropLast(5)))
            while !isOpen.withLock({ $0 }) { connection.pause(.milliseconds(2)) }
            try connection.write(Array("hello".utf8))
            while try connection.read() != nil {}
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try await prepared(site.session(server))
            let bodies = Collected<Data?>()
            let task = session.dataTask(with: url) { data, _, _ in bodies.append(data) }
            task.resume()
            while task.response == nil { try await Task.sleep(for: .milliseconds(5)) }
            #expect(task.response?.expectedContentLength == 5)
            #expect(bodies.values.isEmpty)
            isOpen.withLock { $0 = true }
            while bodies.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(bodies.values == [Data("hello".utf8)])
        }
    }

    @Test("A task that is suspended before its response arrives on a kept connection completes after it is resumed")
    func suspended() async throws {
        let site = try TestSite.shared.get()
        let url = try #require(Self.url)
        let asked = Collected<Void>()
        let isOpen = Locked(false)
        let script = LoopbackServer.Script.answer { request in
            guard request.target == "/" else { return .init(body: "first") }
            asked.append(())
            while !isOpen.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.005) }
            return .init(body: "hello")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try await prepared(site.session(server))
            let bodies = Collected<String>()
            let task = session.dataTask(with: url) { data, _, _ in
                bodies.append(String(decoding: data ?? Data(), as: UTF8.self))
            }
            task.resume()
            while asked.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            task.suspend()
            isOpen.withLock { $0 = true }
            while task.response == nil { try await Task.sleep(for: .milliseconds(2)) }
            try await Task.sleep(for: .milliseconds(50))
            #expect(bodies.values.isEmpty)
            // The connection is free for others.
            _ = try await prepared(session)
            task.resume()
            while bodies.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(bodies.values == ["hello"])
            await session.flush()
            #expect(await server.ended().map(\.requests.count) == [3])
        }
    }
}
