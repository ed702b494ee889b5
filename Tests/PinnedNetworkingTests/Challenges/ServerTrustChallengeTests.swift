import PinctlTestPKI
import PinnedNetworking
import Testing

/// The challenge methods that each delegate implements, and the ones that must be called.
private struct RoutingRow: CustomTestStringConvertible, Sendable {
    typealias Make = @Sendable (_ log: Collected<String>) -> any URLSessionTaskDelegate

    let testDescription: String
    var session: Make?
    var task: Make?
    let asked: [String]

    static func responder(_ name: String, _ log: Collected<String>) -> Responder {
        { _ in
            log.append(name)
            return (.rejectProtectionSpace, nil)
        }
    }
}

private let routingRows = [
    RoutingRow(
        testDescription: "session delegate, session method, handler",
        session: { SessionHandlerDelegate(RoutingRow.responder("1", $0)) }, asked: ["1"]),
    RoutingRow(
        testDescription: "session delegate, session method, async",
        session: { SessionAsyncDelegate(RoutingRow.responder("1", $0)) }, asked: ["1"]),
    RoutingRow(
        testDescription: "session delegate, task method, handler",
        session: { TaskHandlerDelegate(RoutingRow.responder("4", $0)) }, asked: ["4"]),
    RoutingRow(
        testDescription: "session delegate, task method, async",
        session: { TaskAsyncDelegate(RoutingRow.responder("4", $0)) }, asked: ["4"]),
    RoutingRow(
        testDescription: "task delegate, session method, handler",
        task: { SessionHandlerDelegate(RoutingRow.responder("2", $0)) }, asked: ["2"]),
    RoutingRow(
        testDescription: "task delegate, session method, async",
        task: { SessionAsyncDelegate(RoutingRow.responder("2", $0)) }, asked: ["2"]),
    RoutingRow(
        testDescription: "task delegate, task method, handler",
        task: { TaskHandlerDelegate(RoutingRow.responder("3", $0)) }, asked: ["3"]),
    RoutingRow(
        testDescription: "task delegate, task method, async",
        task: { TaskAsyncDelegate(RoutingRow.responder("3", $0)) }, asked: ["3"]),
    RoutingRow(
        testDescription: "the session delegate's session method goes first",
        session: { BothDelegate(session: RoutingRow.responder("1", $0), task: RoutingRow.responder("4", $0)) },
        task: { BothDelegate(session: RoutingRow.responder("2", $0), task: RoutingRow.responder("3", $0)) },
        asked: ["1"]),
    RoutingRow(
        testDescription: "then the task delegate's session method",
        session: { TaskHandlerDelegate(RoutingRow.responder("4", $0)) },
        task: { BothDelegate(session: RoutingRow.responder("2", $0), task: RoutingRow.responder("3", $0)) },
        asked: ["2"]),
    RoutingRow(
        testDescription: "then the task delegate's task method",
        session: { TaskAsyncDelegate(RoutingRow.responder("4", $0)) },
        task: { TaskAsyncDelegate(RoutingRow.responder("3", $0)) }, asked: ["3"]),
    RoutingRow(
        testDescription: "then the session delegate's task method",
        session: { TaskAsyncDelegate(RoutingRow.responder("4", $0)) }, task: { _ in SilentDelegate() }, asked: ["4"]),
    RoutingRow(
        testDescription: "nobody", session: { _ in SilentDelegate() }, task: { _ in SilentDelegate() }, asked: []),
]

/// A delegate's answer, and the expected error of the request; nil if it succeeds.
private struct DispositionRow: CustomTestStringConvertible, Sendable {
    let testDescription: String
    let respond: Responder
    let pinned: URLError.Code?
    let mismatched: URLError.Code?
    let untrusted: URLError.Code?
}

