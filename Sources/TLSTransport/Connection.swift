import OpenSSLBridge

/// A TCP connection with TLS on it: moves ciphertext between a socket and an engine, on the event loop.
///
/// Whatever ends it, ends it once: the socket is closed, and every call that waits and every later one throws the
/// reason. Who may send is decided by its owners, ``PendingConnection`` and ``VerifiedConnection``.
actor Connection {
    nonisolated let loop: EventLoop
    /// For messages.
    nonisolated let peer: String
    private let engine: TLSClientEngine
    private let token: EventLoop.Token
    /// Nil once closed.
    private var socket: Socket?
    /// Why it is closed.
    private var end: TransportError?
    /// Whether the handshake is done.
    private var isEstablished = false

    /// What the socket was last known to be ready for; edges that nobody waited for are kept here.
    private var readiness: Readiness = [.reading, .writing]
    private var waiting: [(for: Readiness, continuation: CheckedContinuation<Void, Never>)] = []
    /// Ciphertext on its way to the kernel, and how much of it has arrived there.
    private var outgoing: [UInt8] = []
    private var outgoingStart = 0
    /// The calls that run, so that a late cancellation or timer does not end a connection that has gone on.
    private var calls: Set<Int> = []
    private var callCount = 0

    /// Plaintext encrypted between two waits for the kernel.
    private static let writeChunk = 64 * 1024
    /// Output that reading may cause (answers to key updates) before it has to wait for the peer to read them.
    private static let outputLimit = 256 * 1024
    /// Ciphertext read at a time: two full records.
    private static let readChunk = 32 * 1024

    init(_ connected: consuming ConnectedSocket, engine: sending TLSClientEngine, peer: String, on loop: EventLoop) {
        self.loop = loop
        self.peer = peer
        self.engine = engine
        token = connected.token
        socket = consume connected.socket
        loop.rewatch(token) { [weak self] _, readiness in self?.assumeIsolated { $0.becameReady(readiness) } }
    }

    // MARK: Handshake

    /// Shakes hands up to the server's certificates, DER, leaf first.
    func ask(until deadline: Deadline) async throws(TransportError) -> [[UInt8]] {
        try await call(until: deadline) { () async throws(TransportError) in
            guard case .askTrust = try await advance() else {
                throw failure(OpenSSLError(code: 0, reason: "the server did not authenticate"))
            }
            return engine.presentedChain
        }
    }

    /// Accepts the server and finishes the handshake.
    func accept(until deadline: Deadline) async throws(TransportError) -> NegotiatedTLS {
        try await call(until: deadline) { () async throws(TransportError) in
            engine.accept()
            guard case .established = try await advance() else {
                throw failure(OpenSSLError(code: 0, reason: "the handshake did not go on"))
            }
            isEstablished = true
            return NegotiatedTLS(
                version: engine.version, cipherSuite: engine.cipherSuite,
                applicationProtocol: engine.applicationProtocol)
        }
    }

    /// Refuses the server with an alert and closes; without effect on a connection that has ended.
    func refuse() {
        guard end == nil else { return }
        engine.refuse()
        _ = engine.step()
        leave()
    }

    /// Steps until the engine wants something other than bytes.
    private func advance() async throws(TransportError) -> TLSClientEngine.Action {
        while true {
            let action = engine.step()
            switch action {
            case .failed(let reason):
                // The alert goes if it can; what is reported is why there is one.
                _ = try? flush()
                throw failure(reason)
            case .closed:
                throw lost("the peer closed the connection")
            case .wantsInput, .askTrust, .established:
                while try !flush() { try await ready(for: .writing) }
                guard case .wantsInput = action else { return action }
                try await fill()
            }
        }
    }

    // MARK: Data

    func send(_ bytes: [UInt8]) async throws(TransportError) {
        try await call { () async throws(TransportError) in
            var start = 0
            while start < bytes.count {
                let stop = min(start + Self.writeChunk, bytes.count)
                do throws(OpenSSLError) {
                    try engine.write(bytes.span.extracting(start..<stop))
                } catch {
                    throw failure(error)
                }
                start = stop
                while try !flush() { try await ready(for: .writing) }
            }
        }
    }

    func receive() async throws(TransportError) -> [UInt8]? {
        try await call { () async throws(TransportError) in
            while true {
                let input = engine.read()
                // Reading can make output, which goes along; only a peer that never takes any is waited for.
                while try !flush(), engine.outputCount > Self.outputLimit { try await ready(for: .writing) }
                switch input {
                case .bytes(let bytes): return bytes
                case .closed: return nil
                case .failed(let reason): throw failure(reason)
                case .wantsInput: try await fill()
                }
            }
        }
    }

    /// Says close_notify and closes; without effect on a connection that has ended.
    func close() {
        guard end == nil else { return }
        engine.close()
        leave()
    }

    // MARK: Socket

    /// Hands ciphertext to the kernel; false when it takes no more at this moment.
    private func flush() throws(TransportError) -> Bool {
        while true {
            if outgoingStart == outgoing.count {
                outgoing = engine.takeOutput()
                outgoingStart = 0
                if outgoing.isEmpty { return true }
            }
            switch socket?.write(outgoing.span.extracting(outgoingStart...)) {
            case .bytes(let count): outgoingStart += count
            case .wouldBlock:
                readiness.remove(.writing)
                return false
            case .failed(let error): throw lost(error.description)
            case nil: throw ended
            }
        }
    }

    /// Waits for ciphertext and feeds the engine.
    private func fill() async throws(TransportError) {
        while true {
            await takeTurns()
            switch socket?.read(atMost: Self.readChunk) {
            case .bytes(let bytes):
                do throws(OpenSSLError) { return try engine.feed(bytes.span) } catch { throw failure(error) }
            case .end: throw isEstablished ? .truncated(peer: peer) : lost("the peer closed the connection")
            case .failed(let error): throw lost(error.description)
            case .wouldBlock:
                readiness.remove(.reading)
                try await ready(for: .reading)
            case nil: throw ended
            }
        }
    }

    /// Lets timers, cancellations and other connections have their turn: a peer that sends faster than it is read would
    /// otherwise have the loop to itself.
    private func takeTurns() async {
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }

    private func ready(for wanted: Readiness) async throws(TransportError) {
        if readiness.isDisjoint(with: wanted), end == nil {
            await withCheckedContinuation { waiting.append((wanted, $0)) }
        }
        if let end { throw end }
    }

    private func becameReady(_ new: Readiness) {
        readiness.formUnion(new)
        resume { !new.isDisjoint(with: $0) }
    }

    private func resume(where isReady: (Readiness) -> Bool) {
        let ready = waiting.filter { isReady($0.for) }
        waiting.removeAll { isReady($0.for) }
        for entry in ready { entry.continuation.resume() }
    }

    // MARK: End

    /// Runs one call: within its deadline, ended by its task's cancellation, and fatal to the connection if it fails.
    private func call<Value: Sendable>(
        until deadline: Deadline? = nil, _ body: () async throws(TransportError) -> Value
    ) async throws(TransportError) -> Value {
        // A cancellation that is there already must not let the body send first.
        if Task.isCancelled { finish(.cancelled) }
        if let end { throw end }
        callCount += 1
        let call = callCount
        calls.insert(call)
        let timer = deadline.map { deadline in
            loop.schedule(at: deadline.instant) { self.assumeIsolated { $0.stop(call, deadline.error) } }
        }
        defer { if let timer { loop.cancel(timer) } }
        let result = await withTaskCancellationHandler {
            await finish(call, body)
        } onCancel: {
            loop.execute { self.assumeIsolated { $0.stop(call, .cancelled) } }
        }
        return try result.get()
    }

    /// The body and its end in one, so that nothing can come between them.
    private func finish<Value: Sendable>(
        _ call: Int, _ body: () async throws(TransportError) -> Value
    ) async -> Result<Value, TransportError> {
        defer { calls.remove(call) }
        do throws(TransportError) {
            return .success(try await body())
        } catch {
            finish(error)
            return .failure(error)
        }
    }

    /// Ends the connection if that call still runs.
    private func stop(_ call: Int, _ reason: TransportError) {
        if calls.contains(call) { finish(reason) }
    }

    /// Sends what there is to send, if it can be sent now, and closes.
    private func leave() {
        _ = try? flush()
        socket?.endWriting()
        // Closing a socket with unread bytes resets the connection, and a reset can overtake the last words.
        for _ in 0..<8 {
            guard case .bytes = socket?.read(atMost: Self.readChunk) else { break }
        }
        finish(.closed(peer: peer))
    }

    private func finish(_ reason: TransportError) {
        guard end == nil else { return }
        end = reason
        loop.unwatch(token)
        socket = nil
        resume { _ in true }
    }

    private var ended: TransportError { end ?? .closed(peer: peer) }

    private func failure(_ reason: OpenSSLError) -> TransportError {
        isEstablished ? .protocolFailure(peer: peer, reason: reason) : .handshakeFailed(peer: peer, reason: reason)
    }

    private func lost(_ reason: String) -> TransportError {
        isEstablished ? .lost(peer: peer, reason: reason) : .lostDuringHandshake(peer: peer, reason: reason)
    }
}
