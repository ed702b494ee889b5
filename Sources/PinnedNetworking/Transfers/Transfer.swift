import CertificateTrust
import PinctlBasics
import PinctlHTTPMessages
import PinctlTLSTransport

/// The HTTP transfer of one task, from its request to the last byte of its response. It includes connections, logins
/// and redirects, and runs on the event loop.
///
/// ``TransferState``, ``TransferRequest``, `HTTPExchange`, ``AuthenticationExchange``, ``Redirection`` and
/// ``BodyDecoder`` decide. This class executes what they return, one ``Stage`` after the other. No stage waits: it
/// returns a ``Wait``, and ``drive(to:)`` continues after it.
@TransportActor
final class Transfer: TaskTransfer {
    /// The next step of the way to the final response.
    ///
    /// | stage | what is done |
    /// |---|---|
    /// | `unprepared` | the request gets its body |
    /// | `unconnected` | it gets a connection that is approved for it |
    /// | `connected` | it gets its credentials and cookies for this connection |
    /// | `prepared` | the connection is checked again if anything was awaited, and the request is sent |
    /// | `sending` | the kernel takes the header and a short body; the sending of a long one begins |
    /// | `sent` | the response is read up to its header |
    /// | `answered` | its cookies are stored |
    /// | `stored` | logins look at it |
    /// | `unrefused` | reports about the request's body end |
    /// | `reported` | a redirect is followed, or the response is the task's |
    /// | `final` | the program reads the body |
    ///
    /// A request that has to be sent again, and one that follows, begins as `unprepared`.
    enum Stage {
        case unprepared, unconnected, connected, prepared, sending, sent, answered, stored, unrefused, reported, final
    }

    /// The event or the work that a transfer waits for.
    enum Wait: Sendable {
        /// More bytes, or the end, of a connection.
        case input(RequestConnection)
        /// The turn of others on the event loop.
        case turn
        /// Work that asks the program, waits for a disk, opens a connection or sends what the kernel hasn't taken.
        case work(@TransportActor @Sendable () async throws -> Void)
    }

    /// The result of a goal, or what has to be waited for before.
    enum Progress<Value: Sendable>: Sendable {
        case reached(Value)
        case waits(Wait)
    }

    /// A value that the program asks of a transfer. It goes as far as it can without waiting, and is called again
    /// afterwards.
    typealias Goal<Value: Sendable> = @TransportActor @Sendable (Transfer) throws -> Progress<Value>

    /// The current request on its way to the server. A class, since each stage looks at it.
    final class Outgoing {
        let key: ConnectionPool.Key
        let body: RequestBodyReader?
        /// The header, without credentials and cookies up to the stage `prepared`.
        var head: HTTPRequestHead
        var form: TransferRequest.Body
        /// The login of the connection that the request is sent with, if any.
        var login: (any ConnectionLogin)?
        /// The connection, which may be another request's once the response is complete.
        var connection: PooledConnection?
        /// Whether anything was awaited since the connection was leased. Its input and its approval may have changed.
        var hasWaited = false

        init(
            _ key: ConnectionPool.Key, _ head: HTTPRequestHead, _ body: RequestBodyReader?,
            as form: TransferRequest.Body
        ) {
            self.key = key
            self.head = head
            self.body = body
            self.form = form
        }
    }

    nonisolated let session: URLSession
    nonisolated let task: URLSessionTask
    var current: TransferRequest
    var stage = Stage.unprepared
    var outgoing: Outgoing?
    var state = TransferState<PooledConnection>()
    /// The connection from which a goal waits for input, if any.
    private(set) var reader: PooledConnection?
    /// Whether a goal is being followed, or its work is under way.
    private var isFollowed = false
    /// The request body that is sent while the response is read, if any.
    var upload: BodyUpload?
    /// The stream that was provided last.
    var bodyStream: BodyStream?
    /// The pending delegate calls about the sent body.
    var progressReports: Task<Void, Never>?
    var logins = TransferLogins()
    /// The connections that the task's delegates were asked about, when they were opened or before they were reused.
    var askedConnections: [PooledConnection] = []

