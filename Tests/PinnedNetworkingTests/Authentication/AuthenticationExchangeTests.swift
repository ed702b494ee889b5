import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

private let everyChallenge = [
    "Negotiate", "NTLM", #"Digest realm="r", nonce="n5", qop="auth", algorithm=SHA-512-256"#,
    #"Digest realm="r", nonce="n2", qop="auth", algorithm=SHA-256"#, #"Digest realm="r", nonce="n1", qop="auth""#,
    #"Basic realm="r""#,
]
private let everyMethod = [
    NSURLAuthenticationMethodNegotiate, NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodHTTPDigest,
    NSURLAuthenticationMethodHTTPBasic,
]

@Suite struct AuthenticationExchangeTests {
    @Test("The strongest challenge is passed to the delegate first, whatever the order (HA8)", arguments: 0..<20)
    func order(seed: Int) throws {
        var challenges = everyChallenge
        if seed == 0 { challenges.reverse() } else { challenges.shuffle() }
        for joins in [false, true] {
            let fields = joins ? [challenges.joined(separator: ", ")] : challenges
            let reply = TaskScript.Reply(
                status: 401, fields: fields.map { HTTPField(name: "www-authenticate", value: $0) })
            var task = TaskScript()
            #expect(task.run(try .get("/"), server: { _ in reply }, delegate: { _ in .reject }) == .delivered(401))
            #expect(task.questions.map(\.space.authenticationMethod) == everyMethod)
            #expect(task.sent == [nil])

            var other = TaskScript()
            _ = other.run(try .get("/")) {
                $0 == nil ? reply : .ok
            } delegate: {
                $0.space.authenticationMethod == NSURLAuthenticationMethodHTTPDigest ? .use(credential("u")) : .reject
            }
            #expect(other.questions.map(\.space.authenticationMethod) == Array(everyMethod.prefix(3)))
            #expect(other.sent.last??.contains("algorithm=SHA-512-256") == true)
        }
    }

    @Test("Challenges of equal strength are passed to the delegate in the server's order")
    func equals() throws {
        let realms = ["c", "a", "b", "d"]
        var task = TaskScript()
        _ = task.run(try .get("/"), server: { _ in .asks(realms.map { "Basic realm=\($0)" }.joined(separator: ", ")) })
        #expect(task.questions.map(\.space.realm) == realms)
    }

