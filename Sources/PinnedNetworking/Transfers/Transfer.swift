import CertificateTrust
import HTTPMessages
import PinctlBasics
import TLSTransport

/// The HTTP transfer of one task, from its request to the last byte of its response. It includes connections, logins
/// and redirects, and runs on the event loop.
///
/// ``TransferState``, ``TransferRequest``, `HTTPExchange`, ``AuthenticationExchange``, ``Redirection`` and
/// ``BodyDecoder`` decide. This class executes what they return.
@TransportActor
final class Transfer: TaskTransfer {
    /// A connection that counts in the pool until it is returned or closed.
    struct Lease: Sendable {
        let connection: PooledConnection
        var key: ConnectionPool.Key { connection.key }
    }

    nonisolated let session: URLSession
    nonisolated let task: URLSessionTask
    private(set) var current: TransferRequest
    /// The attempt that was started by ``collectDirectly()`` and hasn't been completed.
    var attempt: Attempt?
    /// The caller of ``collectDirectly()`` while it waits.
    var caller: CheckedContinuation<(Data, URLResponse)?, Never>?
    var state = TransferState<Lease>()
    /// The request body that is sent while the response is read, if any.
    var upload: BodyUpload?
    /// The stream that was provided last.
    var bodyStream: BodyStream?
    /// The pending delegate calls about the sent body.
    var progressReports: Task<Void, Never>?
    var proofs = BodyProofs()
    /// The decoder of the final response's body, or `nil` if the body is passed on as received.
    private var decoder: BodyDecoder?
    /// The time since which the decoder has worked without a pause, at the latest.
    private var turn = ContinuousClock.now
    var logins = TransferLogins()
    /// The connections that the task's delegates were asked about, when they were opened or before they were reused.
    var askedConnections: [PooledConnection] = []

    /// The maximum size in bytes of an unused response (to a redirect or a refused login) that is read in order to keep
    /// the connection.
    static let bufferLimit = 64 * 1024

    nonisolated init(_ task: URLSessionTask, of session: URLSession) throws {
        try Transport.shared.start()
        self.session = session
        self.task = task
        let request = task.request(adding: session.settings.additionalFields)
        current = TransferRequest(
            request, to: try RequestTarget(request, isProxied: true, isWebSocket: task is URLSessionWebSocketTask),
            decodesBodies: session.settings.zlib != nil, isUpload: task is URLSessionUploadTask)
        session.logIgnoredFields(of: request)
    }

    deinit {
        upload?.cancel()
        guard let open = state.open else { return }
        let pool = session.pool
        TransportActor.execute { pool.close(open.connection, for: open.key) }
    }

    var target: RequestTarget { current.target }

    /// The decoder of a response's body, or `nil` if the body is passed on as received.
    func decoder(after head: HTTPResponseHead) -> BodyDecoder? {
        guard let zlib = session.settings.zlib else { return nil }
        return BodyDecoder(head, zlib)
    }

    func response(_ head: HTTPResponseHead, isDecoded: Bool) -> HTTPURLResponse {
        HTTPURLResponse(
            url: target.user == nil && target.password == nil ? target.url : target.url.withoutUser ?? target.url,
            statusCode: head.statusCode, fields: head.fields, isDecoded: isDecoded)
    }

    // MARK: Response

    /// Sends the request, answers logins and follows redirects. Returns when the final response has started.
    func begin() async throws -> URLResponse {
        do {
            while true {
                let (head, sent) = try await send()
                task.note { $0.headerBytesReceived = Int64(head.size) }
                let decoder = decoder(after: head)
                let response = response(head, isDecoded: decoder != nil)
                if current.withdrawsExpectation(after: head.statusCode, to: sent.body) {
                    try await discardResponse()
                    continue
                }
                if mayLogIn(after: head), try await logIn(head, response, sent.login) { continue }
                await progressReports?.value
                if current.requiresDeferredBody(after: head.statusCode, to: sent.body) {
                    try await discardResponse()
                    continue
                }
                if let proposed = try redirection(after: head), let next = try await ask(about: proposed, response) {
                    try await follow(next)
                    continue
                }
                self.decoder = decoder
                task.status.withLock { $0.response = response }
                task.note { $0.response = response }
                return response
            }
        } catch {
            fail()
            throw error
        }
    }

