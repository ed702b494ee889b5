import PinnedNetworking
import TestPKI
import Testing

/// Hands every challenge on to another delegate.
private final class ForwardingDelegate: URLSessionDelegate {
    private let inner: any URLSessionDelegate
    init(_ inner: any URLSessionDelegate) { self.inner = inner }

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        await inner.urlSession(session, didReceive: challenge)
    }
}

/// Implements one spelling by the other one, which it doesn't implement, from a task of its own.
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

@Suite(.timeLimit(.minutes(2)))
struct DelegateForwardingTests {
    @Test("A delegate that asks itself in a circle ends with a refusal")
    func circle() async throws {
        let site = try TestSite()
        let script = LoopbackServer.Script.respond(.init("302 Found", fields: ["Location: /there"]))
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            #expect(try await session.get(delegate: CircularDelegate()).response.statusCode == 302)
            #expect(server.records.flatMap(\.requests).map(\.target) == ["/"])
        }
    }

    @Test("A delegate that hands challenges on is asked, though another of its type handed them on to nobody")
    func asksForwardingDelegate() async throws {
        let site = try TestSite()
        try await LoopbackServer(chain: site.chain).run { server in
            let first = try site.session(server, delegate: ForwardingDelegate(SilentDelegate()))
            _ = try await first.get("https://pinned.test/")

            let refusing = SessionAsyncDelegate { _ in (.cancelAuthenticationChallenge, nil) }
            let second = try site.session(server, delegate: ForwardingDelegate(refusing))
            #expect(try await second.failure().code == .cancelled)
        }
    }
}
