import PinctlTestPKI
import PinnedNetworking
import Testing

/// Accepts everything: servers, redirects, streams. As a session's delegate it is asked when the task's own delegate
/// lacks a method.
private final class Permissive: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        acceptServer(challenge)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        request
    }

    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        InputStream(data: Data("again".utf8))
    }
}

/// Rejects with completion handlers, and implements nothing else.
private final class HandlerRefusal: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(
            challenge.protectionSpace.host == "start.test" ? .performDefaultHandling : .cancelAuthenticationChallenge,
            nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }
}

private final class AsyncRefusal: URLSessionDataDelegate {
    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        (challenge.protectionSpace.host == "start.test" ? .performDefaultHandling : .cancelAuthenticationChallenge, nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? { nil }
}

/// Provides streams with a completion handler.
private final class HandlerStreams: URLSessionDataDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) { completionHandler(InputStream(data: Data("handler".utf8))) }
}

/// Provides streams asynchronously.
final class AsyncStreams: URLSessionDataDelegate {
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        InputStream(data: Data("async".utf8))
    }
}

/// Leaves the question about a redirect unanswered.
private final class Undecided: URLSessionTaskDelegate {
    let handlers = Collected<@Sendable (URLRequest?) -> Void>()

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { handlers.append(completionHandler) }
}

/// DG1, DG2: a delegate's answer counts, whatever other delegates it has forwarded the question to.
@Suite(.timeLimit(.minutes(10)))
struct DelegateRefusalTests {
    enum Position: CaseIterable { case session, task }

    /// `/start` redirects to `/next`.
    private static let script = LoopbackServer.Script.answer { request in
        switch request.target {
        case "/start": .init("307 Temporary Redirect", fields: ["Location: /next"], body: "moved")
        default: .init(body: "hello")
        }
    }

    private static func decorator(
        _ spelling: Spelling, _ inner: any URLSessionDataDelegate = SilentDataDelegate(),
        refusing refused: RefusableQuestion?
    ) -> any URLSessionDataDelegate {
        switch spelling {
        case .handler: HandlerDecorator(inner, refusing: refused)
        case .async: AsyncDecorator(inner, refusing: refused)
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        let question: RefusableQuestion
        let spelling: Spelling
        let position: Position

        var testDescription: String { "\(question), \(spelling), \(position) delegate" }

        static let all = RefusableQuestion.allCases.flatMap { question in
            Spelling.allCases.flatMap { spelling in
                Position.allCases.map { Row(question: question, spelling: spelling, position: $0) }
            }
        }.filter { $0.question != .response }
    }

    private static func request(_ row: Row) throws -> URLRequest {
        let isStarted = row.question == .redirection || row.question == .bodyStream
        var request = URLRequest(url: try #require(URL(string: "https://pinned.test/\(isStarted ? "start" : "")")))
        request.setValue("secret", forHTTPHeaderField: "X-Token")
        if row.question == .bodyStream {
            request.httpMethod = "POST"
            request.httpBodyStream = InputStream(data: Data("first".utf8))
        }
        return request
    }

    @Test(
        "DG1: A rejection counts even if the delegate first forwarded the question to one without the method",
        arguments: Row.all)
    func refusal(row: Row) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let delegate = Self.decorator(row.spelling, refusing: row.question)
            let session = try site.session(server, delegate: row.position == .session ? delegate : Permissive())
            let own = row.position == .task ? delegate : nil
            let request = try Self.request(row)
            switch row.question {
            case .redirection:
                let (_, response) = try await session.data(for: request, delegate: own)
                #expect((response as? HTTPURLResponse)?.statusCode == 307)
            default:
                let error = await #expect(throws: URLError.self) {
                    try await session.data(for: request, delegate: own)
                }
                #expect(error?.code == (row.question == .bodyStream ? .requestBodyStreamExhausted : .cancelled))
            }
            await session.flush()
            let records = await server.ended(server.records.count)
            let isStarted = row.question == .redirection || row.question == .bodyStream
            #expect(records.flatMap(\.requests).map(\.target) == (isStarted ? ["/start"] : []))
            if !isStarted { #expect(server.applicationBytes.isEmpty) }
        }
    }

