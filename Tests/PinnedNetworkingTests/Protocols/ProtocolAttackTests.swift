import PinctlTestPKI
import PinnedNetworking
import Testing

/// Protocol classes and pins: a class that someone else registered, and a class that the configuration names.
@Suite(.timeLimit(.minutes(10)), .serialized)
struct ProtocolAttackTests {
    /// A host of these tests alone, because other tests run while the class is registered.
    private static let host = "intercepted.test"
    private let url = "https://\(host)/"
    private let site: TestSite

    init() throws { site = try TestSite.pinned([.dns(Self.host)]) }

    private func policy(isPinned: Bool = true) throws -> PinningPolicy {
        try .pinning(isPinned ? site.leaf.key.pin : unknownPin, host: Self.host)
    }

    /// A class that handles every request to the host, as malicious code in the process could register it.
    private final class Interceptor: URLProtocol {
        static let seen = Collected<String>()

        override class func canInit(with request: URLRequest) -> Bool {
            guard request.url?.host == ProtocolAttackTests.host else { return false }
            seen.append(request.value(forHTTPHeaderField: "Authorization") ?? "")
            return true
        }

        override func startLoading() {
            respond(299)
            load("intercepted")
            finish()
        }
    }

    /// Registers the class while `body` runs.
    private func withInterceptor(_ body: () async throws -> Void) async throws {
        URLProtocol.registerClass(Interceptor.self)
        defer { URLProtocol.unregisterClass(Interceptor.self) }
        try await body()
    }

    @Test("P3: A registered class doesn't see the requests of a session with pins", arguments: [true, false])
    func registeredClass(isPinned: Bool) async throws {
        let policy = try policy(isPinned: isPinned)
        try await withInterceptor {
            try await LoopbackServer(chain: site.chain).run { server in
                let session = try site.session(server, policy: policy)
                let before = Interceptor.seen.values.count
                if isPinned {
                    #expect(try await session.get(url).body == "hello")
                } else {
                    #expect(try await session.failure(url).code == .serverCertificateUntrusted)
                }
                // The older interfaces use registered classes, but not with pins.
                let configuration = try site.configuration(server, policy: policy)
                let delegate = CollectingConnection()
                let url = try #require(URL(string: url))
                _ = NSURLConnection(request: URLRequest(url: url), delegate: delegate, configuration: configuration)
                #expect(try await delegate.events.wait(for: 1) == [isPinned ? "hello" : "error -1202"])
                #expect(Interceptor.seen.values.count == before)
            }
        }
    }

    @Test("P3: A registered class sees the requests of connections without pins, and not those of other sessions")
    func registeredClassWithoutPins() async throws {
        try await withInterceptor {
            try await LoopbackServer(chain: site.chain).run { server in
                #expect(try await site.session(server).get(url).body == "hello")
                let delegate = CollectingConnection()
                let url = try #require(URL(string: url))
                _ = NSURLConnection(
                    request: URLRequest(url: url), delegate: delegate, configuration: try site.configuration(server))
                #expect(try await delegate.events.wait(for: 1) == ["intercepted"])
            }
        }
    }

    @Test("P3: Pins that are set later also keep registered classes away")
    func laterPins() async throws {
        try await withInterceptor {
            try await LoopbackServer(chain: site.chain).run { server in
                // Like the shared session, which has no route to the server.
                let shared = URLSession(configuration: URLSession.shared.configuration)
                #expect(try await shared.get(url).body == "intercepted")
                let configuration = shared.configuration
                configuration.route = try site.configuration(server).route
                configuration.trustStore = try site.store
                let session = URLSession(configuration: configuration)
                #expect(try await session.get(url).body == "intercepted")
                session.pinning = try policy()
                #expect(try await session.get(url).body == "hello")
            }
        }
    }

    @Test("A class that the configuration names handles requests of a session with pins, without a connection")
    func namedClass() async throws {
        try await LoopbackServer(chain: site.chain).run { server in
            let decisions = Collected<String>()
            let delegate = SessionAsyncDelegate { challenge in
                decisions.append(challenge.protectionSpace.authenticationMethod)
                return (.performDefaultHandling, nil)
            }
            let session = try site.session(server, policy: policy(isPinned: false), delegate: delegate) {
                $0.protocolClasses = [Interceptor.self]
                $0.serverTrustObserver = { decisions.append("\($0)") }
            }
            #expect(try await session.get(url).body == "intercepted")
            #expect(decisions.values.isEmpty)
            #expect(server.records.isEmpty)
        }
    }

