import Foundation
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// A server that requires a login. Each top-level directory is its own realm, and `me` with `secret` is correct
/// everywhere.
private struct LoginServer {
    var methods = ["Basic"]

    func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
        if request.values(of: "Authorization") == [basic("me", "secret")] {
            return LoopbackServer.Response(body: "hello")
        }
        let realm = request.target.split(separator: "/").first ?? ""
        let fields = methods.map { method in
            let parameters = method == "Digest" ? ", nonce=\"n\", qop=\"auth\"" : ""
            return "WWW-Authenticate: \(method) realm=\"\(realm)\"\(parameters)"
        }
        return LoopbackServer.Response("401 Unauthorized", fields: fields, body: "denied")
    }

    func run<Value>(_ body: (LoopbackServer) async throws -> Value) async throws -> Value {
        try await LoopbackServer(plain: .answer(answer)).run(body)
    }
}

private func basic(_ user: String, _ password: String) -> String {
    "Basic " + Data("\(user):\(password)".utf8).base64EncodedString()
}

private func login(_ password: String = "secret", _ persistence: URLCredential.Persistence = .forSession) -> Answer {
    (.useCredential, URLCredential(user: "me", password: password, persistence: persistence))
}

extension LoopbackServer {
    /// The Authorization of each request, empty if there is none.
    fileprivate var sent: [String] {
        records.flatMap(\.requests).map { $0.values(of: "Authorization").joined(separator: ", ") }
    }
}

private let page = "http://pinned.test/a/1"

@Suite("Logins", .timeLimit(.minutes(10)))
struct LoginChallengeTests {
    private let site: TestSite

    init() throws { site = try TestSite.pinned() }

    @Test("Without a delegate, or with one that implements no method, a 401 is delivered with its body")
    func nobody() async throws {
        try await LoginServer(methods: ["Negotiate", "NTLM", "Digest", "Basic"]).run { server in
            for delegate in [nil, SilentDelegate()] {
                let (body, response) = try await site.session(server, delegate: delegate).get(page)
                #expect(body == "denied")
                #expect(response.statusCode == 401)
            }
            #expect(server.sent == ["", ""])
        }
    }

    @Test("An HTTP challenge contains the protection space, the failures and the rejected credential")
    func contents() async throws {
        let seen = Collected<URLAuthenticationChallenge>()
        let delegate = TaskHandlerDelegate {
            seen.append($0)
            return login("wrong")
        }
        try await LoginServer().run { server in
            let session = try site.session(server, delegate: delegate)
            #expect(try await session.get(page).response.statusCode == 401)
        }
        let challenges = seen.values
        let space = URLProtectionSpace(
            host: "pinned.test", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "a",
            authenticationMethod: NSURLAuthenticationMethodHTTPBasic)
        #expect(challenges.allSatisfy { $0.protectionSpace == space && $0.error == nil })
        #expect(challenges.allSatisfy { ($0.failureResponse as? HTTPURLResponse)?.statusCode == 401 })
        #expect(challenges.map(\.previousFailureCount) == Array(0..<challenges.count))
        #expect(challenges.map { $0.proposedCredential?.password } == [nil, "wrong", "wrong", "wrong"])
        #expect(space.distinguishedNames == nil && space.serverTrust == nil)
    }

    @Test("previousFailureCount counts across methods")
    func failuresAcrossMethods() async throws {
        let asked = Collected<String>()
        let delegate = TaskAsyncDelegate { challenge in
            let method = challenge.protectionSpace.authenticationMethod
            asked.append("\(method) \(challenge.previousFailureCount)")
            guard method == NSURLAuthenticationMethodHTTPDigest else { return login() }
            return challenge.previousFailureCount == 0 ? login("wrong") : (.rejectProtectionSpace, nil)
        }
        try await LoginServer(methods: ["Basic", "Digest"]).run { server in
            let session = try site.session(server, delegate: delegate)
            #expect(try await session.get(page).body == "hello")
            let schemes = server.sent.map { String($0.prefix { $0 != " " }) }
            #expect(schemes == ["", "Digest", "Basic"])
        }
        let (digest, basic) = (NSURLAuthenticationMethodHTTPDigest, NSURLAuthenticationMethodHTTPBasic)
        #expect(asked.values == ["\(digest) 0", "\(digest) 1", "\(basic) 1"])
    }

