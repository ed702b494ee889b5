import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// NTLM with third-party acceptors.
@Suite(.timeLimit(.minutes(10)))
struct NTLMPeerTests {
    let site: PeerSite

    init() throws { site = try PeerSite() }

    private func login(_ user: String, _ password: String = NTLMPeer.password) -> LoginDelegate.Answer {
        (.useCredential, URLCredential(user: user, password: password, persistence: .forSession))
    }

    @Test(
        "pyspnego accepts the login, its MIC and its channel bindings, for all requests of the connection",
        PeerProgram.pyspnego.isNeeded, arguments: [false, true])
    func acceptor(isPlain: Bool) async throws {
        let endPoint = try X509Certificate(derBytes: site.origin.leaf.derBytes).serverEndPoint
        let peer = try await NTLMPeer(site, endPoint: isPlain ? nil : endPoint)
        let delegate = LoginDelegate(login("DOM\\reader"))
        let session = try site.session(to: peer.port, delegate: delegate)
        for _ in 0..<3 {
            let answer = try await session.get(isPlain ? "http://pinned.test/" : "https://pinned.test/")
            #expect(answer == ("DOM\\reader", 200))
        }
        #expect(delegate.logins == ["NTLM pinned.test:\(isPlain ? 80 : 443) after 0"])
    }

    @Test(
        "pyspnego rejects a wrong password, and a login that is bound to another certificate",
        PeerProgram.pyspnego.isNeeded)
    func refusals() async throws {
        let endPoint = try X509Certificate(derBytes: site.origin.leaf.derBytes).serverEndPoint
        let peer = try await NTLMPeer(site, endPoint: endPoint)
        let delegate = LoginDelegate(login("DOM\\reader", "wrong"), login("DOM\\reader"))
        #expect(try await site.session(to: peer.port, delegate: delegate).get("https://pinned.test/").status == 200)
        #expect(delegate.logins.count == 2)
        let other = try PeerSite()
        let relayed = try await NTLMPeer(other, endPoint: [UInt8](repeating: 7, count: 32))
        let session = try other.session(to: relayed.port, delegate: LoginDelegate(login("DOM\\reader")))
        #expect(try await session.get("https://pinned.test/").status == 401)
    }

    @Test(
        "squid's ntlm_fake_auth accepts the login on the connection that becomes the tunnel", PeerProgram.squid.isNeeded
    )
    func squid() async throws {
        let squid = try await Squid(site, scheme: "NTLM")
        let server = try LoopbackServer(chain: site.origin.chain)
        let delegate = LoginDelegate(login("DOM\\reader"))
        let session = try site.session(delegate: delegate) {
            $0.proxyConfigurations = [
                ProxyConfiguration(httpCONNECTProxy: try ServerName("127.0.0.1"), port: squid.port)
            ]
        }
        for _ in 0..<2 { #expect(try await session.get("https://localhost:\(server.port)/") == ("hello", 200)) }
        #expect(delegate.logins == ["NTLM proxy 127.0.0.1:\(squid.port) after 0"])
        await session.flush()
        let line = "CONNECT localhost:\(server.port)"
        let lines = try await squid.log.lines(3)
        #expect(lines == ["\(line) 407 - -", "\(line) 407 - -", "\(line) 200 DOM\\reader -"])
    }

    @Test("squid accepts the login for plain requests too, which share the connection", PeerProgram.squid.isNeeded)
    func squidForwarding() async throws {
        let squid = try await Squid(site, scheme: "NTLM")
        let server = try LoopbackServer(plain: .respond(.init(body: "hello")))
        let delegate = LoginDelegate(login("DOM\\reader"))
        let session = try site.session(delegate: delegate) {
            $0.proxyConfigurations = [
                ProxyConfiguration(httpCONNECTProxy: try ServerName("127.0.0.1"), port: squid.port)
            ]
        }
        for _ in 0..<2 { #expect(try await session.get("http://localhost:\(server.port)/") == ("hello", 200)) }
        #expect(delegate.logins == ["NTLM proxy 127.0.0.1:\(squid.port) after 0"])
    }
}
