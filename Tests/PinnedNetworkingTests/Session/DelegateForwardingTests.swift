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

@Suite(.timeLimit(.minutes(2)))
struct DelegateForwardingTests {
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
