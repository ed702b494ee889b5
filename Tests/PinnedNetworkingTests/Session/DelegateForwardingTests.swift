import PinctlTestPKI
import PinnedNetworking
import Testing

/// Forwards every challenge to another delegate.
private final class ForwardingDelegate: URLSessionDelegate {
    private let inner: any URLSessionDelegate
    init(_ inner: any URLSessionDelegate) { self.inner = inner }

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        await inner.urlSession(session, didReceive: challenge)
    }
}

/// Implements one form of a method by calling the other, which it doesn't implement, from a separate task.
private final class CircularDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        Task.detached {
            completionHandler(
                await self.urlSession(
                    session, task: task, willPerformHTTPRedirection: response, newRequest: request))
        }
    }
}

/// Passes each challenge's completion handler on, and doesn't call it.
private final class HoldingDelegate: NSObject, URLSessionDelegate {
    typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    let held = Collected<Handler>()

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge, completionHandler: @escaping Handler
    ) {
        held.append(completionHandler)
    }
}

/// Accepts every server, in a method whose name is misspelled.
private final class MisspelledDelegate: NSObject, URLSessionTaskDelegate {
    let asked = Collected<String>()

    func urlSession(_ session: URLSession, didRecieve challenge: URLAuthenticationChallenge) async -> Answer {
        asked.append(challenge.protectionSpace.host)
        return acceptServer(challenge)
    }
}

@Suite(.timeLimit(.minutes(10)))
struct DelegateForwardingTests {
    @Test("A delegate method with a misspelled name is never called, and the configuration's pins apply")
    func misspelled() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let delegate = MisspelledDelegate()
            let matching = try PinningPolicy.pinning(site.leaf.key.pin)
            #expect(try await site.session(server, policy: matching, delegate: delegate).get().body == "hello")
            let error = try await site.session(server, policy: .pinning(unknownPin), delegate: delegate).failure()
            #expect(error.code == .serverCertificateUntrusted)
            #expect(delegate.asked.values.isEmpty)
        }
    }

    @Test("A delegate that calls itself in a circle gets a rejection")
    func circle() async throws {
        let site = try TestSite.pinned()
        let script = LoopbackServer.Script.respond(.init("302 Found", fields: ["Location: /there"]))
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            #expect(try await session.get(delegate: CircularDelegate()).response.statusCode == 302)
            #expect(server.records.flatMap(\.requests).map(\.target) == ["/"])
        }
    }

    @Test("A forwarded challenge without an answer ends with its task, and a later answer has no effect")
    func cancelled() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            for isCancelled in [false, true] {
                let holding = HoldingDelegate()
                let session = try site.session(server, delegate: ForwardingDelegate(holding))
                let request = Task { try await session.get().body }
                while holding.held.values.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                if isCancelled { request.cancel() } else { holding.held.values[0](.performDefaultHandling, nil) }
                if isCancelled {
                    let error = await #expect(throws: URLError.self) { try await request.value }
                    #expect(error?.code == .cancelled)
                    holding.held.values[0](.performDefaultHandling, nil)
                } else {
                    #expect(try await request.value == "hello")
                }
                await session.flush()
            }
            #expect(await server.ended(2).map(\.requests.count) == [1, 0])
        }
    }

    @Test("A delegate that forwards challenges is asked, even if another of its type forwarded them to nothing")
    func asksForwardingDelegate() async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let first = try site.session(server, delegate: ForwardingDelegate(SilentDelegate()))
            _ = try await first.get("https://pinned.test/")

            let refusing = SessionAsyncDelegate { _ in (.cancelAuthenticationChallenge, nil) }
            let second = try site.session(server, delegate: ForwardingDelegate(refusing))
            #expect(try await second.failure().code == .cancelled)
        }
    }
}
