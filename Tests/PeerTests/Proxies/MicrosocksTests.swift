import PinctlTestPKI
import PinnedNetworking
import Testing

@Suite(PeerProgram.microsocks.isNeeded, .timeLimit(.minutes(10)))
struct MicrosocksTests {
    let site: PeerSite

    init() throws { site = try PeerSite() }

    private func start(_ login: [String] = []) async throws -> (daemon: TestDaemon, port: UInt16) {
        let port = TestDaemon.freePorts(1)[0]
        let command = [PeerProgram.microsocks.path, "-i", "127.0.0.1", "-p", String(port)] + login
        return (try await TestDaemon(command, ports: [port]), port)
    }

    private func session(_ port: UInt16, user: String? = nil, password: String = "sesame") throws -> URLSession {
        try site.session {
            var proxy = ProxyConfiguration(socksv5Proxy: try ServerName("127.0.0.1"), port: port)
            if let user { proxy.applyCredential(username: user, password: password) }
            $0.proxyConfigurations = [proxy]
        }
    }

    @Test("microsocks connects to a host by its hostname, with and without a login", arguments: [false, true])
    func success(hasLogin: Bool) async throws {
        let proxy = try await start(hasLogin ? ["-u", "open", "-P", "sesame"] : [])
        let server = try LoopbackServer(chain: site.origin.chain)
        let session = try session(proxy.port, user: hasLogin ? "open" : nil)
        for _ in 0..<2 { #expect(try await session.get("https://localhost:\(server.port)/") == ("hello", 200)) }
        #expect(server.records.count == 1)
    }

    @Test("A login that microsocks requires or rejects, and a host that it can't reach, are errors")
    func refusals() async throws {
        let proxy = try await start(["-u", "open", "-P", "sesame"])
        #expect(try await session(proxy.port).failure("https://localhost:1/").code == .userAuthenticationRequired)
        let wrong = try session(proxy.port, user: "open", password: "wrong")
        #expect(try await wrong.failure("https://localhost:1/").code == .userAuthenticationRequired)
        let right = try session(proxy.port, user: "open")
        #expect(try await right.failure("https://localhost:1/").code == .cannotConnectToHost)
    }
}