    @Test("With a missing or unsuitable credential the request continues without one, and the 401 is the response")
    func unfitCredentials() async throws {
        let identity = URLCredential(identity: try site.identity, certificates: nil, persistence: .forSession)
        let userAlone = URLCredential(kind: .password(user: "me", password: nil), persistence: .none)
        for credential in [nil, URLCredential(trust: try site.trust), identity, userAlone] {
            for delegate in [
                TaskHandlerDelegate { _ in (.useCredential, credential) },
                TaskAsyncDelegate { _ in (.useCredential, credential) },
            ] as [any URLSessionTaskDelegate] {
                try await LoginServer(methods: ["Digest", "Basic"]).run { server in
                    let (body, response) = try await site.session(server, delegate: delegate).get(page)
                    #expect(body == "denied" && response.statusCode == 401)
                    #expect(server.sent == [""])
                }
            }
        }
    }

    @Test("Cancelling a login cancels the request; rejecting and default handling move on to the next challenge")
    func dispositions() async throws {
        let asked = Collected<String>()
        let delegate = TaskHandlerDelegate { challenge in
            asked.append(challenge.protectionSpace.authenticationMethod)
            return switch challenge.protectionSpace.authenticationMethod {
            case NSURLAuthenticationMethodNegotiate: (.rejectProtectionSpace, nil)
            case NSURLAuthenticationMethodHTTPBasic: (.cancelAuthenticationChallenge, login().1)
            default: (.performDefaultHandling, login().1)
            }
        }
        try await LoginServer(methods: ["Basic", "Digest", "NTLM", "Negotiate"]).run { server in
            let session = try site.session(server, delegate: delegate)
            #expect(try await session.failure(page).code == .cancelled)
            #expect(server.sent == [""])
        }
        #expect(
            asked.values == [
                NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodHTTPDigest,
                NSURLAuthenticationMethodHTTPBasic,
            ])
    }

    // MARK: Timing of answers

    @Test("An answer to an HTTP challenge counts even if it comes after the request's timeout")
    func late() async throws {
        var isServed = false
        // On a busy machine everything else can take longer than a short timeout.
        for timeout: TimeInterval in [0.5, 2, 8, 32] where !isServed {
            let delegate = DeferringDelegate { _, _, handler in
                DispatchQueue.global().asyncAfter(deadline: .now() + timeout * 1.5) {
                    handler(.useCredential, login().1)
                }
            }
            try await LoginServer().run { server in
                let session = try site.session(server) { $0.timeoutIntervalForRequest = timeout }
                isServed = (try? await session.get(page, delegate: delegate).body) == "hello"
            }
        }
        #expect(isServed)
    }

    @Test("Without an answer within the resource timeout the request ends, and a later answer has no effect")
    func never() async throws {
        let handlers = Collected<DeferringDelegate.Handler>()
        let silent = DeferringDelegate { _, _, handler in handlers.append(handler) }
        for timeout: TimeInterval in [1, 4, 16, 64] where handlers.values.isEmpty {
            try await LoginServer().run { server in
                let session = try site.session(server) { $0.timeoutIntervalForResource = timeout }
                let error = try await session.failure(page, delegate: silent)
                #expect(error.code == .timedOut)
                guard let handler = handlers.values.first else { return }
                #expect(
                    error.localizedDescription.hasSuffix(
                        "in total and is waiting for a delegate's answer to an HTTP challenge: call the delegate "
                            + "method's completion handler in every case, within timeoutIntervalForResource"))
                handler(.useCredential, login().1)
                await session.flush()
                #expect(await server.ended().flatMap(\.requests).count == 1)
            }
        }
        #expect(handlers.values.count == 1)
    }

    @Test("The first of two answers counts, through the handler or the challenge's sender")
    func twice() async throws {
        let logInThenCancel = DeferringDelegate { _, challenge, handler in
            handler(.useCredential, login().1)
            handler(.cancelAuthenticationChallenge, nil)
            challenge.sender?.cancel(challenge)
        }
        let cancelThenLogIn = DeferringDelegate { _, challenge, handler in
            challenge.sender?.cancel(challenge)
            handler(.useCredential, login().1)
        }
        let senderThenReturn = TaskAsyncDelegate { challenge in
            if let credential = login().1 { challenge.sender?.use(credential, for: challenge) }
            return (.cancelAuthenticationChallenge, nil)
        }
        try await LoginServer().run { server in
            let sessions = try (0..<3).map { _ in try site.session(server) }
            #expect(try await sessions[0].get(page, delegate: logInThenCancel).body == "hello")
            #expect(try await sessions[1].failure(page, delegate: cancelThenLogIn).code == .cancelled)
            #expect(try await sessions[2].get(page, delegate: senderThenReturn).body == "hello")
        }
    }

    @Test("The first of several early answers counts, and an answer after the wait was cancelled doesn't")
    func onceOnly() async {
        let early = OnceOnlyAnswer<Int>()
        #expect(early.answer(1))
        #expect(!early.answer(2))
        #expect(await early.value == 1)
        #expect(!early.answer(3))

        let late = OnceOnlyAnswer<Int>()
        let waiting = Task { await late.value }
        waiting.cancel()
        #expect(await waiting.value == nil)
        #expect(!late.answer(1))
    }

    // MARK: Which delegate is asked

    @Test("A login follows its row of the routing table, with completion handler and async")
    func routing() async throws {
        let log = Collected<String>()
        func responder(_ name: String) -> Responder {
            { _ in
                log.append(name)
                return (.rejectProtectionSpace, nil)
            }
        }
        let session = BothDelegate(session: responder("1"), task: responder("4"))
        let task = BothDelegate(session: responder("2"), task: responder("3"))
        let rows: [(session: (any URLSessionTaskDelegate)?, task: (any URLSessionTaskDelegate)?, asked: [String])] = [
            (session, task, ["3"]), (session, TaskHandlerDelegate(responder("3")), ["3"]),
            (session, TaskAsyncDelegate(responder("3")), ["3"]),
            (session, SessionHandlerDelegate(responder("2")), ["2"]),
            (session, SessionAsyncDelegate(responder("2")), ["2"]), (session, nil, ["4"]),
            (TaskAsyncDelegate(responder("4")), SilentDelegate(), ["4"]),
            (SessionHandlerDelegate(responder("1")), SilentDelegate(), ["1"]),
            (SessionAsyncDelegate(responder("1")), nil, ["1"]), (SilentDelegate(), SilentDelegate(), []),
        ]
        for row in rows {
            let before = log.values.count
            try await LoginServer().run { server in
                _ = try await site.session(server, delegate: row.session).get(page, delegate: row.task)
            }
            #expect(Array(log.values.dropFirst(before)) == row.asked)
        }
    }

    @Test("Each method is session-wide or task-specific, and FTP's login with the default method is task-specific")
    func rows() {
        for method in [
            NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate,
        ] { #expect(ChallengeRouting.steps(for: method) == ChallengeRouting.sessionWide) }
        for method in [
            NSURLAuthenticationMethodDefault, NSURLAuthenticationMethodHTTPBasic, NSURLAuthenticationMethodHTTPDigest,
            NSURLAuthenticationMethodHTMLForm,
        ] { #expect(ChallengeRouting.steps(for: method) == ChallengeRouting.taskSpecific) }
    }

    // MARK: Known credentials

    @Test("A URL's user without a password is proposed, and isn't sent with the request")
    func userOnly() async throws {
        let seen = Collected<URLCredential?>()
        let delegate = TaskHandlerDelegate { challenge in
            guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
            seen.append(challenge.proposedCredential)
            return login()
        }
        try await LoopbackServer(chain: site.chain, .answer(LoginServer().answer)).run { server in
            let session = try site.session(server, delegate: delegate)
            #expect(try await session.get("https://m%65@pinned.test/a/1").body == "hello")
            #expect(server.sent == ["", basic("me", "secret")])
            #expect(!String(decoding: server.applicationBytes, as: UTF8.self).contains("@"))
        }
        #expect(seen.values.count == 1)
        let proposed = try #require(seen.values.first ?? nil)
        #expect(proposed.user == "me" && proposed.password == nil && !proposed.hasPassword)
    }

    @Test("A URL's user and password answer a challenge without asking the delegate")
    func userAndPassword() async throws {
        try await LoginServer().run { server in
            let delegate = TaskHandlerDelegate { _ in
                Issue.record("asked")
                return (.cancelAuthenticationChallenge, nil)
            }
            let session = try site.session(server, delegate: delegate)
            #expect(try await session.get("http://me:secret@pinned.test/a/1").body == "hello")
            #expect(server.sent == ["", basic("me", "secret")])
        }
    }

    @Test("Pages of one realm share a login, sent preemptively below its directory; another realm asks again")
    func realms() async throws {
        let asked = Collected<String?>()
        let delegate = TaskHandlerDelegate { challenge in
            asked.append(challenge.protectionSpace.realm)
            return login()
        }
        let me = basic("me", "secret")
        try await LoginServer().run { server in
            let session = try site.session(server, delegate: delegate)
            for path in ["a/b/1", "a/b/2", "a/b/c/3", "a/4", "b/1", "a/5"] {
                #expect(try await session.get("http://pinned.test/\(path)").body == "hello")
            }
            // Outside the directory of the first page the server has to send a challenge. The realm's credential then
            // answers it.
            #expect(server.sent == ["", me, me, me, "", me, "", me, me])
        }
        #expect(asked.values == ["a", "b"])
    }

    @Test(
        "A login is kept as its persistence says: for the challenge, for the session, or in the storage",
        arguments: [URLCredential.Persistence.none, .forSession, .permanent, .synchronizable])
    func persistences(persistence: URLCredential.Persistence) async throws {
        let asked = Collected<Void>()
        let delegate = TaskHandlerDelegate { _ in
            asked.append(())
            return login("secret", persistence)
        }
        let storage = URLCredentialStorage()
        try await LoginServer().run { server in
            let session = try site.session(server, delegate: delegate) { $0.urlCredentialStorage = storage }
            _ = try await session.get(page)
            #expect(try await session.get(page).body == "hello")
            #expect(asked.values.count == (persistence == .none ? 2 : 1))
            let isStored = persistence == .permanent || persistence == .synchronizable
            #expect(
                storage.allCredentials.values.flatMap(\.values).map(\.persistence) == (isStored ? [persistence] : []))
            let later = try site.session(server) { $0.urlCredentialStorage = storage }
            #expect(try await later.get(page).response.statusCode == (isStored ? 200 : 401))
            let elsewhere = try site.session(server) { $0.urlCredentialStorage = URLCredentialStorage() }
            #expect(try await elsewhere.get(page).response.statusCode == 401)
        }
    }

    @Test(
        "Default handling uses a credential that is stored for exactly this method",
        arguments: [
            (NSURLAuthenticationMethodHTTPBasic, 200), (NSURLAuthenticationMethodHTTPDigest, 401),
            (NSURLAuthenticationMethodDefault, 401), (NSURLAuthenticationMethodHTMLForm, 401),
        ])
    func stored(method: String, status: Int) async throws {
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            host: "pinned.test", port: 80, protocol: NSURLProtectionSpaceHTTP, realm: "a", authenticationMethod: method)
        storage.set(URLCredential(user: "me", password: "secret", persistence: .permanent), for: space)
        try await LoginServer().run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = storage }
            #expect(try await session.get(page).response.statusCode == status)
            #expect(server.sent.count == (status == 200 ? 2 : 1))
        }
    }

    // MARK: Client certificates

    @Test("Only a client certificate challenge lists CA names, and only an identity answers it")
    func clientCertificate() async throws {
        let identity = URLCredential(identity: try site.identity, certificates: nil, persistence: .none)
        let seen = Collected<(method: String, names: [Data]?)>()
        for (credential, count) in [(nil, 0), (login().1, 0), (identity, 2)] {
            let delegate = SessionAsyncDelegate { challenge in
                let space = challenge.protectionSpace
                seen.append((space.authenticationMethod, space.distinguishedNames))
                guard space.authenticationMethod == NSURLAuthenticationMethodClientCertificate else {
                    return (.performDefaultHandling, nil)
                }
                return (.useCredential, credential)
            }
            let server = try LoopbackServer(chain: site.chain, .answer(LoginServer().answer)) {
                $0.clientAuthentication = LoopbackServer.ClientAuthentication(issuers: [site.root])
            }
            try await server.run { server in
                _ = try await site.session(server, delegate: delegate).get("https://pinned.test/a/1")
                #expect(server.records.map(\.clientChain.count) == [count])
            }
        }
        let root = try X509Certificate(derBytes: site.root.derBytes)
        for (method, names) in seen.values {
            let isNamed = method == NSURLAuthenticationMethodClientCertificate
            #expect(names == (isNamed ? [Data(root.subject.derBytes)] : nil))
        }
        #expect(Set(seen.values.map(\.method)).count == 3)
    }
}
