import PinctlBasics
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

/// A server with one realm and user, which knows the nonces it issued.
private struct DigestServer {
    var algorithm = "SHA-256"
    /// The valid nonces.
    var nonces: Set<String> = ["n1"]
    /// The nonce of a challenge, which is stale if the request had a nonce that isn't valid any more.
    var offer = "n1"
    var marksStale = true
    var nextNonce: String?
    /// The password that the server proves to know.
    var proves: String?
    private(set) var seen: [String: [String]] = [:]

    mutating func reply(to field: String?, _ request: AuthenticationRequest) -> TaskScript.Reply {
        guard let field, let given = HTTPChallenge.parse([field]).first?.parameters else { return challenge(false) }
        let nonce = given["nonce"] ?? ""
        guard nonces.contains(nonce) else { return challenge(marksStale) }
        guard given["response"] == response(request.method, request, given, password: "p"),
            given["uri"] == request.target, let count = given["nc"], seen[nonce]?.contains(count) != true
        else { return challenge(false) }
        seen[nonce, default: []].append(count)
        var information: [String] = []
        if let nextNonce { information.append("nextnonce=\"\(nextNonce)\"") }
        if let proves, let proof = response("", request, given, password: proves) {
            information.append("qop=auth, nc=\(count), cnonce=\"\(given["cnonce"] ?? "")\", rspauth=\"\(proof)\"")
        }
        return .init(
            status: 200, fields: [.init(name: "Authentication-Info", value: information.joined(separator: ", "))])
    }

    func challenge(_ isStale: Bool) -> TaskScript.Reply {
        .asks(
            #"Digest realm="r", qop="auth", algorithm=\#(algorithm), nonce="\#(offer)", stale=\#(isStale)"#)
    }

    private func response(
        _ method: String, _ request: AuthenticationRequest, _ given: [String: String], password: String
    ) -> String? {
        let hash = DigestAlgorithm(algorithm)
        guard let secret = hash?.hex("u", "r", password), let message = hash?.hex(method, request.target) else {
            return nil
        }
        return hash?.hex(
            secret, given["nonce"] ?? "", given["nc"] ?? "", given["cnonce"] ?? "", given["qop"] ?? "", message)
    }
}

private func giveUser(_: AuthenticationQuestion) -> ChallengeAnswer { .use(credential("u")) }

@Suite struct DigestExchangeTests {
    @Test("One challenge serves a session, and the counts increase", arguments: ["MD5", "SHA-256", "SHA-512-256"])
    func counts(algorithm: String) throws {
        var server = DigestServer(algorithm: algorithm)
        var task = TaskScript()
        for number in 1...5 {
            let request = try AuthenticationRequest.get("/\(number)?q")
            #expect(task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser) == .delivered(200))
            #expect(task.questions.count == (number == 1 ? 1 : 0))
            task = task.next()
        }
        #expect(server.seen == ["n1": (1...5).map { "0000000\($0)" }])
    }

    @Test("A stale nonce is replaced without counting a failure (HA9)", arguments: [true, false])
    func stale(isMarked: Bool) throws {
        var server = DigestServer(marksStale: isMarked)
        let request = try AuthenticationRequest.get("/")
        var task = TaskScript()
        _ = task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser)
        server.nonces = ["n2"]
        server.offer = "n2"
        var next = task.next()
        #expect(next.run(request, server: { server.reply(to: $0, request) }) == .delivered(200))
        #expect(next.questions.isEmpty)
        #expect(next.sent.count == 2)
        #expect(server.seen == ["n1": ["00000001"], "n2": ["00000001"]])
        // The new nonce is known from now on.
        var last = task.next()
        #expect(last.run(request, server: { server.reply(to: $0, request) }) == .delivered(200))
        #expect(last.sent.count == 1)
    }

    @Test("A task can use a new nonce for each of its requests")
    func oneTimeNonces() throws {
        var server = DigestServer()
        var task = TaskScript()
        for number in 1...10 {
            let request = try AuthenticationRequest.get("/\(number)")
            server.offer = "n\(number)"
            server.nonces = [server.offer]
            #expect(task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser) == .delivered(200))
        }
        #expect(task.questions.count == 1)
    }

    @Test("A server that marks every nonce as stale is given up on (HA9)", arguments: [1, 2, 1_000])
    func staleForever(nonces: Int) throws {
        var task = TaskScript()
        var number = 0
        let end = task.run(try .get("/")) { field in
            number += 1
            return .asks(#"Digest realm="r", qop=auth, nonce="\#(number % nonces)", stale=\#(field != nil)"#)
        } delegate: {
            $0.previousFailureCount == 0 ? .use(credential("u")) : .reject
        }
        #expect(end == .delivered(401))
        #expect(task.questions.map(\.previousFailureCount) == [0, 1])
        // The request without a credential, the answer, and at most one renewal per nonce.
        #expect(task.sent.count == 2 + min(nonces == 1 ? 0 : nonces, AuthenticationExchange.renewalLimit))
    }

    @Test("The next nonce is taken from Authentication-Info, and an old one continues its count (HA9)")
    func nextNonce() throws {
        var server = DigestServer(nonces: ["n1", "n2"], nextNonce: "n2")
        let request = try AuthenticationRequest.get("/")
        var task = TaskScript()
        for next in ["n2", "n2", "n1", "n2", nil, nil] {
            server.nextNonce = next
            #expect(task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser) == .delivered(200))
            task = task.next()
        }
        #expect(server.seen == ["n1": ["00000001", "00000002"], "n2": (1...4).map { "0000000\($0)" }])

        // A nonce that is too long to keep isn't used.
        server.nextNonce = String(repeating: "n", count: 5_000)
        _ = task.run(request, server: { server.reply(to: $0, request) })
        server.nextNonce = nil
        task = task.next()
        #expect(task.run(request, server: { server.reply(to: $0, request) }) == .delivered(200))
        #expect(task.sent.count == 1)
    }

    @Test("A nonce isn't replaced by that of an earlier request that ends later")
    func lateResponse() throws {
        var server = DigestServer(nonces: ["n1", "n2"])
        let request = try AuthenticationRequest.get("/")
        var task = TaskScript()
        _ = task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser)
        var late = task.next().exchange
        _ = late.field(for: request)
        server.nextNonce = "n2"
        _ = task.run(request, server: { server.reply(to: $0, request) })
        _ = late.received(statusCode: 200, fields: [])
        var next = task.next().exchange
        #expect(next.field(for: request)?.value.contains("nonce=\"n2\"") == true)
    }

