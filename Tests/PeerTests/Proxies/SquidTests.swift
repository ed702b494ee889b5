import PinctlTestPKI
import PinnedNetworking
import Testing

@Suite(PeerProgram.squid.isNeeded, .timeLimit(.minutes(10)))
struct SquidTests {
    let site: PeerSite

    init() throws { site = try PeerSite() }

    /// A session through the proxy, with or without a configured login.
    private func session(_ squid: Squid, _ delegate: LoginDelegate?, password: String? = nil) throws -> URLSession {
        try site.session(delegate: delegate) {
            var proxy = ProxyConfiguration(httpCONNECTProxy: try ServerName("127.0.0.1"), port: squid.port)
            if let password { proxy.applyCredential(username: PeerSite.user, password: password) }
            $0.proxyConfigurations = [proxy]
        }
    }

    /// An origin, its URL, and the line of its request in the proxy's log.
    private func origin(_ scheme: String) throws -> (server: LoopbackServer, url: String, line: String) {
        let server =
            scheme == "http"
            ? try LoopbackServer(plain: .respond(.init(body: "hello")))
            : try LoopbackServer(chain: site.origin.chain)
        let url = "\(scheme)://localhost:\(server.port)/"
        return (server, url, scheme == "http" ? "GET \(url)" : "CONNECT localhost:\(server.port)")
    }

    @Test(
        "A proxy's login comes from a delegate or the configuration, once, and isn't sent to the origin",
        arguments: ["Basic", "Digest"], [true, false])
    func login(method: String, isConfigured: Bool) async throws {
        let squid = try await Squid(site, scheme: method)
        var expected: [String] = []
        for (server, url, line) in [try origin("http"), try origin("https")] {
            let delegate = LoginDelegate(LoginDelegate.login)
            let session = try session(squid, delegate, password: isConfigured ? PeerSite.password : nil)
            for _ in 0..<2 { #expect(try await session.get(url) == ("hello", 200)) }
            let asker = "HTTP\(method) proxy 127.0.0.1:\(squid.port) proxy realm after 0"
            #expect(delegate.logins == (isConfigured ? [] : [asker]))
            let seen = String(decoding: server.applicationBytes, as: UTF8.self)
            #expect(seen.contains("GET / HTTP/1.1"))
            #expect(!seen.lowercased().contains("proxy-authorization"))
            // A tunnel is logged when it is closed, once for both requests.
            await session.flush()
            let served = "\(line) 200 reader -"
            expected += ["\(line) 407 - -", served] + (line.hasPrefix("GET") ? [served] : [])
            let lines = try await squid.log.lines(expected.count)
            #expect(lines == expected)
        }
    }

    @Test("A wrong login to a proxy is requested again", arguments: ["Basic", "Digest"])
    func again(method: String) async throws {
        let squid = try await Squid(site, scheme: method)
        for origin in [try origin("http"), try origin("https")] {
            let delegate = LoginDelegate(LoginDelegate.wrongLogin, LoginDelegate.login)
            #expect(try await session(squid, delegate).get(origin.url) == ("hello", 200))
            #expect(origin.server.records.count == 1)
            let asker = "HTTP\(method) proxy 127.0.0.1:\(squid.port) proxy realm"
            #expect(delegate.logins == [asker + " after 0", asker + " after 1"])
        }
    }

    @Test(
        "A rejected proxy login is the response to an http request, and an error for a tunnel",
        arguments: ["Basic", "Digest"])
    func refusal(method: String) async throws {
        let squid = try await Squid(site, scheme: method)
        let (plain, tunnelled) = (try origin("http"), try origin("https"))
        for password in [nil, "wrong"] {
            let session = try session(squid, nil, password: password)
            let answer = try await session.get(plain.url)
            #expect(answer.status == 407)
            #expect(answer.body.contains("Cache Access Denied"))
            #expect(try await session.failure(tunnelled.url).code == .userAuthenticationRequired)
        }
        squid.stop()
        #expect(squid.log.lines.allSatisfy { $0.contains(" 407 ") })
        #expect(plain.server.records.isEmpty)
        #expect(tunnelled.server.records.isEmpty)
    }

    @Test("A tunnel that the proxy rejects is an error, and the proxy's page isn't a response")
    func noTunnel() async throws {
        let squid = try await Squid(site, scheme: "Basic")
        let error = try await session(squid, nil, password: PeerSite.password).failure("https://localhost:1/")
        #expect(error.code == .cannotConnectToHost)
        #expect(error.localizedDescription.contains("403"))
        squid.stop()
        #expect(squid.log.lines == ["CONNECT localhost:1 403 - -"])
    }

    @Test(
        "The login to an origin isn't sent to the proxy", PeerProgram.apache.isNeeded,
        arguments: ["basic", "digest"])
    func originLogin(section: String) async throws {
        let squid = try await Squid(site, scheme: "Basic")
        let apache = try await Apache(site)
        let delegate = LoginDelegate(LoginDelegate.login, LoginDelegate.login)
        let session = try session(squid, delegate)
        let url = "https://localhost:\(apache.ports.https)/\(section)/a"
        #expect(try await session.get(url) == ("reader GET ", 200))
        #expect(delegate.logins.count == 2)
        await session.flush()
        let line = "CONNECT localhost:\(apache.ports.https)"
        let lines = try await squid.log.lines(2)
        #expect(lines == ["\(line) 407 - -", "\(line) 200 reader -"])
    }
}