    @Test("A delegate that forwards everything and rejects nothing lets the request through", arguments: Row.all)
    func acceptance(row: Row) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let streams: any URLSessionDataDelegate = row.spelling == .handler ? HandlerStreams() : AsyncStreams()
            let inner = row.question == .bodyStream ? streams : SilentDataDelegate()
            let delegate = Self.decorator(row.spelling, inner, refusing: nil)
            let session = try site.session(server, delegate: row.position == .session ? delegate : Permissive())
            let (data, _) = try await session.data(
                for: Self.request(row), delegate: row.position == .task ? delegate : nil)
            #expect(String(decoding: data, as: UTF8.self) == "hello")
        }
    }

    @Test("DG1: A delegate that forwards a response and then cancels ends the task", arguments: Spelling.allCases)
    func response(spelling: Spelling) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, delegate: Self.decorator(spelling, refusing: .response))
            let task = session.dataTask(with: try #require(URL(string: "https://pinned.test/")))
            task.resume()
            while task.state != .completed { try await Task.sleep(for: .milliseconds(2)) }
            #expect((task.error as? URLError)?.code == .cancelled)
            #expect(task.countOfBytesReceived == 0)
        }
    }

    @Test("DG2: Default implementations that run during a redirect decision don't undo the delegate's rejection")
    func defaultsMeanwhile() async throws {
        final class Meddling: URLSessionTaskDelegate {
            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) {
                for delegate in [self, SilentDelegate()] as [any URLSessionTaskDelegate] {
                    delegate.urlSession(
                        session, task: task, didSendBodyData: 1, totalBytesSent: 1, totalBytesExpectedToSend: 1)
                    delegate.urlSession(session, task: task, didCompleteWithError: nil)
                }
                completionHandler(nil)
            }
        }
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server)
            let (_, response) = try await session.get("https://pinned.test/start", delegate: Meddling())
            #expect(response.statusCode == 307)
            await session.flush()
            #expect(await server.ended().flatMap(\.requests).map(\.target) == ["/start"])
        }
    }

    @Test(
        "A delegate that forwards with one form of a method gets the answer of the other form",
        arguments: Spelling.allCases, Spelling.allCases)
    func otherSpelling(outer: Spelling, inner: Spelling) async throws {
        let site = try TestSite.shared.get()
        let refusing: any URLSessionDataDelegate = inner == .handler ? HandlerRefusal() : AsyncRefusal()
        for position in Position.allCases {
            try await LoopbackServer(chain: site.chain, Self.script).run { server in
                let delegate = Self.decorator(outer, refusing, refusing: nil)
                let session = try site.session(server, delegate: position == .session ? delegate : nil)
                let own = position == .task ? delegate : nil
                #expect(try await session.failure(delegate: own).code == .cancelled)
                let (_, response) = try await session.get("https://start.test/start", delegate: own)
                #expect(response.statusCode == 307)
                await session.flush()
                let requests = await server.ended(server.records.count).flatMap(\.requests)
                #expect(requests.map(\.target) == ["/start"])
            }
        }
    }

    @Test("Notifications go only to a task's own delegate if it implements them, even if it forwards them")
    func notices() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let witness = Witness()
            let session = try site.session(server, delegate: witness)
            let own = NoticeDecorator()
            let url = try #require(URL(string: "https://pinned.test/"))
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            _ = try await session.upload(for: request, from: Data("hello".utf8), delegate: own)
            let (file, _) = try await session.download(from: url, delegate: own)
            try FileManager.default.removeItem(at: file)
            #expect(Set(own.notices.values) == ["sent", "metrics", "written"])
            #expect(witness.sent.values.isEmpty)
            #expect(witness.metrics.values.isEmpty)
            #expect(witness.written.values.isEmpty)
            // If it implements none of them, they go to the session's delegate.
            _ = try await session.upload(for: request, from: Data("hello".utf8), delegate: SilentDataDelegate())
            #expect(!witness.sent.values.isEmpty)
            #expect(witness.metrics.values.count == 1)
        }
    }

    @Test("DG2: Progress reported during a redirect decision doesn't undo the delegate's rejection")
    func progressMeanwhile() async throws {
        let site = try TestSite.shared.get()
        let (undecided, witness) = (Undecided(), Witness())
        let size = 64 * 1024
        let script = LoopbackServer.Script.handle { connection in
            // The first part of the body waits until the delegate is asked about a redirect whose body has no end.
            guard try connection.read() != nil else { return }
            connection.waitForInput()
            let fields = ["Location: /next", "Transfer-Encoding: chunked"]
            let part = Array((String(70_000, radix: 16) + "\r\n").utf8) + [UInt8](repeating: 0x61, count: 70_000)
            try connection.write(LoopbackServer.Response.head("307 Temporary Redirect", fields) + part)
            while undecided.handlers.values.isEmpty { connection.pause(.milliseconds(2)) }
            var received = 0
            while received < size, let bytes = try connection.read() { received += bytes.count }
            // Undecided's default implementation has run once the session's delegate is notified.
            while witness.sent.values.isEmpty { connection.pause(.milliseconds(2)) }
            undecided.handlers.values[0](nil)
            try connection.write(Array("\r\n0\r\n\r\n".utf8))
            while try connection.read() != nil {}
        }
        let server = try LoopbackServer(chain: site.chain, script) { $0.isNarrow = true }
        try await server.run { server in
            let session = try site.session(server, delegate: witness)
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/start")))
            request.httpMethod = "POST"
            let body = Data(repeating: 1, count: 4 * size)
            let (_, response) = try await session.upload(for: request, from: body, delegate: undecided)
            #expect((response as? HTTPURLResponse)?.statusCode == 307)
            await session.flush()
            let records = await server.ended(server.records.count)
            let sent = String(decoding: records.flatMap(\.applicationBytes), as: UTF8.self)
            #expect(!sent.contains("/next"))
        }
    }
}