private let dispositionRows = [
    DispositionRow(
        testDescription: "default handling", respond: { _ in (.performDefaultHandling, nil) },
        pinned: nil, mismatched: .serverCertificateUntrusted, untrusted: .serverCertificateHasUnknownRoot),
    DispositionRow(
        testDescription: "default handling with a credential",
        respond: { (.performDefaultHandling, acceptServer($0).1) },
        pinned: nil, mismatched: .serverCertificateUntrusted, untrusted: .serverCertificateHasUnknownRoot),
    // The one case in which a delegate can accept more: an untrusted chain for a host without pins.
    DispositionRow(
        testDescription: "the challenge's trust", respond: acceptServer,
        pinned: nil, mismatched: .serverCertificateUntrusted, untrusted: nil),
    DispositionRow(
        testDescription: "no credential", respond: { _ in (.useCredential, nil) },
        pinned: .serverCertificateUntrusted, mismatched: .serverCertificateUntrusted,
        untrusted: .serverCertificateUntrusted),
    DispositionRow(
        testDescription: "a password",
        respond: { _ in (.useCredential, URLCredential(user: "u", password: "p", persistence: .forSession)) },
        pinned: .serverCertificateUntrusted, mismatched: .serverCertificateUntrusted,
        untrusted: .serverCertificateUntrusted),
    DispositionRow(
        testDescription: "a trust of its own making",
        respond: { challenge in
            let copy = challenge.protectionSpace.serverTrust.map {
                ServerTrust(presented: $0.presented, name: $0.name, store: $0.store)
            }
            return (.useCredential, copy.map { URLCredential(trust: $0) })
        },
        pinned: .serverCertificateUntrusted, mismatched: .serverCertificateUntrusted,
        untrusted: .serverCertificateUntrusted),
    DispositionRow(
        testDescription: "cancel", respond: { (.cancelAuthenticationChallenge, acceptServer($0).1) },
        pinned: .cancelled, mismatched: .cancelled, untrusted: .cancelled),
    DispositionRow(
        testDescription: "reject", respond: { (.rejectProtectionSpace, acceptServer($0).1) },
        pinned: .serverCertificateUntrusted, mismatched: .serverCertificateUntrusted,
        untrusted: .serverCertificateUntrusted),
]