    @Test("Default handling without a credential moves on to the next challenge, and finally the 401 is the response")
    func defaultHandling() throws {
        let reply = TaskScript.Reply.asks(#"Digest realm="r", nonce="n""#, #"Basic realm="r""#, "Negotiate")
        var idle = TaskScript()
        #expect(idle.run(try .get("/"), server: { _ in reply }) == .delivered(401))
        #expect(idle.questions.count == 3)

        var task = TaskScript()
        let end = task.run(try .get("/")) {
            $0 == nil ? reply : .ok
        } delegate: { question in
            question.space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic
                ? .use(credential("u")) : .byDefault
        }
        #expect(end == .delivered(200))
        #expect(task.sent == [nil, try basic("u")])
    }

    @Test("A rejected credential is proposed again, and failures are counted across methods")
    func failures() throws {
        var task = TaskScript()
        let users = ["a", "b", "c"]
        let first = try basic("a")
        let end = task.run(try .get("/")) { field in
            // From the second answer on the server offers only Digest.
            switch field {
            case nil: .asks(#"Basic realm="r""#)
            case first: .asks(#"Digest realm="r", nonce="n""#)
            case let field? where field.contains("username=\"b\""): .asks(#"Digest realm="r", nonce="m""#)
            default: .ok
            }
        } delegate: {
            .use(credential(users[$0.previousFailureCount]))
        }
        #expect(end == .delivered(200))
        #expect(task.questions.map(\.previousFailureCount) == [0, 1, 2])
        #expect(task.questions.map(\.proposedCredential) == [nil, credential("a"), credential("b")])
        #expect(task.outcome.accepted?.credential == credential("c"))
        let space = try AuthenticationRequest.get("/").space("r", NSURLAuthenticationMethodHTTPDigest)
        #expect(task.outcome.accepted?.space == space)
    }

    @Test("A server that keeps sending challenges is answered four times (HA7)")
    func forever() throws {
        var task = TaskScript()
        var nonce = 0
        let end = task.run(try .get("/")) { _ in
            nonce += 1
            return .asks(#"Digest realm="r", nonce="\#(nonce)""#, #"Basic realm="r""#)
        } delegate: { _ in
            .use(credential("u"))
        }
        #expect(end == .delivered(401))
        #expect(task.questions.map(\.previousFailureCount) == [0, 1, 2, 3])
        #expect(task.sent.count == 5)

        var both = TaskScript()
        let answered = both.run(try .get("/")) { _ in
            .asks(#"Digest realm="r", nonce="n""#, #"Basic realm="r""#)
        } delegate: {
            $0.previousFailureCount < 2 ? .use(credential("u")) : .reject
        }
        #expect(answered == .delivered(401))
        // Digest twice, then both are rejected.
        #expect(both.questions.map(\.previousFailureCount) == [0, 1, 2, 2])
    }

    @Test("Every disposition has the same effect as on Apple's platforms")
    func dispositions() throws {
        let reply = TaskScript.Reply.asks(#"Basic realm="r""#)
        func end(_ answer: ChallengeAnswer) throws -> TaskScript.End? {
            var task = TaskScript()
            return task.run(try .get("/"), server: { $0 == nil ? reply : .ok }, delegate: { _ in answer })
        }
        let space = try AuthenticationRequest.get("/").space("r")
        #expect(try end(.use(credential("u"))) == .delivered(200))
        #expect(try end(.use(credential("u", .none))) == .delivered(200))
        #expect(try end(.use(nil)) == .delivered(401))
        #expect(try end(.use(.unimplemented)) == .delivered(401))
        #expect(
            try end(.use(URLCredential(kind: .password(user: "u", password: nil), persistence: .none)))
                == .delivered(401))
        #expect(try end(.cancel) == .refused(.cancelled(space)))
        #expect(try end(.reject) == .delivered(401))
        #expect(try end(.byDefault) == .delivered(401))
        // The credential of another disposition is ignored.
        #expect(
            try end(ChallengeAnswer(disposition: .performDefaultHandling, credential: credential("u")))
                == .delivered(401))
        // HA16.
        #expect(try end(.use(credential("a:b"))) == .refused(.unusableCredential(.colonInUserName)))
        #expect(try end(.use(credential("a\r\n"))) == .refused(.unusableCredential(.controlCharacter)))
    }

    @Test("A rejected protection space isn't asked about again in the same task")
    func rejected() throws {
        var task = TaskScript()
        let end = task.run(try .get("/")) { _ in
            .asks("NTLM", #"Basic realm="r""#)
        } delegate: { question in
            question.space.authenticationMethod == NSURLAuthenticationMethodNTLM ? .reject : .use(credential("u"))
        }
        #expect(end == .delivered(401))
        #expect(task.questions.filter { $0.space.authenticationMethod == NSURLAuthenticationMethodNTLM }.count == 1)
    }

    @Test("A URL's user and password are tried first, once, and proposed afterwards")
    func urlCredential() throws {
        let request = try AuthenticationRequest.get("/", user: "u", password: "w")
        var task = TaskScript()
        #expect(task.run(request, server: { $0 == nil ? .asks(#"Basic realm="r""#) : .ok }) == .delivered(200))
        #expect(task.questions.isEmpty)
        #expect(task.sent == [nil, try basic("u", password: "w")])
        #expect(task.outcome.accepted == nil)

        var wrong = TaskScript()
        #expect(wrong.run(request, server: { _ in .asks(#"Basic realm="r""#) }) == .delivered(401))
        #expect(wrong.sent == [nil, try basic("u", password: "w")])
        #expect(wrong.questions.map(\.previousFailureCount) == [1])
        #expect(wrong.questions.first?.proposedCredential?.user == "u")

        var colon = TaskScript()
        _ = colon.run(
            try .get("/", user: "a:b", password: ""), server: { $0 == nil ? .asks(#"Basic realm="r""#) : .ok })
        #expect(colon.questions.count == 1)
    }

    @Test("A user without a password is proposed")
    func userOnly() throws {
        var task = TaskScript()
        let end = task.run(try .get("/", user: "u")) {
            $0 == nil ? .asks(#"Basic realm="r""#) : .ok
        } delegate: {
            .use(credential($0.proposedCredential?.user ?? ""))
        }
        #expect(end == .delivered(200))
        #expect(task.questions.first?.proposedCredential?.user == "u")
        #expect(task.questions.first?.proposedCredential?.hasPassword == false)

        // Default handling doesn't use it or another user's credential. The storage may have one for this user.
        let storage = URLCredentialStorage()
        let request = try AuthenticationRequest.get("/", user: "u")
        storage.setDefaultCredential(credential("v"), for: request.space("r"))
        var other = TaskScript(storage: storage)
        #expect(other.run(request, server: { _ in .asks(#"Basic realm="r""#) }) == .delivered(401))
        #expect(other.sent == [nil])
        storage.set(credential("u"), for: request.space("r"))
        var stored = TaskScript(storage: storage)
        #expect(stored.run(request, server: { $0 == nil ? .asks(#"Basic realm="r""#) : .ok }) == .delivered(200))
        #expect(stored.sent == [nil, try basic("u")])
    }

    @Test("Default handling uses the credential stored for exactly this space, once (HA8, HA21)")
    func stored() throws {
        let request = try AuthenticationRequest.get("/", scheme: NSURLProtectionSpaceHTTP)
        let storage = URLCredentialStorage()
        storage.setDefaultCredential(credential("u"), for: request.space("r"))
        var task = TaskScript(storage: storage)
        #expect(task.run(request, server: { _ in .asks(#"Basic realm="r""#) }) == .delivered(401))
        #expect(task.sent == [nil, try basic("u")])
        #expect(task.questions.map(\.proposedCredential) == [credential("u"), credential("u")])

        // Another realm, and a downgrade from Digest to Basic.
        let digest = URLCredentialStorage()
        digest.setDefaultCredential(credential("u"), for: request.space("r", NSURLAuthenticationMethodHTTPDigest))
        for challenge in [#"Basic realm="r""#, #"Digest realm="other", nonce="n""#] {
            var other = TaskScript(storage: digest)
            #expect(other.run(request, server: { _ in .asks(challenge) }) == .delivered(401))
            #expect(other.sent == [nil])
            #expect(other.questions.map(\.proposedCredential) == [nil])
        }
    }

    @Test("A credential that one realm rejected is not proposed to another (HA21)")
    func refusedInAnotherRealm() throws {
        let storage = URLCredentialStorage()
        let request = try AuthenticationRequest.get("/")
        storage.setDefaultCredential(credential("u"), for: request.space("b"))
        var task = TaskScript(storage: storage)
        let end = task.run(request) { field in
            field == nil ? .asks(#"Basic realm="a""#) : .asks(#"Basic realm="b""#)
        } delegate: {
            $0.space.realm == "a" ? .use(credential("x")) : .byDefault
        }
        #expect(end == .delivered(401))
        #expect(task.questions.map(\.space.realm) == ["a", "b", "b"])
        #expect(task.questions.map(\.proposedCredential) == [nil, credential("u"), credential("u")])
        #expect(task.questions.map(\.previousFailureCount) == [0, 1, 2])

        // The same credential may be correct for the other realm.
        var same = TaskScript(storage: storage)
        var requests = 0
        let answered = same.run(request) { field in
            requests += 1
            return field == nil ? .asks(#"Basic realm="a""#) : requests < 3 ? .asks(#"Basic realm="b""#) : .ok
        } delegate: {
            $0.space.realm == "a" ? .use(credential("u")) : .byDefault
        }
        #expect(answered == .delivered(200))
    }

    @Test("An Authorization field set by the caller is left alone")
    func ownField() throws {
        var request = try AuthenticationRequest.get("/", user: "u", password: "p")
        request.hasOwnField = true
        var task = TaskScript()
        #expect(task.run(request, server: { _ in .asks(#"Basic realm="r""#) }) == .delivered(401))
        #expect(task.sent == [nil])
        #expect(task.questions.isEmpty)

        var known = TaskScript()
        let delegate: (AuthenticationQuestion) -> ChallengeAnswer = { _ in .use(credential("u")) }
        _ = known.run(try .get("/"), server: { $0 == nil ? .asks(#"Basic realm="r""#) : .ok }, delegate: delegate)
        var next = known.next()
        request.user = nil
        request.password = nil
        _ = next.run(request, server: { _ in .ok })
        #expect(next.sent == [nil])
    }

    @Test("A 407 from an origin, and a 401 to a CONNECT request, get no credentials (HA5)")
    func otherSide() throws {
        let both = [
            HTTPField(name: "Proxy-Authenticate", value: #"Basic realm="r""#),
            HTTPField(name: "WWW-Authenticate", value: #"Basic realm="r""#),
        ]
        var origin = TaskScript()
        #expect(
            origin.run(
                try .get("/", user: "u", password: "p"), server: { _ in .init(status: 407, fields: both) })
                == .delivered(407))
        var proxy = TaskScript()
        #expect(proxy.run(try .connect(), server: { _ in .init(status: 401, fields: both) }) == .delivered(401))
        for task in [origin, proxy] {
            #expect(task.sent == [nil])
            #expect(task.questions.isEmpty)
        }

        // The origin and the proxy each use their own field.
        var reader = TaskScript()
        _ = reader.run(try .connect()) { field in
            field == nil ? .init(status: 407, fields: both + [.init(name: "Proxy-Authenticate", value: "NTLM")]) : .ok
        } delegate: {
            $0.space.authenticationMethod == NSURLAuthenticationMethodNTLM ? .reject : .use(credential("u"))
        }
        #expect(reader.questions.map(\.space.authenticationMethod).count == 2)
        #expect(reader.questions.allSatisfy { $0.space.isProxy() && $0.space.host == "proxy.example" })
        var wrongField = TaskScript()
        #expect(
            wrongField.run(try .get("/"), server: { _ in .init(status: 401, fields: [both[0]]) }) == .delivered(401))
        #expect(wrongField.questions.isEmpty)
    }

    @Test("A proxy's credential stays on the request while the origin sends challenges")
    func forwardingProxy() throws {
        let task = TaskScript()
        var exchange = task.exchange
        let request = AuthenticationRequest(
            party: try AuthenticationRequest.connect().party, method: "GET", target: "http://example.org/")
        let challenge = HTTPField(name: "Proxy-Authenticate", value: #"Basic realm="r""#)
        #expect(exchange.field(for: request) == nil)
        guard case .ask = exchange.received(statusCode: 407, fields: [challenge]),
            case .retry = exchange.answered(.use(credential("u")))
        else {
            Issue.record("not asked")
            return
        }
        let field = HTTPField(name: "Proxy-Authorization", value: try basic("u"))
        #expect(exchange.field(for: request) == field)
        guard case .deliver = exchange.received(statusCode: 401, fields: []) else {
            Issue.record("not the origin's")
            return
        }
        #expect(exchange.field(for: request) == field)
        // Only another response shows whether it was accepted.
        #expect(task.cache.authentication(ahead: request) == nil)
        _ = exchange.received(statusCode: 200, fields: [])
        #expect(task.cache.authentication(ahead: request) != nil)
    }

    @Test("A redirect to another origin or user carries no credentials (P6)")
    func otherPlace() throws {
        let reply = TaskScript.Reply.asks(#"Basic realm="r""#)
        for request in [
            try AuthenticationRequest.get("/a", host: "other.example", user: "u"),
            try .get("/a", scheme: NSURLProtectionSpaceHTTP, user: "u"), try .get("/a", user: "v"), try .get("/a"),
        ] {
            for persistence in [URLCredential.Persistence.none, .forSession] {
                var task = TaskScript()
                let right = try basic("u")
                // Rejected once, then correct.
                _ = task.run(try .get("/a", user: "u")) {
                    $0 == right ? .ok : reply
                } delegate: {
                    .use(credential($0.previousFailureCount == 0 ? "x" : "u", persistence))
                }
                #expect(task.run(request, server: { _ in reply }) == .delivered(401))
                #expect(task.sent == [nil, try basic("x"), right, nil])
                #expect(task.questions.map(\.previousFailureCount) == [0, 1, 0])
                #expect(task.questions.last?.proposedCredential?.password == nil)
            }
        }
    }
}
