import PinnedNetworking
import Testing

@Suite(PeerProgram.apache.isNeeded, .timeLimit(.minutes(10)))
struct ApacheLoginTests {
    let site: PeerSite
    let apache: Apache

    init() async throws {
        site = try PeerSite()
        apache = try await Apache(site)
    }

    private func session(_ scheme: String, _ delegate: LoginDelegate?) throws -> URLSession {
        try site.session(to: scheme == "http" ? apache.ports.http : apache.ports.https, delegate: delegate)
    }

    @Test(
        "One login is requested, and the pages of its realm share it",
        arguments: ["http", "https"], [("basic", "HTTPBasic"), ("digest", "HTTPDigest")])
    func realm(scheme: String, method: (section: String, name: String)) async throws {
        let delegate = LoginDelegate(LoginDelegate.login)
        let session = try session(scheme, delegate)
        for page in ["a", "b", "c"] {
            let answer = try await session.get("\(scheme)://pinned.test/\(method.section)/\(page)")
            #expect(answer == ("reader GET ", 200))
        }
        let port = scheme == "http" ? 80 : 443
        #expect(delegate.logins == ["\(method.name) pinned.test:\(port) \(method.section) realm after 0"])
        #expect(
            try await apache.requests(4) == [
                "GET /\(method.section)/a 401 -", "GET /\(method.section)/a 200 reader",
                "GET /\(method.section)/b 200 reader", "GET /\(method.section)/c 200 reader",
            ])
    }

    @Test("A login belongs to its realm: another realm requests its own and isn't sent the first one")
    func otherRealm() async throws {
        let delegate = LoginDelegate(LoginDelegate.login, LoginDelegate.login)
        let session = try session("https", delegate)
        #expect(try await session.get("https://pinned.test/basic/a").status == 200)
        #expect(try await session.get("https://pinned.test/other/a").status == 200)
        #expect(
            delegate.logins == [
                "HTTPBasic pinned.test:443 basic realm after 0", "HTTPBasic pinned.test:443 other realm after 0",
            ])
        // The last word is the Authorization field.
        #expect(try await apache.log.lines(4)[2] == "GET /other/a 401 - -")
    }

    @Test(
        "A wrong login is requested again, and a missing answer makes the 401 the response",
        arguments: ["basic", "digest"],
        [
            ([LoginDelegate.wrongLogin, LoginDelegate.login], 2, 200),
            ([LoginDelegate.wrongLogin, LoginDelegate.wrongLogin], 3, 401),
            ([LoginDelegate.wrongLogin, (.rejectProtectionSpace, nil)], 2, 401),
            ([(.useCredential, nil)], 1, 401),
            ([], 1, 401),
        ])
    func refusal(section: String, row: (answers: [LoginDelegate.Answer], asked: Int, status: Int)) async throws {
        let delegate = LoginDelegate(row.answers)
        let answer = try await session("https", delegate).get("https://pinned.test/\(section)/a")
        #expect(answer.status == row.status)
        #expect(answer.body.contains(row.status == 200 ? "reader GET " : "<h1>Unauthorized</h1>"))
        #expect(delegate.challenges.map(\.previousFailureCount).suffix(row.asked) == Array(0..<row.asked)[...])
        let tried = row.answers.count { $0.0 == .useCredential && $0.1 != nil }
        let statuses = try await apache.requests(1 + tried).map { $0.split(separator: " ")[2] }
        #expect(statuses == Array(repeating: "401", count: tried) + [row.status == 200 ? "200" : "401"])
    }

    @Test("Cancelling a login ends the request")
    func cancel() async throws {
        let delegate = LoginDelegate((.cancelAuthenticationChallenge, nil))
        let error = try await session("https", delegate).failure("https://pinned.test/basic/a")
        #expect(error.code == .cancelled)
        #expect(try await apache.requests(1) == ["GET /basic/a 401 -"])
    }

    @Test("Without a delegate, the 401 is the response, with its body", arguments: ["basic", "digest"])
    func nobody(section: String) async throws {
        let answer = try await session("https", nil).get("https://pinned.test/\(section)/a")
        #expect(answer.status == 401)
        #expect(answer.body.contains("<h1>Unauthorized</h1>"))
        #expect(try await apache.requests(1) == ["GET /\(section)/a 401 -"])
    }

    @Test("A stored credential is used without asking the delegate", arguments: ["basic", "digest"])
    func stored(section: String) async throws {
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            host: "pinned.test", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "\(section) realm",
            authenticationMethod: section == "basic"
                ? NSURLAuthenticationMethodHTTPBasic : NSURLAuthenticationMethodHTTPDigest)
        storage.setDefaultCredential(
            URLCredential(user: PeerSite.user, password: PeerSite.password, persistence: .forSession), for: space)
        let session = try site.session(to: apache.ports.https) { $0.urlCredentialStorage = storage }
        #expect(try await session.get("https://pinned.test/\(section)/a") == ("reader GET ", 200))
    }

    @Test("A request body arrives complete after a login", arguments: ["basic", "digest"], [3, 300_000])
    func upload(section: String, size: Int) async throws {
        let session = try session("https", LoginDelegate(LoginDelegate.login))
        var request = URLRequest(url: try #require(URL(string: "https://pinned.test/\(section)/a")))
        request.httpMethod = "POST"
        let (body, _) = try await session.upload(for: request, from: Data(repeating: 0x61, count: size))
        #expect(body == Data("reader POST ".utf8) + Data(repeating: 0x61, count: size))
    }

    // MARK: Digest

    @Test("A stale nonce is replaced without asking the delegate")
    func stale() async throws {
        let delegate = LoginDelegate(LoginDelegate.login)
        let session = try session("https", delegate)
        #expect(try await session.get("https://pinned.test/stale/a").status == 200)
        // Nonces are valid for one second there.
        try await Task.sleep(for: .seconds(2.5))
        #expect(try await session.get("https://pinned.test/stale/b").status == 200)
        #expect(delegate.logins.count == 1)
        let statuses = try await apache.requests(4).map { $0.split(separator: " ")[2] }
        #expect(statuses == ["401", "200", "401", "200"])
    }

    @Test("The nextnonce of a response is used for the next request")
    func nextNonce() async throws {
        let delegate = LoginDelegate(LoginDelegate.login)
        let session = try session("https", delegate)
        for _ in 0..<5 { #expect(try await session.get("https://pinned.test/once/a").status == 200) }
        #expect(delegate.logins.count == 1)
        let uses = try await apache.nonceUses(6)
        #expect(uses.count == 5)
        #expect(Set(uses.map(\.nonce)).count == 5)
    }

    @Test("The uses of a nonce are counted from 1 without gaps")
    func counts() async throws {
        let session = try session("https", LoginDelegate(LoginDelegate.login))
        for _ in 0..<5 { #expect(try await session.get("https://pinned.test/counted/a").status == 200) }
        let uses = try await apache.nonceUses(6)
        #expect(uses.map(\.count) == ["00000001", "00000002", "00000003", "00000004", "00000005"])
        #expect(Set(uses.map(\.nonce)).count == 1)
    }

    /// With nonces that are used once, each answer of the server makes those of all other requests stale. With nonces
    /// that are counted, it refuses each request that overtakes another one. A request that loses more often than
    /// `AuthenticationExchange.renewalLimit` asks its delegate again, as 50 at a time do on a busy machine.
    @Test(
        "Concurrent requests log in, and none repeats a nonce's count",
        arguments: ["http", "https"], ["digest", "counted", "once"])
    func parallel(scheme: String, section: String) async throws {
        let count = section == "digest" ? 50 : 8
        let delegate = LoginDelegate(Array(repeating: LoginDelegate.login, count: count))
        let session = try session(scheme, delegate)
        let answers = try await withThrowingTaskGroup(of: Int.self) { group in
            for page in 0..<count {
                group.addTask { try await session.get("\(scheme)://pinned.test/\(section)/\(page)").status }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers == Array(repeating: 200, count: count))
        // A nonce that another request used in the meantime is stale, which doesn't count as a failed login.
        #expect(delegate.challenges.allSatisfy { $0.previousFailureCount == 0 })
        let lines = try await apache.log.lines(count, with: " 200 reader ")
        #expect(lines.count { $0.contains(" 200 reader ") } == count)
        let uses = apache.nonceUses
        #expect(Set(uses.map { $0.nonce + $0.count }).count == uses.count)
    }
}

extension Apache {
    /// Method, path, status and user of each request, once there are `count`.
    fileprivate func requests(_ count: Int) async throws -> [String] {
        try await log.lines(count).map { $0.split(separator: " ").prefix(4).joined(separator: " ") }
    }

    /// The nonce and its count of each Digest login.
    fileprivate var nonceUses: [(nonce: String, count: String)] {
        log.lines.compactMap { line in
            guard let use = line.firstMatch(of: /nonce=\\"([^"]+)\\".* nc=([0-9a-f]{8})/) else { return nil }
            return (String(use.1), String(use.2))
        }
    }

    fileprivate func nonceUses(_ count: Int) async throws -> [(nonce: String, count: String)] {
        _ = try await log.lines(count)
        return nonceUses
    }
}