@Suite(.timeLimit(.minutes(10)))
struct ServerTrustChallengeTests {
    @Test("A challenge follows the routing table, and only one method answers", arguments: routingRows)
    private func routing(row: RoutingRow) async throws {
        let site = try TestSite.pinned()
        let log = Collected<String>()
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, delegate: row.session?(log))
            let url = try #require(URL(string: "https://pinned.test/"))
            if row.asked.isEmpty {
                _ = try await session.data(from: url, delegate: row.task?(log))
            } else {
                let error = try await session.failure(delegate: row.task?(log))
                #expect(error.code == .serverCertificateUntrusted)
                #expect(await server.ended()[0].applicationBytes.isEmpty)
            }
            #expect(log.values == row.asked)
        }
    }

    @Test("PE22: A delegate's answer can only be stricter than the pins", arguments: dispositionRows)
    private func dispositions(row: DispositionRow) async throws {
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let delegates: [any URLSessionTaskDelegate] = [
                SessionHandlerDelegate(row.respond), TaskAsyncDelegate(row.respond),
            ]
            for delegate in delegates {
                let pinned = try site.session(server, policy: .pinning(site.leaf.key.pin), delegate: delegate)
                let mismatched = try site.session(server, policy: .pinning(unknownPin), delegate: delegate)
                let untrusted = try site.session(server, delegate: delegate) {
                    $0.trustStore = TrustStore(certificates: [])
                }
                for (session, expected) in [
                    (pinned, row.pinned), (mismatched, row.mismatched), (untrusted, row.untrusted),
                ] {
                    if let expected {
                        #expect(try await session.failure().code == expected)
                    } else {
                        #expect(try await session.get().body == "hello")
                    }
                    await session.flush()
                }
            }
            let expected = [row.pinned, row.mismatched, row.untrusted].map { $0 != nil }
            #expect(await server.ended(6).map(\.applicationBytes.isEmpty) == expected + expected)
        }
    }

    @Test(
        "P3: A delegate can accept an untrusted chain only for hosts without enforced or reported pins",
        arguments: [
            (PinningMode.enforce, UnlistedHosts.trust, "https://pinned.test/", false),
            (.report, .trust, "https://pinned.test/", false),
            (.off, .trust, "https://pinned.test/", true),
            (.off, .refuse, "https://pinned.test/", true),
            (.enforce, .trust, "https://other.test/", true),
            (.enforce, .refuse, "https://other.test/", false),
        ])
    func acceptance(mode: PinningMode, unlisted: UnlistedHosts, url: String, isServed: Bool) async throws {
        let site = try TestSite.pinned([.dns("pinned.test"), .dns("other.test")])
        try await LoopbackServer(chain: site.chain).run { server in
            // The pin matches, but the chain isn't trusted.
            let policy = try PinningPolicy.pinning(site.leaf.key.pin, mode: mode, unlisted: unlisted)
            let session = try site.session(server, policy: policy, delegate: SessionAsyncDelegate(acceptServer)) {
                $0.trustStore = TrustStore(certificates: [])
            }
            if isServed {
                #expect(try await session.get(url).body == "hello")
            } else {
                _ = try await session.failure(url)
            }
            await session.flush()
            #expect(await server.ended()[0].applicationBytes.isEmpty == !isServed)
        }
    }

    @Test("A delegate that forwards a challenge can reject it, whatever credential it received")
    func forwardedRefusal() async throws {
        final class Forwarder: URLSessionDelegate {
            let inner = SilentDelegate()

            func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
                let (_, credential) = await inner.urlSession(session, didReceive: challenge)
                return (.cancelAuthenticationChallenge, credential)
            }
        }
        let site = try TestSite.pinned()
        try await LoopbackServer(chain: site.chain).run { server in
            let error = try await site.session(server, delegate: Forwarder()).failure()
            #expect(error.code == .cancelled)
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
    }

    @Test("A server trust challenge contains the server's host, port and certificates")
    func challengeContents() async throws {
        let site = try TestSite.pinned()
        let seen = Collected<URLAuthenticationChallenge>()
        let delegate = SessionHandlerDelegate {
            seen.append($0)
            return (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            _ = try await site.session(server, delegate: delegate).get("https://PINNED.test.:8443/")
        }
        let challenge = try #require(seen.values.first)
        let space = challenge.protectionSpace
        #expect(space.host == "pinned.test")
        #expect(space.port == 8443)
        #expect(space.protocol == NSURLProtectionSpaceHTTPS)
        #expect(space.authenticationMethod == NSURLAuthenticationMethodServerTrust)
        #expect(space.realm == nil)
        #expect(space.distinguishedNames == nil)
        #expect(challenge.previousFailureCount == 0)
        #expect(challenge.proposedCredential == nil)
        let trust = try #require(space.serverTrust)
        #expect(trust.presented.certificates.map(\.derBytes) == site.chain.map(\.derBytes))
        #expect(try trust.evaluate(at: Date()).certificates.count == 3)
    }

    // What a delegate has set for a trust, such as its own anchors, would otherwise apply to the next task's delegate.
    @Test("Each challenge has a server trust of its own, also on a reused connection")
    func ownTrust() async throws {
        let site = try TestSite.pinned()
        let seen = Collected<SecTrust?>()
        let delegate = TaskHandlerDelegate {
            seen.append($0.protectionSpace.serverTrust)
            return acceptServer($0)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server, delegate: delegate) { $0.trustPolicy.revocation = .use }
            for _ in 1...2 { #expect(try await session.get().body == "hello") }
            await session.flush()
            #expect(await server.ended(1).map(\.requests.count) == [2])
        }
        try #require(seen.values.count == 2)
        let (first, second) = (try #require(seen.values[0]), try #require(seen.values[1]))
        #expect(first !== second)
        #expect(first.presented == second.presented && first.store === second.store && first.policy == second.policy)
    }

    @Test("A late answer counts, and the first of two answers counts")
    func lateAndTwice() async throws {
        let site = try TestSite.pinned()
        let late = DeferringDelegate { _, challenge, handler in
            DispatchQueue.global().asyncAfter(deadline: .now() + 0.2) {
                handler(.useCredential, acceptServer(challenge).1)
            }
        }
        let acceptThenCancel = DeferringDelegate { _, challenge, handler in
            handler(.useCredential, acceptServer(challenge).1)
            handler(.cancelAuthenticationChallenge, nil)
        }
        let cancelThenAccept = DeferringDelegate { _, challenge, handler in
            handler(.cancelAuthenticationChallenge, nil)
            handler(.useCredential, acceptServer(challenge).1)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let session = try site.session(server)
            #expect(try await session.get(delegate: late).body == "hello")
            #expect(try await session.get(delegate: acceptThenCancel).body == "hello")
            #expect(try await session.failure(delegate: cancelThenAccept).code == .cancelled)
            // The third task was asked about the connection of the first two, and rejected it.
            await session.flush()
            #expect(await server.ended(1).map(\.requests.count) == [2])
        }
    }

    @Test("Without an answer within the request's timeout the request fails, and a later answer has no effect")
    func never() async throws {
        let site = try TestSite.pinned()
        let handlers = Collected<DeferringDelegate.Handler>()
        let silent = DeferringDelegate { _, _, handler in handlers.append(handler) }
        // On a busy machine a short timeout can expire before the delegate is asked.
        for timeout: TimeInterval in [1, 4, 16, 64, 256] where handlers.values.isEmpty {
            try await LoopbackServer(chain: site.chain).run { server in
                let session = try site.session(server) { $0.timeoutIntervalForRequest = timeout }
                let error = try await session.failure(delegate: silent)
                #expect(error.code == .timedOut)
                guard let handler = handlers.values.first else { return }
                #expect(
                    error.localizedDescription.hasSuffix(
                        "while waiting for a delegate's answer to a challenge of the TLS handshake: call the delegate "
                            + "method's completion handler in every case, within timeoutIntervalForRequest"))
                handler(.performDefaultHandling, nil)
                #expect(await server.ended()[0].applicationBytes.isEmpty)
            }
        }
        #expect(handlers.values.count == 1)
    }

    @Test("An async delegate method that doesn't return is cancelled at the timeout")
    func neverReturning() async throws {
        final class Sleeper: URLSessionDelegate {
            let asked = Collected<Void>()

            func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
                asked.append(())
                try? await Task.sleep(for: .seconds(3600))
                return acceptServer(challenge)
            }
        }
        let site = try TestSite.pinned()
        let sleeper = Sleeper()
        for timeout: TimeInterval in [1, 4, 16, 64, 256] where sleeper.asked.values.isEmpty {
            try await LoopbackServer(chain: site.chain).run { server in
                let session = try site.session(server, delegate: sleeper) { $0.timeoutIntervalForRequest = timeout }
                #expect(try await session.failure().code == .timedOut)
                guard !sleeper.asked.values.isEmpty else { return }
                #expect(await server.ended()[0].applicationBytes.isEmpty)
            }
        }
        #expect(sleeper.asked.values.count == 1)
    }

    @Test("A task can be cancelled from its delegate")
    func cancelFromDelegate() async throws {
        let site = try TestSite.pinned()
        let requests = Collected<URLRequest?>()
        let delegate = DeferringDelegate { task, _, _ in
            requests.append(task.originalRequest)
            task.cancel()
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let error = try await site.session(server).failure(delegate: delegate)
            #expect(error.code == .cancelled)
            #expect(await server.ended()[0].applicationBytes.isEmpty)
        }
        #expect(requests.values.map { $0?.url?.absoluteString } == ["https://pinned.test/"])
    }

    @Test("A delegate bound to the main actor is called there")
    func mainActor() async throws {
        let site = try TestSite.pinned()
        let delegate = MainActorDelegate()
        try await LoopbackServer(chain: site.chain).run { server in
            _ = try await site.session(server, delegate: delegate).get()
            _ = try await site.session(server).get(delegate: delegate)
        }
        #expect(await delegate.hosts == ["pinned.test", "pinned.test"])
    }

    @Test("Delegate methods are called on the given delegate queue")
    func delegateQueue() async throws {
        let site = try TestSite.pinned()
        let queue = OperationQueue()
        queue.name = "the delegate's"
        let names = Collected<String?>()
        let delegate = SessionHandlerDelegate { _ in
            names.append(OperationQueue.current?.name)
            return (.performDefaultHandling, nil)
        }
        try await LoopbackServer(chain: site.chain).run { server in
            let configuration = try site.session(server).configuration
            let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: queue)
            _ = try await session.get()
        }
        #expect(names.values == ["the delegate's"])
    }
}
