import CertificateTrust
import PinctlHTTPMessages
import Testing

@testable import PinnedNetworking

private let reply = TaskScript.Reply.asks(#"Basic realm="r""#)

/// A session in which a delegate provided `u` for a request, and the task of the next request.
private func session(
    after request: AuthenticationRequest, giving given: URLCredential = credential("u"),
    to reply: TaskScript.Reply = reply
) -> TaskScript {
    var task = TaskScript()
    _ = task.run(request) {
        $0 == nil ? reply : .ok
    } delegate: { _ in
        .use(given)
    }
    return task.next()
}

/// Whether a first request is sent with a credential, after one for `/docs/a/index.html?q=/x/y`.
private struct AheadRow: CustomTestStringConvertible, Sendable {
    let target: String
    let isSent: Bool

    var testDescription: String { target }
}

private let aheadRows = [
    AheadRow(target: "/docs/a/", isSent: true),
    AheadRow(target: "/docs/a/other.html", isSent: true),
    AheadRow(target: "/docs/a/b/c?d", isSent: true),
    AheadRow(target: "https://example.org/docs/a/x", isSent: true),
    AheadRow(target: "https://example.org:443/docs/a/x", isSent: true),
    AheadRow(target: "/docs/a", isSent: false),
    AheadRow(target: "/docs/ab", isSent: false),
    AheadRow(target: "/docs/", isSent: false),
    AheadRow(target: "/", isSent: false),
    AheadRow(target: "/x/y", isSent: false),
    AheadRow(target: "/docs/A/", isSent: false),
    AheadRow(target: "/docs/a/../b", isSent: false),
    AheadRow(target: "/docs/a/%2E./b", isSent: false),
    AheadRow(target: "/docs/a/./b", isSent: false),
    AheadRow(target: "/docs/a/.well-known", isSent: true),
]

@Suite struct AuthenticationCacheTests {
    @Test(
        "Basic is sent preemptively below the directory of an answered request (RFC 7617, section 2.2)",
        arguments: aheadRows)
    private func ahead(row: AheadRow) throws {
        var task = session(after: try .get("/docs/a/index.html?q=/x/y"))
        _ = task.run(try .get(row.target), server: { _ in .ok })
        #expect(task.sent == [row.isSent ? try basic("u") : nil])
    }

    @Test(
        "Digest is sent preemptively to the URIs in its domain, or to the whole server (RFC 7616, section 3.3)",
        arguments: [
            ("", "/anywhere", true),
            ("/a /b/c", "/a/x", true),
            ("/a /b/c", "/b/c", true),
            ("/a /b/c", "/b/", false),
            ("/a /b/c", "/first/again", true),
            ("https://example.org/a", "/a", true),
            ("https://EXAMPLE.org:443/a", "/a", true),
            ("https://other.example/ http://example.org/ https://example.org:8443/ //example.org/", "/a", false),
            ("elsewhere https: :", "/a", false),
        ])
    func domain(domain: String, target: String, isSent: Bool) throws {
        let challenge = #"Digest realm="r", nonce="n", qop=auth, domain="\#(domain)""#
        var task = session(after: try .get("/first/x"), to: .asks(challenge))
        _ = task.run(try .get(target), server: { _ in .ok })
        #expect((task.sent.first != .some(nil)) == isSent)
        var other = task.next()
        _ = other.run(try .get(target, host: "other.example"), server: { _ in .ok })
        #expect(other.sent == [nil])
    }

    @Test("Pages of one realm share a credential without asking the delegate")
    func realm() throws {
        var task = session(after: try .get("/a/x"))
        #expect(task.run(try .get("/b/x"), server: { $0 == nil ? reply : .ok }) == .delivered(200))
        #expect(task.questions.isEmpty)
        #expect(task.sent == [nil, try basic("u")])
        // Both directories are known now.
        for target in ["/a/y", "/b/y"] {
            var next = task.next()
            _ = next.run(try .get(target), server: { _ in .ok })
            #expect(next.sent == [try basic("u")])
        }
    }

    @Test(
        "An unusual path doesn't affect preemptive credentials for other paths",
        arguments: [("//a/x", "//a/y", true), ("*", "*", false)])
    func oddPath(target: String, again: String, isSent: Bool) throws {
        var task = session(after: try .get(target))
        _ = task.run(try .get("/b"), server: { _ in .ok })
        _ = task.run(try .get(again), server: { _ in .ok })
        #expect(task.sent == [nil, isSent ? try basic("u") : nil])
    }

    @Test("A known credential is used only for its origin, realm, method and user (P6, HA21)")
    func boundaries() throws {
        let known = session(after: try .get("/a/x"))
        for request in [
            try AuthenticationRequest.get("/a/x", host: "other.example"),
            try .get("/a/x", host: "sub.example.org"), try .get("/a/x", scheme: NSURLProtectionSpaceHTTP),
            try .get("/a/x", user: "v"), try .connect(),
        ] {
            var task = known.next()
            _ = task.run(request, server: { _ in .init(status: request.party.statusCode, fields: reply.fields) })
            #expect(task.sent == [nil])
        }
        for challenge in [#"Basic realm="R""#, "Basic", #"Digest realm="r", nonce="n""#] {
            var task = known.next()
            #expect(task.run(try .get("/b/x"), server: { _ in .asks(challenge) }) == .delivered(401))
            #expect(task.sent == [nil])
            #expect(task.questions.map(\.proposedCredential) == [nil])
        }
        // A hostname in another notation is the same hostname.
        var same = known.next()
        _ = same.run(try .get("/a/x", host: "EXAMPLE.org."), server: { _ in .ok })
        #expect(same.sent == [try basic("u")])
    }

    @Test("A request that names a user gets that user's credential, and no other request does")
    func users() throws {
        var alice = session(after: try .get("/", user: "alice"), giving: credential("alice"))
        var bob = alice.next()
        _ = bob.run(try .get("/", user: "bob")) {
            $0 == nil ? reply : .ok
        } delegate: { _ in
            .use(credential("bob"))
        }
        _ = alice.run(try .get("/", user: "alice"), server: { _ in .ok })
        #expect(alice.sent == [try basic("alice")])
        var nobody = alice.next()
        _ = nobody.run(try .get("/"), server: { _ in reply })
        #expect(nobody.sent == [nil])
        // Another password in the URL is another credential.
        var other = alice.next()
        _ = other.run(try .get("/", user: "alice", password: "new"), server: { $0 == nil ? reply : .ok })
        #expect(other.sent == [nil, try basic("alice", password: "new")])
    }

    @Test("A credential of persistence none stays in its task")
    func persistence() throws {
        let request = try AuthenticationRequest.get("/a/x")
        var task = TaskScript()
        let delegate: (AuthenticationQuestion) -> ChallengeAnswer = { _ in .use(credential("u", .none)) }
        _ = task.run(request, server: { $0 == nil ? reply : .ok }, delegate: delegate)
        // A redirect within the origin: known below its directory, and shared in its realm.
        _ = task.run(try .get("/a/y"), server: { $0 == nil ? reply : .ok }, delegate: delegate)
        _ = task.run(try .get("/b/"), server: { $0 == nil ? reply : .ok }, delegate: delegate)
        #expect(task.questions.count == 1)
        #expect(task.sent == [nil, try basic("u"), try basic("u"), nil, try basic("u")])
        // Another realm produces a challenge.
        _ = task.run(try .get("/c/"), server: { _ in .asks(#"Basic realm="s""#) })
        #expect(task.questions.count == 2)
        #expect(task.sent.last == .some(nil))

        var next = task.next()
        #expect(next.run(request, server: { _ in reply }) == .delivered(401))
        #expect(next.sent == [nil])
        #expect(next.questions.map(\.proposedCredential) == [nil])

        for persistence in [URLCredential.Persistence.forSession, .permanent, .synchronizable] {
            var kept = session(after: request, giving: credential("u", persistence))
            _ = kept.run(request, server: { _ in .ok })
            #expect(kept.sent == [try basic("u")])
        }
    }

    @Test("A rejected credential is forgotten, counted and proposed")
    func forgotten() throws {
        var task = session(after: try .get("/a/x"))
        #expect(task.run(try .get("/a/x"), server: { _ in reply }) == .delivered(401))
        #expect(task.sent == [try basic("u")])
        #expect(task.questions.map(\.previousFailureCount) == [1])
        #expect(task.questions.map(\.proposedCredential) == [credential("u")])
        var next = task.next()
        _ = next.run(try .get("/a/x"), server: { _ in .ok })
        #expect(next.sent == [nil])
    }

    @Test("A rejected credential of one task is not sent again in that task")
    func forgottenInTask() throws {
        let request = try AuthenticationRequest.get("/a/x")
        var task = TaskScript()
        _ = task.run(request, server: { $0 == nil ? reply : .ok }, delegate: { _ in .use(credential("u", .none)) })
        _ = task.run(request, server: { _ in reply }, delegate: { _ in .use(nil) })
        _ = task.run(request, server: { _ in .ok })
        #expect(task.sent == [nil, try basic("u"), try basic("u"), nil])
    }

    @Test("A credential sent preemptively into another realm doesn't count as rejected by that realm")
    func anotherRealm() throws {
        var task = session(after: try .get("/a/x"))
        let other = TaskScript.Reply.asks(#"Basic realm="inner""#)
        let answered = try basic("u")
        _ = task.run(try .get("/a/in/x")) {
            $0 == answered ? other : .ok
        } delegate: { question in
            #expect(question.previousFailureCount == 0)
            #expect(question.proposedCredential == nil)
            return .use(credential("v"))
        }
        #expect(task.sent == [answered, try basic("v")])
        // From now on each realm gets its own credential.
        for (target, user) in [("/a/y", "u"), ("/a/in/y", "v")] {
            var next = task.next()
            _ = next.run(try .get(target), server: { _ in .ok })
            #expect(next.sent == [try basic(user)])
        }
    }

    @Test("A later credential isn't forgotten when an earlier one is rejected")
    func refusedLate() throws {
        var late = session(after: try .get("/a/x"))
        let request = try AuthenticationRequest.get("/a/x")
        var exchange = late.exchange
        #expect(exchange.field(for: request)?.value == (try basic("u")))
        // Meanwhile the password changes.
        _ = late.run(request) {
            $0 == (try? basic("new")) ? .ok : reply
        } delegate: { _ in
            .use(credential("new"))
        }
        guard case .retry = exchange.received(statusCode: 401, fields: reply.fields) else {
            Issue.record("the new password is not tried")
            return
        }
        #expect(exchange.field(for: request)?.value == (try basic("new")))
    }

    @Test("A request sent before another task logged in uses the new credential, and nothing counts as rejected")
    func loggedInMeanwhile() throws {
        let request = try AuthenticationRequest.get("/a/x")
        let task = session(after: request)
        var late = AuthenticationExchange(cache: task.cache, after: request) { _, _ in nil }
        guard case .retry = late.received(statusCode: 401, fields: reply.fields) else {
            Issue.record("the known credential is not tried")
            return
        }
        #expect(late.field(for: request)?.value == (try basic("u")))
    }

    @Test("A session that forgets its credentials continues the counts of its nonces")
    func forgetAll() throws {
        let task = session(after: try .get("/"))
        let party = try AuthenticationRequest.get("/").party
        #expect(!task.cache.isEmpty)
        #expect(task.cache.nextCount(of: "n", at: party) == 1)
        task.cache.removeAll()
        #expect(task.cache.isEmpty)
        #expect(task.cache.nextCount(of: "n", at: party) == 2)
    }

    @Test("A proxy's credential is sent with every request to it")
    func proxy() throws {
        let challenge = HTTPField(name: "Proxy-Authenticate", value: #"Basic realm="r""#)
        var task = TaskScript()
        _ = task.run(try .connect()) {
            $0 == nil ? .init(status: 407, fields: [challenge]) : .ok
        } delegate: { _ in
            .use(credential("u"))
        }
        var next = task.next()
        var request = try AuthenticationRequest.connect()
        _ = next.run(request, server: { _ in .ok })
        #expect(next.sent == [try basic("u")])
        request = AuthenticationRequest(party: request.party, method: "GET", target: "http://other.example/a/b")
        var forwarded = task.next()
        _ = forwarded.run(request, server: { _ in .ok })
        #expect(forwarded.sent == [try basic("u")])
    }

    @Test("Beyond 32 spaces of a server or 32 directories of a space, the oldest is removed")
    func limits() throws {
        let cache = AuthenticationCache()
        for number in 0...AuthenticationCache.spaceLimit { try note(in: cache, "/\(number)/x", realm: "r\(number)") }
        #expect(cache.authentication(ahead: try .get("/0/x")) == nil)
        #expect(cache.authentication(ahead: try .get("/1/x"))?.credential == credential("u"))
        #expect(cache.authentication(ahead: try .get("/32/x"))?.credential == credential("u"))

        let request = try AuthenticationRequest.get("/")
        var known = KnownAuthentication(credential("u"), .basic(""), in: request.space("r"), for: request)
        for number in 0..<40 { known.learn("/\(number)/") }
        #expect(known.paths.count == KnownAuthentication.pathLimit)
        #expect(known.coverage(of: "/7/x") == nil)
        #expect(known.coverage(of: "/8/x") == 3)
    }

    private func note(in cache: AuthenticationCache, _ target: String, realm: String, host: String = "example.org")
        throws
    {
        let request = try AuthenticationRequest.get(target, host: host)
        var known = KnownAuthentication(credential("u"), .basic(realm), in: request.space(realm), for: request)
        known.learn(request.path)
        cache.note(known, isNewer: true)
    }

    @Test("QL1: A path of 240 KB is looked up among a bounded number of known spaces")
    func longPaths() throws {
        let cache = AuthenticationCache()
        let deep = String(repeating: "/a", count: 120_000)
        for number in 0..<1_000 { try note(in: cache, "/\(number)/x", realm: "r\(number)") }
        for number in 0..<1_000 { try note(in: cache, "/\(number)" + deep, realm: "long\(number)") }
        for dots in ["/..", "/.", "/%2e%2E", "/.%2e", "/%2E.", "/%2e"] {
            #expect(cache.authentication(ahead: try .get("/999" + deep + dots + deep)) == nil)
        }
        // Long paths aren't remembered, and the other paths are short.
        #expect(cache.authentication(ahead: try .get("/999" + deep + "/b")) == nil)
        let request = try AuthenticationRequest.get("/")
        var known = KnownAuthentication(credential("u"), .basic(""), in: request.space("r"), for: request)
        for number in 0..<1_000 { known.learn("/\(number)" + deep) }
        #expect(known.paths.isEmpty)
        let longest = "/" + String(repeating: "a", count: KnownAuthentication.pathSizeLimit - 2) + "/"
        known.learn(longest + "x")
        #expect(known.paths == [longest])
        known.learn("/b" + longest + "x")
        #expect(known.paths == [longest])
        // A known directory covers a long path.
        known.learn("/c/x")
        #expect(known.coverage(of: "/c" + deep) == 3)
    }

    @Test("QL1: Only the first 32 URIs of a Digest domain count, without long ones, and other paths are challenged")
    func longDomain() throws {
        let long = "/" + String(repeating: "l", count: DigestChallenge.uriLimit)
        let entries = ["/first/", long] + (0..<29).map { "/\($0)/" } + ["/last/", "/beyond/"]
        let all = entries + (0..<5_000).map { "/more\($0)" }
        let challenge = #"Digest realm="r", nonce="n", qop=auth, domain=" \#(all.joined(separator: "  ")) ""#
        let parsed = try #require(HTTPChallenge.parse([challenge]).first.flatMap { DigestChallenge($0) })
        #expect(parsed.domain == entries.filter { $0 != long && $0 != "/beyond/" })
        let known = session(after: try .get("/login/x"), to: .asks(challenge))
        for (target, isSent) in [
            ("/first/x", true), ("/last/x", true), ("/login/y", true), ("/beyond/x", false), ("/more1", false),
            (long, false), ("/", false),
        ] {
            var task = known.next()
            _ = task.run(try .get(target), server: { _ in .ok })
            #expect((task.sent.first != .some(nil)) == isSent, "\(target.prefix(20))")
        }
        // A domain with only long URIs isn't the whole server.
        let only = try #require(
            HTTPChallenge.parse([#"Digest realm="r", nonce="n", qop=auth, domain="\#(long)""#]).first)
        #expect(DigestChallenge(only)?.domain == [])
        let blank = try #require(HTTPChallenge.parse([#"Digest realm="r", nonce="n", qop=auth, domain="  ""#]).first)
        #expect(DigestChallenge(blank)?.domain == .some(nil))
    }

    @Test("Nonces and spaces of one server don't evict those of another")
    func rooms() throws {
        let cache = AuthenticationCache()
        let request = try AuthenticationRequest.get("/a/x")
        try note(in: cache, "/a/x", realm: "r")
        for round in 1...2 {
            #expect(cache.nextCount(of: "n", at: request.party) == round)
        }
        let hostile = try AuthenticationRequest.get("/", host: "hostile.example")
        for number in 0..<1_000 {
            #expect(cache.nextCount(of: "\(number)", at: hostile.party) == 1)
            try note(in: cache, "/\(number)/", realm: "\(number)", host: "hostile.example")
        }
        #expect(cache.nextCount(of: "n", at: request.party) == 3)
        #expect(cache.authentication(ahead: request)?.credential == credential("u"))
        // Its own nonces evict each other, the least recently used first.
        #expect(cache.nextCount(of: "872", at: hostile.party) == 2)
        for number in 1_000..<1_000 + AuthenticationCache.nonceLimit - 1 {
            #expect(cache.nextCount(of: "\(number)", at: hostile.party) == 1)
        }
        #expect(cache.nextCount(of: "872", at: hostile.party) == 3)
        #expect(cache.nextCount(of: "873", at: hostile.party) == 1)
    }

    @Test("The least recently used server is evicted for the 257th")
    func parties() throws {
        let cache = AuthenticationCache()
        for number in 0..<AuthenticationCache.partyLimit {
            try note(in: cache, "/a/x", realm: "r", host: "h\(number).example")
        }
        // Used again.
        try note(in: cache, "/a/x", realm: "r", host: "h0.example")
        try note(in: cache, "/a/x", realm: "r", host: "new.example")
        for (host, isKnown) in [("h0", true), ("h1", false), ("h2", true), ("new", true)] {
            #expect((cache.authentication(ahead: try .get("/a/", host: host + ".example")) != nil) == isKnown)
        }
    }
}
