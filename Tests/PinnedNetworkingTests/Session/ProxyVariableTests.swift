import PinctlHTTPMessages
import PinctlTLSTransport
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// Proxies from the environment and from Apple's dictionary.
@Suite(.timeLimit(.minutes(10)))
struct ProxyVariableTests {
    /// The route to a URL of each scheme, such as `http a.test:80 me`.
    private func routes(_ proxies: [ProxyConfiguration], to host: String) throws -> [String] {
        let name = try ServerName(host)
        return [HTTPScheme.http, .https].map { scheme in
            let port = scheme.defaultPort
            guard let proxy = proxies.first(where: { $0.reaches(name, port: port, scheme) }) else { return "direct" }
            let kind =
                switch proxy.kind {
                case .http: proxy.usesTLS ? "tls" : "http"
                case .socks(.socks5): "socks5"
                case .socks: "socks4a"
                }
            let user = proxy.credential?.user.map { " \($0):\(proxy.credential?.password ?? "")" } ?? ""
            return "\(kind) \(proxy.host):\(proxy.port)\(user)"
        }
    }

    struct Row: CustomTestStringConvertible, Sendable {
        let variables: [String: String]
        var host = "a.test"
        /// For `http`, then for `https`.
        let routes: [String]

        var testDescription: String { "\(variables.sorted { $0.key < $1.key }) for \(host)" }
    }

    // The values of curl's manual and of the cases around them.
    static let rows = [
        Row(variables: [:], routes: ["direct", "direct"]),
        Row(variables: ["http_proxy": "http://p.test:3128"], routes: ["http p.test:3128", "direct"]),
        Row(variables: ["HTTP_PROXY": "http://p.test:3128"], routes: ["direct", "direct"]),
        Row(variables: ["https_proxy": "p.test:3128"], routes: ["direct", "http p.test:3128"]),
        Row(variables: ["HTTPS_PROXY": "http://p.test"], routes: ["direct", "http p.test:1080"]),
        Row(variables: ["https_proxy": "https://p.test"], routes: ["direct", "tls p.test:443"]),
        Row(variables: ["https_proxy": "https://p.test/"], routes: ["direct", "tls p.test:443"]),
        Row(
            variables: ["all_proxy": "socks5h://me:p%40ss@[::1]:1080"],
            routes: ["socks5 ::1:1080 me:p@ss", "socks5 ::1:1080 me:p@ss"]),
        Row(
            variables: ["ALL_PROXY": "SOCKS4A://me@p.test", "https_proxy": "q.test:1"],
            routes: ["socks4a p.test:1080 me:", "http q.test:1"]),
        Row(variables: ["https_proxy": "", "HTTPS_PROXY": "p.test:1"], routes: ["direct", "http p.test:1"]),
        Row(variables: ["https_proxy": "q.test:1", "HTTPS_PROXY": "p.test:1"], routes: ["direct", "http q.test:1"]),
        Row(variables: ["all_proxy": "p.test:1", "no_proxy": "b.test,a.test"], routes: ["direct", "direct"]),
        Row(variables: ["all_proxy": "p.test:1", "NO_PROXY": ".test b.example"], routes: ["direct", "direct"]),
        Row(variables: ["all_proxy": "p.test:1", "no_proxy": "*"], routes: ["direct", "direct"]),
        Row(
            variables: ["all_proxy": "p.test:1", "no_proxy": "est,xa.test"],
            routes: ["http p.test:1", "http p.test:1"]),
        Row(
            variables: ["all_proxy": "p.test:1", "no_proxy": "127.0.0.1,::1"], host: "::1",
            routes: ["direct", "direct"]),
        Row(
            variables: ["all_proxy": "p.test:1", "no_proxy": ".cluster.test,10.0.0.0/8,fd00::/8"], host: "10.96.0.1",
            routes: ["direct", "direct"]),
        Row(variables: ["all_proxy": "p.test:1", "no_proxy": "a.test:443"], routes: ["http p.test:1", "direct"]),
        Row(
            variables: ["all_proxy": "p.test:1", "no_proxy": "b.test:1, .test:80"],
            routes: ["direct", "http p.test:1"]),
        Row(
            variables: ["all_proxy": "p.test:1", "no_proxy": "[::1]:80"], host: "::1",
            routes: ["direct", "http p.test:1"]),
        Row(variables: ["all_proxy": "p.test:1", "no_proxy": ""], routes: ["http p.test:1", "http p.test:1"]),
        Row(variables: ["all_proxy": "p.test:1", "no_proxy": " ,\t, "], routes: ["http p.test:1", "http p.test:1"]),
        Row(variables: ["all_proxy": "p.test:1", "no_proxy": " * "], routes: ["direct", "direct"]),
    ]

    @Test(
        "The variables of curl are read on request, in lower case first and HTTP_PROXY never (CVE-2016-5385)",
        arguments: rows)
    func environment(row: Row) throws {
        let proxies = try ProxyConfiguration.fromEnvironment(row.variables)
        #expect(try routes(proxies, to: row.host) == row.routes)
    }

