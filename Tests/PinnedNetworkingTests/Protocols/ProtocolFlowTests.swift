import PinctlBasics
import PinctlTestPKI
import PinnedNetworking
import Testing

/// Records the answers to a challenge, and lets the stub continue.
private final class RecordingSender: NSObject, URLAuthenticationChallengeSender {
    private let answers: Collected<String>
    private let proceed: @Sendable () -> Void

    init(_ answers: Collected<String>, _ proceed: @escaping @Sendable () -> Void) {
        self.answers = answers
        self.proceed = proceed
    }

    private func take(_ answer: String) {
        answers.append(answer)
        proceed()
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        take("use \(credential.user ?? "")")
    }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { take("without") }
    func cancel(_ challenge: URLAuthenticationChallenge) { answers.append("cancel") }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { take("default") }
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { take("reject") }
}

/// Answers every redirect.
private final class RedirectDelegate: URLSessionTaskDelegate {
    private let answer: @Sendable (URLRequest) -> URLRequest?
    let responses = Collected<Int>()

    init(_ answer: @escaping @Sendable (URLRequest) -> URLRequest?) { self.answer = answer }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        responses.append(response.statusCode)
        return answer(request)
    }
}

// Serialized, since a test blocks the queue of all protocol classes, and others have short timeouts.
@Suite("The flow of requests that protocol classes handle", .timeLimit(.minutes(10)), .serialized)
struct ProtocolFlowTests {
    // MARK: End

