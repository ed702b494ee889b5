import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

// The stages of a request, from its body to the header of its response.

extension Transfer {
    /// Follows the stages up to the final response.
    func finalResponse() throws -> Progress<URLResponse> {
        while true {
            if stage == .final, let response { return .reached(response) }
            if let wait = try nextStage() { return .waits(wait) }
        }
    }

    /// Does what the stage is for, and goes on to the next one. Returns what has to be waited for before that one.
    private func nextStage() throws -> Wait? {
        switch stage {
        case .unprepared: return try prepareBody()
        case .unconnected: return try connect()
        case .connected: return try addFields()
        case .prepared: return try send()
        case .sending: return try endSending()
        case .sent:
            guard state.head == nil else {
                stage = .answered
                return nil
            }
            return try read()
        case .answered, .stored, .unrefused, .reported, .final: return try respond()
        }
    }

    // MARK: Before the connection

    private func prepareBody() throws -> Wait? {
        if target.isWebSocket { current.webSocket = try WebSocketHandshake(current.request.fields) }
        task.beginTransaction(current.request)
        switch current.request.content {
        case nil: try prepared(with: nil)
        case .data(let data): try prepared(with: RequestBodyReader(data))
        case .file, .stream: return .work { try await self.prepared(with: self.nextBody()) }
        }
        return nil
    }

    private func prepared(with body: RequestBodyReader?) throws {
        // A request that can't be sent fails here, before it takes a connection.
        let form = current.form(of: body, canDefer: false)
        outgoing = Outgoing(poolKey, try current.head(form, isForwarded: isForwarded), body, as: form)
        stage = .unconnected
    }

    private func connect() throws -> Wait? {
        guard let key = outgoing?.key else { throw TransferStateError.notLeased }
        if let connection = try takeIdle(key) {
            try lease(connection)
            return nil
        }
        task.limit.progress(to: .connection)
        return .work { try self.lease(await self.connect(to: key)) }
    }

    /// Gives the request its connection, which was approved for it.
    private func lease(_ connection: PooledConnection) throws {
        try state.lease(connection)
        task.note { $0.note(connection) }
        proofs = BodyProofs()
        outgoing?.connection = connection
        outgoing?.hasWaited = false
        stage = .connected
    }

    /// Returns the connection of a request of which nothing was sent, and starts again.
    private func restart(keeping isReusable: Bool) {
        stage = .unprepared
        guard let connection = state.endLease() else { return }
        if isReusable { session.pool.keep(connection, for: connection.key) } else { close(connection) }
    }

    // MARK: On the connection

    /// Adds the credentials and cookies for this connection.
    private func addFields() throws -> Wait? {
        guard let connection = outgoing?.connection else { throw TransferStateError.notLeased }
        let credentials = originCredentials() + (isForwarded ? proxyCredentials(isTunnel: false) : [])
        if hasTurn || session.settings.cookieStorage != nil {
            return .work { try await self.addFields(credentials, on: connection) }
        }
        try add(credentials, nil)
        return nil
    }

    private func addFields(_ credentials: [HTTPField], on connection: PooledConnection) async throws {
        var credentials = credentials
        var login: (any ConnectionLogin)?
        switch try await nextTurn(on: connection) {
        case .none, .noMessage: break
        case .loggedIn(let current): login = current
        case .field(let field, let current):
            credentials.append(field)
            login = current
        // The connection's login can't continue.
        case .failed: return restart(keeping: connection.login == nil)
        }
        if let field = await cookieField(on: connection) { credentials.append(field) }
        try add(credentials, login)
    }

    private func add(_ credentials: [HTTPField], _ login: (any ConnectionLogin)?) throws {
        guard let outgoing else { throw TransferStateError.notLeased }
        if login?.defersLongBody == true { outgoing.form = current.form(of: outgoing.body, canDefer: true) }
        if !credentials.isEmpty || outgoing.form == .deferred {
            outgoing.head = try current.head(outgoing.form, isForwarded: isForwarded, credentials: credentials)
        }
        outgoing.login = login
        stage = .prepared
    }

    /// Starts the request, unless its connection or its approval has become useless. From the last check up to the call
    /// of the kernel, nothing is awaited.
    private func send() throws -> Wait? {
        guard let outgoing, let connection = outgoing.connection else { throw TransferStateError.notLeased }
        // The server may have closed the connection, or may have sent something, while a delegate or the observer was
        // called or a login message was computed. Otherwise nothing has been awaited since the pool looked.
        if !connection.isReused {
            // Bytes that precede the request aren't its answer. An end explains itself when the request is sent.
            switch connection.connection.idleState() {
            case .quiet, .part, .ended: break
            case .bytes, .busy: throw HTTPResponseError.bytesBeforeRequest
            }
            // mutant bytes-before-use: false for 2 by ConnectionReuseTests/surplusBeforeUse
        } else if outgoing.hasWaited, connection.connection.idleState() != .quiet {
            restart(keeping: false)
            return nil
        }
        // Nor may the pins have been replaced since the server was approved.
        // mutant settings-replaced: false for 2 by PolicyChangeTests
        if !connection.isReused || outgoing.hasWaited, !isCurrent(connection, for: outgoing.key) {
            restart(keeping: false)
            return nil
        }
        stage = .sending
        let body = outgoing.form == .deferred ? nil : outgoing.body
        try state.send(outgoing.head, outgoing.login)
        task.status.withLock { status in
            status.bytesSent = 0
            status.bytesExpectedToSend = body.map { Int64($0.length ?? -1) }
        }
        task.note { record in
            record.requestStart = Date()
            record.headerBytesSent = Int64(outgoing.head.bytes.count)
        }
        let bytes = shortBody.map { outgoing.head.bytes + $0 } ?? outgoing.head.bytes
        guard let rest = try connection.connection.sendNow(bytes, connection.permit) else { return nil }
        task.limit.progress(to: .sending)
        return .work { [task, session] in try await connection.send(Array(rest), for: task, of: session) }
    }

    /// The body that is sent along with the header, if it is short. The others are sent while the response is read.
    private var shortBody: Data? {
        guard let outgoing, let length = outgoing.body?.length, length <= RequestBody.part, outgoing.form != .deferred
        else { return nil }
        return length == 0 ? Data() : current.request.httpBody
    }

    private func endSending() throws -> Wait? {
        stage = .sent
        guard let outgoing, let connection = outgoing.connection else { throw TransferStateError.notLeased }
        let short = shortBody
        if let body = outgoing.body, outgoing.form != .deferred, short == nil {
            task.limit.progress(to: .sending)
            startUpload(body, on: connection)
            return nil
        }
        if let short, !short.isEmpty {
            task.noteSent(short.count, framed: short.count)
            reportSent(short.count)
        }
        state.requestBodyWasSent()
        task.note { $0.requestEnd = Date() }
        task.limit.progress(to: .response)
        return nil
    }
}
