import CertificateTrust
import PinctlTestPKI
import PinnedNetworking
import Testing

/// The client certificates that are sent, and the servers and tasks for which they aren't.
@Suite(.timeLimit(.minutes(10)))
struct ClientCertificateTests {
    /// A server that requests a certificate, and two clients, of which it knows one.
    private struct Scene {
        let site: TestSite
        let issuer: TestCertificate
        let alice: ClientIdentity
        let unrelated: ClientIdentity

        init() throws {
            site = try TestSite.shared.get()
            issuer = try .root("Client Root")
            alice = try issuer.issue(.client("alice")).identity
            unrelated = try TestCertificate.root("Unknown Root").issue(.client("mallory")).identity
        }

        func server(
            _ version: LoopbackServer.TLSVersion = .tls13, isRequired: Bool = false,
            _ script: LoopbackServer.Script = .respond(.init(body: "hello"))
        ) throws -> LoopbackServer {
            try LoopbackServer(chain: site.chain, script) {
                $0.protocolVersions = version...version
                $0.clientAuthentication = .init(issuers: [issuer], roots: [issuer], isRequired: isRequired)
            }
        }
    }

    /// Answers client certificate challenges with `answer`, and leaves others to default handling.
    private static func delegate(_ answer: @escaping Responder) -> Responder {
        { challenge in
            let method = challenge.protectionSpace.authenticationMethod
            return method == NSURLAuthenticationMethodClientCertificate
                ? answer(challenge) : (.performDefaultHandling, nil)
        }
    }

    private static func use(
        _ identity: ClientIdentity, _ persistence: URLCredential.Persistence = .none
    ) -> Responder {
        delegate { _ in
            (.useCredential, URLCredential(identity: identity, certificates: nil, persistence: persistence))
        }
    }

    struct Row: Sendable, CustomTestStringConvertible {
        enum Source: CaseIterable { case nobody, sessionDelegate, taskDelegate, storage }
        enum Answer: CaseIterable { case alice, unrelated, password, nothing, reject, cancel }
        let version: LoopbackServer.TLSVersion
        let source: Source
        let answer: Answer
        let isRequired: Bool

        var testDescription: String { "\(version), \(source), \(answer), \(isRequired ? "required" : "optional")" }

        var failure: URLError.Code? {
            switch (source, answer) {
            case (.sessionDelegate, .cancel), (.taskDelegate, .cancel): .cancelled
            case (.nobody, _): isRequired ? .clientCertificateRequired : nil
            case (_, .alice): nil
            case (_, .unrelated): .clientCertificateRejected
            default: isRequired ? .clientCertificateRequired : nil
            }
        }

        static let pairwise: [Row] = PinnedNetworkingTests.pairwise([2, 4, 6, 2]).map { row in
            Row(
                version: row[0] == 0 ? .tls12 : .tls13, source: Source.allCases[row[1]],
                answer: Answer.allCases[row[2]], isRequired: row[3] == 1)
        }
    }

    @Test("A server that requests a certificate gets the chosen one or none", arguments: Row.pairwise)
    func chosen(row: Row) async throws {
        let scene = try Scene()
        let respond: Responder =
            switch row.answer {
            case .alice: Self.use(scene.alice)
            case .unrelated: Self.use(scene.unrelated)
            case .password:
                Self.delegate { _ in
                    (.useCredential, URLCredential(user: "alice", password: "p", persistence: .none))
                }
            case .nothing: Self.delegate { _ in (.useCredential, nil) }
            case .reject: Self.delegate { _ in (.rejectProtectionSpace, nil) }
            case .cancel: Self.delegate { _ in (.cancelAuthenticationChallenge, nil) }
            }
        let storage = URLCredentialStorage()
        let stored = [Row.Answer.alice: scene.alice, .unrelated: scene.unrelated][row.answer]
        if row.source == .storage, let stored {
            let credential = URLCredential(identity: stored, certificates: nil, persistence: .permanent)
            storage.setDefaultCredential(credential, for: .clientCertificate())
        }
        try await scene.server(row.version, isRequired: row.isRequired).run { server in
            let asks = row.source == .sessionDelegate
            let session = try scene.site.session(server, delegate: asks ? SessionAsyncDelegate(respond) : nil) {
                $0.urlCredentialStorage = storage
            }
            let delegate = row.source == .taskDelegate ? TaskHandlerDelegate(respond) : nil
            if let failure = row.failure {
                #expect(try await session.failure(delegate: delegate).code == failure)
            } else {
                #expect(try await session.get(delegate: delegate).body == "hello")
            }
            await session.flush()
            let records = await server.ended(server.records.count)
            let isShown = row.answer == .alice && row.source != .nobody
            #expect(records.flatMap(\.clientChain) == (isShown ? scene.alice.certificates.map(\.derBytes) : []))
            #expect(records.flatMap(\.requests).count == (row.failure == nil ? 1 : 0))
        }
    }

