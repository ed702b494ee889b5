import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

/// Basic and Digest with the whole client, and redirects that must not carry a login along.
@Suite(.timeLimit(.minutes(10)))
struct LoginTests {
    /// Accepts one login, by Basic or by Digest with SHA-256, and counts.
    private final class Gate: Sendable {
        private let challenge: String
        private let counts = Locked<[String]>([])

        /// The nonce counts of all correct answers.
        var nonceCounts: [String] { counts.withLock { $0 } }

        init(isDigest: Bool) {
            challenge =
                isDigest
                ? "Digest realm=\"r\", nonce=\"n1\", qop=\"auth\", algorithm=SHA-256" : "Basic realm=\"r\""
        }

        func answer(_ request: LoopbackServer.Request) -> LoopbackServer.Response {
            let given = request.values(of: "Authorization").first ?? ""
            let isRight = given.hasPrefix("Digest ") ? isDigest(given, request) : given == "Basic bWU6c2VjcmV0"
            return isRight
                ? .init(body: "hello")
                : .init("401 Unauthorized", fields: ["WWW-Authenticate: \(challenge)"], body: "who?")
        }

        private func isDigest(_ given: String, _ request: LoopbackServer.Request) -> Bool {
            func parameter(_ name: String) -> String {
                guard let start = given.range(of: "\(name)=")?.upperBound else { return "" }
                return String(given[start...].prefix { $0 != "," }).replacing("\"", with: "")
            }
            func hash(_ text: String) -> String {
                (MessageDigest.sha256.hash(Array(text.utf8)) ?? []).map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }
                    .joined()
            }
            let (count, own) = (parameter("nc"), parameter("cnonce"))
            let right = hash(
                "\(hash("me:r:secret")):n1:\(count):\(own):auth:\(hash("\(request.method):\(request.target)"))")
            guard parameter("response") == right else { return false }
            counts.withLock { $0.append(count) }
            return true
        }
    }

    private static let login = URLCredential(user: "me", password: "secret", persistence: .forSession)

    private static func delegate(
        _ log: Collected<Int> = Collected(), _ credential: URLCredential = login
    ) -> TaskHandlerDelegate {
        TaskHandlerDelegate { challenge in
            guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
            log.append(challenge.previousFailureCount)
            return (.useCredential, credential)
        }
    }

    @Test(
        "A login is requested once, and then sent preemptively with requests in the same directory",
        arguments: [false, true])
    func once(isDigest: Bool) async throws {
        let site = try TestSite.shared.get()
        let gate = Gate(isDigest: isDigest)
        try await LoopbackServer(chain: site.chain, .answer(gate.answer)).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            let log = Collected<Int>()
            #expect(try await session.get("https://pinned.test/a/1", delegate: Self.delegate(log)).body == "hello")
            let bodies = try await withThrowingTaskGroup(of: String.self) { group in
                for page in 0..<20 {
                    group.addTask {
                        try await session.get("https://pinned.test/a/\(page)", delegate: Self.delegate(log)).body
                    }
                }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(bodies == Array(repeating: "hello", count: 20))
            #expect(log.values == [0])
            // HA9: no count is used twice for a nonce.
            if isDigest {
                #expect(Set(gate.nonceCounts).count == 21)
                #expect(gate.nonceCounts.max() == "00000015")
            }
            await session.reset()
            _ = try await session.get("https://pinned.test/a/1", delegate: Self.delegate(log))
            #expect(log.values == [0, 0])
        }
    }

    @Test("Logins come from the URL and from the storage without asking the delegate", arguments: [false, true])
    func withoutAsking(isStored: Bool) async throws {
        let site = try TestSite.shared.get()
        let storage = URLCredentialStorage()
        let space = URLProtectionSpace(
            host: "pinned.test", port: 443, protocol: NSURLProtectionSpaceHTTPS, realm: "r",
            authenticationMethod: NSURLAuthenticationMethodHTTPDigest)
        if isStored {
            storage.set(URLCredential(user: "me", password: "secret", persistence: .permanent), for: space)
        }
        let gate = Gate(isDigest: true)
        try await LoopbackServer(chain: site.chain, .answer(gate.answer)).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = storage }
            let (body, response) = try await session.get("https://\(isStored ? "" : "me:secret@")pinned.test/")
            #expect(body == "hello")
            #expect(!response.description.contains("secret"))
        }
    }

    @Test("HA7: A login that is always wrong is given up, and the 401 arrives with its body", arguments: [false, true])
    func never(isDigest: Bool) async throws {
        let site = try TestSite.shared.get()
        let gate = Gate(isDigest: isDigest)
        try await LoopbackServer(chain: site.chain, .answer(gate.answer)).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            let log = Collected<Int>()
            let wrong = TaskHandlerDelegate { challenge in
                guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
                log.append(challenge.previousFailureCount)
                let password = "\(challenge.previousFailureCount)"
                return (.useCredential, URLCredential(user: "me", password: password, persistence: .none))
            }
            let (body, response) = try await session.get(delegate: wrong)
            #expect((body, response.statusCode) == ("who?", 401))
            #expect(log.values == [0, 1, 2, 3])
            await session.flush()
            #expect(await server.ended().flatMap(\.requests).count == 5)
        }
    }

    @Test(
        "Without an answer the 401 is the response, and a cancelled challenge ends the request",
        arguments: [
            URLSession.AuthChallengeDisposition.performDefaultHandling, .rejectProtectionSpace, .useCredential,
            .cancelAuthenticationChallenge,
        ])
    func unanswered(disposition: URLSession.AuthChallengeDisposition) async throws {
        let site = try TestSite.shared.get()
        let gate = Gate(isDigest: false)
        try await LoopbackServer(chain: site.chain, .answer(gate.answer)).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            let delegate = TaskHandlerDelegate { challenge in
                (challenge.protectionSpace.serverTrust == nil ? disposition : .performDefaultHandling, nil)
            }
            if disposition == .cancelAuthenticationChallenge {
                #expect(try await session.failure(delegate: delegate).code == .cancelled)
            } else {
                let (body, response) = try await session.get(delegate: delegate)
                #expect((body, response.statusCode) == ("who?", 401))
            }
            #expect(server.applicationBytes.count > 0)
        }
    }

    // The logins of swift-corelibs-foundation's TestURLSession.
    @Test(
        "A 401 is answered with a login or is the response, and without a challenge no delegate is asked",
        arguments: [
            (#"Basic realm="Fake Realm""#, true, 200, 1), (#"Basic realm="Fake Realm""#, false, 401, 0),
            (nil, true, 401, 0), (nil, false, 401, 0),
        ] as [(String?, Bool, Int, Int)])
    func foundation(row: (challenge: String?, hasDelegate: Bool, status: Int, questions: Int)) async throws {
        let site = try TestSite.shared.get()
        let log = Collected<Int>()
        let login = URLCredential(user: "user", password: "passwd", persistence: .none)
        let script = LoopbackServer.Script.answer { request in
            request.values(of: "Authorization") == ["Basic dXNlcjpwYXNzd2Q="]
                ? .init() : .init("401 Unauthorized", fields: row.challenge.map { ["WWW-Authenticate: \($0)"] } ?? [])
        }
        try await LoopbackServer(plain: script).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            let (_, response) = try await session.get(
                "http://pinned.test/", delegate: row.hasDelegate ? Self.delegate(log, login) : nil)
            #expect(response.statusCode == row.status)
            #expect(log.values.count == row.questions)
        }
    }

    @Test("A body is sent again after a 401, whether the 401 came before or after the body")
    func bodies() async throws {
        let site = try TestSite.shared.get()
        for size in [1_000, 3_000_000] {
            let gate = Gate(isDigest: false)
            let server = try LoopbackServer(chain: site.chain, .answer(gate.answer)) {
                $0.expectation = .met
            }
            try await server.run { server in
                let session = try site.session(server) { $0.urlCredentialStorage = nil }
                var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
                request.httpMethod = "POST"
                let body = Data(repeating: 7, count: size)
                let (data, _) = try await session.upload(for: request, from: body, delegate: Self.delegate())
                #expect(String(decoding: data, as: UTF8.self) == "hello")
                await session.flush()
                let requests = await server.ended(server.records.count).flatMap(\.requests)
                #expect(requests.map(\.body.count) == [size, size])
            }
        }
    }

    @Test("HA2: A login and the caller's Authorization stay with their host, even after a redirect back to it (PE17)")
    func otherHost() async throws {
        let site = try TestSite.shared.get()
        let gate = Gate(isDigest: false)
        let script = LoopbackServer.Script.answer { request in
            switch (request.values(of: "Host").first ?? "", request.target) {
            case ("pinned.test", "/go"):
                let response = gate.answer(request)
                return response.bytes.starts(with: "HTTP/1.1 401".utf8)
                    ? response : .init("302 Found", fields: ["Location: https://start.test/on"])
            case ("pinned.test", "/own"): return .init("302 Found", fields: ["Location: https://start.test/on"])
            case ("start.test", _): return .init("302 Found", fields: ["Location: https://pinned.test/back"])
            default: return .init(body: "hello")
            }
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server) { $0.urlCredentialStorage = nil }
            #expect(try await session.get("https://pinned.test/go", delegate: Self.delegate()).body == "hello")
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/own")))
            request.setValue("Bearer token", forHTTPHeaderField: "Authorization")
            request.setValue("a=b", forHTTPHeaderField: "Cookie")
            _ = try await session.data(for: request)
            await session.flush()
            let requests = await server.ended(server.records.count).flatMap(\.requests)
            #expect(requests.count == 7)
            let elsewhere = requests.filter { $0.target == "/on" }
            #expect(elsewhere.count == 2)
            #expect(elsewhere.allSatisfy { $0.values(of: "Authorization") + $0.values(of: "Cookie") == [] })
            let back = requests.filter { $0.target == "/back" }
            // The session may send the login it knows for its own host, but fields set by the caller are dropped for
            // good.
            #expect(back.allSatisfy { !$0.values(of: "Authorization").contains("Bearer token") })
            #expect(back.allSatisfy { $0.values(of: "Cookie") == [] })
        }
    }

    @Test("HA1, HA3: Redirects to cleartext, in a loop and to other schemes end the request")
    func hostileRedirects() async throws {
        let site = try TestSite.shared.get()
        let locations: [(String, URLError.Code)] = [
            ("http://pinned.test/", .appTransportSecurityRequiresSecureConnection),
            ("/again", .httpTooManyRedirects), ("ftp://pinned.test/", .unsupportedURL),
            ("file:///etc/passwd", .unsupportedURL),
        ]
        for (location, code) in locations {
            let script = LoopbackServer.Script.respond(.init("302 Found", fields: ["Location: \(location)"]))
            try await LoopbackServer(chain: site.chain, script).run { server in
                let session = try site.session(server)
                #expect(try await session.failure().code == code)
                await session.flush()
                let records = await server.ended(server.records.count)
                #expect(records.flatMap(\.requests).count == (code == .httpTooManyRedirects ? 21 : 1))
                #expect(records.allSatisfy { $0.handshakeCompleted })
            }
        }
    }

    @Test("A delegate sees a redirect with its response, and can follow it, change it or stop it")
    func delegateRedirects() async throws {
        final class Guide: URLSessionTaskDelegate {
            let choose: @Sendable (URLRequest) -> URLRequest?
            let seen = Collected<String>()

            init(_ choose: @escaping @Sendable (URLRequest) -> URLRequest?) { self.choose = choose }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) {
                seen.append("\(response.statusCode) \(request.url?.absoluteString ?? "")")
                completionHandler(choose(request))
                completionHandler(nil)
            }
        }
        let site = try TestSite.shared.get()
        let script = LoopbackServer.Script.answer { request in
            request.target == "/" ? .init("303 See Other", fields: ["Location: /b"]) : .init(body: request.target)
        }
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server)
            let follow = Guide { $0 }
            #expect(try await session.get(delegate: follow).body == "/b")
            #expect(follow.seen.values == ["303 https://pinned.test/b"])
            let elsewhere = Guide { _ in URL(string: "https://pinned.test/c").map { URLRequest(url: $0) } }
            #expect(try await session.get(delegate: elsewhere).body == "/c")
            #expect(try await session.get(delegate: Guide { _ in nil }).response.statusCode == 303)
        }
    }
}
