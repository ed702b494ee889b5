import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// TC18: a request that is cancelled at any time completes once and leaves nothing behind.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct RandomCancelTests {
    /// How a request is ended.
    private enum Way: CaseIterable {
        case task, swiftTask, dropped
    }

    /// Reads and answers requests of all kinds, some of them slowly.
    private static let script = LoopbackServer.Script.answer { request in
        switch request.target {
        case "/login":
            request.values(of: "Authorization").isEmpty
                ? .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "who?")
                : .init(body: "hello")
        case "/on": .init("302 Found", fields: ["Location: /"])
        case "/close": .init(fields: ["Connection: close"], body: "hello", closes: true)
        case "/long": .init(body: String(repeating: "long", count: 100_000))
        default: .init(body: "hello")
        }
    }

    /// The sockets of this machine that are connected to a port and owned by a process, and this process's threads.
    ///
    /// It doesn't count this process's files, because other tests may run concurrently.
    private static func resources(_ port: UInt16) throws -> (sockets: Int, threads: Int) {
        let digits = String(port, radix: 16, uppercase: true)
        let suffix = ":" + String(repeating: "0", count: 4 - digits.count) + digits
        let sockets = try String(contentsOfFile: "/proc/net/tcp", encoding: .utf8).split(separator: "\n").count { row in
            let fields = row.split(separator: " ")
            return fields[2].hasSuffix(suffix) && fields[9] != "0"
        }
        return (sockets, try FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count)
    }

    @Test(
        "TC18: 1,000 requests that are cancelled at random each complete once, and leave nothing behind", arguments: [1]
    )
    func cancels(seed: UInt64) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            _ = try await Self.run(20, seed: 99, site, server)
            let before = try await Self.settled(server.port, threads: .max)
            // The number of requests that were still running.
            #expect(try await Self.run(1_000, seed: seed, site, server) > 10)
            // The number of pool threads varies, but there must not be one for each request.
            let threadLimit = before.threads + 64
            let after = try await Self.settled(server.port, threads: threadLimit)
            #expect(before.sockets == 0)
            #expect(after.sockets == 0)
            #expect(after.threads <= threadLimit)
        }
    }

    /// The resources once there are no sockets and no more than this many threads, or after half a minute.
    private static func settled(_ port: UInt16, threads: Int) async throws -> (sockets: Int, threads: Int) {
        for _ in 0..<600 {
            let now = try resources(port)
            if now.sockets == 0, now.threads <= threads { return now }
            try await Task.sleep(for: .milliseconds(50))
        }
        return try resources(port)
    }

    private static func run(_ count: Int, seed: UInt64, _ site: TestSite, _ server: LoopbackServer) async throws -> Int
    {
        var random = SeededGenerator(seed: seed)
        let paths = ["/", "/login", "/on", "/close", "/long", "/upload", "/task"]
        var remaining = count
        var cancelledCount = 0
        while remaining > 0 {
            // A session for some requests, both concurrent and consecutive.
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin)) {
                $0.httpMaximumConnectionsPerHost = 4
                $0.urlCredentialStorage = nil
            }
            let batch = min(remaining, 25)
            remaining -= batch
            let ends = Collected<(request: Int, error: URLError?)>()
            await withTaskGroup(of: Void.self) { group in
                for index in 0..<batch {
                    let path = paths[Int.random(in: paths.indices, using: &random)]
                    let longest = Bool.random(using: &random) ? 600 : 6_000
                    let pause = Duration.microseconds(Int.random(in: 0..<longest, using: &random))
                    let way = Way.allCases[Int.random(in: Way.allCases.indices, using: &random)]
                    group.addTask { await cancel(path, way, after: pause, session) { ends.append((index, $0)) } }
                }
            }
            #expect(ends.values.map(\.request).sorted() == Array(0..<batch))
            let errors = ends.values.compactMap(\.error)
            #expect(errors.allSatisfy { $0.code == .cancelled })
            cancelledCount += errors.count
            // The other sessions are released with connections that are still open.
            if Bool.random(using: &random) { await session.flush() }
        }
        return cancelledCount
    }

    /// Sends a request and ends it after a while. Calls `end` each time it completes, with the error if there is one.
    private static func cancel(
        _ path: String, _ way: Way, after pause: Duration, _ session: URLSession,
        _ end: @escaping @Sendable (URLError?) -> Void
    ) async {
        guard let url = URL(string: "https://pinned.test\(path)") else { return }
        var request = URLRequest(url: url)
        if path == "/upload" {
            request.httpMethod = "POST"
            request.httpBody = Data(repeating: 1, count: 200_000)
        }
        let delegate = TaskHandlerDelegate { challenge in
            let isTrust = challenge.protectionSpace.serverTrust != nil
            return isTrust
                ? (.performDefaultHandling, nil)
                : (.useCredential, URLCredential(user: "u", password: "p", persistence: .none))
        }
        if path == "/task" || way == .task {
            let (completion, ended) = AsyncStream<Void>.makeStream()
            let task = session.dataTask(with: request) { _, _, error in
                end(error as? URLError)
                ended.finish()
            }
            task.resume()
            try? await Task.sleep(for: pause)
            task.cancel()
            for await _ in completion {}
        } else if way == .swiftTask {
            let sending = Task { [request] in
                do {
                    _ = try await session.data(for: request, delegate: delegate)
                    end(nil)
                } catch {
                    end(error as? URLError)
                }
            }
            try? await Task.sleep(for: pause)
            sending.cancel()
            await sending.value
        } else {
            // The bytes, and with them the request, are released somewhere in the middle.
            let part = Int(pause.components.attoseconds / 1_000_000_000_000) % 8
            defer { end(nil) }
            guard let (bytes, _) = try? await session.bytes(for: request, delegate: delegate) else { return }
            var count = 0
            do {
                for try await _ in bytes {
                    count += 1
                    if count > part { return }
                }
            } catch {
                Issue.record(error)
            }
        }
    }
}
