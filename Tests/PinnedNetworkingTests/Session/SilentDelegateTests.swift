import PinctlTestPKI
import PinnedNetworking
import Testing

/// Answers no question about a redirect, a stream or a response.
private final class Mute: URLSessionDataDelegate {
    let redirects = Collected<@Sendable (URLRequest?) -> Void>()
    let streams = Collected<@Sendable (InputStream?) -> Void>()
    let responses = Collected<@Sendable (URLSession.ResponseDisposition) -> Void>()
    let ends = Collected<URLError?>()

    var isAsked: Bool { !redirects.values.isEmpty || !streams.values.isEmpty || !responses.values.isEmpty }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { redirects.append(completionHandler) }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) { streams.append(completionHandler) }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) { responses.append(completionHandler) }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        ends.append(error as? URLError)
    }

    func end() async throws -> URLError {
        while ends.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        return try #require(ends.values[0])
    }
}

/// Delegates that never answer. Questions about challenges are in the tests of challenges.
@Suite(.timeLimit(.minutes(10)))
struct SilentDelegateTests {
    enum Question: CaseIterable { case redirect, stream, response }

    private static let script = LoopbackServer.Script.answer { request in
        request.target == "/start"
            ? .init("307 Temporary Redirect", fields: ["Location: /next"], body: "moved") : .init(body: "hello")
    }

    private static func task(_ question: Question, in session: URLSession) throws -> URLSessionTask {
        let isRedirect = question == .redirect
        var request = URLRequest(url: try #require(URL(string: "https://pinned.test/\(isRedirect ? "start" : "")")))
        guard question == .stream else { return session.dataTask(with: request) }
        request.httpMethod = "POST"
        return session.uploadTask(withStreamedRequest: request)
    }

    @Test(
        "A request whose delegate never answers ends with a timeout that asks for the completion handler",
        arguments: Question.allCases)
    func never(question: Question) async throws {
        let site = try TestSite.shared.get()
        // A response may wait for a person, so only the resource timeout applies to it.
        let (wait, setting) =
            switch question {
            case .redirect: ("a delegate's answer to a redirect", "timeoutIntervalForRequest")
            case .stream: ("a delegate's body stream", "timeoutIntervalForRequest")
            case .response: ("a delegate's answer to a response", "timeoutIntervalForResource")
            }
        var mute = Mute()
        // On a busy machine a short timeout can expire before the delegate is asked.
        for timeout: TimeInterval in [1, 4, 16, 64] where !mute.isAsked {
            mute = Mute()
            try await LoopbackServer(chain: site.chain, Self.script).run { server in
                let session = try site.session(server, delegate: mute) {
                    if question == .response {
                        $0.timeoutIntervalForRequest = timeout / 4
                        $0.timeoutIntervalForResource = timeout
                    } else {
                        $0.timeoutIntervalForRequest = timeout
                    }
                }
                try Self.task(question, in: session).resume()
                let error = try await mute.end()
                #expect(error.code == .timedOut)
                guard mute.isAsked else { return }
                let remedy = "call the delegate method's completion handler in every case, within \(setting)"
                #expect(error.localizedDescription.contains("waiting for \(wait): "), "\(error.localizedDescription)")
                #expect(error.localizedDescription.hasSuffix(remedy))
                // A late answer has no effect.
                mute.redirects.values.first?(URLRequest(url: try #require(URL(string: "https://pinned.test/next"))))
                mute.streams.values.first?(InputStream(data: Data("late".utf8)))
                mute.responses.values.first?(.allow)
                await session.flush()
                let targets = await server.ended(server.records.count).flatMap(\.requests).map(\.target)
                #expect(!targets.contains("/next"))
                #expect(mute.ends.values.count == 1)
            }
        }
        #expect(mute.isAsked)
    }

    @Test("A task whose delegate never answers can be cancelled", arguments: Question.allCases)
    func cancelled(question: Question) async throws {
        let site = try TestSite.shared.get()
        let mute = Mute()
        try await LoopbackServer(chain: site.chain, Self.script).run { server in
            let session = try site.session(server, delegate: mute)
            let task = try Self.task(question, in: session)
            task.resume()
            while !mute.isAsked { try await Task.sleep(for: .milliseconds(2)) }
            task.cancel()
            #expect(try await mute.end().code == .cancelled)
        }
    }
}