    /// A server that ends the connection with a reset.
    struct ResetRow: Sendable, CustomTestStringConvertible {
        enum Shown { case nothing, alice, unrelated }
        let testDescription: String
        var version = LoopbackServer.TLSVersion.tls13
        var requests = true
        var isRequired = false
        var shown = Shown.nothing
        /// The number of bytes in the request's body.
        var bodySize = 0
        var answer = ""
        let code: URLError.Code

        static let all: [ResetRow] = [
            ResetRow(testDescription: "requires one, TLS 1.3", isRequired: true, code: .clientCertificateRequired),
            ResetRow(
                testDescription: "requires one, TLS 1.2", version: .tls12, isRequired: true,
                code: .clientCertificateRequired),
            ResetRow(
                testDescription: "requires one, and the body is long", isRequired: true, bodySize: 1 << 20,
                code: .clientCertificateRequired),
            ResetRow(
                testDescription: "doesn't accept the one it gets, TLS 1.3", isRequired: true, shown: .unrelated,
                code: .clientCertificateRejected),
            ResetRow(
                testDescription: "doesn't accept the one it gets, and the body is long", isRequired: true,
                shown: .unrelated, bodySize: 1 << 20, code: .clientCertificateRejected),
            ResetRow(testDescription: "asks for one and says nothing", code: .clientCertificateRequired),
            ResetRow(testDescription: "doesn't ask", requests: false, code: .networkConnectionLost),
            ResetRow(testDescription: "gets one and says nothing", shown: .alice, code: .networkConnectionLost),
            ResetRow(
                testDescription: "asks for one and begins to answer", answer: "HTTP/1.1 200 OK\r\n",
                code: .networkConnectionLost),
        ]
    }

    @Test(
        "A server that resets the connection because it requires a client certificate gives the same error every time",
        arguments: ResetRow.all)
    func reset(row: ResetRow) async throws {
        let scene = try Scene()
        let script = LoopbackServer.Script.handle { connection in
            if row.code == .networkConnectionLost { connection.waitForInput() }
            try connection.write(Array(row.answer.utf8))
            // The part of the answer arrives before the reset.
            if !row.answer.isEmpty { connection.pause(.milliseconds(200)) }
        }
        let server = try LoopbackServer(chain: scene.site.chain, script) {
            $0.protocolVersions = row.version...row.version
            ($0.resetsAtEnd, $0.sendsCloseNotify) = (true, false)
            if row.requests {
                $0.clientAuthentication = .init(
                    issuers: [scene.issuer], roots: [scene.issuer], isRequired: row.isRequired)
            }
        }
        let delegate: SessionAsyncDelegate? =
            switch row.shown {
            case .nothing: nil
            case .alice: SessionAsyncDelegate(Self.use(scene.alice))
            case .unrelated: SessionAsyncDelegate(Self.use(scene.unrelated))
            }
        try await server.run { server in
            let session = try scene.site.session(server, delegate: delegate)
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            if row.bodySize > 0 {
                request.httpMethod = "POST"
                request.httpBody = Data(count: row.bodySize)
            }
            for _ in 0..<12 {
                let sent = request
                let error = try await #require(throws: URLError.self) { try await session.data(for: sent) }
                #expect(error.code == row.code, "\(error.localizedDescription)")
                let isRequired = row.code == .clientCertificateRequired
                #expect(error.localizedDescription.contains("answer its NSURLAuth") == isRequired)
                #expect(error.localizedDescription.contains("connect again") == (row.code == .networkConnectionLost))
            }
        }
    }