    struct EndRow: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let code: URLError.Code
        let end: @Sendable (URLSession, URLSessionDataTask) -> Void
        /// Whether the request timeout ends the request, or else the resource timeout. `nil` for neither.
        var limitsRequest: Bool?
    }

    static let endRows = [
        EndRow(testDescription: "the task is cancelled", code: .cancelled, end: { $1.cancel() }),
        EndRow(
            testDescription: "the session is cancelled", code: .cancelled,
            end: { session, _ in session.invalidateAndCancel() }),
        EndRow(testDescription: "nothing happens", code: .timedOut, end: nothing, limitsRequest: true),
        EndRow(testDescription: "it takes too long", code: .timedOut, end: nothing, limitsRequest: false),
    ]

    private static let nothing: @Sendable (URLSession, URLSessionDataTask) -> Void = { _, _ in }

    @Test(
        "A stub is stopped once when the request ends, and a later answer is ignored", arguments: endRows,
        [true, false])
    func stopped(row: EndRow, hasResponse: Bool) async throws {
        // On a busy machine a short timeout can expire before the stub has started.
        for timeout: TimeInterval in row.limitsRequest == nil ? [600] : [2, 8, 32]
        where try await stop(row, hasResponse, timeout) { return }
        Issue.record("the stub didn't start within any timeout")
    }

    /// Returns false if the request ended before it was what the row is about.
    private func stop(_ row: EndRow, _ hasResponse: Bool, _ timeout: TimeInterval) async throws -> Bool {
        let host = "\(UUID().uuidString).test".lowercased()
        let late = Locked<(@Sendable () -> Void)?>(nil)
        let events = StubProtocol.handle(host) { stub in
            if hasResponse { stub.respond() }
            guard let client = stub.client, let url = stub.request.url else { return }
            late.withLock {
                $0 = {
                    let other = URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
                    other.respond()
                    other.load("late")
                    other.finish()
                }
            }
        }
        let delegate = CollectingDelegate()
        let configuration = StubProtocol.configuration {
            $0.timeoutIntervalForRequest = row.limitsRequest == true ? timeout : 600
            $0.timeoutIntervalForResource = row.limitsRequest == false ? timeout : 600
        }
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let task = session.dataTask(with: try #require(URL(string: "https://\(host)/")))
        task.resume()
        while events.values.isEmpty || hasResponse && task.response == nil {
            guard task.state != .completed else { return false }
            try await Task.sleep(for: .milliseconds(2))
        }
        row.end(session, task)
        #expect((try await delegate.end() as? URLError)?.code == row.code)
        #expect(try await events.wait(for: 2) == ["start", "stop"])
        late.withLock { $0 }?()
        task.cancel()
        // The queue of the classes is serial, so a second stop would have come before the end of this request.
        _ = StubProtocol.handle("after.\(host)") { $0.finish() }
        _ = try await StubProtocol.configuration().data("https://after.\(host)/")
        #expect(events.values == ["start", "stop"])
        #expect(delegate.parts.values.isEmpty)
        #expect((task.response == nil) != hasResponse)
        return true
    }

    @Test("A stub that blocks doesn't hold up a cancellation or another session")
    func blocked() async throws {
        let host = "blocked.test"
        let gate = DispatchSemaphore(value: 0)
        let events = StubProtocol.handle(host) { _ in gate.wait() }
        let session = URLSession(configuration: StubProtocol.configuration())
        let task = Task { try await session.data(from: try #require(URL(string: "https://\(host)/"))) }
        #expect(try await events.wait(for: 1) == ["start"])
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let (body, _) = try await site.session(server).get()
            #expect(body == "hello")
        }
        task.cancel()
        await #expect(throws: URLError.self) { try await task.value }
        #expect(events.values == ["start"])
        gate.signal()
        #expect(try await events.wait(for: 2) == ["start", "stop"])
    }

    @Test("Releasing the bytes of a response stops the stub")
    func releasedBytes() async throws {
        let host = "released.test"
        let events = StubProtocol.handle(host) { stub in
            stub.respond()
            stub.load("hello")
        }
        let session = URLSession(configuration: StubProtocol.configuration())
        let url = try #require(URL(string: "https://\(host)/"))
        do {
            let (bytes, _) = try await session.bytes(from: url)
            for try await byte in bytes {
                #expect(byte == UInt8(ascii: "h"))
                break
            }
        }
        #expect(try await events.wait(for: 2) == ["start", "stop"])
    }

    @Test("A suspended task gets the rest of a stub's body after it was resumed")
    func suspended() async throws {
        let host = "suspended.test"
        let events = StubProtocol.handle(host) { stub in
            stub.respond()
            stub.load("1")
            stub.load("2")
            stub.finish()
        }
        let delegate = SuspendingDelegate()
        let session = URLSession(configuration: StubProtocol.configuration(), delegate: delegate, delegateQueue: nil)
        let task = session.dataTask(with: try #require(URL(string: "https://\(host)/")))
        task.resume()
        #expect(try await events.wait(for: 1).first == "start")
        while task.state != .suspended { try await Task.sleep(for: .milliseconds(2)) }
        try await Task.sleep(for: .milliseconds(50))
        #expect(delegate.parts.values == ["1"])
        task.resume()
        #expect(try await delegate.parts.wait(for: 3) == ["1", "2", "end"])
    }

    @Test("A stub's request is in the metrics, without a protocol name and without a connection")
    func metrics() async throws {
        let host = "metrics.test"
        _ = StubProtocol.handle(host) { stub in
            stub.respond()
            stub.load("hello")
            stub.finish()
        }
        let witness = Witness()
        let session = URLSession(configuration: StubProtocol.configuration(), delegate: witness, delegateQueue: nil)
        _ = try await session.get("https://\(host)/")
        let transaction = try #require(witness.metrics.values.first?.transactionMetrics.first)
        #expect(transaction.request.url?.host == host)
        #expect(transaction.networkProtocolName == nil)
        #expect(transaction.remoteAddress == nil)
        #expect(transaction.countOfResponseBodyBytesReceived == 5)
        #expect(transaction.responseEndDate != nil)
    }

    // MARK: Redirects

    @Test("A stub's redirect goes to the classes again, and then over the network")
    func redirects() async throws {
        let host = "redirect.test"
        let events = StubProtocol.handle(host) { stub in
            if stub.request.url?.path == "/a" {
                stub.redirect(to: "https://\(host)/b") { $0.setValue("1", forHTTPHeaderField: "X-A") }
            } else {
                #expect(stub.request.value(forHTTPHeaderField: "X-A") == "1")
                stub.redirect(to: "https://pinned.test/c")
            }
            stub.fail(CocoaError(.userCancelled))
        }
        let site = try TestSite.shared.get()
        try await LoopbackServer(chain: site.chain).run { server in
            let delegate = RedirectDelegate { $0 }
            let session = try site.session(server, delegate: delegate) { $0.protocolClasses = [StubProtocol.self] }
            let (body, response) = try await session.get("https://\(host)/a")
            #expect(body == "hello")
            #expect(response.url?.absoluteString == "https://pinned.test/c")
            #expect(delegate.responses.values == [302, 302])
            #expect(try await events.wait(for: 4) == ["start", "stop", "start", "stop"])
            await session.flush()
            #expect(await server.ended().first?.requests.map(\.line) == ["GET /c HTTP/1.1"])
        }
    }

    @Test("A delegate can stop or change a stub's redirect")
    func redirectDelegates() async throws {
        let host = "redirect-delegate.test"
        _ = StubProtocol.handle(host) { stub in
            guard stub.request.url?.path == "/a" else {
                stub.respond()
                stub.load(stub.request.url?.path ?? "")
                return stub.finish()
            }
            stub.redirect(to: "https://\(host)/b")
        }
        let configuration = StubProtocol.configuration()
        let stopped = try await URLSession(configuration: configuration)
            .get("https://\(host)/a", delegate: RedirectDelegate { _ in nil })
        #expect(stopped.response.statusCode == 302)
        #expect(stopped.body.isEmpty)
        let changing = RedirectDelegate { request in
            var request = request
            request.url?.append(path: "c")
            return request
        }
        let changed = try await URLSession(configuration: configuration).get("https://\(host)/a", delegate: changing)
        #expect(changed.body == "/b/c")
    }

    @Test("A stub that redirects to itself ends after 20 redirects")
    func endlessRedirect() async throws {
        let host = "endless.test"
        let events = StubProtocol.handle(host) { $0.redirect(to: "https://\(host)/") }
        let session = URLSession(configuration: StubProtocol.configuration())
        #expect(try await session.failure("https://\(host)/").code == .httpTooManyRedirects)
        #expect(try await events.wait(for: 42).count { $0 == "start" } == 21)
    }

    // MARK: Challenges

    struct ChallengeRow: CustomTestStringConvertible, Sendable {
        let answer: Answer
        let passed: String
        var code: URLError.Code?

        var testDescription: String { passed }
    }

    static let challengeRows = [
        ChallengeRow(
            answer: (.useCredential, URLCredential(user: "me", password: "secret", persistence: .none)),
            passed: "use me"),
        ChallengeRow(answer: (.useCredential, nil), passed: "without"),
        ChallengeRow(answer: (.performDefaultHandling, nil), passed: "default"),
        ChallengeRow(answer: (.rejectProtectionSpace, nil), passed: "reject"),
        ChallengeRow(answer: (.cancelAuthenticationChallenge, nil), passed: "cancel", code: .cancelled),
    ]

    /// A challenge of a stub, which responds after the answer.
    private static func challenge(_ stub: URLProtocol, _ answers: Collected<String>) -> URLAuthenticationChallenge? {
        guard let client = stub.client, let url = stub.request.url else { return nil }
        let sender = RecordingSender(answers) {
            let other = URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
            other.respond()
            other.finish()
        }
        return URLAuthenticationChallenge(
            protectionSpace: URLProtectionSpace(
                host: url.host ?? "", port: 443, protocol: "https", realm: "r",
                authenticationMethod: NSURLAuthenticationMethodHTTPBasic), proposedCredential: nil,
            previousFailureCount: 0, failureResponse: nil, error: nil, sender: sender)
    }

    @Test("A delegate's answer to a stub's challenge is passed to its sender", arguments: challengeRows)
    func challenges(row: ChallengeRow) async throws {
        let host = "\(UUID().uuidString).test".lowercased()
        let answers = Collected<String>()
        _ = StubProtocol.handle(host) { stub in
            guard let challenge = Self.challenge(stub, answers) else { return }
            stub.client?.urlProtocol(stub, didReceive: challenge)
        }
        let delegate = TaskAsyncDelegate { challenge in
            #expect(challenge.protectionSpace.host == host)
            return row.answer
        }
        let session = URLSession(configuration: StubProtocol.configuration(), delegate: delegate, delegateQueue: nil)
        if let code = row.code {
            #expect(try await session.failure("https://\(host)/").code == code)
        } else {
            #expect(try await session.get("https://\(host)/").response.statusCode == 200)
            #expect(answers.values == [row.passed])
        }
    }

    @Test("The answer to a withdrawn challenge isn't passed on, and the next challenge doesn't wait for it")
    func withdrawnChallenge() async throws {
        let host = "withdrawn.test"
        let answers = Collected<String>()
        let handlers = Collected<DeferringDelegate.Handler>()
        let resume = Collected<@Sendable () -> Void>()
        _ = StubProtocol.handle(host) { stub in
            guard let challenge = Self.challenge(stub, answers), let client = stub.client, let url = stub.request.url
            else { return }
            client.urlProtocol(stub, didReceive: challenge)
            resume.append {
                let other = URLProtocol(request: URLRequest(url: url), cachedResponse: nil, client: client)
                client.urlProtocol(other, didCancel: challenge)
                client.urlProtocol(other, didReceive: challenge)
            }
        }
        let delegate = DeferringDelegate { _, _, handler in handlers.append(handler) }
        let session = URLSession(configuration: StubProtocol.configuration(), delegate: delegate, delegateQueue: nil)
        async let result = session.get("https://\(host)/")
        while handlers.values.isEmpty { try await Task.sleep(for: .milliseconds(2)) }
        resume.values.first?()
        // The first challenge is withdrawn before the second one reaches the delegate.
        while handlers.values.count < 2 { try await Task.sleep(for: .milliseconds(2)) }
        handlers.values.first?(.useCredential, nil)
        try await Task.sleep(for: .milliseconds(20))
        handlers.values.last?(.performDefaultHandling, nil)
        #expect(try await result.response.statusCode == 200)
        #expect(answers.values == ["default"])
    }
}

extension URLSessionConfiguration {
    /// The result of a GET in a new session, whatever it is.
    fileprivate func data(_ url: String) async throws -> Data? {
        let url = try #require(URL(string: url))
        return try? await URLSession(configuration: self).data(from: url).0
    }
}

/// Suspends the task at the first part of its body.
private final class SuspendingDelegate: URLSessionDataDelegate {
    let parts = Collected<String>()

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        if parts.values.isEmpty { dataTask.suspend() }
        parts.append(String(decoding: data, as: UTF8.self))
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        parts.append(error == nil ? "end" : "error")
    }
}
