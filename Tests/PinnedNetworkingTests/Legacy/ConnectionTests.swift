import CertificateTrust
import Foundation
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

private let right = "Basic " + Data("me:secret".utf8).base64EncodedString()
private let page = "http://pinned.test/a/1"
private let securePage = "https://pinned.test/a/1"
private let unknownRoot = "error \(URLError.Code.serverCertificateHasUnknownRoot.rawValue)"
private let untrusted = "error \(URLError.Code.serverCertificateUntrusted.rawValue)"
private let userCancelled = "error \(URLError.Code.userCancelledAuthentication.rawValue)"

@Sendable private func askForLogin(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
    if request.values(of: "Authorization") == [right] { return LoopbackServer.Response(body: "hello") }
    return LoopbackServer.Response("401 Unauthorized", fields: ["WWW-Authenticate: Basic realm=\"r\""], body: "denied")
}

private func login(
    _ password: String = "secret", _ persistence: URLCredential.Persistence = .none
) -> URLCredential {
    URLCredential(user: "me", password: password, persistence: persistence)
}

/// Trusts every server, and logs in everywhere.
@Sendable private func agree(_ challenge: URLAuthenticationChallenge) {
    let trust = challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) }
    challenge.sender?.use(trust ?? login(), for: challenge)
}

@Suite("Connections", .timeLimit(.minutes(10)))
struct ConnectionTests {
    private let site: TestSite
    private let storage = URLCredentialStorage()

    init() throws { site = try TestSite.pinned() }