    @Test("A server that proves a wrong password is rejected (HA9)")
    func forged() throws {
        let request = try AuthenticationRequest.get("/")
        var server = DigestServer(proves: "p")
        var honest = TaskScript()
        #expect(honest.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser) == .delivered(200))

        server.proves = "guess"
        var task = TaskScript()
        let end = task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser)
        #expect(end == .refused(.forgedResponse(request.space("r", NSURLAuthenticationMethodHTTPDigest))))
        var next = task.next()
        _ = next.run(request, server: { _ in .ok })
        #expect(next.sent == [nil])
    }

    @Test("A proof over the body is verified when the body has arrived")
    func bodyProof() throws {
        let challenge = #"Digest realm="r", nonce="n", qop="auth-int""#
        var request = try AuthenticationRequest.get("/")
        request.body = Array("question".utf8)
        var task = TaskScript()
        let body = Array("answer".utf8)
        var proof: String?
        let end = task.run(request) { field in
            guard let field, let given = HTTPChallenge.parse([field]).first?.parameters else { return .asks(challenge) }
            let hash = DigestAlgorithm(nil)
            if let secret = hash?.hex("u", "r", "p"), let entity = hash?.hex(body),
                let message = hash?.hex("", "/", entity)
            {
                proof = hash?.hex(secret, "n", "00000001", given["cnonce"] ?? "", "auth-int", message)
            }
            return .init(status: 200, fields: [.init(name: "authentication-info", value: "rspauth=\(proof ?? "")")])
        } delegate: { _ in
            .use(credential("u"))
        }
        #expect(end == .delivered(200))
        let check = try #require(task.outcome.bodyProof)
        #expect(throws: Never.self) { try check.check(body) }
        #expect(throws: AuthenticationError.self) { try check.check([]) }

        // A streamed body can't be hashed in advance, so the next challenge is used.
        request.body = nil
        var streamed = TaskScript()
        _ = streamed.run(request, server: { _ in .asks(challenge, #"Basic realm="r""#) })
        #expect(streamed.questions.map(\.space.authenticationMethod) == [NSURLAuthenticationMethodHTTPBasic])
    }

    @Test("A known Digest credential is neither sent nor proposed after a downgrade to Basic (HA8)")
    func stripped() throws {
        let request = try AuthenticationRequest.get("/", scheme: NSURLProtectionSpaceHTTP)
        var server = DigestServer()
        var task = TaskScript()
        _ = task.run(request, server: { server.reply(to: $0, request) }, delegate: giveUser)
        var next = task.next()
        #expect(next.run(request, server: { _ in .asks(#"Basic realm="r""#) }) == .delivered(401))
        #expect(next.sent.count == 1)
        #expect(next.questions.map(\.proposedCredential) == [nil])
    }

    @Test("100 concurrent tasks use every count of a nonce once (HA9)")
    func parallel() async throws {
        let cache = AuthenticationCache()
        let request = try AuthenticationRequest.get("/")
        var first = TaskScript(cache: cache)
        _ = first.run(request, server: { $0 == nil ? DigestServer().challenge(false) : .ok }, delegate: giveUser)
        let counts = await withTaskGroup(of: [String].self) { group in
            for _ in 0..<100 {
                group.addTask {
                    (0..<20).compactMap { _ in
                        var exchange = AuthenticationExchange(cache: cache) { _, _ in nil }
                        let field = exchange.field(for: request)
                        _ = exchange.received(statusCode: 200, fields: [])
                        return HTTPChallenge.parse([field?.value ?? ""]).first?.parameters["nc"]
                    }
                }
            }
            return await group.reduce(into: []) { $0 += $1 }
        }
        #expect(counts.sorted() == (2...2_001).map { Hexadecimal.encode(UInt32($0)) })
    }

    @Test("A request that is sent again has a new count and client nonce")
    func sentAgain() throws {
        var exchange = TaskScript().exchange
        let request = try AuthenticationRequest.get("/")
        _ = exchange.field(for: request)
        _ = exchange.received(statusCode: 401, fields: DigestServer().challenge(false).fields)
        guard case .retry = exchange.answered(.use(credential("u", .none))) else {
            Issue.record("not answered")
            return
        }
        let sent = (0..<3).map { _ in
            HTTPChallenge.parse([exchange.field(for: request)?.value ?? ""]).first?.parameters ?? [:]
        }
        #expect(sent.map { $0["nc"] } == ["00000001", "00000002", "00000003"])
        #expect(Set(sent.map { $0["cnonce"] }).count == 3)
    }
}
