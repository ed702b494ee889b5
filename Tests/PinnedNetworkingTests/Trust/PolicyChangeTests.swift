import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// The behavior of a session whose policy expires, is replaced, or denies a key.
@Suite(.timeLimit(.minutes(10)))
struct PolicyChangeTests {
    @Test(
        "PE9: A connection isn't reused after the rule that accepted it has expired",
        arguments: PinningExpiry.Action.allCases)
    func expiry(action: PinningExpiry.Action) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            var patience = 0.5
            while true {
                let end = Date() + patience
                let policy = try PinningPolicy.pinning(
                    site.leaf.key.pin, expiry: PinningExpiry(at: end, then: action))
                let log = Collected<PinDecision>()
                let session = try site.session(server, policy: policy) {
                    $0.serverTrustObserver = {
                        if case .accepted(let decision) = $0.outcome { log.append(decision) }
                    }
                }
                let first = try? await session.get()
                // If the machine was too slow for the first request, it gets more time.
                guard first != nil, Date() < end else {
                    patience *= 4
                    try #require(patience < 128, "the first request fails for another reason")
                    continue
                }
                try await Task.sleep(for: .seconds(end.timeIntervalSinceNow + 0.01))
                let known = server.records.count
                if action == .fail {
                    let error = try await session.failure()
                    #expect(error.code == .serverCertificateUntrusted)
                    guard case .expired = error.pinningError else { throw error }
                } else {
                    #expect(try await session.get().body == "hello")
                    guard case .matched = log.values[0] else { throw URLError(.unknown) }
                    switch (action, log.values[1]) {
                    case (.report, .matched), (.stopPinning, .stopped): break
                    default: throw URLError(.unknown)
                    }
                }
                await session.flush()
                #expect(await server.ended(known + 1).count == known + 1)
                return
            }
        }
    }

    @Test("A connection isn't reused after its server's certificate has expired")
    func expiredLeaf() async throws {
        let site = try TestSite.shared.get()
        var patience: Int64 = 2
        while true {
            let end = Int64(Date().timeIntervalSince1970) + patience
            let leaf = try site.intermediate.server([.dns("pinned.test")]) { $0.notAfter = end }
            let isDone = try await LoopbackServer(chain: [leaf, site.intermediate]).run { server in
                let session = try site.session(server)
                let first = try? await session.get()
                // If the machine was too slow for the first request, it gets more time.
                guard first?.body == "hello", Date().timeIntervalSince1970 < Double(end) else { return false }
                // The last second is part of the validity.
                while Date().timeIntervalSince1970 < Double(end + 1) { try await Task.sleep(for: .milliseconds(50)) }
                #expect(try await session.failure().code == .serverCertificateHasBadDate)
                await session.flush()
                #expect(await server.ended(2).map(\.requests.count) == [1, 0])
                return true
            }
            if isDone { return }
            patience *= 2
            try #require(patience < 128, "the first request fails for another reason")
        }
    }

    @Test("A connection isn't reused after its proxy's certificate has expired", arguments: ["https", "http"])
    func expiredProxy(scheme: String) async throws {
        let site = try TestSite.shared.get()
        var patience: Int64 = 2
        while true {
            let end = Int64(Date().timeIntervalSince1970) + patience
            let leaf = try site.intermediate.server([.dns("localhost")]) { $0.notAfter = end }
            let isDone = try await LoopbackServer(chain: site.chain).run { server in
                let script = LoopbackServer.Script.proxy(to: ["pinned.test:443": server.port]) { request in
                    request.method == "CONNECT" ? .serve : .respond(.init(body: "hello"))
                }
                return try await LoopbackServer(chain: [leaf, site.intermediate], script).run { proxy in
                    let session = try site.session(server) {
                        $0.proxyConfigurations = [try? proxy.configuration(usesTLS: true)].compactMap(\.self)
                    }
                    let url = "\(scheme)://pinned.test/"
                    let first = try? await session.get(url)
                    // If the machine was too slow for the first request, it gets more time.
                    guard first?.body == "hello", Date().timeIntervalSince1970 < Double(end) else { return false }
                    let before = (server.applicationBytes.count, proxy.applicationBytes.count)
                    // The last second is part of the validity.
                    while Date().timeIntervalSince1970 < Double(end + 1) {
                        try await Task.sleep(for: .milliseconds(50))
                    }
                    #expect(try await session.failure(url).code == .serverCertificateHasBadDate)
                    await session.flush()
                    _ = await proxy.ended(2)
                    #expect((server.applicationBytes.count, proxy.applicationBytes.count) == before)
                    return true
                }
            }
            if isDone { return }
            patience *= 2
            try #require(patience < 128, "the first request fails for another reason")
        }
    }

    @Test(
        "PE21: The last message of a login is not sent under a policy that doesn't accept the server",
        arguments: [true, false])
    func replacedDuringLogin(isAccepted: Bool) async throws {
        let site = try TestSite.shared.get()
        let next = try PinningPolicy.pinning(isAccepted ? site.intermediate.key.pin : unknownPin)
        let acceptor = NTLMAcceptor()
        let current = Locked<URLSession?>(nil)
        let script = LoopbackServer.Script.answer { request in
            let response = acceptor.answer(request)
            // Between the server's message and the client's last one, which uses the connection that is reserved for
            // the login.
            let isChallenged = String(decoding: response.bytes, as: UTF8.self).contains("go on")
            if isChallenged { current.withLock { $0?.pinning = next } }
            return response
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let credential = URLCredential(user: "me", password: "word", persistence: .forSession)
            let delegate = TaskHandlerDelegate { challenge in
                challenge.protectionSpace.serverTrust == nil
                    ? (.useCredential, credential) : (.performDefaultHandling, nil)
            }
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin)) {
                $0.urlCredentialStorage = URLCredentialStorage()
            }
            current.withLock { $0 = session }
            try await expect(isAccepted ? "me " : nil, from: session, delegate)
            await session.flush()
            let records = await server.ended(2)
            // A request without a login, and one with its first message.
            #expect(records[0].requests.map { $0.values(of: "Authorization").count } == [0, 1])
            #expect(acceptor.received.count == (isAccepted ? 1 : 0))
            #expect(records[1].requests.isEmpty == !isAccepted)
        }
    }

    @Test("PE9: The last message of a login isn't sent after the rule that accepted its server has expired")
    func expiredDuringLogin() async throws {
        let site = try TestSite.shared.get()
        let credential = URLCredential(user: "me", password: "word", persistence: .forSession)
        let delegate = TaskHandlerDelegate { challenge in
            challenge.protectionSpace.serverTrust == nil ? (.useCredential, credential) : (.performDefaultHandling, nil)
        }
        var patience = 0.5
        while true {
            let end = Date() + patience
            let acceptor = NTLMAcceptor()
            let isInTime = Locked(false)
            let script = LoopbackServer.Script.answer { request in
                let response = acceptor.answer(request)
                // The connection is reserved for the client's last message.
                if String(decoding: response.bytes, as: UTF8.self).contains("go on") {
                    isInTime.withLock { $0 = Date() < end }
                    while Date() < end + 0.01 { Thread.sleep(forTimeInterval: 0.005) }
                }
                return response
            }
            let error = try await LoopbackServer(chain: site.chain, script).run { server in
                let policy = try PinningPolicy.pinning(
                    site.leaf.key.pin, expiry: PinningExpiry(at: end, then: .fail))
                let session = try site.session(server, policy: policy) {
                    $0.urlCredentialStorage = URLCredentialStorage()
                }
                return try await session.failure(delegate: delegate)
            }
            #expect(acceptor.received.isEmpty)
            #expect(error.code == .serverCertificateUntrusted)
            if isInTime.withLock({ $0 }) { return }
            // If the machine was too slow for the first requests, they get more time.
            patience *= 4
            try #require(patience < 128, "the first requests fail for another reason")
        }
    }

    /// Expects this response, or without one that the server is refused.
    private func expect(
        _ body: String?, from session: URLSession, _ delegate: (any URLSessionTaskDelegate)?
    ) async throws {
        if let body {
            #expect(try await session.get(delegate: delegate).body == body)
        } else {
            #expect(try await session.failure(delegate: delegate).code == .serverCertificateUntrusted)
        }
    }

    /// The program's code that replaces the pins while a request waits for it.
    enum Replacement: CaseIterable, Sendable {
        case sessionDelegate, taskDelegate, observer
    }

    @Test(
        "PE21: A request isn't sent to a server that was approved under pins replaced in the meantime",
        arguments: Replacement.allCases, [true, false])
    func replacedBeforeSending(by code: Replacement, isAccepted: Bool) async throws {
        let site = try TestSite.shared.get()
        let next = try PinningPolicy.pinning(isAccepted ? site.intermediate.key.pin : unknownPin)
        let current = Locked<URLSession?>(nil)
        let replace: @Sendable () -> Void = { current.withLock { $0?.pinning = next } }
        let respond: @Sendable (URLAuthenticationChallenge) -> Answer = { _ in
            replace()
            return (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(
                server, policy: .pinning(site.leaf.key.pin),
                delegate: code == .sessionDelegate ? SessionHandlerDelegate(respond) : nil
            ) { if code == .observer { $0.serverTrustObserver = { _ in replace() } } }
            current.withLock { $0 = session }
            let delegate = code == .taskDelegate ? TaskHandlerDelegate(respond) : nil
            try await expect(isAccepted ? "hello" : nil, from: session, delegate)
            await session.flush()
            #expect(await server.ended(2).map(\.requests.count) == [0, isAccepted ? 1 : 0])
        }
    }

    /// When the pins of a proxy are replaced: while its handshake waits, or while its login is asked for.
    enum ProxyMoment: CaseIterable, Sendable {
        case handshake, login
    }

    @Test(
        "PE21: CONNECT isn't sent to a proxy that was approved under pins replaced in the meantime",
        arguments: ProxyMoment.allCases, [true, false])
    func replacedBeforeTunnel(at moment: ProxyMoment, isAccepted: Bool) async throws {
        let site = try TestSite.shared.get()
        let next = try PinningPolicy.pinning(
            isAccepted ? site.intermediate.key.pin : unknownPin, host: "localhost")
        let current = Locked<URLSession?>(nil)
        let delegate = TaskHandlerDelegate { challenge in
            let isLogin = challenge.protectionSpace.serverTrust == nil
            if isLogin == (moment == .login) { current.withLock { $0?.pinning = next } }
            return isLogin
                ? (.useCredential, URLCredential(user: "open", password: "sesame", persistence: .none))
                : (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let script = LoopbackServer.Script.proxy(to: ["pinned.test:443": server.port]) { request in
                moment == .handshake || !request.values(of: "Proxy-Authorization").isEmpty
                    ? .serve
                    : .respond(
                        .init(
                            "407 Proxy Authentication Required", fields: ["Proxy-Authenticate: Basic realm=\"way out\""]
                        ))
            }
            try await LoopbackServer(chain: site.proxyChain(), script).run { proxy in
                let policy = try PinningPolicy.pinning(site.intermediate.key.pin, role: .ca, host: "localhost")
                let session = try site.session(server, policy: policy) {
                    $0.urlCredentialStorage = URLCredentialStorage()
                    $0.proxyConfigurations = [try? proxy.configuration(usesTLS: true)].compactMap(\.self)
                }
                current.withLock { $0 = session }
                try await expect(isAccepted ? "hello" : nil, from: session, delegate)
                await session.flush()
                // The first connection ends with what was sent before the pins were replaced.
                #expect(
                    await proxy.ended(2).map(\.requests.count) == [moment == .login ? 1 : 0, isAccepted ? 1 : 0])
                #expect(server.records.count == (isAccepted ? 1 : 0))
            }
        }
    }

    @Test("PE21: A request isn't sent on a reused connection if its delegate replaces the pins")
    func replacedBeforeReuse() async throws {
        let site = try TestSite.shared.get()
        let next = try PinningPolicy.pinning(unknownPin)
        let current = Locked<URLSession?>(nil)
        let delegate = TaskHandlerDelegate { _ in
            current.withLock { $0?.pinning = next }
            return (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, policy: .pinning(site.leaf.key.pin))
            current.withLock { $0 = session }
            #expect(try await session.get().body == "hello")
            #expect(try await session.failure(delegate: delegate).code == .serverCertificateUntrusted)
            await session.flush()
            #expect(await server.ended(2).map(\.requests.count) == [1, 0])
        }
    }

    @Test("PE9: A connection isn't reused after the clock was turned back to before its evaluation")
    func clockTurnedBack() async throws {
        let site = try TestSite.shared.get()
        let before = Date()
        let expired = PinningExpiry(at: before - 1, then: .stopPinning)
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, policy: .pinning(unknownPin, expiry: expired))
            #expect(try await session.get().body == "hello")
            let origin = HTTPOrigin(scheme: .https, name: try ServerName("pinned.test"), port: 443)
            let key = ConnectionPool.Key(origin: origin, proxy: nil, isTunneled: false)
            let kept = try #require(await session.pool.takeIdle(key) { _ in true })
            #expect(await kept.isValid(at: Date()))
            #expect(await !kept.isValid(at: before - 0.5))
            await session.pool.close(kept, for: key)
        }
    }

    @Test("PE21: A session that observes a policy store uses the new policy for its next request")
    func store() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server)
            let store = PolicyStore(try .pinning(site.leaf.key.pin))
            store.observe { [weak session] policy in session?.pinning = policy }
            #expect(try await session.get().body == "hello")
            store.replace(with: try .pinning(unknownPin))
            #expect(try await session.failure().code == .serverCertificateUntrusted)
            store.replace(with: try .pinning(site.root.key.pin))
            #expect(try await session.get().body == "hello")
            await session.flush()
            #expect(await server.ended(3).map(\.requests.count) == [1, 0, 1])
        }
    }

    /// Accepts every server.
    private final class Careless: NSObject, URLSessionDelegate {
        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            (.useCredential, challenge.protectionSpace.serverTrust.map { URLCredential(trust: $0) })
        }
    }

    @Test(
        "A denied key is rejected for every host, trusted or not, and no delegate can accept it",
        arguments: [true, false])
    func denied(isTrusted: Bool) async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            for certificate in [site.leaf, site.intermediate] {
                let policy = try PinningPolicy.pinning(unknownPin, host: "other.test", deny: [certificate.key.pin])
                let session = try site.session(server, policy: policy, delegate: Careless()) {
                    if !isTrusted { $0.trustStore = TrustStore(certificates: []) }
                }
                let error = try await session.failure()
                if isTrusted {
                    guard case .denied = error.pinningError else { throw error }
                } else {
                    #expect(error.code == .serverCertificateHasUnknownRoot)
                }
            }
            let allowed = try PinningPolicy.pinning(unknownPin, host: "other.test", deny: [unknownPin])
            let session = try site.session(server, policy: allowed, delegate: Careless()) {
                if !isTrusted { $0.trustStore = TrustStore(certificates: []) }
            }
            #expect(try await session.get().body == "hello")
            await session.flush()
            #expect(await server.ended(3).map(\.requests.count) == [0, 0, 1])
        }
    }

    /// Answers with its own policy.
    private final class Responder: NSObject, URLSessionDelegate {
        let policy: PinningPolicy
        init(_ policy: PinningPolicy) { self.policy = policy }

        func urlSession(
            _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
        ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
            policy.respond(to: challenge)
        }
    }

    @Test(
        "A policy's answer to a challenge rejects a denied key of a host without a rule, and only that")
    func respond() async throws {
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            for (key, isDenied) in [(try site.intermediate.key.pin, true), (unknownPin, false)] {
                let policy = try PinningPolicy.pinning(unknownPin, host: "other.test", deny: [key])
                let session = try site.session(server, delegate: Responder(policy))
                if isDenied {
                    #expect(try await session.failure().code == .serverCertificateUntrusted)
                } else {
                    #expect(try await session.get().body == "hello")
                }
                let unrelated = try site.session(server, delegate: Responder(policy)) {
                    $0.trustStore = TrustStore(certificates: [])
                }
                let error = try await unrelated.failure()
                #expect(error.code == (isDenied ? .serverCertificateUntrusted : .serverCertificateHasUnknownRoot))
            }
        }
    }
}
