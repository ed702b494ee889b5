import CertificateTrust
import PinctlBasics
import PinctlTestPKI
import Testing

@testable import PinnedNetworking

/// WebSockets whose server is slow, silent or not wanted: timeouts, suspended tasks and the end of the connection.
@Suite(.timeLimit(.minutes(10)))
struct WebSocketEndTests {
    private let site: TestSite
    private let url: URL
    init() throws {
        site = try TestSite.shared.get()
        url = try #require(URL(string: "wss://pinned.test/"))
    }

    /// Runs a server with this script, and a WebSocket task that was started.
    private func run(
        _ script: LoopbackServer.Script, witness: WebSocketWitness? = nil, timeout: TimeInterval = 600,
        _ body: (URLSessionWebSocketTask) async throws -> Void
    ) async throws {
        try await LoopbackServer(chain: site.chain, script).run { server in
            let session = try site.session(server, delegate: witness) { $0.timeoutIntervalForRequest = timeout }
            let task = session.webSocketTask(with: url)
            task.resume()
            try await body(task)
            session.invalidateAndCancel()
        }
    }

    /// Runs `body` with growing timeouts until it returns true. On a busy machine a short one can expire during the
    /// handshake, which it also limits.
    private func withTimeouts(_ body: (TimeInterval) async throws -> Bool) async throws {
        for timeout in [0.3, 2, 8, 32] where try await body(timeout) { return }
        Issue.record("no handshake within any timeout")
    }

    @Test("A message to a server that doesn't read it ends with the request timeout")
    func unreadMessage() async throws {
        try await withTimeouts { try await unreadMessage(timeout: $0) }
    }

    private func unreadMessage(timeout: TimeInterval) async throws -> Bool {
        let isOver = Locked(false)
        let script = LoopbackServer.Script.handle { connection in
            guard let peer = try WebSocketPeer(connection) else { return }
            try peer.write(WebSocketPeer.frame("open"))
            while !isOver.withLock(\.self) { connection.pause(.milliseconds(5)) }
        }
        let witness = WebSocketWitness()
        var isOpen = false
        try await run(script, witness: witness, timeout: timeout) { task in
            defer { isOver.withLock { $0 = true } }
            guard let first = try? await task.text() else { return }
            isOpen = true
            #expect(first == "open")
            let error = await #expect(throws: URLError.self) {
                try await task.send(.data(Data(repeating: 0, count: 64 << 20)))
            }
            #expect(error?.code == .timedOut)
            #expect((await witness.end as? URLError)?.code == .timedOut)
        }
        return isOpen
    }

    @Test("A WebSocket that waits for messages has no timeout")
    func silentServer() async throws {
        try await withTimeouts { try await silentServer(timeout: $0) }
    }

    private func silentServer(timeout: TimeInterval) async throws -> Bool {
        let isOver = Locked(false)
        let script = LoopbackServer.Script.handle { connection in
            guard let peer = try WebSocketPeer(connection) else { return }
            connection.pause(.seconds(timeout * 2))
            if !isOver.withLock(\.self) { try peer.write(WebSocketPeer.frame("late")) }
            try peer.echo()
        }
        var isRead = false
        try await run(script, timeout: timeout) { task in
            do {
                let text = try await task.text()
                isRead = true
                #expect(text == "late")
            } catch let error as URLError {
                // Only the handshake may have taken too long.
                isOver.withLock { $0 = true }
                #expect(error.code == .timedOut && error.localizedDescription.contains("nothing happened"))
                if task.response != nil { throw error }
            }
        }
        return isRead
    }

    @Test("A server that doesn't confirm the end ends the task with an error after the request timeout")
    func unconfirmedEnd() async throws {
        try await withTimeouts { try await unconfirmedEnd(timeout: $0) }
    }

    private func unconfirmedEnd(timeout: TimeInterval) async throws -> Bool {
        let witness = WebSocketWitness()
        var isSent = false
        try await run(.webSocket { while try $0.next() != nil {} }, witness: witness, timeout: timeout) { task in
            guard (try? await task.send(.string("one"))) != nil else { return }
            isSent = true
            task.cancel(with: .normalClosure, reason: nil)
            let error = await witness.end as? URLError
            #expect(error?.code == .networkConnectionLost)
            #expect(error?.localizedDescription.contains("didn't confirm") == true)
            #expect(task.state == .completed)
        }
        return isSent
    }

    @Test("A suspended task sends messages, but receives none until it is resumed")
    func suspended() async throws {
        try await run(.echo) { task in
            task.suspend()
            try await task.send(.string("one"))
            let received = Collected<String>()
            let waiting = Task { received.append(try await task.text()) }
            try await Task.sleep(for: .milliseconds(100))
            #expect(received.values == [])
            task.resume()
            try await waiting.value
            #expect(received.values == ["one"])
        }
    }

    @Test("After both close frames the server ends the connection, so that its port is free at once")
    func serverEnds() async throws {
        let outcome = OnceOnlyAnswer<Bool>()
        let script = LoopbackServer.Script.handle { connection in
            guard let peer = try WebSocketPeer(connection) else { return }
            try peer.close()
            // A client that had ended the connection would reset it after the first of these.
            let isOpen = (1...3).allSatisfy { _ in
                connection.pause(.milliseconds(30))
                return (try? peer.write([0])) != nil
            }
            outcome.answer(isOpen)
        }
        let witness = WebSocketWitness()
        try await run(script, witness: witness) { _ in
            #expect(await outcome.value == true)
            #expect(await witness.end == nil)
        }
    }

    @Test("The body and the method of a request aren't sent with its handshake")
    func body() async throws {
        let script = LoopbackServer.Script.echo
        try await LoopbackServer(chain: site.chain, script).run { server in
            var request = URLRequest(url: url)
            request.httpMethod = "POST"
            request.httpBody = Data("a body".utf8)
            let session = try site.session(server)
            let task = session.webSocketTask(with: request)
            task.resume()
            try await task.send(.string("one"))
            #expect(try await task.text() == "one")
            let sent = try #require(server.records.first?.requests.first)
            #expect(sent.line == "GET / HTTP/1.1")
            #expect(sent.values(of: "Content-Length") == [])
            session.invalidateAndCancel()
        }
    }

    @Test("A ping without a pong can be cancelled")
    func cancelledPing() async throws {
        try await run(.webSocket { while try $0.next() != nil {} }) { task in
            try await task.send(.string("one"))
            let waiting = Task { try await task.sendPing() }
            waiting.cancel()
            await #expect(throws: CancellationError.self) { try await waiting.value }
        }
    }

    @Test("A task that never starts is released, with the messages that wait")
    func unstarted() throws {
        weak var released: URLSessionWebSocketTask?
        do {
            let task = URLSession(configuration: .ephemeral).webSocketTask(with: url)
            released = task
            task.send(.string("one")) { _ in }
            task.receive { _ in }
            task.sendPing { _ in }
            #expect(released != nil)
        }
        #expect(released == nil)
    }
}
