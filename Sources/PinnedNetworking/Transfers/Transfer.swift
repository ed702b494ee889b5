import CertificateTrust
import HTTPMessages
import TLSTransport

/// The HTTP transfer of one task, from its request to the last byte of its response. It includes connections, logins
/// and redirects, and runs on the event loop.
@TransportActor
final class Transfer: TaskTransfer {
    nonisolated let session: URLSession
    nonisolated let task: URLSessionTask
    var target: RequestTarget
    private(set) var request: URLRequest
    private var redirectCount = 0
    private var mayExpect = true

    /// The connection of the response, or `nil` after its end.
    private var lease: (connection: PooledConnection, key: ConnectionPool.Key)?
    private var exchange: HTTPExchange?
    /// The parts of the body that were read in advance.
    private var parts: ArraySlice<ArraySlice<UInt8>> = []
    private var head: HTTPResponseHead?
    private var hasEnded = false
    /// Whether any response bytes have arrived on the connection.
    private var hasAnswered = false
    private var isReading = false
    private var sending: Task<Void, any Error>?
    /// Ends the wait for the server's `100 Continue` before a long body.
    private var goAhead: OnceOnlyAnswer<Void>?
    /// The body for the next request, or `nil` without one.
    private var body: RequestBodyReader?
    /// The reason why the body couldn't be read to its end, if any.
    private var bodyFailure: RequestBodyError?
    /// The pending delegate calls about the sent body.
    private var telling: Task<Void, Never>?
    /// The stream that was provided last.
    private var bodyStream: BodyStream?

    /// The proofs of the server and of a proxy that cover the body (RFC 7616, section 3.5).
    var bodyProofs: [AuthenticationOutcome.BodyProof] = []
    private var provenBody: [UInt8] = []
    /// The response that the delegates are asked about.
    var lastRefusal: HTTPURLResponse?
    /// A connection in the middle of a login. No other request may use it.
    private var held: (connection: PooledConnection, key: ConnectionPool.Key)?
    /// The connections that the task's delegates were asked about, when they were opened or before they were reused.
    var asked: [PooledConnection] = []
    /// The login of the connection that was sent with the request.
    private(set) var sentLogin: ConnectionLogin?
    /// Whether a long body may be omitted while the connection is being logged in.
    private var mayOmitBody = true
    private var hasOmittedBody = false
    var originLogin: AuthenticationExchange?
    var proxyLogin: AuthenticationExchange?

    /// The size in bytes from which a body waits for the server's approval (`Expect: 100-continue`; RFC 9110, section
    /// 10.1.1).
    private static let expectationSize = 1024 * 1024
    /// The maximum duration of this wait, since servers don't have to answer.
    private static let expectationLimit = Duration.seconds(1)
    /// The maximum size in bytes of an unused response (to a redirect or a refused login) that is read in order to keep
    /// the connection.
    private static let heldBodyLimit = 64 * 1024

    nonisolated init(_ task: URLSessionTask, of session: URLSession) throws {
        try Transport.shared.start()
        self.session = session
        self.task = task
        let request = task.status.withLock { $0.currentRequest }.adding(session.settings.additionalFields)
        self.request = request
        target = try RequestTarget(request, isProxied: true)
    }

    deinit {
        sending?.cancel()
        let pool = session.pool
        for open in [lease, held].compactMap(\.self) {
            Task { @TransportActor in await pool.close(open.connection, for: open.key) }
        }
    }

    // MARK: Response

    /// Sends the request, answers logins and follows redirects. Returns when the final response has started.
    func begin() async throws -> URLResponse {
        do {
            while true {
                let head = try await send()
                let response = HTTPURLResponse(
                    url: target.url.withoutUser ?? target.url, statusCode: head.statusCode, fields: head.fields)
                if head.statusCode == 417, expectsContinue {
                    // The server doesn't support Expect (RFC 9110, section 10.1.1).
                    mayExpect = false
                    try await discardBody()
                    continue
                }
                if try await logIn(head, response) { continue }
                await telling?.value
                if hasOmittedBody, head.statusCode != 401, head.statusCode != 407 {
                    // The server didn't require a login, so this is the response to a request without its body. The
                    // request is sent again with the body.
                    mayOmitBody = false
                    try await discardBody()
                    continue
                }
                if let next = try await redirect(head, response) {
                    try await go(to: next)
                    continue
                }
                task.status.withLock { $0.response = response }
                task.note { $0.response = response }
                return response
            }
        } catch {
            await abandon()
            throw error
        }
    }