    @Test(
        "A variable that can't be used is an error that names it and not its value (CS2)",
        arguments: [
            ("https_proxy", "http://me:secret@"), ("https_proxy", "http://me:secret@p.test:99999"),
            ("all_proxy", "http://me:secret@p.test:0"), ("all_proxy", "socks4://me:secret@p.test"),
            ("http_proxy", "http://me:secret@p.test/path"), ("http_proxy", "http://me:secret@p.test?x"),
            ("https_proxy", "http://:secret@p.test"), ("http_proxy", "http://me:secret%0a@p.test"),
            ("http_proxy", "http://me%00:secret@p.test"),
            ("http_proxy", "http://me:secret@you@p.test"), ("http_proxy", "http://me:secret/@p.test"),
            ("http_proxy", "me:secret://@p.test"), ("http_proxy", "http://p.test:"),
            ("http_proxy", "http://me%3a:secret@p.test"), ("http_proxy", "socks4a://me:secret@p.test"),
            ("no_proxy", "10.0.0.0/33"), ("no_proxy", "a.test:0"), ("no_proxy", "a.test:"), ("no_proxy", "a.test,*"),
            ("no_proxy", "10.*"), ("no_proxy", "10.0.0.0/8:443"), ("no_proxy", "a.test:80:443"),
        ])
    func malformed(variable: String, value: String) throws {
        var variables = ["all_proxy": "p.test:1"]
        variables[variable] = value
        let error = #expect(throws: URLError.self) { try ProxyConfiguration.fromEnvironment(variables) }
        #expect(error?.code == .badURL)
        let text = try #require(error?.localizedDescription)
        #expect(text.contains(variable) && !text.contains("secret"), "\(text)")
    }

    @Test("A session doesn't read the variables by itself")
    func unread() async throws {
        await #expect(processExitsWith: .success) {
            for name in ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"] {
                setEnvironment(name, "http://127.0.0.1:1")
            }
            let site = try TestSite.shared.get()
            try await LoopbackServer(chain: site.chain).run { server async throws in
                #expect(try await site.session(server).get().body == "hello")
            }
        }
    }

    @Test("Apple's dictionary has a proxy for each scheme, SOCKS for the rest, and exceptions")
    func dictionary() throws {
        let configuration = URLSessionConfiguration.default
        #expect(configuration.connectionProxyDictionary == nil)
        configuration.connectionProxyDictionary = [
            "HTTPEnable": true, "HTTPProxy": "p.test", "HTTPPort": 3_128, "HTTPSEnable": 0, "HTTPSProxy": "q.test",
            "SOCKSEnable": NSNumber(value: 1), "SOCKSProxy": "::1", "SOCKSPort": NSNumber(value: 1_080),
            "ExceptionsList": ["*.internal.test"],
        ]
        #expect(try routes(configuration.proxyConfigurations, to: "a.test") == ["http p.test:3128", "socks5 ::1:1080"])
        #expect(try routes(configuration.proxyConfigurations, to: "b.internal.test") == ["direct", "direct"])
        #expect(configuration.connectionProxyDictionary?.count == 9)
        #expect(configuration.connectionProxyDictionary?["HTTPProxy"] as? String == "p.test")
        let copy = try #require(configuration.copy() as? URLSessionConfiguration)
        #expect(copy != configuration && copy.proxyConfigurations == configuration.proxyConfigurations)
        configuration.proxyConfigurations = []
        #expect(configuration.connectionProxyDictionary == nil)
        configuration.connectionProxyDictionary = [:]
        #expect(configuration.proxyConfigurations == [])
        for (isEnabled, route) in [(true, "http p.test:3128"), (false, "direct")] {
            configuration.connectionProxyDictionary = [
                "HTTPEnable": isEnabled, "HTTPProxy": "p.test", "HTTPPort": 3_128,
            ]
            #expect(try routes(configuration.proxyConfigurations, to: "a.test") == [route, "direct"])
        }
        configuration.connectionProxyDictionary = ["HTTPEnable": true, "HTTPProxy": "p.test", "HTTPPort": 3_128]
        configuration.connectionProxyDictionary = nil
        #expect(try routes(configuration.proxyConfigurations, to: "a.test") == ["direct", "direct"])
    }

    @Test("With a key that isn't text, no request is sent")
    func otherKey() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server) { $0.connectionProxyDictionary = [1: "p.test"] }
            let error = try await session.failure()
            #expect(error.code == .badURL && error.localizedDescription.contains("\"1\""))
            #expect(server.records.isEmpty)
        }
    }

    @Test(
        "With an entry that isn't understood, no request is sent",
        arguments: [
            (["ProxyAutoConfigEnable": 1], "ProxyAutoConfigEnable"), (["HTTPProxy": "p.test"], "HTTPEnable"),
            (["HTTPEnable": 1, "HTTPProxy": "p.test"], "HTTPPort"), (["HTTPEnable": 1, "HTTPPort": 1], "HTTPProxy"),
            (["HTTPEnable": 1, "HTTPProxy": "p.test", "HTTPPort": 0], "HTTPPort"),
            (["HTTPEnable": 1, "HTTPProxy": "p q", "HTTPPort": 1], "HTTPProxy"),
            (["HTTPEnable": "1", "HTTPProxy": "p.test", "HTTPPort": 1], "HTTPEnable"),
            (["ExceptionsList": "a.test"], "ExceptionsList"),
            (["HTTPEnable": 1, "HTTPProxy": "p.test", "HTTPPort": 1, "ExceptionsList": ["10/8"]], "10/8"),
            (["kCFProxyUsernameKey": "secret"], "kCFProxyUsernameKey"), (["ExceptionsList": [1]], "ExceptionsList"),
        ] as [([String: any Sendable], String)])
    func unknown(entries: [String: any Sendable], name: String) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .respond(.init(body: "ok"))).run { server in
            let session = try site.session(server) { $0.connectionProxyDictionary = entries }
            let error = try await session.failure()
            #expect(error.code == .badURL)
            #expect(error.localizedDescription.contains(name), "\(error.localizedDescription)")
            #expect(!error.localizedDescription.contains("secret"))
            #expect(server.records.isEmpty)
        }
    }
}