    @Test("A server that has answered without a client certificate doesn't require one when it resets the connection")
    func resetLater() async throws {
        let scene = try Scene()
        let script = LoopbackServer.Script.handle { connection in
            guard try connection.readRequest() != nil else { return }
            try connection.write(Array("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok".utf8))
            _ = try connection.readRequest()
        }
        let server = try LoopbackServer(chain: scene.site.chain, script) {
            ($0.resetsAtEnd, $0.sendsCloseNotify) = (true, false)
            $0.clientAuthentication = .init(issuers: [scene.issuer], roots: [scene.issuer])
        }
        try await server.run { server in
            let session = try scene.site.session(server)
            #expect(try await session.get().body == "ok")
            var request = URLRequest(url: try #require(URL(string: "https://pinned.test/")))
            request.httpMethod = "POST"
            request.httpBody = Data("x".utf8)
            let sent = request
            let error = try await #require(throws: URLError.self) { try await session.data(for: sent) }
            #expect(error.code == .networkConnectionLost)
        }
    }

    @Test("A client certificate challenge contains the server and its accepted CA names")
    func challenge() async throws {
        let scene = try Scene()
        let spaces = Collected<URLProtectionSpace>()
        let delegate = SessionHandlerDelegate(
            Self.delegate {
                spaces.append($0.protectionSpace)
                return (.performDefaultHandling, nil)
            })
        try await scene.server().run { server in
            _ = try await scene.site.session(server, delegate: delegate).get("https://pinned.test:8443/")
        }
        let space = try #require(spaces.values.first)
        #expect(space.host == "pinned.test")
        #expect(space.port == 8443)
        #expect(space.serverTrust == nil)
        let names = try #require(space.distinguishedNames)
        #expect(names.count == 1)
        #expect(scene.alice.matches(issuers: names.map { [UInt8]($0) }))
        #expect(!scene.unrelated.matches(issuers: names.map { [UInt8]($0) }))
    }

    @Test("TC12: A certificate for one host is not sent to another, even after a redirect", arguments: [true, false])
    func otherHost(isStored: Bool) async throws {
        let scene = try Scene()
        let script = LoopbackServer.Script.answer { request in
            request.target == "/start"
                ? .init("307 Temporary Redirect", fields: ["Location: https://pinned.test/"]) : .init(body: "hello")
        }
        let storage = URLCredentialStorage()
        let credential = URLCredential(identity: scene.alice, certificates: nil, persistence: .permanent)
        if isStored { storage.setDefaultCredential(credential, for: .clientCertificate(host: "start.test")) }
        let proposals = Collected<[String?]>()
        let delegate = TaskHandlerDelegate(
            Self.delegate { challenge in
                let host = challenge.protectionSpace.host
                proposals.append([host, challenge.proposedCredential == nil ? nil : "alice"])
                guard !isStored, host == "start.test" else { return (.performDefaultHandling, nil) }
                return (
                    .useCredential, URLCredential(identity: scene.alice, certificates: nil, persistence: .forSession)
                )
            })
        try await scene.server(.tls13, script).run { server in
            let session = try scene.site.session(server) { $0.urlCredentialStorage = storage }
            #expect(try await session.get("https://start.test/start", delegate: delegate).body == "hello")
            await session.flush()
            let records = await server.ended(server.records.count)
            #expect(records.map(\.serverName) == ["start.test", "pinned.test"])
            #expect(records.map(\.clientChain.count) == [1, 0])
        }
        #expect(proposals.values == [["start.test", isStored ? "alice" : nil], ["pinned.test", nil]])
    }

    @Test("An identity chosen by one task's delegate isn't used for another task", arguments: [true, false])
    func otherTask(isSessions: Bool) async throws {
        let scene = try Scene()
        try await scene.server().run { server in
            let delegate = isSessions ? SessionAsyncDelegate(Self.use(scene.alice)) : nil
            let session = try scene.site.session(server, delegate: delegate)
            let own = isSessions ? nil : TaskHandlerDelegate(Self.use(scene.alice))
            #expect(try await session.get(delegate: own).body == "hello")
            #expect(try await session.get().body == "hello")
            await session.flush()
            let records = await server.ended(server.records.count)
            #expect(records.map(\.clientChain.count) == (isSessions ? [1] : [1, 0]))
            #expect(records.map(\.sessionResumed) == records.map { _ in false })
        }
    }

    enum Later: CaseIterable { case other, nothing, reject, cancel, same, byDefault, unasked }

    @Test(
        "ID1: A connection with a stored identity isn't used for a task whose delegate chooses otherwise",
        arguments: Later.allCases)
    func askedAgain(later: Later) async throws {
        let scene = try Scene()
        let bob = try scene.issuer.issue(.client("bob")).identity
        let storage = URLCredentialStorage()
        let credential = URLCredential(identity: scene.alice, certificates: nil, persistence: .permanent)
        storage.setDefaultCredential(credential, for: .clientCertificate())
        let spaces = Collected<URLProtectionSpace>()
        let answer: Answer =
            switch later {
            case .other: (.useCredential, URLCredential(identity: bob, certificates: nil, persistence: .none))
            case .same: (.useCredential, URLCredential(identity: scene.alice, certificates: nil, persistence: .none))
            case .nothing: (.useCredential, nil)
            case .reject: (.rejectProtectionSpace, nil)
            case .cancel: (.cancelAuthenticationChallenge, nil)
            case .byDefault, .unasked: (.performDefaultHandling, nil)
            }
        let delegate = TaskHandlerDelegate(
            Self.delegate { challenge in
                spaces.append(challenge.protectionSpace)
                return answer
            })
        try await scene.server().run { server in
            let session = try scene.site.session(server) { $0.urlCredentialStorage = storage }
            #expect(try await session.get().body == "hello")
            let own = later == .unasked ? nil : delegate
            if later == .cancel {
                #expect(try await session.failure(delegate: own).code == .cancelled)
            } else {
                #expect(try await session.get(delegate: own).body == "hello")
            }
            await session.flush()
            let records = await server.ended(server.records.count)
            let alice = scene.alice.certificates.map(\.derBytes)
            switch later {
            case .same, .byDefault, .unasked:
                #expect(records.map(\.clientChain) == [alice])
                #expect(records.map(\.requests.count) == [2])
            case .cancel:
                #expect(records.map(\.requests.count) == [1])
            case .other, .nothing, .reject:
                #expect(records.map(\.clientChain) == [alice, later == .other ? bob.certificates.map(\.derBytes) : []])
                #expect(records.map(\.requests.count) == [1, 1])
            }
        }
        // The challenge is the server's own, including the issuers.
        #expect(spaces.values.allSatisfy { $0.distinguishedNames?.count == 1 })
        #expect(spaces.values.isEmpty == (later == .unasked))
    }

    @Test("ID1: An identity chosen by one task's delegate isn't used for a task that would send the stored one")
    func storedAfterChosen() async throws {
        let scene = try Scene()
        let bob = try scene.issuer.issue(.client("bob")).identity
        let storage = URLCredentialStorage()
        let credential = URLCredential(identity: scene.alice, certificates: nil, persistence: .permanent)
        storage.setDefaultCredential(credential, for: .clientCertificate())
        try await scene.server().run { server in
            let session = try scene.site.session(server) { $0.urlCredentialStorage = storage }
            #expect(try await session.get(delegate: TaskHandlerDelegate(Self.use(bob))).body == "hello")
            for _ in 0..<2 { #expect(try await session.get().body == "hello") }
            await session.flush()
            let records = await server.ended(server.records.count)
            #expect(records.map(\.clientChain) == [bob, scene.alice].map { $0.certificates.map(\.derBytes) })
            #expect(records.map(\.requests.count) == [1, 2])
        }
    }

    @Test("ID1: A connection isn't used after its stored identity was replaced or removed", arguments: [true, false])
    func storedChange(isRemoved: Bool) async throws {
        let scene = try Scene()
        let bob = try scene.issuer.issue(.client("bob")).identity
        let storage = URLCredentialStorage()
        let credential = URLCredential(identity: scene.alice, certificates: nil, persistence: .permanent)
        storage.setDefaultCredential(credential, for: .clientCertificate())
        try await scene.server().run { server in
            let session = try scene.site.session(server) { $0.urlCredentialStorage = storage }
            #expect(try await session.get().body == "hello")
            if isRemoved {
                storage.remove(credential, for: .clientCertificate())
            } else {
                let other = URLCredential(identity: bob, certificates: nil, persistence: .permanent)
                storage.setDefaultCredential(other, for: .clientCertificate())
            }
            #expect(try await session.get().body == "hello")
            await session.flush()
            let records = await server.ended(server.records.count)
            let chains = [scene.alice.certificates, isRemoved ? [] : bob.certificates].map { $0.map(\.derBytes) }
            #expect(records.map(\.clientChain) == chains)
        }
    }

    // The client doesn't announce support for it (RFC 8446, section 4.2.6).
    @Test("TC12: A server that requests a certificate after the handshake gets none")
    func behindTheHandshake() async throws {
        let scene = try Scene()
        let script = LoopbackServer.Script.handle { connection in
            _ = try connection.readRequest()
            try connection.requestCertificate()
        }
        let server = try LoopbackServer(chain: scene.site.chain, script) {
            $0.clientAuthentication = .init()
            $0.clientAuthentication?.isPostponed = true
        }
        try await server.run { server in
            let session = try scene.site.session(server, delegate: SessionAsyncDelegate(Self.use(scene.alice)))
            _ = try await session.failure()
            let record = await server.ended()[0]
            #expect(record.clientChain.isEmpty)
            #expect(record.failure?.contains("SSL_verify_client_post_handshake") == true)
        }
    }
}
