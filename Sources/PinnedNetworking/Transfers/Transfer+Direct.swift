import HTTPMessages
import PinctlBasics
import TLSTransport

// The short way of a request that waits for nothing but its response. It needs no task on the event loop, which takes as
// much time as everything else about a small request.

extension Transfer {
    /// Sends the request on an idle connection and collects its response. Returns `nil` if there is more to do: there is
    /// no such connection, a delegate or an observer has to be asked, the response isn't the final one, its body is large or encoded or
    /// arrives later than its header, or an error occurred. ``begin()`` then continues from there.
    nonisolated func collectDirectly() async throws -> (Data, URLResponse)? {
        guard !mustAsk, session.settings.proxies.isEmpty, session.settings.cookieStorage == nil,
            task.originalRequest?.content == nil, session.pool.hasIdle, session.logins.isEmpty
        else { return nil }
        return try await task.limit.run(
            work: {
                await withCheckedContinuation { caller in TransportActor.executeNow { self.start(for: caller) } }
            }, cancel: { TransportActor.execute { self.leave(closing: true) } })
    }

    private func start(for caller: CheckedContinuation<(Data, URLResponse)?, Never>) {
        self.caller = caller
        // A limit may have ended the request already.
        guard task.limit.startWatching() else { return leave() }
        do {
            guard try sendDirectly() else { return leave() }
            try endDirectly()
        } catch {
            leave()
        }
    }

    /// Sends the request. Returns false if it can't be sent yet, or not as a whole.
    private func sendDirectly() throws -> Bool {
        guard !mustAsk, current.request.content == nil, target.user == nil, !target.isWebSocket, session.logins.isEmpty
        else { return false }
        let key = poolKey
        let head = try current.head(.none, isForwarded: false)
        guard let connection = try takeIdle(key) else { return false }
        let request = SentRequest(head: head, body: .none, login: nil, hasWaited: false)
        try beginAttempt()
        try lease(connection)
        // Also if sending fails, which ends the connection.
        attempt = Attempt(request: request, body: nil, connection: connection, progress: .sent)
        try beginSending(request, bodyCount: nil)
        if let rest = try connection.connection.sendNow(head.bytes, connection.permit) {
            attempt?.progress = .started(rest: rest)
            return false
        }
        endSending()
        return true
    }

    /// Reads what has arrived of the response. Returns it to the caller if it is complete, and otherwise waits for more.
    private func endDirectly() throws {
        while caller != nil {
            if state.isEnded { return finish() }
            guard state.bufferedCount < Self.bufferLimit, let connection = state.open?.connection.connection else {
                return leave()
            }
            switch try connection.receiveNow() {
            case .bytes(let bytes): try received(bytes)
            case .end: try received(nil)
            case nil:
                // With its header, a program also sees the task's response and the progress of its body.
                guard state.head == nil else { return leave() }
                return connection.whenReady { do { try self.endDirectly() } catch { self.leave() } }
            }
        }
    }

    private func finish() {
        guard let head = state.head, !mayLogIn(after: head), !Redirection.isRedirect(head.statusCode),
            head.statusCode != 417, decoder(after: head) == nil, !task.isPaused
        else { return leave() }
        let response = response(head, isDecoded: false)
        var body = Data()
        while case .bytes(let part) = state.nextPart() { body.append(contentsOf: part) }
        task.status.withLock { $0.response = response }
        task.noteDecoded(body.count)
        caller.take()?.resume(returning: (body, response))
    }

    /// Leaves the rest to ``begin()``. If `closing` is true, a limit has ended the request.
    private func leave(closing: Bool = false) {
        // A late call must not end what the task has begun.
        if closing, caller != nil { fail() }
        caller.take()?.resume(returning: nil)
    }
}