    /// The final response.
    var response: HTTPURLResponse?
    var proofs = BodyProofs()
    /// The decoder of the final response's body, or `nil` if the body is passed on as received.
    var decoder: BodyDecoder?
    /// The output of the decoder that isn't passed on yet.
    var decoded: [UInt8] = []
    /// The time since which the decoder has worked without a pause, at the latest.
    var turn = TransportTime.now
    /// The body so far, if the program wants it as a whole.
    var collected: (body: Data, limit: HTTPBodyLimit)?

    /// The maximum size in bytes of an unused response (to a redirect or a refused login) that is read in order to keep
    /// the connection.
    static let bufferLimit = 64 * 1024

    nonisolated init(_ task: URLSessionTask, of session: URLSession) throws {
        try Transport.shared.start()
        self.session = session
        self.task = task
        let request = task.request(adding: session.settings.additionalFields)
        let target = try RequestTarget(request, isProxied: true, isWebSocket: task is URLSessionWebSocketTask)
        session.logIgnoredFields(of: request)
        current = TransferRequest(
            request, to: target, decodesBodies: session.settings.zlib != nil, isUpload: task is URLSessionUploadTask)
    }

    deinit {
        upload?.cancel()
        guard let open = state.open else { return }
        let pool = session.pool
        TransportActor.execute { pool.close(open, for: open.key) }
    }

    var target: RequestTarget { current.target }

    // MARK: Goals

    nonisolated func begin() async throws -> URLResponse { try await drive { try $0.finalResponse() } }

    nonisolated func nextPart() async throws -> ArraySlice<UInt8>? { try await drive { try $0.part() } }

    nonisolated func collect(limit: Int) async throws -> (Data, URLResponse) {
        try await drive { try $0.wholeBody(limit: limit) }
    }

    /// Follows a goal until it is reached, within the limits of the task.
    ///
    /// The goal starts on the caller's thread if the event loop sleeps, and continues on the loop when there is input.
    /// Only ``Wait/work(_:)`` needs a task.
    private nonisolated func drive<Value: Sendable>(to goal: @escaping Goal<Value>) async throws -> Value {
        var start = Start.first
        while true {
            let current = start
            let progress = try await task.limit.run(
                work: {
                    try await withCheckedThrowingContinuation { caller in
                        TransportActor.executeNow { self.start(goal, current, for: caller) }
                    }
                }, cancel: { TransportActor.execute { self.fail() } })
            switch progress {
            case .reached(let value): return value
            case .waits(.work(let work)):
                do {
                    try await task.limit.run(work)
                    start = .afterWork(nil)
                } catch {
                    start = .afterWork(error)
                }
            // The event loop waits for these.
            case .waits(.input), .waits(.turn): break
            }
        }
    }

    /// The point from which a goal is followed.
    private enum Start {
        case first
        /// Work has ended, with this error if it failed.
        case afterWork((any Error)?)
    }

    private func start<Value>(
        _ goal: @escaping Goal<Value>, _ start: Start, for caller: CheckedContinuation<Progress<Value>, any Error>
    ) {
        task.limit.startWatching()
        switch start {
        case .first:
            // The other goal goes on.
            // mutant concurrent-readers: true by DirectRequestTests/readers
            guard !isFollowed else { return caller.resume(throwing: TransferStateError.concurrentRead) }
            isFollowed = true
        case .afterWork(let failure):
            // mutant awaited-connection: false by ConnectionReuseTests/surplusWhileWaiting
            outgoing?.hasWaited = true
            if let failure, let reason = recover(from: failure) { return end(caller, with: .failure(reason)) }
        }
        follow(goal, for: caller)
    }

    private func end<Value>(
        _ caller: CheckedContinuation<Progress<Value>, any Error>, with result: Result<Progress<Value>, any Error>
    ) {
        isFollowed = false
        caller.resume(with: result)
    }

    /// Follows a goal to its end, or up to work. Waits for everything else on the event loop.
    private func follow<Value>(
        _ goal: @escaping Goal<Value>, for caller: CheckedContinuation<Progress<Value>, any Error>
    ) {
        while true {
            do {
                // A limit may have ended the task, also before it began.
                // mutant cancelled-direct: (nil as WorkLimit.End?) by ConnectionReuseTests/cancelled
                if let reason = task.limit.reason { throw reason }
                let progress = try goal(self)
                switch progress {
                case .reached: end(caller, with: .success(progress))
                case .waits(.work): caller.resume(returning: progress)
                case .waits(.input(let connection)):
                    connection.whenReady {
                        self.turn = .now
                        self.follow(goal, for: caller)
                    }
                case .waits(.turn):
                    TransportActor.execute {
                        self.turn = .now
                        self.follow(goal, for: caller)
                    }
                }
                return
            } catch {
                if let reason = recover(from: error) { return end(caller, with: .failure(reason)) }
            }
        }
    }