    /// Returns the next part of the body, at least one byte, or `nil` at its end.
    func nextPart() async throws -> ArraySlice<UInt8>? {
        do {
            if parts.isEmpty, !hasEnded { task.limit.progress(to: .response) }
            while parts.isEmpty, !hasEnded { try await read() }
        } catch {
            await abandon()
            throw error
        }
        guard !parts.isEmpty else {
            task.note { $0.responseEnd = Date() }
            for proof in bodyProofs { try proof.check(provenBody) }
            return nil
        }
        let part = parts.removeFirst()
        if !bodyProofs.isEmpty {
            // A proof can only be checked against the whole body. The server decides whether there is one, so the size
            // is limited.
            guard part.count <= URLSession.collectedBodyLimit - provenBody.count else {
                await abandon()
                throw HTTPResponseError.bodyTooLarge(limit: URLSession.collectedBodyLimit)
            }
            provenBody += part
        }
        task.noteReceived(part.count)
        return part
    }

    /// Returns the rest of the body.
    func collectBody(limit: Int) async throws -> Data {
        var limit = HTTPBodyLimit(limit)
        var body = Data()
        do {
            if let head { try limit.check(head) }
            while let part = try await nextPart() {
                try limit.add(part)
                body.append(contentsOf: part)
            }
        } catch {
            await abandon()
            throw error
        }
        return body
    }

    /// Closes the connection, which can't be reused.
    private func abandon() async {
        sending?.cancel()
        sending = nil
        let open = [lease, held].compactMap(\.self)
        (lease, held) = (nil, nil)
        for open in open { await session.pool.close(open.connection, for: open.key) }
    }

    // MARK: Redirects

