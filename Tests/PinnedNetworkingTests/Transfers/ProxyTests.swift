import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// HA5 and HA6 with the whole client, and the trust evaluation of the proxy itself.
@Suite(.timeLimit(.minutes(10)))
struct ProxyTests {
    private static let login = "Proxy-Authenticate: Basic realm=\"way out\""
    private static let sesame = "Basic b3BlbjpzZXNhbWU="

    /// Runs a server behind a proxy that handles requests as `answer` returns.
    private func withProxy(
        usesTLS: Bool = false, server script: LoopbackServer.Script = .respond(.init(body: "hello")),
        _ answer: @escaping @Sendable (LoopbackServer.Request) -> LoopbackServer.ProxyAnswer = { _ in .serve },
        _ body: (_ server: LoopbackServer, _ proxy: LoopbackServer, _ session: URLSession) async throws -> Void,
        delegate: (any URLSessionDelegate)? = nil,
        adjust: (URLSessionConfiguration, inout ProxyConfiguration) -> Void = { _, _ in }
    ) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, script).run { server in
            let targets = ["pinned.test:443": server.port, "start.test:443": server.port]
            let script = LoopbackServer.Script.proxy(to: targets, answer)
            let proxy =
                try usesTLS
                ? LoopbackServer(chain: site.proxyChain(), script) : LoopbackServer(plain: script)
            try await proxy.run { proxy in
                var way = try proxy.configuration(usesTLS: usesTLS)
                let session = try site.session(server, delegate: delegate) {
                    $0.urlCredentialStorage = URLCredentialStorage()
                    // A tunnel that never opens ends with this error, not with the suite's time limit.
                    $0.timeoutIntervalForRequest = 100
                    adjust($0, &way)
                    $0.proxyConfigurations = [way]
                }
                try await body(server, proxy, session)
            }
        }
    }

    private static let closed = LoopbackServer.ProxyAnswer.respond(
        .init("407 Proxy Authentication Required", fields: [login], body: "<h1>log in</h1>"))

    @Test("HA6: A redirect through another proxy doesn't carry the first proxy's login")
    func otherProxy() async throws {
        let site = try TestSite.shared.get()
        let redirect = LoopbackServer.Script.answer { request in
            request.values(of: "Host") == ["start.test"]
                ? .init("302 Found", fields: ["Location: https://pinned.test/"]) : .init(body: "hello")
        }
        try await LoopbackServer(chain: site.chain, redirect).run { server in
            let targets = ["pinned.test:443": server.port, "start.test:443": server.port]
            let script = LoopbackServer.Script.proxy(to: targets) {
                $0.values(of: "Proxy-Authorization").isEmpty ? Self.closed : .serve
            }
            try await LoopbackServer(plain: script).run { first in
                try await LoopbackServer(plain: script).run { second in
                    let session = try site.session(server) {
                        $0.urlCredentialStorage = URLCredentialStorage()
                        var own = try? first.configuration()
                        own?.matchDomains = ["start.test"]
                        own?.applyCredential(username: "open", password: "sesame")
                        $0.proxyConfigurations = [own, try? second.configuration()].compactMap(\.self)
                    }
                    let error = try await session.failure("https://start.test/")
                    #expect(error.code == .userAuthenticationRequired)
                    await session.flush()
                    let asked = await first.ended(first.records.count).flatMap(\.requests)
                    #expect(asked.flatMap { $0.values(of: "Proxy-Authorization") } == [Self.sesame])
                    let others = await second.ended(second.records.count).flatMap(\.requests)
                    #expect(others.map(\.line) == ["CONNECT pinned.test:443 HTTP/1.1"])
                    #expect(others.allSatisfy { $0.values(of: "Proxy-Authorization").isEmpty })
                }
            }
        }
    }

    @Test(
        "An entry in a proxy's domains matches that domain and its subdomains, but not other suffixes",
        arguments: [
            ("example.com", "example.com", true), ("example.com", "a.b.example.com", true),
            (".example.com", "example.com", true), ("*.Example.com.", "a.example.com", true),
            ("example.com", "notexample.com", false), ("example.com", "example.com.test", false),
            ("example.com", "com", false), ("192.0.2.1", "192.0.2.1", true), ("192.0.2.1", "192.0.2.10", false),
            ("2.1", "192.0.2.1", false), ("[::1]", "::1", true), ("10.0.0.0/8", "10.255.0.1", true),
            ("10.0.0.0/8", "11.0.0.1", false), ("10.0.0.0/8", "a00::1", false), ("10.1.2.3/8", "10.9.9.9", true),
            ("192.0.2.64/26", "192.0.2.127", true), ("192.0.2.64/26", "192.0.2.128", false),
            ("192.0.2.1/32", "192.0.2.1", true), ("192.0.2.1/32", "192.0.2.0", false),
            ("0.0.0.0/0", "203.0.113.9", true), ("0.0.0.0/0", "::1", false), ("fd00::/7", "fcff::1", true),
            ("fd00::/8", "fcff::1", false), ("10.0.0.0/8", "10.example", false),
            ("a.example.com:443", "a.example.com", true), ("a.example.com:8443", "a.example.com", false),
        ])
    func domains(entry: String, host: String, isWithin: Bool) throws {
        var proxy = ProxyConfiguration(httpCONNECTProxy: try ServerName("proxy.test"), port: 3128)
        let host = try ServerName(host)
        #expect(proxy.reaches(host, port: 443, .https))
        proxy.matchDomains = [entry]
        #expect(proxy.domainError == nil || entry == "2.1")
        #expect(proxy.reaches(host, port: 443, .https) == isWithin)
        (proxy.matchDomains, proxy.excludedDomains) = ([], [entry])
        #expect(proxy.reaches(host, port: 443, .https) != isWithin)
        proxy.matchDomains = [host.description]
        #expect(proxy.reaches(host, port: 443, .https) != isWithin)
    }

    @Test(
        "A proxy with an invalid domain entry fails every request, which isn't sent directly or to the proxy",
        arguments: [
            "", "*", ".", "*.*.example.com", "10.0.0.0/33", "10.0.0.0/", "10.0.0.0/+8", "/8", "fd00::/129",
            "10.0.0.0/8/8", "example.com/8", "https://example.com", "example.com:0", "b\u{FC}cher.test",
            "a b", "127.1", "*.192.0.2.1", "<local>",
        ], [false, true])
    func invalidDomain(entry: String, isExclusion: Bool) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            try await LoopbackServer(plain: .closeAfterAccept).run { proxy in
                var way = try proxy.configuration()
                // A valid entry before it makes no difference.
                if isExclusion {
                    way.excludedDomains = ["other.test", entry]
                } else {
                    way.matchDomains = ["pinned.test", entry]
                }
                let session = try site.session(server) { $0.proxyConfigurations = [way] }
                for scheme in ["https", "http", "ftp"] {
                    let error = try await session.failure("\(scheme)://pinned.test/a")
                    #expect(error.code == .badURL)
                    let list = isExclusion ? "excludedDomains" : "matchDomains"
                    #expect(error.localizedDescription.contains("\(list) of the proxy \(proxy.address)"))
                    #expect(error.localizedDescription.contains("\"\(entry)\""))
                }
                #expect(server.records.isEmpty)
                #expect(proxy.records.isEmpty)
            }
        }
    }

    @Test("HA5: The proxy's login goes to the proxy, the origin's to the origin", arguments: [false, true])
    func logins(usesTLS: Bool) async throws {
        let origin = LoopbackServer.Script.answer { request in
            request.values(of: "Authorization").isEmpty
                ? .init("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"in\""]) : .init(body: "hello")
        }
        let spaces = Collected<URLProtectionSpace>()
        let delegate = TaskHandlerDelegate { challenge in
            let space = challenge.protectionSpace
            guard space.serverTrust == nil else { return (.performDefaultHandling, nil) }
            spaces.append(space)
            let name = space.isProxy() ? "open" : "me"
            let password = space.isProxy() ? "sesame" : "secret"
            return (.useCredential, URLCredential(user: name, password: password, persistence: .none))
        }
        try await withProxy(usesTLS: usesTLS, server: origin) {
            $0.values(of: "Proxy-Authorization").isEmpty ? Self.closed : .serve
        } _: { (server, proxy, session) async throws in
            #expect(try await session.get(delegate: delegate).body == "hello")
            await session.flush()
            let seen = await server.ended().flatMap(\.requests)
            #expect(seen.flatMap { $0.values(of: "Authorization") } == ["Basic bWU6c2VjcmV0"])
            #expect(seen.allSatisfy { $0.values(of: "Proxy-Authorization").isEmpty })
            let asked = await proxy.ended().flatMap(\.requests)
            #expect(asked.map(\.line) == Array(repeating: "CONNECT pinned.test:443 HTTP/1.1", count: 2))
            #expect(asked.flatMap { $0.values(of: "Proxy-Authorization") } == [Self.sesame])
            #expect(asked.allSatisfy { $0.values(of: "Authorization").isEmpty })
        }
        #expect(spaces.values.map(\.realm) == ["way out", "in"])
        #expect(spaces.values.map(\.host) == [usesTLS ? "localhost" : "127.0.0.1", "pinned.test"])
        #expect(
            spaces.values.map(\.proxyType)
                == [usesTLS ? NSURLProtectionSpaceHTTPSProxy : NSURLProtectionSpaceHTTPProxy, nil])
    }

    @Test("HA5: A 407 from the origin inside the tunnel is a response, and gets no proxy login")
    func refusalInTheTunnel() async throws {
        let refusal = LoopbackServer.Script.respond(
            .init("407 Proxy Authentication Required", fields: [Self.login], body: "give"))
        try await withProxy(server: refusal) { _ in
            .serve
        } _: { (server, _, session) async throws in
            let (body, response) = try await session.get()
            #expect(body == "give")
            #expect(response.statusCode == 407)
            await session.flush()
            let requests = await server.ended().flatMap(\.requests)
            #expect(requests.count == 1)
            #expect(requests.allSatisfy { $0.values(of: "Proxy-Authorization").isEmpty })
        } adjust: { _, way in
            way.applyCredential(username: "open", password: "sesame")
        }
    }

    @Test("The configured login is sent to the proxy once per tunnel, without asking the delegate")
    func configuredLogin() async throws {
        try await withProxy {
            $0.values(of: "Proxy-Authorization") == [Self.sesame] ? .serve : Self.closed
        } _: { (server, proxy, session) async throws in
            for _ in 0..<3 { #expect(try await session.get().body == "hello") }
            #expect(try await session.get("https://start.test/").body == "hello")
            await session.flush()
            #expect(await server.ended(server.records.count).flatMap(\.requests).count == 4)
            let asked = await proxy.ended(2).flatMap(\.requests)
            // The first request finds out whether the proxy requires a login.
            #expect(asked.map(\.target) == ["pinned.test:443", "pinned.test:443", "start.test:443"])
        } adjust: { _, way in
            way.applyCredential(username: "open", password: "sesame")
        }
    }

    @Test("HA6: A tunnel opened with one login isn't used for another")
    func otherLogin() async throws {
        let first = "Basic Zmlyc3Q6c2VjcmV0"
        let second = "Basic c2Vjb25kOnNlY3JldA=="
        // For start.test the first login is rejected.
        try await withProxy {
            let logins = $0.values(of: "Proxy-Authorization")
            return logins == [second] || logins == [first] && $0.target == "pinned.test:443" ? .serve : Self.closed
        } _: { (_, proxy, session) async throws in
            let delegate = TaskHandlerDelegate { challenge in
                guard challenge.protectionSpace.isProxy() else { return (.performDefaultHandling, nil) }
                let name = challenge.previousFailureCount == 0 ? "first" : "second"
                return (.useCredential, URLCredential(user: name, password: "secret", persistence: .forSession))
            }
            for url in ["https://pinned.test/", "https://start.test/", "https://pinned.test/", "https://pinned.test/"] {
                #expect(try await session.get(url, delegate: delegate).body == "hello")
            }
            await session.flush()
            let opened = await proxy.ended(proxy.records.count).flatMap(\.requests).map {
                "\($0.target) \($0.values(of: "Proxy-Authorization").joined())"
            }
            #expect(opened.first == "pinned.test:443 ")
            #expect(opened.dropFirst().first == "pinned.test:443 \(first)")
            #expect(opened.filter { $0 == "pinned.test:443 \(second)" }.count == 1)
            #expect(opened.last == "pinned.test:443 \(second)")
        }
    }

    /// A proxy's answer to CONNECT that doesn't open a tunnel.
    struct Refusal: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let answer: LoopbackServer.ProxyAnswer
        let code: URLError.Code

        static func text(_ text: String) -> LoopbackServer.ProxyAnswer {
            .respond(.raw(Array(text.replacing("\n", with: "\r\n").utf8)))
        }

        static let all = [
            Refusal(testDescription: "407", answer: closed, code: .userAuthenticationRequired),
            Refusal(
                testDescription: "a page",
                answer: .respond(
                    .init("502 Bad", fields: ["Content-Type: text/html"], body: "<h1>me</h1>", closes: true)),
                code: .cannotConnectToHost),
            Refusal(
                testDescription: "a redirect",
                answer: .respond(.init("302 Found", fields: ["Location: https://start.test/"], closes: true)),
                code: .cannotConnectToHost),
            Refusal(
                testDescription: "the origin's 401",
                answer: .respond(.init("401 No", fields: ["WWW-Authenticate: Basic realm=\"x\""], closes: true)),
                code: .cannotConnectToHost),
            Refusal(
                testDescription: "bytes behind the 200",
                answer: .tunnel(after: .raw(Array("HTTP/1.1 200 OK\r\n\r\nHTTP/1.1 200 OK\r\n".utf8), closes: false)),
                code: .cannotConnectToHost),
            Refusal(
                testDescription: "a flood of interim responses",
                answer: .handle { while true { try $0.write(LoopbackServer.Response.head("102 Processing", [])) } },
                code: .cannotConnectToHost),
            Refusal(
                testDescription: "a header of 300 kB",
                answer: .handle {
                    try $0.write(Array("HTTP/1.1 200 OK\r\nX: ".utf8))
                    for _ in 0..<300 { try $0.write(Array(repeating: 0x61, count: 1024)) }
                },
                code: .cannotConnectToHost),
            Refusal(testDescription: "nothing", answer: .handle { _ in }, code: .cannotConnectToHost),
            Refusal(testDescription: "another protocol", answer: text("220 ftp ready\n"), code: .cannotConnectToHost),
        ]
    }

    @Test("HA5: A proxy's answer that doesn't open a tunnel is never the origin's response", arguments: Refusal.all)
    func refusal(row: Refusal) async throws {
        try await withProxy { _ in
            row.answer
        } _: { (server, proxy, session) async throws in
            let error = try await session.failure()
            #expect(error.code == row.code)
            #expect(server.applicationBytes.isEmpty)
            #expect(proxy.records.flatMap(\.requests).allSatisfy { $0.values(of: "Authorization").isEmpty })
        }
    }

    @Test(
        "A tunnel is open after any 2xx and after no other status (RFC 9110, section 9.3.6)",
        arguments: [
            ("200 Fine", true), ("204 No Content", true), ("299 Fine", true), ("300 Choose", false),
            ("304 Not Modified", false), ("404 Not Found", false), ("599 No", false),
        ])
    func tunnelStatus(status: String, isOpen: Bool) async throws {
        try await withProxy { _ in
            .tunnel(after: LoopbackServer.Response.headOnly(status, fields: ["Content-Length: 0"]))
        } _: { (server, _, session) async throws in
            if isOpen {
                #expect(try await session.get().body == "hello")
            } else {
                #expect(try await session.failure().code == .cannotConnectToHost)
                #expect(server.applicationBytes.isEmpty)
            }
        }
    }

    @Test("HA5: Bytes after a 407 don't answer the next CONNECT, which uses another connection (DS1)")
    func surplusBehindRefusal() async throws {
        let (isAsked, isSent) = (Locked(false), Locked(false))
        try await withProxy {
            guard $0.values(of: "Proxy-Authorization").isEmpty else { return .serve }
            return .handle { connection in
                try connection.write(
                    LoopbackServer.Response("407 Proxy Authentication Required", fields: [Self.login]))
                while !isAsked.withLock({ $0 }) { connection.pause(.milliseconds(1)) }
                try connection.write(LoopbackServer.Response("403 Forbidden"))
                isSent.withLock { $0 = true }
            }
        } _: { (_, proxy, session) async throws in
            let delegate = TaskHandlerDelegate { challenge in
                guard challenge.protectionSpace.isProxy() else { return (.performDefaultHandling, nil) }
                isAsked.withLock { $0 = true }
                while !isSent.withLock({ $0 }) { Thread.sleep(forTimeInterval: 0.001) }
                return (.useCredential, URLCredential(user: "open", password: "sesame", persistence: .none))
            }
            #expect(try await session.get(delegate: delegate).body == "hello")
            await session.flush()
            let records = await proxy.ended(proxy.records.count)
            let asked = records.map {
                String(decoding: $0.applicationBytes, as: UTF8.self).components(separatedBy: "CONNECT ")
            }
            #expect(asked.map(\.count) == [2, 2])
        }
    }

    @Test("A proxy with TLS is verified by its own hostname and its own pins (PE18)", arguments: ["https", "http"])
    func ownPins(scheme: String) async throws {
        let site = try TestSite.shared.get()
        // The origin's pin isn't a pin of the proxy, and the reverse.
        let policy = try PinningPolicy.pinning(site.leaf.key.pin, host: "localhost")
        try await withProxy(usesTLS: true) { _ in
            .serve
        } _: { (server, proxy, session) async throws in
            let error = try await session.failure("\(scheme)://start.test/")
            #expect(error.code == .serverCertificateUntrusted)
            #expect(error.localizedDescription.contains("localhost"))
            #expect(await proxy.ended().allSatisfy { $0.applicationBytes.isEmpty })
            #expect(server.records.isEmpty)
        } adjust: { configuration, _ in
            configuration.pinning = policy
        }
    }

    /// The change after a first request for which a TLS proxy was accepted.
    enum Change: CaseIterable {
        case policy, roots, accepter, rejecter
    }

    @Test(
        "A TLS proxy that isn't accepted for a request doesn't get it over an earlier connection (PE18, TC1–TC9)",
        arguments: Change.allCases, ["https", "http"])
    func acceptedForAnother(change: Change, scheme: String) async throws {
        let site = try TestSite.shared.get()
        // The origin has its rule's own anchors, so that only the proxy's anchors change.
        let origin = PinningRule(
            host: try ServerName("start.test"), pins: [try Pin(site.leaf.key.pin, role: .leaf)],
            anchors: try site.store)
        let unknown = PinningRule(host: try ServerName("localhost"), pins: [try Pin(unknownPin, role: .leaf)])
        let own = scheme == "https" ? [origin] : []
        try await withProxy(usesTLS: true) { request in
            request.method == "CONNECT" ? .serve : .respond(.init(body: "hello"))
        } _: { (server, proxy, session) async throws in
            session.pinning = own.isEmpty ? nil : try PinningPolicy(rules: own)
            if change == .accepter { session.trustStore = TrustStore(certificates: []) }
            let accept = TaskHandlerDelegate(acceptServer)
            let url = "\(scheme)://start.test/"
            #expect(try await session.get(url, delegate: change == .accepter ? accept : nil).body == "hello")
            let before = (server.applicationBytes.count, proxy.applicationBytes.count)
            var delegate: TaskHandlerDelegate?
            switch change {
            case .policy: session.pinning = try PinningPolicy(rules: own + [unknown])
            case .roots: session.trustStore = TrustStore(certificates: [])
            case .accepter: break
            case .rejecter:
                delegate = TaskHandlerDelegate { challenge in
                    (challenge.protectionSpace.isProxy() ? .rejectProtectionSpace : .performDefaultHandling, nil)
                }
            }
            let isUnknown = change == .roots || change == .accepter
            let error = try await session.failure(url, delegate: delegate)
            #expect(error.code == (isUnknown ? .serverCertificateHasUnknownRoot : .serverCertificateUntrusted))
            #expect(error.localizedDescription.hasPrefix("the proxy localhost port "), "\(error)")
            await session.flush()
            _ = await proxy.ended(proxy.records.count)
            #expect((server.applicationBytes.count, proxy.applicationBytes.count) == before)
        }
    }
}
