import PinctlTestPKI
import PinnedNetworking
import Testing

/// A TLS-intercepting proxy whose CA is trusted.
@Suite(PeerProgram.mitmproxy.isNeeded, .timeLimit(.minutes(10)))
struct InterceptionTests {
    @Test("A pinned request is rejected before the interceptor gets any data; without pins it reads everything")
    func interception() async throws {
        let site = try PeerSite()
        let interceptor = try await Mitmproxy(site)
        let server = try LoopbackServer(chain: site.origin.chain)
        let tunnel = "tunnel localhost:\(server.port)"
        let url = "https://localhost:\(server.port)/"
        func session(_ policy: PinningPolicy?) throws -> URLSession {
            try site.session {
                let name = try ServerName("127.0.0.1")
                $0.proxyConfigurations = [ProxyConfiguration(httpCONNECTProxy: name, port: interceptor.port)]
                $0.trustStore = interceptor.store
                $0.pinning = policy
            }
        }

        let error = try await session(.pinning(site.origin.leaf.key.pin, host: "localhost")).failure(url)
        #expect(error.code == .serverCertificateUntrusted)
        if case .mismatch = error.pinningError {} else { Issue.record("not a mismatch: \(error)") }
        let refused = try await interceptor.log.lines(2)
        #expect(refused.count == 2)
        #expect(refused[0] == tunnel)
        #expect(refused[1].hasPrefix("refused "))

        #expect(try await session(nil).get(url) == ("hello", 200))
        interceptor.stop()
        #expect(server.records.count { !$0.applicationBytes.isEmpty } == 1)
        let read = interceptor.log.lines.dropFirst(2)
        #expect(read.prefix(2) == [tunnel, "trusted"])
        #expect(read.contains { $0.hasPrefix("client b'GET / HTTP/1.1") })
        #expect(read.contains { $0.hasPrefix("server b'HTTP/1.1 200 OK") && $0.hasSuffix("hello'") })
    }
}
