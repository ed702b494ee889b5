import OpenSSLBridge

/// A TCP connection with any number of TLS layers. It moves bytes between a socket and TLS engines on the event loop.
///
/// No layer means cleartext, one means https or an https proxy, two mean https through an https proxy. The connection
/// ends only once: the socket is closed, and every waiting and later call throws the reason. The owners decide who may
/// send.
actor Connection {
    nonisolated let loop: EventLoop
    /// The peer's name for messages.
    nonisolated let peer: String
    private let token: EventLoop.Token
    private var socket: BufferedSocket
    /// The TLS layers, from the socket upwards.
    private var layers: [TLSClientEngine] = []
    /// The reason why the connection was closed.
    private var end: TransportError?
    /// Whether the handshake of the uppermost layer is done.
    private var isEstablished = true

    private var waiting: [(for: Readiness, continuation: CheckedContinuation<Void, Never>)] = []
    /// The calls in progress, so that a late cancellation or timer doesn't end a connection that has moved on.
    private var calls: Set<Int> = []
    private var callCount = 0
    /// The number of bytes that brought no plaintext, since the last that did or since the handshake began.
    private var fruitlessCount = 0
    /// The number of reads since a call last waited for the socket.
    private var readsInARow = 0

    /// The plaintext encrypted between two waits for the kernel, in bytes.
    private static let writeChunk = 64 * 1024
    /// The most output that reading may cause (answers to key updates) before it has to wait for the peer to read.
    private static let outputLimit = 256 * 1024
    /// The most bytes without plaintext: a Certificate message of 100 KiB, tickets, key updates.
    private static let fruitlessLimit = 256 * 1024
    /// The number of reads after which timers, cancellations and other connections get their turn.
    private static let turn = 16

    init(_ connected: consuming ConnectedSocket, peer: String, on loop: EventLoop) {
        self.loop = loop
        self.peer = peer
        token = connected.token
        socket = BufferedSocket(consume connected.socket)
        loop.rewatch(token) { [weak self] _, readiness in self?.assumeIsolated { $0.becameReady(readiness) } }
    }

    // MARK: Handshake

    /// Adds a layer and runs its handshake up to the server's certificates.
    func ask(
        _ engine: sending TLSClientEngine, until deadline: Deadline
    ) async throws(TransportError) -> Question {
        layers.append(engine)
        isEstablished = false
        fruitlessCount = 0
        return try await call(until: deadline) { () async throws(TransportError) in
            guard case .askTrust = try await advance() else {
                throw failure(OpenSSLError(code: 0, reason: "the server did not authenticate itself"))
            }
            guard let engine = layers.last else { throw ended }
            return Question(
                certificates: engine.presentedCertificates, isResumed: engine.isResumed, version: engine.version,
                cipherSuite: engine.cipherSuite, group: engine.group)
        }
    }

    /// Returns the stapled OCSP response, DER, or nil if there is none. The connection can't be used afterwards.
    ///
    /// TLS 1.2 sends it after the certificate (RFC 6066, section 8). To receive it, the handshake continues as if the
    /// server were accepted, but the client's next messages are never sent.
    func staple(until deadline: Deadline) async throws(TransportError) -> [UInt8]? {
        try await call(until: deadline) { () async throws(TransportError) in
            guard let engine = layers.last else { throw ended }
            guard engine.staple == nil, engine.version == "TLSv1.2", !engine.isResumed else { return engine.staple }
            engine.accept()
            while true {
                let action = engine.step()
                // The client's answer to the server's whole flight has been produced.
                guard case .wantsInput = action, engine.outputCount == 0 else {
                    if case .failed(let reason) = action { throw failure(reason) }
                    return engine.staple
                }
                try await fill(layers.count - 1)
            }
        }
    }

    /// The OCSP response received so far.
    var capturedStaple: [UInt8]? { layers.last?.staple }

    /// Closes the connection without sending anything.
    func drop() { finish(.closed(peer: peer)) }

    /// Accepts the server and continues the handshake.
    func accept(until deadline: Deadline) async throws(TransportError) -> Step {
        try await call(until: deadline) { () async throws(TransportError) in
            layers.last?.accept()
            return try await next()
        }
    }

    /// Answers the server's request for a certificate and continues the handshake.
    func identify(as identity: OpenSSLIdentity?, until deadline: Deadline) async throws(TransportError) -> Step {
        try await call(until: deadline) { () async throws(TransportError) in
            do throws(OpenSSLError) { try layers.last?.identify(as: identity) } catch { throw failure(error) }
            return try await next()
        }
    }

    private func next() async throws(TransportError) -> Step {
        let action = try await advance()
        guard let engine = layers.last else { throw ended }
        switch action {
        case .askIdentity:
            return .askIdentity(engine.requestedIssuers)
        case .established:
            isEstablished = true
            fruitlessCount = 0
            return .established(
                NegotiatedTLS(
                    version: engine.version, cipherSuite: engine.cipherSuite,
                    applicationProtocol: engine.applicationProtocol, isResumed: engine.isResumed))
        default:
            throw failure(OpenSSLError(code: 0, reason: "the handshake did not continue"))
        }
    }

    /// Refuses the server and closes. Sends an alert unless a session was resumed. Has no effect on a connection that
    /// has ended.
    func refuse() {
        guard end == nil else { return }
        // The output of a resumed handshake would tell the server that it was accepted, so it must not be sent.
        guard let engine = layers.last, !engine.isResumed else { return finish(.closed(peer: peer)) }
        engine.refuse()
        _ = engine.step()
        leave()
    }

    /// Continues the handshake until the uppermost engine needs something other than bytes.
    private func advance() async throws(TransportError) -> TLSClientEngine.Action {
        guard let engine = layers.last else { throw ended }
        while true {
            let action = engine.step()
            switch action {
            case .failed(let reason):
                // The alert is sent if possible. The error to report is its cause.
                _ = try? flush()
                throw failure(reason)
            case .closed:
                throw lost("the peer closed the connection")
            case .askTrust where engine.isResumed:
                return action
            case .wantsInput, .askTrust, .askIdentity, .established:
                while try !flush() { try await ready(for: .writing) }
                guard case .wantsInput = action else { return action }
                try await fill(layers.count - 1)
            }
        }
    }

    /// Returns the session of the uppermost layer for a later connection, or nil if it can't be resumed.
    func session() -> TLSSession? { layers.last?.session() }

    // MARK: Data

    func send(_ bytes: [UInt8], until deadline: Deadline? = nil) async throws(TransportError) {
        try await call(until: deadline) { () async throws(TransportError) in
            guard let engine = layers.last else {
                while try !flush() { try await ready(for: .writing) }
                socket.setOutput(bytes)
                while try !flush() { try await ready(for: .writing) }
                return
            }
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

    func receive(until deadline: Deadline? = nil) async throws(TransportError) -> [UInt8]? {
        try await call(until: deadline) { () async throws(TransportError) in
            guard let engine = layers.last else { return try await read() }
            while true {
                let input = engine.read()
                // Reading can produce output, which is sent here. Wait only for a peer that never reads any of it.
                while try !flush(), engine.outputCount > Self.outputLimit { try await ready(for: .writing) }
                switch input {
                case .bytes(let bytes):
                    fruitlessCount = 0
                    return bytes
                case .closed: return nil
                case .failed(let reason): throw failure(reason)
                case .wantsInput: try await fill(layers.count - 1)
                }
            }
        }
    }

    /// Returns whether unrequested bytes or an end have arrived. If so, an idle connection must not be reused.
    ///
    /// This reads the socket itself, since the loop may not have seen the latest bytes. Session tickets and key updates
    /// don't count. Part of a record counts, because it could be the beginning of anything.
    func hasInput() -> Bool {
        guard end == nil, !layers.haveInput() else { return true }
        for _ in 0..<Self.turn {
            socket.readiness.insert(.reading)
            switch socket.read() {
            case .wouldBlock:
                return false
            case .bytes(let bytes):
                guard let engine = layers.first, (try? engine.feed(bytes.span)) != nil, !layers.haveInput() else {
                    return true
                }
            case .end, .failed:
                return true
            }
        }
        return true
    }

    /// Sends close_notify and closes. Has no effect on a connection that has ended.
    func close() {
        guard end == nil else { return }
        layers.last?.close()
        leave()
    }

    // MARK: Socket

    /// Writes pending bytes to the kernel. Returns false if it can't take any more now.
    private func flush() throws(TransportError) -> Bool {
        while true {
            if !socket.hasOutput {
                do throws(OpenSSLError) { socket.setOutput(try layers.takeOutput()) } catch { throw failure(error) }
                if !socket.hasOutput { return true }
            }
            switch socket.write() {
            case .bytes: continue
            case .wouldBlock: return false
            case .failed(let error): throw lost(error.description)
            case nil: throw ended
            }
        }
    }

    /// Waits for bytes from the layer below, or from the socket, and feeds them to a layer.
    private func fill(_ layer: Int) async throws(TransportError) {
        let bytes = layer == 0 ? try await read() : try await plaintext(of: layer - 1)
        guard let bytes else { throw isEstablished ? .truncated(peer: peer) : lost("the peer closed the connection") }
        fruitlessCount += bytes.count
        guard fruitlessCount <= Self.fruitlessLimit else {
            throw failure(OpenSSLError(code: 0, reason: "the peer sends records without data"))
        }
        do throws(OpenSSLError) { try layers[layer].feed(bytes.span) } catch { throw failure(error) }
    }

    private func plaintext(of layer: Int) async throws(TransportError) -> [UInt8]? {
        while true {
            let input = layers[layer].read()
            _ = try flush()
            switch input {
            case .bytes(let bytes): return bytes
            case .closed: return nil
            case .failed(let reason): throw failure(reason)
            case .wantsInput: try await fill(layer)
            }
        }
    }

    /// Returns the next bytes from the socket, or nil at its end.
    private func read() async throws(TransportError) -> [UInt8]? {
        while true {
            readsInARow += 1
            if readsInARow >= Self.turn { await takeTurns() }
            switch socket.read() {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case .failed(let error): throw lost(error.description)
            case .wouldBlock: try await ready(for: .reading)
            }
        }
    }

    /// Gives timers, cancellations and other connections their turn. Otherwise a peer that sends faster than it is read
    /// would occupy the loop.
    private func takeTurns() async {
        readsInARow = 0
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }

    private func ready(for wanted: Readiness) async throws(TransportError) {
        if isWaiting(for: wanted) {
            readsInARow = 0
            // A continuation resumes on the task's preferred executor before it moves to its actor's executor. Without
            // this preference that is the global pool, which costs two thread changes for every wait.
            await withTaskExecutorPreference(loop) {
                await withCheckedContinuation { continuation in
                    // The socket may have become ready meanwhile.
                    if isWaiting(for: wanted) {
                        waiting.append((wanted, continuation))
                    } else {
                        continuation.resume()
                    }
                }
            }
        }
        if let end { throw end }
    }

    private func isWaiting(for wanted: Readiness) -> Bool { socket.readiness.isDisjoint(with: wanted) && end == nil }

    private func becameReady(_ new: Readiness) {
        socket.readiness.formUnion(new)
        resume { !new.isDisjoint(with: $0) }
    }

    private func resume(where isReady: (Readiness) -> Bool) {
        let ready = waiting.filter { isReady($0.for) }
        waiting.removeAll { isReady($0.for) }
        for entry in ready { entry.continuation.resume() }
    }

    // MARK: End

    /// Runs one call with its deadline. Cancelling the task ends it. A failed call ends the connection.
    private func call<Value: Sendable>(
        until deadline: Deadline? = nil, _ body: () async throws(TransportError) -> Value
    ) async throws(TransportError) -> Value {
        // If the task is already cancelled, the body must not send anything.
        if Task.isCancelled { finish(.cancelled) }
        if let deadline, deadline.instant <= .now { finish(deadline.error) }
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

    /// Runs the body and ends the call in one step, so that nothing can come between.
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

    /// Ends the connection if the given call is still running.
    private func stop(_ call: Int, _ reason: TransportError) {
        if calls.contains(call) { finish(reason) }
    }

    /// Sends pending output as far as the kernel takes it now, and closes.
    private func leave() {
        _ = try? flush()
        socket.endWriting()
        finish(.closed(peer: peer))
    }

    private func finish(_ reason: TransportError) {
        guard end == nil else { return }
        end = reason
        loop.unwatch(token)
        socket.close()
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