    // MARK: Errors

    /// Prepares the request for another attempt, if it may be sent again. Otherwise ends the transfer and returns its
    /// error.
    private func recover(from error: any Error) -> (any Error)? {
        reader = nil
        // An error that belongs to the request's body is the cause of the connection's end.
        let cause = state.requestBodyError ?? error
        var reason = (cause as? SupersededApproval)?.reason ?? cause
        if stage == .sending || stage == .sent, let connection = outgoing?.connection {
            // A request is sent again only if no part of a response has arrived, and if a repetition has no further
            // effect (RFC 9110, section 9.2.2).
            // mutant repeated-answer: true for 3 by ConnectionReuseTests/partOfAnswer
            // mutant repeated-request: true for 2 by ConnectionReuseTests/repetition
            // mutant repeated-stream: true for 4 by ConnectionReuseTests/readStream
            if mayRepeat(on: connection, after: cause), target.isIdempotent, state.isUnanswered, canRepeatBody {
                endUpload()
                close(state.discardResponse())
                stage = .unprepared
                return nil
            }
            let identity = connection.origin?.approval.identity ?? .none
            let hasAnswered = connection.isReused || !state.isUnanswered
            if let lost = reason as? TransportError,
                let refused = IdentityRefused(lost, shown: identity, hasAnswered: hasAnswered)
            {
                reason = refused
            }
        }
        fail()
        return reason
    }

    /// Returns whether another attempt may succeed.
    private func mayRepeat(on connection: PooledConnection, after error: any Error) -> Bool {
        switch error {
        // The new settings refuse the connection, but maybe not the server that the next one reaches.
        case is SupersededApproval: true
        // The server may have just closed the connection.
        case let error as TransportError: connection.isReused && error != .cancelled
        case let error as HTTPResponseError: connection.isReused && error == .truncated
        default: false
        }
    }

    /// Closes the connection, which can't be reused, and ends the transfer.
    func fail() {
        endUpload()
        close(state.fail())
    }

    func close(_ connection: PooledConnection?) {
        if let connection { session.pool.close(connection, for: connection.key) }
    }

    // MARK: Reading

    /// Takes what has arrived on the connection. Returns what has to be waited for if nothing has.
    func read() throws -> Wait? {
        let connection: PooledConnection
        if let reader {
            connection = reader
        } else {
            connection = try state.beginRead()
            reader = connection
        }
        guard let input = try connection.connection.receiveNow() else { return .input(connection.connection) }
        reader = nil
        switch input {
        case .bytes(let bytes): try received(bytes)
        case .end: try received(nil)
        }
        return nil
    }

    /// Takes bytes of the response, or its end.
    private func received(_ bytes: [UInt8]?) throws {
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
            case .keep(let connection):
                endUpload()
                session.pool.keep(connection, for: connection.key)
            case .close(let connection):
                endUpload()
                close(connection)
            }
        }
    }

    /// Reads the body in advance, so that the connection is free while a delegate decides. A long body isn't read.
    func bufferResponse() async throws {
        while state.isReadingBody, state.bufferedCount < Self.bufferLimit {
            try received(await state.beginRead().connection.receive())
        }
    }

    /// Reads and drops the body, or closes the connection if the body is long.
    func discardResponse() async throws {
        try await bufferResponse()
        guard let connection = state.discardResponse() else { return }
        endUpload()
        close(connection)
    }

    /// Returns the connection of a WebSocket that the server opened, with the bytes that have already arrived and the
    /// subprotocol. The connection doesn't count in the pool any more, since it stays open for long.
    func takeWebSocket() throws -> (connection: PooledConnection, rest: [UInt8], subprotocol: String?) {
        do {
            guard let head = state.head, let handshake = current.webSocket else { throw CancellationError() }
            let subprotocol = try handshake.check(head)
            guard let (connection, rest) = state.takeUpgraded() else { throw CancellationError() }
            session.pool.close(nil, for: connection.key)
            return (connection, rest, subprotocol)
        } catch {
            fail()
            throw error
        }
    }
}