    /// Returns the next request if the response is a redirect that no delegate stopped.
    private func redirect(_ head: HTTPResponseHead, _ response: HTTPURLResponse) async throws -> URLRequest? {
        guard let next = try Redirection.request(after: request, to: target, answer: head, count: redirectCount) else {
            return nil
        }
        guard task.delegate != nil || session.delegate != nil else { return next }
        try await holdBody()
        task.limit.progress(to: .login)
        let answer = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
            try await session.redirection(of: task, response, to: next, by: delegate)
        }
        return answer ?? next
    }

    private func go(to next: URLRequest) async throws {
        let target = try RequestTarget(next)
        try await discardBody()
        redirectCount += 1
        task.status.withLock { $0.redirectCount += 1 }
        if target.origin != self.target.origin { originLogin = nil }
        request = next
        self.target = target
        task.status.withLock { $0.currentRequest = next }
    }

    // MARK: One exchange

    /// Sends the current request and reads the response up to the end of the final header.
    private func send() async throws -> HTTPResponseHead {
        while true {
            let key = poolKey
            task.beginTransaction(request)
            body = try await nextBody()
            // A request that can't be sent fails here, before it takes a connection.
            hasOmittedBody = false
            let plain = try requestHead([])
            task.limit.progress(to: .connection)
            let connection = try await connect(to: key)
            task.note { $0.note(connection) }
            lease = (connection, key)
            // There is nothing to read before the request is sent.
            (parts, head, hasEnded, hasAnswered) = ([], nil, true, false)
            (bodyProofs, provenBody) = ([], [])
            guard let sent = try await requestHead(plain, on: connection) else {
                lease = nil
                if connection.login == nil {
                    await session.pool.keep(connection, for: key)
                } else {
                    await session.pool.close(connection, for: key)
                }
                continue
            }
            // Delegates that were asked about the connection or for a login may have taken long, so the server may have
            // closed it.
            if connection.isReused, await connection.connection.hasInput() {
                await abandon()
                continue
            }
            hasEnded = false
            do {
                return try await send(sent, on: connection)
            } catch  where bodyFailure != nil {
                throw bodyFailure ?? error
            } catch  where error is TransportError || (error as? HTTPResponseError) == .truncated {
                // The server may have just closed the connection. No part of a response has arrived, and repeating the
                // request has no further effect (RFC 9110, section 9.2.2).
                let reason = error as? TransportError
                guard connection.isReused, target.isIdempotent, !hasAnswered, canRepeatBody, reason != .cancelled else {
                    let shown = connection.origin?.approval.identity ?? .none
                    throw reason.flatMap { IdentityRefused($0, shown: shown) } ?? error
                }
                await abandon()
            }
        }
    }

    private func send(_ head: HTTPRequestHead, on connection: PooledConnection) async throws -> HTTPResponseHead {
        let body = hasOmittedBody ? nil : body
        exchange = HTTPExchange(head)
        bodyFailure = nil
        task.limit.progress(to: .sending)
        task.status.withLock { status in
            status.bytesSent = 0
            status.bytesExpectedToSend = body.map { Int64($0.length ?? -1) }
        }
        task.note { record in
            record.requestStart = Date()
            record.headerBytesSent = Int64(head.bytes.count)
        }
        let whole = body == nil ? Data() : request.httpBody ?? Data()
        if let body, body.length.map({ $0 > RequestBody.part }) ?? true || whole.isEmpty && body.length != 0 {
            try await connection.connection.send(head.bytes)
            startSending(body, on: connection.connection)
        } else {
            try await connection.connection.send(whole.isEmpty ? head.bytes : head.bytes + whole)
            if !whole.isEmpty {
                task.noteSent(whole.count, framed: whole.count)
                tellSent(whole.count)
            }
            exchange?.requestBodyWasSent()
            task.note { $0.requestEnd = Date() }
            task.limit.progress(to: .response)
        }
        while true {
            if let head = self.head { return head }
            try await read()
        }
    }

    private var expectsContinue: Bool {
        // A stream can be sent only once, so a refusal must not consume it.
        mayExpect && body.map { $0.length.map { $0 >= Self.expectationSize } ?? true } ?? false
    }

    private var framing: HTTPRequestHead.Body {
        guard let body else { return .none }
        return hasOmittedBody ? .length(0) : body.length.map { .length($0) } ?? .chunked
    }

    private func requestHead(_ credentials: [HTTPField]) throws -> HTTPRequestHead {
        try HTTPRequestHead(
            method: target.method, target: isForwarded ? .absolute(target.path) : .origin(target.path),
            origin: target.origin, body: framing,
            expectsContinue: expectsContinue && !hasOmittedBody, fields: request.fields, credentials: credentials)
    }

    /// Returns the request's head with the credentials for this connection. Returns `nil` if the connection's login
    /// can't continue and the request has to start again. `plain` is the head without credentials.
    private func requestHead(
        _ plain: HTTPRequestHead, on connection: PooledConnection
    ) async throws -> HTTPRequestHead? {
        var credentials = originCredentials() + (isForwarded ? proxyCredentials(isTunnel: false) : [])
        sentLogin = nil
        let way = isForwarded ? \Transfer.proxyLogin : \Transfer.originLogin
        if ridesAlong(way, on: connection) {
            sentLogin = connection.login
        } else {
            switch try await message(
                of: way, begun: connection.login, certificate: connection.certificate(atProxy: isForwarded))
            {
            case .none: break
            case .field(let field, let login):
                credentials.append(field)
                connection.login = login
                sentLogin = login
                let isFirst = !login.progress.hasProvenUser
                hasOmittedBody =
                    isFirst && mayOmitBody && body.map { $0.length.map { $0 > RequestBody.part } ?? true } ?? false
            case .impossible: return nil
            }
        }
        return credentials.isEmpty && !hasOmittedBody ? plain : try requestHead(credentials)
    }

    /// Returns the connection that was kept for the next message of a login, if any.
    func takeHeld(for key: ConnectionPool.Key) async -> PooledConnection? {
        guard let held else { return nil }
        self.held = nil
        if held.key == key, await !held.connection.connection.hasInput() {
            held.connection.isReused = true
            return held.connection
        }
        await session.pool.close(held.connection, for: held.key)
        return nil
    }

    /// Whether the body can be sent again. A stream can only if nothing has been read from it.
    private var canRepeatBody: Bool { bodyStream?.isUntouched ?? true }

    /// Returns the body for the next time that the request is sent, or `nil` without one.
    private func nextBody() async throws -> RequestBodyReader? {
        switch request.content {
        case nil: return nil
        case .data(let data): return RequestBodyReader(data)
        case .file(let url):
            let reader = try await BlockingWork.run { () throws(RequestBodyError) in try RequestBodyReader(file: url) }
            guard let reader else { throw CancellationError() }
            return reader
        case .stream(let first):
            if bodyStream == nil { bodyStream = first }
            if let bodyStream, bodyStream.isUntouched { return RequestBodyReader(bodyStream) }
            task.limit.progress(to: .login)
            let stream = try await session.ask(about: task, URLSession.asTaskDelegate) { delegate in
                try await session.newBodyStream(of: task, by: delegate)
            }
            guard let stream = stream ?? nil else { throw RequestBodyError.noStream }
            bodyStream = stream
            return RequestBodyReader(stream)
        }
    }

    /// Sends a body while the response is being read, since the response may arrive before the whole body is sent.
    private func startSending(_ body: RequestBodyReader, on connection: any RequestConnection) {
        let task = task
        sending = Task { @TransportActor [weak self] in
            do {
                try await self?.waitForGoAhead()
                // After an early final response, the rest of the body isn't needed.
                while self?.exchange?.wantsRequestBody == true {
                    let part = try await body.next()
                    // Another request may be using the connection by now.
                    try Task.checkCancellation()
                    guard self?.exchange?.wantsRequestBody == true else { return }
                    let framed = body.length == nil ? part.isEmpty ? HTTPChunk.last : HTTPChunk.encoded(part) : part
                    if !framed.isEmpty { try await connection.send(framed) }
                    task.noteSent(part.count, framed: framed.count)
                    guard !part.isEmpty else {
                        self?.exchange?.requestBodyWasSent()
                        task.note { $0.requestEnd = Date() }
                        return task.limit.progress(to: .response)
                    }
                    task.limit.progress(to: .sending)
                    self?.tellSent(part.count)
                }
            } catch let error as RequestBodyError {
                self?.bodyFailure = error
                // Ends the wait for a response, which would be for an incomplete request.
                await connection.close()
            }
        }
    }

    /// Reports the progress of the body. The calls stay in order, because each one waits for the previous one.
    private func tellSent(_ count: Int) {
        guard task.delegate != nil || session.delegate != nil else { return }
        let (session, task) = (session, task)
        let (total, expected) = (task.countOfBytesSent, task.countOfBytesExpectedToSend)
        telling = Task { [telling] in
            await telling?.value
            await session.tell(.sentBody, about: task, URLSession.asTaskDelegate) { delegate in
                delegate.urlSession(
                    session, task: task, didSendBodyData: Int64(count), totalBytesSent: total,
                    totalBytesExpectedToSend: expected)
            }
        }
    }

    private func waitForGoAhead() async throws {
        guard exchange?.awaitsGoAhead == true else { return }
        let goAhead = OnceOnlyAnswer<Void>()
        self.goAhead = goAhead
        let timer = TransportTimer(at: .now + Self.expectationLimit) { goAhead.answer(()) }
        defer { timer.cancel() }
        // Another request may be using the exchange by now.
        guard await goAhead.value != nil else { throw CancellationError() }
        exchange?.stopWaiting()
    }

    /// Reads the next bytes from the connection.
    private func read() async throws {
        guard let lease else { throw HTTPResponseError.truncated }
        // A second read would wait for bytes of the next request on the connection.
        guard !isReading else { throw ConcurrentReadError() }
        isReading = true
        defer { isReading = false }
        let bytes = try await lease.connection.connection.receive()
        task.limit.progress(to: .response)
        hasAnswered = hasAnswered || bytes != nil
        exchange?.receive(bytes)
        while let event = try exchange?.next() {
            switch event {
            case .head(let head):
                self.head = head
                goAhead?.answer(())
                task.note { $0.responseStart = Date() }
            case .body(let part): parts.append(part)
            case .goAhead: goAhead?.answer(())
            case .end(let isReusable): return await end(lease.connection, lease.key, isReusable)
            }
        }
    }

    private func end(_ connection: PooledConnection, _ key: ConnectionPool.Key, _ isReusable: Bool) async {
        hasEnded = true
        lease = nil
        exchange = nil
        sending?.cancel()
        sending = nil
        guard isReusable else { return await session.pool.close(connection, for: key) }
        guard let login = connection.login, login === sentLogin else {
            return await session.pool.keep(connection, for: key)
        }
        let isRefused = head?.statusCode == (isForwarded ? 407 : 401)
        switch (isRefused, login.progress.takesToken) {
        case (true, true): held = (connection, key)
        // A login failed, or was started but not required. The state of the connection at the server is unknown.
        case (true, false): await session.pool.close(connection, for: key)
        case (false, _) where !login.progress.hasProvenUser: await session.pool.close(connection, for: key)
        case (false, _): await session.pool.keep(connection, for: key)
        }
    }

    /// Reads the body in advance, so that the connection is free while a delegate decides. A long body isn't read.
    func holdBody() async throws {
        // The response to CONNECT was read to its end.
        guard lease != nil else { return }
        while !hasEnded, parts.reduce(0, { $0 + $1.count }) < Self.heldBodyLimit { try await read() }
    }

    /// Reads and drops the body, or closes the connection if the body is long.
    func discardBody() async throws {
        try await holdBody()
        if !hasEnded { await abandon() }
        parts = []
    }
}

/// The error for two concurrent reads of a body.
struct ConcurrentReadError: Error, CustomStringConvertible {
    var description: String { "two iterators read one body at once: read it with one" }
}
