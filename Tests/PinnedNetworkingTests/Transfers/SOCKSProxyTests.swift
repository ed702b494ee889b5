import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// SOCKS proxies with the whole client.
@Suite(.timeLimit(.minutes(10)))
struct SOCKSProxyTests {
    enum Kind: Sendable, CaseIterable {
        case socks5
        case socks4a

        var version: Int { self == .socks5 ? 5 : 4 }
    }

    private func way(_ kind: Kind, _ proxy: LoopbackServer) throws -> ProxyConfiguration {
        let host = try ServerName(proxy.address)
        return kind == .socks5
            ? ProxyConfiguration(socksv5Proxy: host, port: proxy.port)
            : ProxyConfiguration(socksv4aProxy: host, port: proxy.port)
    }

    private func session(
        _ site: TestSite, _ way: ProxyConfiguration, policy: PinningPolicy? = nil,
        delegate: (any URLSessionDelegate)? = nil
    ) throws -> URLSession {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.trustStore = try site.store
        configuration.pinning = policy
        configuration.timeoutIntervalForRequest = 600
        configuration.proxyConfigurations = [way]
        return URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    @Test(
        "The proxy resolves the hostname, the server is verified as usual, and its connection is reused",
        arguments: Kind.allCases)
    func https(kind: Kind) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            try await LoopbackServer(plain: .socks(version: kind.version, to: server.port)).run { proxy in
                let session = try session(
                    site, try way(kind, proxy), policy: try .pinning(site.leaf.key.pin))
                for _ in 0..<2 { #expect(try await session.get().body == "hello") }
                await session.flush()
                let asked = await proxy.ended()
                #expect(asked.count == 1)
                #expect(asked[0].applicationBytes.contains(Array("pinned.test".utf8)))
            }
        }
    }

    @Test("A pin mismatch rejects a server behind the proxy too, and nothing of the request is sent")
    func mismatch() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            try await LoopbackServer(plain: .socks(version: 5, to: server.port)).run { proxy in
                let session = try session(site, try way(.socks5, proxy), policy: try .pinning(unknownPin))
                #expect(try await session.failure().code == .serverCertificateUntrusted)
                #expect(server.applicationBytes.isEmpty)
            }
        }
    }

    @Test(
        "Requests for http URLs go through the SOCKS proxy as to the server, not as to an HTTP proxy",
        arguments: Kind.allCases)
    func http(kind: Kind) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .answer { .init(body: $0.line) }).run { server in
            try await LoopbackServer(plain: .socks(version: kind.version, to: server.port)).run { proxy in
                let session = try session(site, try way(kind, proxy))
                #expect(try await session.get("http://plain.test/a").body == "GET /a HTTP/1.1")
            }
        }
    }

    @Test("The proxy's login is not sent to the origin", arguments: Kind.allCases)
    func login(kind: Kind) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let script = LoopbackServer.Script.socks(
                version: kind.version, to: server.port, login: ("open", "sesame"))
            try await LoopbackServer(plain: script).run { proxy in
                var way = try way(kind, proxy)
                way.applyCredential(username: "open", password: "sesame")
                #expect(try await session(site, way).get().body == "hello")
                #expect(!String(decoding: server.applicationBytes, as: UTF8.self).contains("uthorization"))
            }
        }
    }

    @Test("A missing or wrong login is an error that names the SOCKS proxy", arguments: [nil, "wrong"])
    func refusal(password: String?) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .socks(version: 5, to: 1, login: ("open", "sesame"))).run { proxy in
            var way = try way(.socks5, proxy)
            if let password { way.applyCredential(username: "open", password: password) }
            let error = try await session(site, way).failure()
            #expect(error.code == .userAuthenticationRequired)
            #expect(error.localizedDescription.contains("SOCKS proxy"))
        }
    }

    @Test(
        "HA19: A proxy with a malformed or incomplete reply ends the request",
        arguments: [[5], [72, 84, 84, 80], [5, 2]])
    func garbage(reply: [UInt8]) async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.read()
            try connection.write(reply)
        }
        try await LoopbackServer(plain: script).run { proxy in
            let error = try await session(site, try way(.socks5, proxy)).failure()
            #expect(error.code == .cannotConnectToHost)
        }
    }

    @Test("A proxy that doesn't reply ends the request at its timeout")
    func silence() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .stall).run { proxy in
            let configuration = URLSessionConfiguration.ephemeral
            configuration.trustStore = try site.store
            configuration.timeoutIntervalForRequest = 0.3
            configuration.proxyConfigurations = [try way(.socks5, proxy)]
            let session = URLSession(configuration: configuration)
            #expect(try await session.failure().code == .timedOut)
        }
    }
}