    private func keep(_ credential: URLCredential) {
        let space = URLProtectionSpace(
            host: "pinned.test", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        storage.setDefaultCredential(credential, for: space)
    }

    private func plainServer() throws -> LoopbackServer { try LoopbackServer(plain: .answer(askForLogin)) }

    /// Requests a client certificate, which is optional, and a login.
    private func secureServer() throws -> LoopbackServer {
        try LoopbackServer(chain: site.chain, .answer(askForLogin)) {
            $0.clientAuthentication = LoopbackServer.ClientAuthentication(issuers: [site.root])
        }
    }

    /// Loads a page and expects this end.
    private func expect(
        _ end: String, _ url: String = page, from server: LoopbackServer, _ delegate: any RecordingDelegate,
        policy: PinningPolicy? = nil, sourceLocation: SourceLocation = #_sourceLocation,
        _ adjust: (URLSessionConfiguration) -> Void = { _ in }
    ) async throws {
        let configuration = try site.configuration(server, policy: policy) {
            $0.urlCredentialStorage = storage
            adjust($0)
        }
        let request = URLRequest(url: try #require(URL(string: url)))
        _ = try #require(NSURLConnection(request: request, delegate: delegate, configuration: configuration))
        #expect(await delegate.heard.end == end, sourceLocation: sourceLocation)
    }

    private func sent(_ server: LoopbackServer) -> [String] {
        server.records.flatMap(\.requests).map { $0.values(of: "Authorization").joined() }
    }

    // MARK: Which challenges the delegate receives

    @Test("Without canAuthenticate, the delegate receives logins, but not server trust and client certificates")
    func defaults() async throws {
        try await secureServer().run { server in
            let delegate = ReceivingDelegate(agree)
            try await expect("200 hello", securePage, from: server, delegate)
            #expect(delegate.heard.methods == ["HTTPBasic"])
        }
        try await secureServer().run { server in
            let delegate = ReceivingDelegate(agree)
            try await expect(unknownRoot, securePage, from: server, delegate) {
                $0.trustStore = TrustStore(certificates: [])
            }
            #expect(delegate.heard.methods == [] && server.applicationBytes.isEmpty)
        }
    }

    @Test("After a yes, the delegate receives every challenge, and can accept only a server without pins")
    func yes() async throws {
        let unpinned = try PinningPolicy.pinning(unknownPin, host: "elsewhere.test")
        for policy in [nil, unpinned] {
            try await secureServer().run { server in
                let delegate = ChoosingDelegate(answers: true, agree)
                try await expect("200 hello", securePage, from: server, delegate, policy: policy) {
                    $0.trustStore = TrustStore(certificates: [])
                }
                #expect(delegate.heard.methods == ["ServerTrust", "ClientCertificate", "HTTPBasic"])
            }
        }
        let pinned = try PinningPolicy.pinning(unknownPin)
        for delegate in [ChoosingDelegate(answers: true, agree), LaterDelegate(agree)] as [any RecordingDelegate] {
            try await secureServer().run { server in
                try await expect(untrusted, securePage, from: server, delegate, policy: pinned)
                #expect(delegate.heard.methods == ["ServerTrust"] && server.applicationBytes.isEmpty)
            }
        }
    }

    @Test("After a no, default handling decides: it accepts only trusted servers and uses a stored login")
    func refused() async throws {
        for (store, policy, end) in [
            (nil, nil, "401 denied"), (TrustStore(certificates: []), nil, unknownRoot),
            (nil, try PinningPolicy.pinning(unknownPin), untrusted),
        ] as [(TrustStore?, PinningPolicy?, String)] {
            try await secureServer().run { server in
                let delegate = ChoosingDelegate(answers: false, agree)
                try await expect(end, securePage, from: server, delegate, policy: policy) {
                    if let store { $0.trustStore = store }
                }
                #expect(delegate.heard.methods == [] && delegate.heard.events.values.first == "asked ServerTrust")
            }
        }
        keep(login("secret", .forSession))
        try await plainServer().run { server in
            try await expect("200 hello", from: server, ChoosingDelegate(answers: false, agree))
        }
    }

    @Test("The later method receives every challenge, and the older two receive none")
    func later() async throws {
        try await secureServer().run { server in
            let delegate = LaterDelegate(agree)
            try await expect("200 hello", securePage, from: server, delegate)
            #expect(delegate.heard.methods == ["ServerTrust", "ClientCertificate", "HTTPBasic"])
            #expect(delegate.heard.events.values == ["200 hello"])
        }
    }

    // MARK: Available credentials

    @Test("A credential of the URL, or else of the storage, is used without asking the delegate")
    func available() async throws {
        try await plainServer().run { server in
            let delegate = ReceivingDelegate(agree)
            try await expect("200 hello", "http://me:secret@pinned.test/a/1", from: server, delegate)
            #expect(delegate.heard.methods == [])
        }
        keep(login("secret", .forSession))
        for url in [page, "http://me@pinned.test/a/1"] {
            try await plainServer().run { server in
                let delegate = ReceivingDelegate(agree)
                try await expect("200 hello", url, from: server, delegate)
                #expect(delegate.heard.methods == [] && sent(server) == ["", right])
            }
        }
        // The URL's credential is rejected, the storage's isn't.
        try await plainServer().run { server in
            let delegate = ReceivingDelegate(agree)
            try await expect("200 hello", "http://me:wrong@pinned.test/a/1", from: server, delegate)
            #expect(delegate.heard.methods == [] && sent(server).count == 3)
        }
    }

    @Test("If the available credential is rejected, the delegate receives a challenge that reports the failure")
    func unavailable() async throws {
        keep(login("wrong", .forSession))
        try await plainServer().run { server in
            let delegate = ReceivingDelegate(agree)
            try await expect("200 hello", from: server, delegate)
            let challenge = try #require(delegate.heard.challenges.values.first)
            #expect(challenge.previousFailureCount == 1 && challenge.proposedCredential?.password == "wrong")
            #expect(sent(server).count == 3)
        }
    }

    @Test("A stored identity is sent to a server that requests a client certificate")
    func storedIdentity() async throws {
        let identity = try site.root.issue(.client("alice")).identity
        storage.setDefaultCredential(
            URLCredential(identity: identity, certificates: nil, persistence: .forSession), for: .clientCertificate())
        for delegate in [ReceivingDelegate(agree), ChoosingDelegate(answers: true, agree)] as [any RecordingDelegate] {
            try await secureServer().run { server in
                try await expect("200 hello", securePage, from: server, delegate)
                #expect(!delegate.heard.methods.contains("ClientCertificate"))
                #expect(server.records.flatMap(\.clientChain) == identity.certificates.map(\.derBytes))
            }
        }
    }

    @Test("A delegate that declines the storage gets no stored credential, and nothing is stored")
    func withoutStorage() async throws {
        keep(login("secret", .forSession))
        let other = URLCredentialStorage()
        try await plainServer().run { server in
            let delegate = StoragelessDelegate { $0.sender?.use(login("secret", .permanent), for: $0) }
            try await expect("200 hello", from: server, delegate)
            #expect(delegate.heard.challenges.values.map { $0.proposedCredential == nil } == [true])
            let unknown = StoragelessDelegate { $0.sender?.use(login("secret", .forSession), for: $0) }
            try await expect("200 hello", from: server, unknown) { $0.urlCredentialStorage = other }
            #expect(other.allCredentials.isEmpty)
        }
    }

    @Test("A credential for the session is also used by the program's next connection; one of persistence none is not")
    func persistence() async throws {
        for (persistence, count) in [(URLCredential.Persistence.none, 2), (.forSession, 1)] {
            let asked = Collected<Void>()
            try await plainServer().run { server in
                for _ in 0..<2 {
                    let delegate = ReceivingDelegate { challenge in
                        asked.append(())
                        challenge.sender?.use(login("secret", persistence), for: challenge)
                    }
                    try await expect("200 hello", from: server, delegate)
                }
            }
            #expect(asked.values.count == count)
        }
    }

    // MARK: Answers

    @Test("Cancelling a challenge is reported before the failure")
    func cancelledChallenge() async throws {
        let cancel: ChallengeReceiver = { $0.sender?.cancel($0) }
        try await plainServer().run { server in
            let delegate = ReceivingDelegate(cancel)
            try await expect(userCancelled, from: server, delegate)
            #expect(delegate.heard.events.values == ["cancelled HTTPBasic", userCancelled])
        }
        for delegate in [ChoosingDelegate(answers: true, cancel), LaterDelegate(cancel)] as [any RecordingDelegate] {
            try await secureServer().run { server in
                try await expect(userCancelled, securePage, from: server, delegate)
                #expect(delegate.heard.events.values.suffix(2) == ["cancelled ServerTrust", userCancelled])
                #expect(server.applicationBytes.isEmpty)
            }
        }
    }

    @Test("Continuing without a credential accepts the 401, and rejects a server that needs trust")
    func without() async throws {
        let goOn: ChallengeReceiver = { $0.sender?.continueWithoutCredential(for: $0) }
        try await plainServer().run { server in
            try await expect("401 denied", from: server, ReceivingDelegate(goOn))
        }
        try await secureServer().run { server in
            try await expect(untrusted, securePage, from: server, ChoosingDelegate(answers: true, goOn))
            #expect(server.applicationBytes.isEmpty)
        }
    }

    @Test("Without didReceive the request continues without a credential, unless one is stored")
    func nobody() async throws {
        for (password, end) in [
            (nil, "401 denied"), ("wrong", "401 denied"), ("secret", "200 hello"),
        ] as [(String?, String)] {
            if let password { keep(login(password, .forSession)) }
            try await secureServer().run { server in
                try await expect("401 denied", securePage, from: server, SilentConnectionDelegate())
            }
            try await plainServer().run { server in
                try await expect(end, from: server, SilentConnectionDelegate())
            }
        }
    }

    @Test("The first of two answers counts")
    func twice() async throws {
        try await plainServer().run { server in
            let delegate = ReceivingDelegate { challenge in
                agree(challenge)
                challenge.sender?.cancel(challenge)
                agree(challenge)
            }
            try await expect("200 hello", from: server, delegate)
            #expect(delegate.heard.events.values == ["200 hello"])
        }
    }

    @Test("A cancelled connection's delegate receives no more events, even if it never answered")
    func cancelled() async throws {
        try await plainServer().run { server in
            let asked = OnceOnlyAnswer<URLAuthenticationChallenge>()
            let delegate = ReceivingDelegate { asked.answer($0) }
            let configuration = try site.configuration(server) { $0.urlCredentialStorage = storage }
            let request = URLRequest(url: try #require(URL(string: page)))
            let connection = try #require(
                NSURLConnection(request: request, delegate: delegate, configuration: configuration))
            let challenge = try #require(await asked.value)
            connection.cancel()
            connection.cancel()
            connection.start()
            agree(challenge)
            _ = await server.ended()
            while server.records.flatMap(\.requests).isEmpty { try await Task.sleep(for: .milliseconds(2)) }
            #expect(server.records.flatMap(\.requests).count == 1)
            #expect(delegate.heard.events.values == [])
        }
    }

    // MARK: Lifetime

    @Test("A connection starts once, when it is told to, and calls its delegate on the given queue")
    func start() async throws {
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        let queues = Collected<Bool>()
        try await plainServer().run { server in
            let delegate = ReceivingDelegate { challenge in
                queues.append(OperationQueue.current === queue)
                agree(challenge)
            }
            let configuration = try site.configuration(server) { $0.urlCredentialStorage = storage }
            let request = URLRequest(url: try #require(URL(string: page)))
            let connection = try #require(
                NSURLConnection(
                    request: request, delegate: delegate, startImmediately: false, configuration: configuration))
            configuration.urlCredentialStorage = nil
            connection.setDelegateQueue(queue)
            #expect(connection.originalRequest == request && connection.currentRequest == request)
            #expect(server.records.isEmpty)
            connection.start()
            connection.start()
            #expect(await delegate.heard.end == "200 hello")
            #expect(queues.values == [true] && sent(server) == ["", right])
        }
        let unbegun = SilentConnectionDelegate()
        let request = URLRequest(url: try #require(URL(string: page)))
        let connection = try #require(NSURLConnection(request: request, delegate: unbegun, startImmediately: false))
        connection.cancel()
        connection.start()
        #expect(connection.currentRequest == request && unbegun.heard.events.values == [])
    }

    @Test("A connection releases its delegate when it ends")
    func release() async throws {
        weak var released: ReceivingDelegate?
        try await plainServer().run { server in
            let delegate = ReceivingDelegate(agree)
            released = delegate
            try await expect("200 hello", from: server, delegate)
        }
        while released != nil { try await Task.sleep(for: .milliseconds(10)) }
    }

    @Test("A redirect is followed, changed, or taken as the response")
    func redirects() async throws {
        let answer: LoopbackServer.Script = .answer { request in
            request.target == "/a/1"
                ? LoopbackServer.Response("302 Found", fields: ["Location: /b"], body: "moved")
                : LoopbackServer.Response(body: request.target)
        }
        let elsewhere = try #require(URL(string: "http://pinned.test/c"))
        for (delegate, end) in [
            (SilentConnectionDelegate(), "200 /b"), (RedirectedDelegate { $0 }, "200 /b"),
            (RedirectedDelegate { _ in URLRequest(url: elsewhere) }, "200 /c"),
            (RedirectedDelegate { _ in nil }, "302 moved"),
        ] as [(any RecordingDelegate, String)] {
            try await LoopbackServer(plain: answer).run { server in
                try await expect(end, from: server, delegate)
                #expect(delegate is SilentConnectionDelegate || delegate.heard.events.values.first == "redirect 302")
            }
        }
    }
}