    @Test("P1: A stub's redirect to the network is pinned like any request", arguments: [true, false])
    func redirectIsPinned(isPinned: Bool) async throws {
        let host = "to-network-\(isPinned).test"
        _ = StubProtocol.handle(host) { $0.redirect(to: "https://\(Self.host)/") }
        try await LoopbackServer(chain: site.chain).run { server in
            let policy = try policy(isPinned: isPinned)
            let session = try site.session(server, policy: policy) { $0.protocolClasses = [StubProtocol.self] }
            if isPinned {
                #expect(try await session.get("https://\(host)/").body == "hello")
            } else {
                #expect(try await session.failure("https://\(host)/").code == .serverCertificateUntrusted)
                #expect(await server.ended().allSatisfy { $0.applicationBytes.isEmpty })
            }
        }
    }

    @Test("P1: A stub's redirect to cleartext is refused for a pinned host")
    func redirectToCleartext() async throws {
        let host = "to-cleartext.test"
        _ = StubProtocol.handle(host) { $0.redirect(to: "\($0.request.url?.fragment ?? "")://\(Self.host)/a") }
        try await LoopbackServer(plain: .respond(LoopbackServer.Response(body: "hello"))).run { server in
            let session = try site.session(server, policy: policy()) {
                $0.protocolClasses = [StubProtocol.self]
            }
            for scheme in ["http", "ftp"] {
                let error = try await session.failure("https://\(host)/#\(scheme)")
                #expect(error.code == .appTransportSecurityRequiresSecureConnection, "\(scheme)")
            }
            #expect(server.records.isEmpty)
        }
    }

    @Test("P6: The session's own fields don't follow a class's redirect to another origin, and come back with none")
    func additionalFields() async throws {
        let host = "forwarding.test"
        _ = StubProtocol.handle(host) { $0.redirect(to: $0.request.url?.fragment ?? "") }
        let script = LoopbackServer.Script.answer { request in
            request.target == "/back" ? .init("302 Found", fields: ["Location: /a"]) : .init(body: "hello")
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server) {
                $0.protocolClasses = [StubProtocol.self]
                $0.httpAdditionalHeaders = ["Authorization": "Bearer secret", "X-Own": "1"]
            }
            #expect(try await session.get("https://\(Self.host)/").body == "hello")
            for path in ["", "back"] {
                #expect(try await session.get("https://\(host)/#https://\(Self.host)/\(path)").body == "hello")
            }
            let sent = server.records.flatMap(\.requests)
            #expect(sent.map { $0.values(of: "Authorization") } == [["Bearer secret"], [], [], []])
            #expect(sent.map { $0.values(of: "X-Own") } == [["1"], [], [], []])
        }
    }

    @Test("P6: A stub gets no stored credential, neither in its request nor for its challenge")
    func storedCredentials() async throws {
        let host = "stored.test"
        let space = URLProtectionSpace(
            host: host, port: 443, protocol: "https", realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        let storage = URLCredentialStorage()
        let stored = URLCredential(user: "me", password: "secret", persistence: .forSession)
        storage.setDefaultCredential(stored, for: space)
        let answers = Collected<String>()
        _ = StubProtocol.handle(host) { stub in
            guard let client = stub.client, let url = stub.request.url else { return }
            answers.append(stub.request.value(forHTTPHeaderField: "Authorization") ?? "no field")
            let sender = DefaultSender { answer in
                answers.append(answer)
                let other = URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
                other.respond(401, ["WWW-Authenticate": "Basic realm=\"r\""])
                other.finish()
            }
            client.urlProtocol(
                stub,
                didReceive: URLAuthenticationChallenge(
                    protectionSpace: space, proposedCredential: nil, previousFailureCount: 0, failureResponse: nil,
                    error: nil, sender: sender))
        }
        let proposed = Collected<String>()
        let delegate = TaskAsyncDelegate { challenge in
            proposed.append(challenge.proposedCredential?.user ?? "none")
            return (.performDefaultHandling, nil)
        }
        let configuration = StubProtocol.configuration { $0.urlCredentialStorage = storage }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        #expect(try await session.get("https://\(host)/").response.statusCode == 401)
        #expect(answers.values == ["no field", "default"])
        #expect(proposed.values == ["none"])
    }
}

/// Accepts only the answer to handle a challenge by default. Passes on any other as an error.
private final class DefaultSender: NSObject, URLAuthenticationChallengeSender {
    private let take: @Sendable (String) -> Void

    init(_ take: @escaping @Sendable (String) -> Void) { self.take = take }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) { take(credential.user ?? "") }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { take("without") }
    func cancel(_ challenge: URLAuthenticationChallenge) { take("cancel") }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { take("default") }
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { take("reject") }
}
