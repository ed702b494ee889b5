import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// HA11: NTLM with the whole client. A login belongs to a connection, so the tests check which requests share one.
@Suite(.timeLimit(.minutes(10)))
struct NTLMLoginTests {
    /// Records the server's challenges by method, and answers them with each user in turn.
    private final class Users: URLSessionTaskDelegate {
        private let state: Locked<(credentials: [URLCredential?], seen: [URLAuthenticationChallenge])>

        init(_ credentials: URLCredential?...) { state = Locked((credentials, [])) }

        var logins: [URLAuthenticationChallenge] { state.withLock { $0.seen } }
        var methods: [String] { logins.map(\.protectionSpace.authenticationMethod) }

        func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
            guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
            return state.withLock { state in
                state.seen.append(challenge)
                guard !state.credentials.isEmpty else { return (.rejectProtectionSpace, nil) }
                guard let credential = state.credentials.removeFirst() else { return (.rejectProtectionSpace, nil) }
                return (.useCredential, credential)
            }
        }
    }

    private static func me(_ persistence: URLCredential.Persistence = .forSession) -> URLCredential {
        URLCredential(user: "DOM\\me", password: "word", persistence: persistence)
    }

    private static let you = URLCredential(user: "you", password: "other", persistence: .none)

    private func withServer(
        _ acceptor: NTLMAcceptor = NTLMAcceptor(), isPlain: Bool = false, delegate: Users? = nil,
        _ body: (LoopbackServer, URLSession) async throws -> Void
    ) async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { acceptor.answer($0) }
        let server = isPlain ? try LoopbackServer(plain: script) : try LoopbackServer(chain: site.chain, script)
        try await server.run { server in
            let session = try site.session(server, delegate: delegate) {
                $0.urlCredentialStorage = URLCredentialStorage()
            }
            try await body(server, session)
        }
    }

    @Test(
        "A login takes one challenge and three messages on one connection, and later requests need none",
        arguments: [false, true])
    func login(isPlain: Bool) async throws {
        let acceptor = NTLMAcceptor()
        let users = Users(Self.me())
        let url = isPlain ? "http://pinned.test/" : "https://pinned.test/"
        try await withServer(acceptor, isPlain: isPlain, delegate: users) { (server, session) async throws in
            for _ in 0..<3 { #expect(try await session.get(url).body == "me ") }
            await session.flush()
            let records = await server.ended()
            #expect(records.count == 1)
            #expect(records[0].requests.map { $0.values(of: "Authorization").count } == [0, 1, 1, 0, 0])
        }
        #expect(users.methods == [NSURLAuthenticationMethodNTLM])
        let space = users.logins[0].protectionSpace
        #expect((space.host, space.port, space.realm) == ("pinned.test", isPlain ? 80 : 443, nil))
        let answer = try #require(acceptor.received.first)
        #expect((answer.user, answer.domain) == ("me", "DOM"))
        #expect(answer.lmResponse == [UInt8](repeating: 0, count: 24))
    }

    @Test("Over TLS the answer is bound to the server's certificate; without TLS the channel bindings are zero")
    func binding() async throws {
        let site = try TestSite.shared.get()
        let digest = try #require(try X509Certificate(derBytes: site.leaf.derBytes).serverEndPoint)
        let data = Array("tls-server-end-point:".utf8) + digest
        let bindings = [UInt8](repeating: 0, count: 16) + littleEndian(UInt32(data.count)) + data
        for isPlain in [false, true] {
            let acceptor = NTLMAcceptor()
            try await withServer(acceptor, isPlain: isPlain, delegate: Users(Self.me())) { (_, session) async throws in
                _ = try await session.get(isPlain ? "http://pinned.test/" : "https://pinned.test/")
            }
            let found = acceptor.received.first?.attributes.first { $0.kind == .channelBindings }?.value
            #expect(found == (isPlain ? [UInt8](repeating: 0, count: 16) : MessageDigest.md5.hash(bindings)))
        }
    }

    @Test("A wrong password is requested again, and the second login succeeds")
    func again() async throws {
        let users = Users(URLCredential(user: "me", password: "wrong", persistence: .forSession), Self.me())
        try await withServer(delegate: users) { (_, session) async throws in
            #expect(try await session.get().body == "me ")
        }
        #expect(users.logins.map(\.previousFailureCount) == [0, 1])
        #expect(users.logins[1].proposedCredential?.user == "me")
    }

    @Test("Without a login the 401 is the response, with its body")
    func nobody() async throws {
        for delegate in [nil, Users(nil)] {
            try await withServer(delegate: delegate) { (_, session) async throws in
                let (body, response) = try await session.get()
                #expect(response.statusCode == 401)
                #expect(body == "log in")
            }
        }
    }

    @Test(
        "HA11: A request never uses a connection on which another user logged in (CVE-2014-0015, CVE-2015-3143)"
    )
    func otherUser() async throws {
        try await withServer { (server, session) async throws in
            let (first, second) = (Users(Self.me(.none)), Users(Self.you))
            #expect(try await session.get(delegate: first).body == "me ")
            #expect(try await session.get(delegate: second).body == "you ")
            #expect(second.logins.count == 1)
            await session.flush()
            #expect(await server.ended(2).count == 2)
        }
    }

    @Test("HA11: A request without a login never uses a connection with one (CVE-2015-3148)")
    func withoutLogin() async throws {
        try await withServer { (server, session) async throws in
            #expect(try await session.get(delegate: Users(Self.me(.none))).body == "me ")
            let (body, response) = try await session.get()
            #expect((body, response.statusCode) == ("log in", 401))
            // A login that the caller sets is a different login too.
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.setValue("Basic eDp5", forHTTPHeaderField: "Authorization")
            let (_, other) = try await session.data(for: request)
            #expect((other as? HTTPURLResponse)?.statusCode == 401)
            await session.flush()
            let records = await server.ended(2)
            #expect(records.count { !$0.requests.filter { $0.values(of: "Authorization").isEmpty }.isEmpty } >= 2)
        }
    }

    @Test("HA11: Many concurrent users each get their own responses", arguments: [1, 2])
    func crowd(connections: Int) async throws {
        let names = (0..<12).map { "user\($0)" }
        let acceptor = NTLMAcceptor(Dictionary(uniqueKeysWithValues: names.map { ($0, $0 + "-word") }))
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain, .answer { acceptor.answer($0) }).run { server in
            let session = try site.session(server) {
                $0.urlCredentialStorage = URLCredentialStorage()
                $0.httpMaximumConnectionsPerHost = connections
            }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for name in names {
                    group.addTask {
                        let users = Users(
                            URLCredential(user: name, password: name + "-word", persistence: .none))
                        let body = try await session.get(delegate: users).body
                        #expect(body == name + " ")
                    }
                }
                try await group.waitForAll()
            }
        }
    }

    @Test("A short body is sent with each login message, a long one only after the login", arguments: [3, 70_000])
    func body(count: Int) async throws {
        try await withServer(delegate: Users(Self.me())) { (server, session) async throws in
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.httpMethod = "POST"
            let text = String(repeating: "x", count: count)
            let (data, _) = try await session.upload(for: request, from: Data(text.utf8))
            #expect(String(decoding: data, as: UTF8.self) == "me " + text)
            await session.flush()
            let sizes = await server.ended().flatMap(\.requests).map(\.body.count)
            #expect(sizes == (count == 3 ? [3, 3, 3] : [count, 0, count]))
        }
    }

    @Test("A server that closes during a login ends it, without an endless loop")
    func closing() async throws {
        let acceptor = NTLMAcceptor()
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            var response = acceptor.answer(request)
            response.closes = true
            return response
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server, delegate: Users(Self.me(), Self.me(), Self.me(), Self.me())) {
                $0.urlCredentialStorage = URLCredentialStorage()
            }
            #expect(try await session.get().response.statusCode == 401)
            #expect(server.records.count < 40)
        }
    }

    @Test("HA11: A malformed NTLM challenge ends the login, and the next scheme is used")
    func garbage() async throws {
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            let login = request.values(of: "Authorization").first ?? ""
            if login.hasPrefix("Basic") { return .init(body: "hello") }
            let challenge = login.hasPrefix("NTLM") ? "NTLM TlRMTVNTUAACAAAA//////////8=" : "NTLM"
            return .init(
                "401 Unauthorized", fields: ["WWW-Authenticate: \(challenge)", "WWW-Authenticate: Basic realm=\"r\""])
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let users = Users(Self.me(), Self.me())
            let session = try site.session(server, delegate: users) { $0.urlCredentialStorage = URLCredentialStorage() }
            #expect(try await session.get().body == "hello")
            #expect(users.methods == [NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodHTTPBasic])
        }
    }

    @Test(
        "HA11: A host reached only by a redirect gets no login, except one stored for it",
        arguments: [false, true])
    func redirect(isStored: Bool) async throws {
        let acceptor = NTLMAcceptor()
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            request.values(of: "Host") == ["start.test"]
                ? .init("302 Found", fields: ["Location: https://pinned.test/"]) : acceptor.answer(request)
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let storage = URLCredentialStorage()
            if isStored {
                storage.setDefaultCredential(
                    Self.me(),
                    for: URLProtectionSpace(
                        host: "pinned.test", port: 443, protocol: "https", realm: nil,
                        authenticationMethod: NSURLAuthenticationMethodNTLM))
            }
            let users = Users(Self.me())
            let session = try site.session(server, delegate: users) { $0.urlCredentialStorage = storage }
            let (body, response) = try await session.get("https://start.test/")
            #expect((body, response.statusCode) == (isStored ? ("me ", 200) : ("log in", 401)))
            #expect(users.logins.count == (isStored ? 1 : 0))
            if !isStored { #expect(acceptor.received.isEmpty) }
        }
    }

    @Test("A proxy login happens on the connection that becomes the tunnel, and the origin sees none of it")
    func tunnel() async throws {
        let acceptor = NTLMAcceptor(isProxy: true)
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let script = LoopbackServer.Script.proxy(to: ["pinned.test:443": server.port]) { request in
                acceptor.refusal(request).map { .respond($0) } ?? .serve
            }
            try await LoopbackServer(plain: script).run { proxy in
                let session = try site.session(server) {
                    $0.urlCredentialStorage = URLCredentialStorage()
                    var way = try? proxy.configuration()
                    way?.applyCredential(username: "me", password: "word")
                    $0.proxyConfigurations = [way].compactMap(\.self)
                }
                #expect(try await session.get().body == "hello")
                await session.flush()
                let asked = await proxy.ended()
                #expect(asked.count == 1)
                #expect(asked[0].requests.map { $0.values(of: "Proxy-Authorization").count } == [0, 1, 1])
                #expect(acceptor.received.map(\.user) == ["me"])
                let seen = String(decoding: server.applicationBytes, as: UTF8.self)
                #expect(!seen.contains("NTLM") && !seen.contains("uthorization"))
            }
        }
    }

    @Test(
        "A forwarding proxy gets an NTLM login on its connection, and the origin behind it never does (HA11)")
    func forwarding() async throws {
        let (atProxy, atOrigin) = (NTLMAcceptor(isProxy: true), NTLMAcceptor())
        let site = try TestSite.shared.get()
        try await LoopbackServer(plain: .answer { atOrigin.answer($0) }).run { server in
            let script = LoopbackServer.Script.proxy(to: ["plain.test:80": server.port]) { request in
                atProxy.refusal(request).map { .respond($0) } ?? .serve
            }
            try await LoopbackServer(plain: script).run { proxy in
                let users = Users(Self.me(), Self.me())
                let session = try site.session(server, delegate: users) {
                    $0.urlCredentialStorage = URLCredentialStorage()
                    $0.proxyConfigurations = [try? proxy.configuration()].compactMap(\.self)
                }
                let (body, response) = try await session.get("http://plain.test/")
                #expect((body, response.statusCode) == ("log in", 401))
                #expect(users.logins.map { $0.protectionSpace.isProxy() } == [true])
                #expect(atProxy.received.map(\.user) == ["me"])
                #expect(atOrigin.received.isEmpty)
            }
        }
    }
}
