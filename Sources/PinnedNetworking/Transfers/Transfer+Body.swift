import PinctlHTTPMessages
import PinctlTLSTransport

// The request's body: its source, its sending and the reports of its progress.

/// The sending of a request body while the response is read. The response may arrive before the whole body is sent.
struct BodyUpload: Sendable {
    /// Ends the wait for the server's `100 Continue`. `nil` if the body doesn't wait.
    let goAhead: OnceOnlyAnswer<Void>?
    fileprivate let work: Task<Void, any Error>

    /// The maximum duration of the wait for `100 Continue`, since servers don't have to send it.
    fileprivate static let goAheadLimit = Duration.seconds(1)

    func cancel() { work.cancel() }
}

extension Transfer {
    /// Whether the body can be sent again. A stream can only if nothing has been read from it.
    var canRepeatBody: Bool { bodyStream?.isUntouched ?? true }

    /// Returns the body for the next time that the request is sent, or `nil` without one.
    func nextBody() async throws -> RequestBodyReader? {
        switch current.request.content {
        case nil: return nil
        case .data(let data): return RequestBodyReader(data)
        case .file(let url):
            let reader = try await BlockingWork.run { () throws(RequestBodyError) in try RequestBodyReader(file: url) }
            guard let reader else { throw CancellationError() }
            return reader
        case .stream(let first):
            if bodyStream == nil { bodyStream = first }
            if let bodyStream, bodyStream.isUntouched { return RequestBodyReader(bodyStream) }
            task.limit.progress(to: .bodyStream)
            let stream = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
                try await session.newBodyStream(of: task, by: delegate)
            }
            guard let stream = stream ?? nil else { throw RequestBodyError.noStream }
            bodyStream = stream
            return RequestBodyReader(stream)
        }
    }

    /// Starts to send a body. The head must have been sent.
    func startUpload(_ body: RequestBodyReader, on connection: PooledConnection) {
        let (session, task) = (session, task)
        let goAhead = state.awaitsGoAhead ? OnceOnlyAnswer<Void>() : nil
        let work = Task { @TransportActor [weak self] in
            do {
                if let goAhead {
                    try await Self.wait(for: goAhead)
                    self?.state.stopWaiting()
                }
                // After an early final response, the rest of the body isn't needed.
                while self?.state.wantsRequestBody == true {
                    let part = try await body.next()
                    // Another request may be using the connection by now.
                    try Task.checkCancellation()
                    // mutant upload-refused: true by UploadTests/refusedStream
                    guard self?.state.wantsRequestBody == true else { return }
                    let framed = body.length == nil ? part.isEmpty ? HTTPChunk.last : HTTPChunk.encoded(part) : part
                    if !framed.isEmpty { try await connection.send(framed, for: task, of: session) }
                    task.noteSent(part.count, framed: framed.count)
                    guard !part.isEmpty else {
                        self?.state.requestBodyWasSent()
                        task.note { $0.requestEnd = Date() }
                        return task.limit.progress(to: .response)
                    }
                    task.limit.progress(to: .sending)
                    self?.reportSent(part.count)
                }
            } catch  where error is RequestBodyError || error is SupersededApproval {
                try Task.checkCancellation()
                self?.state.requestBodyFailed(error)
                // Ends the wait for a response, which would be for an incomplete request.
                connection.connection.close()
            }
        }
        upload = BodyUpload(goAhead: goAhead, work: work)
    }

    private static func wait(for goAhead: OnceOnlyAnswer<Void>) async throws {
        let timer = TransportTimer(at: .now + BodyUpload.goAheadLimit) { goAhead.answer(()) }
        defer { timer.cancel() }
        // Another request may be using the state by now.
        guard await goAhead.value != nil, !Task.isCancelled else { throw CancellationError() }
    }

    func endUpload() {
        upload?.cancel()
        upload = nil
    }

    /// Reports the progress of the body. The calls stay in order, because each one waits for the previous one.
    func reportSent(_ count: Int) {
        guard session.hasDelegate(for: task) else { return }
        let (session, task) = (session, task)
        let (total, expected) = (task.countOfBytesSent, task.countOfBytesExpectedToSend)
        progressReports = Task { [progressReports] in
            await progressReports?.value
            await session.report(.sentBody, about: task, URLSession.asTaskDelegate) { delegate in
                delegate.urlSession(
                    session, task: task, didSendBodyData: Int64(count), totalBytesSent: total,
                    totalBytesExpectedToSend: expected)
            }
        }
    }
}
