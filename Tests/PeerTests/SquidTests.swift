import PinnedNetworking
import TestPKI
import Testing

@Suite(PeerProgram.squid.isNeeded, .timeLimit(.minutes(5)))
struct SquidTests {
    let site: PeerSite

    init() throws { site = try PeerSite() }

    /// A session through the proxy, with or without a login of its own.
    private func session(_ squid: Squid, _ delegate: LoginDelegate?, password: String? = nil) throws -> URLSession {
        try site.session(delegate: delegate) {
            var proxy = ProxyConfiguration(httpCONNECTProxy: try ServerName("127.0.0.1"), port: squid.port)
            if let password { proxy.applyCredential(username: PeerSite.user, password: password) }
            $0.proxyConfigurations = [proxy]
        }
    }

    /// An origin, and the line that its request makes in the proxy's log.
    private func origin(_ scheme: String) throws -> (server: LoopbackServer, url: String, line: String) {
        let server =
            scheme == "http"
            ? try LoopbackServer(plain: .respond(.init(body: "hello")))
            : try LoopbackServer(chain: [site.origin, site.intermediate])
        let url = "\(scheme)://localhost:\(server.port)/"
        return (server, url, scheme == "http" ? "GET \(url)" : "CONNECT localhost:\(server.port)")
    }

    @Test(
        "A proxy's login comes from a delegate or the configuration, once, and reaches no origin",
        arguments: [("Basic", "http"), ("Basic", "https"), ("Digest", "http"), ("Digest", "https")], [true, false])
    func login(row: (method: String, scheme: String), isConfigured: Bool) async throws {
        let squid = try await Squid(site, scheme: row.method)
        let (server, url, line) = try origin(row.scheme)
        let delegate = LoginDelegate(LoginDelegate.login)
        let session = try session(squid, delegate, password: isConfigured ? PeerSite.password : nil)
        for _ in 0..<2 { #expect(try await session.get(url) == ("hello", 200)) }
        #expect(
            delegate.logins
                == (isConfigured ? [] : ["HTTP\(row.method) proxy 127.0.0.1:\(squid.port) proxy realm after 0"]))
        let isTunnel = row.scheme == "https"
        let refused = squid.log.lines.filter { $0 == "\(line) 407 - -" }
        #expect(refused.count <= 1)
        let served = Array(repeating: "\(line) 200 reader -", count: isTunnel ? 1 : 2)
        #expect(try await squid.log.lines(refused.count + served.count) == refused + served)
        let seen = String(decoding: server.applicationBytes, as: UTF8.self)
        #expect(!seen.lowercased().contains("proxy-authorization"))
        #expect(seen.contains("GET / HTTP/1.1"))
    }

    @Test("A wrong login to a proxy is asked for again", arguments: ["Basic", "Digest"], ["http", "https"])
    func again(method: String, scheme: String) async throws {
        let squid = try await Squid(site, scheme: method)
        let (_, url, _) = try origin(scheme)
        let delegate = LoginDelegate(LoginDelegate.wrongLogin, LoginDelegate.login)
        #expect(try await session(squid, delegate).get(url) == ("hello", 200))
        #expect(
            delegate.logins == (0..<2).map { "HTTP\(method) proxy 127.0.0.1:\(squid.port) proxy realm after \($0)" })
    }

    @Test(
        "A login that a proxy refuses is its response to http, and an error where it makes no tunnel",
        arguments: ["Basic", "Digest"], [nil, "wrong"])
    func refusal(method: String, password: String?) async throws {
        let squid = try await Squid(site, scheme: method)
        let plain = try origin("http")
        #expect(try await session(squid, nil, password: password).get(plain.url).status == 407)
        let tunnelled = try origin("https")
        _ = try await session(squid, nil, password: password).failure(tunnelled.url)
        #expect(plain.server.records.isEmpty)
        #expect(tunnelled.server.records.isEmpty)
    }

    @Test("A tunnel that the proxy refuses is an error, and its page is nobody's")
    func noTunnel() async throws {
        let squid = try await Squid(site, scheme: "Basic")
        let error = try await session(squid, nil, password: PeerSite.password).failure("https://localhost:1/")
        #expect(error.localizedDescription.contains("403"))
    }

    @Test(
        "The login to an origin is not for the proxy that leads there", PeerProgram.apache.isNeeded,
        arguments: ["basic", "digest"])
    func originLogin(section: String) async throws {
        let squid = try await Squid(site, scheme: "Basic")
        let apache = try await Apache(site)
        let delegate = LoginDelegate(LoginDelegate.login, LoginDelegate.login)
        let session = try session(squid, delegate)
        let url = "https://localhost:\(apache.ports.https)/\(section)/a"
        #expect(try await session.get(url) == ("reader GET ", 200))
        #expect(delegate.logins.count == 2)
        let line = "CONNECT localhost:\(apache.ports.https)"
        #expect(try await squid.log.lines(2) == ["\(line) 407 - -", "\(line) 200 reader -"])
    }
}