    /// Returns the next part of the body, decoded, at least one byte, or `nil` at its end.
    func nextPart() async throws -> ArraySlice<UInt8>? {
        let part = decoder == nil ? try await receivedPart() : try await decodedPart()
        if let part { task.noteDecoded(part.count) }
        return part
    }

    private func decodedPart() async throws -> ArraySlice<UInt8>? {
        // The output of several steps, so that a part isn't smaller than what was read from the connection.
        var decoded: [UInt8] = []
        do {
            while decoded.count < BodyDecoder.stepLimit {
                switch try decoder?.next(limit: BodyDecoder.stepLimit - decoded.count) {
                case .bytes(let part): decoded += part
                case .working: break
                case .starved, nil:
                    if !decoded.isEmpty { return decoded[...] }
                    guard let part = try await receivedPart() else {
                        try decoder?.end()
                        return nil
                    }
                    try decoder?.receive(part)
                }
                // One received part can become thousands of steps, and the program may take them without a pause.
                turn = try await TransportActor.takeTurns(since: turn)
            }
            return decoded[...]
        } catch {
            fail()
            throw error
        }
    }

    /// Returns the next part of the body as received, at least one byte, or `nil` at its end.
    private func receivedPart() async throws -> ArraySlice<UInt8>? {
        while true {
            switch state.nextPart() {
            case .bytes(let part):
                do {
                    try proofs.add(part, limit: URLSession.collectedBodyLimit)
                } catch {
                    fail()
                    throw error
                }
                task.noteReceived(part.count)
                return part
            case .end:
                task.note { $0.responseEnd = Date() }
                try proofs.check()
                return nil
            case .unread:
                task.limit.progress(to: .response)
                do {
                    try await read()
                } catch {
                    let reason = shown(error)
                    fail()
                    throw reason
                }
            }
        }
    }

    var head: HTTPResponseHead? { state.head }

    func abandon() { fail() }

    /// Closes the connection, which can't be reused, and ends the transfer.
    func fail() {
        endUpload()
        close(state.fail())
    }

    private func close(_ lease: Lease?) {
        if let lease { session.pool.close(lease.connection, for: lease.key) }
    }

    /// Returns the connection of a WebSocket that the server opened, with the bytes that have already arrived and the
    /// subprotocol. The connection doesn't count in the pool any more, since it stays open for long.
    func takeWebSocket() throws -> (connection: PooledConnection, rest: [UInt8], subprotocol: String?) {
        do {
            guard let head = state.head, let handshake = current.webSocket else { throw CancellationError() }
            let subprotocol = try handshake.check(head)
            guard let (lease, rest) = state.takeUpgraded() else { throw CancellationError() }
            session.pool.close(nil, for: lease.key)
            return (lease.connection, rest, subprotocol)
        } catch {
            fail()
            throw error
        }
    }

    // MARK: Redirects

    /// Returns the next request if the response is a redirect.
    private func redirection(after head: HTTPResponseHead) throws -> URLRequest? {
        try Redirection.request(after: current.request, to: target, answer: head, count: current.redirectCount)
    }

