import PinctlTestPKI
import PinnedNetworking
import Testing

/// apache2 as a proxy with TLS to the client.
@Suite(PeerProgram.apache.isNeeded, .timeLimit(.minutes(10)))
struct SecureProxyTests {
    let site: PeerSite
    let apache: Apache
    let server: LoopbackServer

    init() async throws {
        site = try PeerSite()
        apache = try await Apache(site)
        server = try LoopbackServer(chain: site.origin.chain)
    }

    private var url: String { "https://localhost:\(server.port)/" }
    private var line: String { "CONNECT localhost:\(server.port)" }

    private func session(
        _ delegate: (any URLSessionDelegate)?, _ adjust: (URLSessionConfiguration) throws -> Void = { _ in }
    ) throws -> URLSession {
        try site.session(delegate: delegate) {
            let name = try ServerName("127.0.0.1")
            $0.proxyConfigurations = [ProxyConfiguration(tlsCONNECTProxy: name, port: apache.ports.proxy)]
            try adjust($0)
        }
    }

    @Test("The proxy's trust, its login and the origin's trust are requested in this order")
    func order() async throws {
        let delegate = LoginDelegate(LoginDelegate.login)
        let session = try session(delegate)
        #expect(try await session.get(url) == ("hello", 200))
        #expect(
            delegate.challenges.map(\.text) == [
                "ServerTrust proxy 127.0.0.1:\(apache.ports.proxy) after 0",
                "HTTPBasic proxy 127.0.0.1:\(apache.ports.proxy) proxy realm after 0",
                "ServerTrust localhost:\(server.port) after 0",
            ])
        try await expectTunnel(of: session)
    }

    @Test("Requests for http URLs use the proxy too")
    func plain() async throws {
        let server = try LoopbackServer(plain: .respond(.init(body: "plain")))
        let delegate = LoginDelegate(LoginDelegate.login)
        let url = "http://localhost:\(server.port)/"
        let answer = try await session(delegate).get(url)
        #expect(answer == ("plain", 200))
        let lines = try await apache.proxyLog.lines(2)
        #expect(lines == ["GET \(url) 407 - -", "GET \(url) 200 reader -"])
        let seen = String(decoding: server.applicationBytes, as: UTF8.self)
        #expect(!seen.lowercased().contains("proxy-authorization"))
    }

    @Test("An untrusted proxy learns nothing about the origin")
    func untrusted() async throws {
        let session = try session(nil) { $0.trustStore = TrustStore(certificates: []) }
        #expect(try await session.failure(url).code == .serverCertificateHasUnknownRoot)
        apache.stop()
        #expect(apache.proxyLog.lines.isEmpty)
        #expect(server.records.isEmpty)
    }

    @Test("Pins for the proxy's hostname apply to the proxy, and a mismatch prevents any request (PE18)")
    func proxyPins() async throws {
        let refused = try session(nil) { $0.pinning = try .pinning(site.origin.leaf.key.pin, host: "127.0.0.1") }
        #expect(try await refused.failure(url).code == .serverCertificateUntrusted)
        let accepted = try session(LoginDelegate(LoginDelegate.login)) {
            $0.pinning = try .pinning(site.proxy.key.pin, host: "127.0.0.1")
        }
        #expect(try await accepted.get(url) == ("hello", 200))
        try await expectTunnel(of: accepted)
    }

    @Test("The origin's pins don't match a key of the proxy's chain (PE18)")
    func originPins() async throws {
        let session = try session(LoginDelegate(LoginDelegate.login)) {
            $0.pinning = try .pinning(site.proxy.key.pin, host: "localhost")
        }
        #expect(try await session.failure(url).code == .serverCertificateUntrusted)
        #expect(await server.ended()[0].applicationBytes.isEmpty)
        try await expectTunnel(of: session)
    }

    /// Checks the proxy's log, which contains a tunnel once it is closed.
    private func expectTunnel(of session: URLSession) async throws {
        await session.flush()
        let lines = try await apache.proxyLog.lines(2)
        #expect(lines == [line + " 407 - -", line + " 200 reader -"])
    }
}
