import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

/// The transfer of one task whose request a protocol class handles. It runs on the event loop, and the class's methods
/// on a queue of their own.
@TransportActor
final class ProtocolTransfer: ScriptedTransfer {
    nonisolated let session: URLSession
    nonisolated let task: URLSessionTask
    private nonisolated let running: RunningProtocol
    /// The transfer of the request that the class redirected to, if any.
    private var next: (any TaskTransfer)?
    /// The pending question to the delegates, if any.
    private var asking: Task<Void, Never>?
    private var hasEnded = false

    nonisolated init(_ type: URLProtocol.Type, _ task: URLSessionTask, of session: URLSession) {
        self.session = session
        self.task = task
        running = RunningProtocol(type)
    }

    deinit {
        asking?.cancel()
        running.stop()
    }

    /// Starts the class, and returns when it has passed a response.
    func open() async throws -> URLResponse {
        do {
            try await provideStream()
            if let request = task.currentRequest { task.beginTransaction(request) }
            task.note { $0.protocolName = nil }
            task.limit.progress(to: .protocolClass)
            running.start(task)
            while true {
                switch try await nextEvent() {
                case .response(let response): return begin(response)
                case .redirect(let request, let response): return try await follow(request, response)
                default: continue
                }
            }
        } catch {
            close()
            throw error
        }
    }

    /// Returns the next part of the body, at least one byte, or `nil` at its end.
    func readPart() async throws -> ArraySlice<UInt8>? {
        if let next { return try await next.nextPart() }
        do {
            while !hasEnded {
                if asking == nil { task.limit.progress(to: .protocolClass) }
                switch try await nextEvent() {
                case .data(let data) where !data.isEmpty:
                    task.noteReceived(data.count)
                    task.noteDecoded(data.count)
                    return Array(data)[...]
                case .end: end()
                default: continue
                }
            }
            return nil
        } catch {
            close()
            throw error
        }
    }

    private func begin(_ response: URLResponse) -> URLResponse {
        task.status.withLock { $0.response = response }
        task.note { record in
            record.responseStart = Date()
            record.response = response
        }
        return response
    }

    private func end() {
        hasEnded = true
        task.note { $0.responseEnd = Date() }
        close()
    }

    func close() {
        stopAsking()
        running.stop()
    }

    private func stopAsking() {
        asking?.cancel()
        asking = nil
    }

    /// Returns the next event other than a failure, which is thrown. Handles challenges.
    private func nextEvent() async throws -> ProtocolLoad.Event {
        guard let event = await running.client.next else { throw CancellationError() }
        task.limit.progress(to: .protocolClass)
        switch event {
        case .failure(let error): throw error
        case .challenge(let challenge): ask(challenge)
        case .challengeWithdrawn: stopAsking()
        case .response, .data, .end, .redirect: break
        }
        return event
    }

    /// Asks the delegates about a challenge. Meanwhile the class can withdraw the challenge or continue.
    private func ask(_ challenge: URLAuthenticationChallenge) {
        stopAsking()
        task.limit.progress(to: .login)
        asking = Task { @TransportActor [session, task, running, weak self] in
            guard let answer = try? await session.answer(to: challenge, of: task), !Task.isCancelled else { return }
            self?.asking = nil
            task.limit.progress(to: .protocolClass)
            running.pass(answer, to: challenge)
            guard answer.disposition == .cancelAuthenticationChallenge else { return }
            running.client.receive(.failure(CancelledChallenge(space: challenge.protectionSpace)))
        }
    }

    /// Follows a redirect of the class, unless a delegate stops it. The request is the class's own, so it is used
    /// unchanged. It is evaluated like any other if it is sent.
    private func follow(_ request: URLRequest, _ response: URLResponse) async throws -> URLResponse {
        close()
        task.note { record in
            record.responseEnd = Date()
            record.response = response
        }
        var request = request
        if let response = response as? HTTPURLResponse {
            task.limit.progress(to: .redirect)
            let proposed = request
            let answer = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
                try await session.redirection(of: task, response, to: proposed, by: delegate)
            }
            guard let next = answer ?? proposed else {
                hasEnded = true
                return begin(response)
            }
            request = next
        }
        let count = try task.status.withLock { status in
            let origins = try? (RequestTarget(status.currentRequest).origin, RequestTarget(request).origin)
            if origins?.0.scheme == .https, origins?.1.scheme == .http {
                throw RedirectionError.downgrade(HTTPExcerpt(request.url?.withoutSecrets ?? ""))
            }
            if origins.map({ $0.0 != $0.1 }) ?? true { status.hasLeftOrigin = true }
            status.redirectCount += 1
            status.currentRequest = request
            return status.redirectCount
        }
        guard count <= Redirection.limit else { throw RedirectionError.tooMany(limit: Redirection.limit) }
        let transfer = try await session.makeTransfer(task, asking: session.protocolClasses)
        next = transfer
        return try await transfer.begin()
    }

    /// Asks the delegates for the stream of a body that only they can provide.
    private func provideStream() async throws {
        guard case .stream(nil) = task.currentRequest?.content else { return }
        task.limit.progress(to: .bodyStream)
        let stream = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
            try await session.newBodyStream(of: task, by: delegate)
        }
        guard let stream = stream ?? nil else { throw RequestBodyError.noStream }
        task.status.withLock { $0.currentRequest.content = .stream(stream) }
    }
}