    /// Returns the next request, which the delegates may change or stop.
    private func ask(about next: URLRequest, _ response: HTTPURLResponse) async throws -> URLRequest? {
        guard session.hasDelegate(for: task) else { return next }
        try await bufferResponse()
        task.limit.progress(to: .redirect)
        let answer = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
            try await session.redirection(of: task, response, to: next, by: delegate)
        }
        return answer ?? next
    }

    private func follow(_ next: URLRequest) async throws {
        var followed = current
        try followed.follow(next)
        try await discardResponse()
        current = followed
        session.logIgnoredFields(of: next)
        task.status.withLock {
            $0.redirectCount += 1
            $0.currentRequest = next
        }
    }

    // MARK: One request

    /// The form in which a request was sent.
    struct SentRequest {
        let head: HTTPRequestHead
        let body: TransferRequest.Body
        /// The login of the connection that the request was sent with, if any.
        let login: (any ConnectionLogin)?
        /// Whether a login message was computed or cookies were read, which can take long.
        let hasWaited: Bool
    }

    /// A request on its connection.
    struct Attempt {
        enum Progress {
            case notStarted
            /// The kernel hasn't taken all, and these are the bytes to continue with, which can be none.
            case started(rest: ArraySlice<UInt8>)
            /// The connection may be another request's by now.
            case sent
        }

        let request: SentRequest
        let body: RequestBodyReader?
        let connection: PooledConnection
        var progress = Progress.notStarted
    }

    /// Sends the current request and reads the response up to the end of the final header.
    private func send() async throws -> (HTTPResponseHead, SentRequest) {
        while true {
            let next = if let started = attempt.take() { started } else { try await nextAttempt() as Attempt? }
            guard let attempt = next else { continue }
            do {
                let head = try await complete(attempt)
                if session.settings.cookieStorage != nil { await storeCookies(of: head, from: attempt.connection) }
                return (head, attempt.request)
            } catch {
                // No part of a response has arrived, and repeating the request has no further effect (RFC 9110, section
                // 9.2.2).
                guard mayRepeat(attempt, after: state.requestBodyError ?? error), target.isIdempotent,
                    state.isUnanswered, canRepeatBody
                else {
                    let identity = attempt.connection.origin?.approval.identity ?? .none
                    let hasAnswered = attempt.connection.isReused || !state.isUnanswered
                    let reason = shown(error)
                    throw (reason as? TransportError).flatMap {
                        IdentityRefused($0, shown: identity, hasAnswered: hasAnswered)
                    } ?? reason
                }
                endUpload()
                close(state.discardResponse())
            }
        }
    }

    /// Returns whether another attempt may succeed.
    private func mayRepeat(_ attempt: Attempt, after error: any Error) -> Bool {
        switch error {
        // The new settings refuse the connection, but maybe not the server that the next one reaches.
        case is SupersededApproval: true
        // The server may have just closed the connection.
        case let error as TransportError: attempt.connection.isReused && error != .cancelled
        case let error as HTTPResponseError: attempt.connection.isReused && error == .truncated
        default: false
        }
    }

    /// Returns the error of the transfer after one of its connection.
    private func shown(_ error: any Error) -> any Error {
        let error = state.requestBodyError ?? error
        return (error as? SupersededApproval)?.reason ?? error
    }

    /// Gives the current request a connection. Returns `nil` if it has to start again.
    private func nextAttempt() async throws -> Attempt? {
        let key = poolKey
        try beginAttempt()
        let body = current.request.content == nil ? nil : try await nextBody()
        // A request that can't be sent fails here, before it takes a connection.
        let plain = try current.head(current.form(of: body, canDefer: false), isForwarded: isForwarded)
        task.limit.progress(to: .connection)
        let (connection, hasWaited) = try await connect(to: key)
        try lease(connection)
        guard let request = try await prepare(plain, body, on: connection) else {
            restart(keeping: connection.login == nil)
            return nil
        }
        // The server may have closed the connection, or may have sent something, while a delegate or the observer was
        // called or a login message was computed. Otherwise nothing has been awaited since the pool looked.
        if !connection.isReused {
            // Bytes that precede the request aren't its answer. An end explains itself when the request is sent.
            switch connection.connection.idleState() {
            case .quiet, .part, .ended: break
            case .bytes, .busy: throw HTTPResponseError.bytesBeforeRequest
            }
        } else if hasWaited || request.hasWaited, connection.connection.idleState() != .quiet {
            restart(keeping: false)
            return nil
        }
        // Nor may the pins have been replaced since the server was approved.
        if !connection.isReused || hasWaited || request.hasWaited, !isCurrent(connection, for: key) {
            restart(keeping: false)
            return nil
        }
        return Attempt(request: request, body: body, connection: connection)
    }

    func beginAttempt() throws {
        try current.beginAttempt()
        task.beginTransaction(current.request)
    }

    /// Gives the current request its connection, which was approved for it.
    func lease(_ connection: PooledConnection) throws {
        try state.lease(Lease(connection: connection))
        task.note { $0.note(connection) }
        proofs = BodyProofs()
    }

    /// Returns the connection of a request of which nothing was sent.
    private func restart(keeping isReusable: Bool) {
        guard let lease = state.endLease() else { return }
        if isReusable { session.pool.keep(lease.connection, for: lease.key) } else { close(lease) }
    }

    /// Sends what hasn't been sent, and reads the response up to the end of the final header.
    private func complete(_ attempt: Attempt) async throws -> HTTPResponseHead {
        switch attempt.progress {
        case .notStarted: try await send(attempt.request, attempt.body, on: attempt.connection)
        case .started(let rest):
            try await attempt.connection.send(Array(rest), for: task, of: session)
            endSending()
        // The error in what was read, if any, occurs again.
        case .sent: try processEvents()
        }
        while true {
            if let head = state.head { return head }
            try await read()
        }
    }

    private func send(
        _ request: SentRequest, _ body: RequestBodyReader?, on connection: PooledConnection
    ) async throws {
        let head = request.head
        let body = request.body == .deferred ? nil : body
        try beginSending(request, bodyCount: body.map { Int64($0.length ?? -1) })
        let whole = body == nil ? Data() : current.request.httpBody ?? Data()
        if let body, body.length.map({ $0 > RequestBody.part }) ?? true || whole.isEmpty && body.length != 0 {
            try await connection.send(head.bytes, for: task, of: session)
            startUpload(body, on: connection)
        } else {
            try await connection.send(whole.isEmpty ? head.bytes : head.bytes + whole, for: task, of: session)
            if !whole.isEmpty {
                task.noteSent(whole.count, framed: whole.count)
                reportSent(whole.count)
            }
            endSending()
        }
    }

    func beginSending(_ request: SentRequest, bodyCount: Int64?) throws {
        try state.send(request.head, request.login)
        task.limit.progress(to: .sending)
        task.status.withLock { status in
            status.bytesSent = 0
            status.bytesExpectedToSend = bodyCount
        }
        task.note { record in
            record.requestStart = Date()
            record.headerBytesSent = Int64(request.head.bytes.count)
        }
    }

    func endSending() {
        state.requestBodyWasSent()
        task.note { $0.requestEnd = Date() }
        task.limit.progress(to: .response)
    }

    /// Returns the request with the credentials for this connection. Returns `nil` if the connection's login can't
    /// continue and the request has to start again. `plain` is the head without credentials.
    private func prepare(
        _ plain: HTTPRequestHead, _ body: RequestBodyReader?, on connection: PooledConnection
    ) async throws -> SentRequest? {
        var credentials = originCredentials() + (isForwarded ? proxyCredentials(isTunnel: false) : [])
        var login: (any ConnectionLogin)?
        var hasWaited = false
        switch hasTurn ? try await nextTurn(on: connection) : .none {
        case .none: break
        case .loggedIn(let current): login = current
        case .field(let field, let current):
            credentials.append(field)
            login = current
            hasWaited = true
        case .noMessage: hasWaited = true
        case .failed: return nil
        }
        if session.settings.cookieStorage != nil {
            let cookies = await cookieField(on: connection)
            if let field = cookies.field { credentials.append(field) }
            hasWaited = hasWaited || cookies.hasWaited
        }
        let form = current.form(of: body, canDefer: login?.defersLongBody == true)
        let head =
            credentials.isEmpty && form != .deferred
            ? plain : try current.head(form, isForwarded: isForwarded, credentials: credentials)
        return SentRequest(head: head, body: form, login: login, hasWaited: hasWaited)
    }

    /// Reads the next bytes from the connection.
    private func read() async throws {
        try received(await state.beginRead().connection.connection.receive())
    }

    /// Takes bytes of the response, or its end.
    func received(_ bytes: [UInt8]?) throws {
        task.limit.progress(to: .response)
        state.received(bytes)
        try processEvents()
    }

    private func processEvents() throws {
        while let event = try state.next() {
            switch event {
            case .goAhead: upload?.goAhead?.answer(())
            case .head:
                upload?.goAhead?.answer(())
                task.note { $0.responseStart = Date() }
            case .hold: endUpload()
            case .keep(let lease):
                endUpload()
                session.pool.keep(lease.connection, for: lease.key)
            case .close(let lease):
                endUpload()
                close(lease)
            }
        }
    }

    /// Reads the body in advance, so that the connection is free while a delegate decides. A long body isn't read.
    func bufferResponse() async throws {
        while state.isReadingBody, state.bufferedCount < Self.bufferLimit { try await read() }
    }

    /// Reads and drops the body, or closes the connection if the body is long.
    func discardResponse() async throws {
        try await bufferResponse()
        guard let lease = state.discardResponse() else { return }
        endUpload()
        close(lease)
    }
}

extension TransportActor {
    /// Lets other work on the event loop have its turn if this work has taken long since `start`. Returns the start of
    /// the current turn. Throws `CancellationError` if the task was cancelled meanwhile.
    static func takeTurns(since start: ContinuousClock.Instant) async throws -> ContinuousClock.Instant {
        guard .now - start > turnLimit else { return start }
        await Task.yield()
        try Task.checkCancellation()
        return .now
    }
}
