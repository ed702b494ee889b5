import OpenSSLBridge

/// A TCP connection with any number of TLS layers on it: moves bytes between a socket and engines, on the event loop.
///
/// No layer is cleartext, one is https or an https proxy, two are https through an https proxy. Whatever ends it, ends
/// it once: the socket is closed, and every call that waits and every later one throws the reason. Who may send is
/// decided by its owners.
actor Connection {
    nonisolated let loop: EventLoop
    /// For messages.
    nonisolated let peer: String
    private let token: EventLoop.Token
    /// Nil once closed.
    private var socket: Socket?
    /// From the socket upwards.
    private var layers: [TLSClientEngine] = []
    /// Why it is closed.
    private var end: TransportError?
    /// Whether the uppermost layer's handshake is done.
    private var isEstablished = true

    /// What the socket was last known to be ready for; edges that nobody waited for are kept here.
    /// An end that came before anybody watched has no other edge, so at first there may be one.
    private var readiness: Readiness = [.reading, .writing, .hangUp]
    private var waiting: [(for: Readiness, continuation: CheckedContinuation<Void, Never>)] = []
    /// Bytes on their way to the kernel, and how many of them have arrived there.
    private var outgoing: [UInt8] = []
    private var outgoingStart = 0
    /// The calls that run, so that a late cancellation or timer does not end a connection that has gone on.
    private var calls: Set<Int> = []
    private var callCount = 0
    /// Bytes that have brought no plaintext: since the last that did, or since the handshake began.
    private var fruitlessCount = 0
    /// Reads since a call last waited for the socket.
    private var readsInARow = 0
    /// Bytes to ask the kernel for.
    private var readSize = firstRead

    /// Plaintext encrypted between two waits for the kernel.
    private static let writeChunk = 64 * 1024
    /// Output that reading may cause (answers to key updates) before it has to wait for the peer to read them.
    private static let outputLimit = 256 * 1024
    /// Bytes that may bring no plaintext: a Certificate message of 100 KiB, tickets, key updates.
    private static let fruitlessLimit = 256 * 1024
    /// Bytes read at a time where much comes: two full records.
    private static let readChunk = 32 * 1024
    /// Bytes read at a time else: most responses, in an allocation that is not given back to the kernel every time.
    private static let firstRead = 4 * 1024
    /// Reads after which timers, cancellations and other connections have their turn.
    private static let turn = 16

    init(_ connected: consuming ConnectedSocket, peer: String, on loop: EventLoop) {
        self.loop = loop
        self.peer = peer
        token = connected.token
        socket = consume connected.socket
        loop.rewatch(token) { [weak self] _, readiness in self?.assumeIsolated { $0.becameReady(readiness) } }
    }

    // MARK: Handshake

    /// What is known of a server when its certificate is there.
    struct Question: Sendable {
        /// Leaf first.
        let certificates: [ReceivedCertificate]
        /// Whether they are those of a resumed session.
        let isResumed: Bool
        let version: String
        let cipherSuite: String
    }

    /// Adds a layer and shakes hands up to the server's certificates.
    func ask(
        _ engine: sending TLSClientEngine, until deadline: Deadline
    ) async throws(TransportError) -> Question {
        layers.append(engine)
        isEstablished = false
        fruitlessCount = 0
        return try await call(until: deadline) { () async throws(TransportError) in
            guard case .askTrust = try await advance() else {
                throw failure(OpenSSLError(code: 0, reason: "the server did not authenticate"))
            }
            guard let engine = layers.last else { throw ended }
            return Question(
                certificates: engine.presentedCertificates, isResumed: engine.isResumed, version: engine.version,
                cipherSuite: engine.cipherSuite)
        }
    }

    /// The OCSP response that comes with the certificate, DER; nil without one. The connection is of no use after it.
    ///
    /// TLS 1.2 sends it behind the certificate (RFC 6066, section 8). To get there the handshake goes on as if the
    /// server were accepted, and what this side would say to that is never sent.
    func staple(until deadline: Deadline) async throws(TransportError) -> [UInt8]? {
        try await call(until: deadline) { () async throws(TransportError) in
            guard let engine = layers.last else { throw ended }
            guard engine.staple == nil, engine.version == "TLSv1.2", !engine.isResumed else { return engine.staple }
            engine.accept()
            while true {
                let action = engine.step()
                // The client's answer to the whole flight has been made.
                guard case .wantsInput = action, engine.outputCount == 0 else {
                    if case .failed(let reason) = action { throw failure(reason) }
                    return engine.staple
                }
                try await fill(layers.count - 1)
            }
        }
    }

    /// Waits for the server to say that it does not go on with this client, which it may do behind the handshake
    /// (RFC 8446, section 4.4.2.4). Nothing said within the time is consent, as is any data.
    func hearRefusal(within patience: Duration, until deadline: Deadline) async throws(TransportError) {
        let patience = Deadline(for: .handshake, peer: peer, limit: patience)
        do throws(TransportError) {
            _ = try await receive(until: .earlier(patience, deadline))
        } catch {
            guard error != patience.error else { return }
            throw error
        }
    }

    /// The OCSP response that came so far.
    var capturedStaple: [UInt8]? { layers.last?.staple }

    /// Closes without a word.
    func drop() { finish(.closed(peer: peer)) }

    /// What a handshake wants after the server was accepted.
    enum Step: Sendable {
        /// The client's certificate, from one of these issuers, DER; none for any.
        case askIdentity([[UInt8]])
        case established(NegotiatedTLS)
    }

    /// Accepts the server and goes on.
    func accept(until deadline: Deadline) async throws(TransportError) -> Step {
        try await call(until: deadline) { () async throws(TransportError) in
            layers.last?.accept()
            return try await next()
        }
    }

    /// Answers the server's request for a certificate and goes on.
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
            throw failure(OpenSSLError(code: 0, reason: "the handshake did not go on"))
        }
    }

    /// Refuses the server with an alert and closes; without effect on a connection that has ended.
    func refuse() {
        guard end == nil else { return }
        // The output of a resumed handshake is the client's consent, which is not to leave.
        guard let engine = layers.last, !engine.isResumed else { return finish(.closed(peer: peer)) }
        engine.refuse()
        _ = engine.step()
        leave()
    }

    /// Steps until the uppermost engine wants something other than bytes.
    private func advance() async throws(TransportError) -> TLSClientEngine.Action {
        guard let engine = layers.last else { throw ended }
        while true {
            let action = engine.step()
            switch action {
            case .failed(let reason):
                // The alert goes if it can; what is reported is why there is one.
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

    /// The session of the uppermost layer for a later connection; nil when it cannot be resumed.
    func session() -> TLSSession? { layers.last?.session() }

    // MARK: Data

    func send(_ bytes: [UInt8], until deadline: Deadline? = nil) async throws(TransportError) {
        try await call(until: deadline) { () async throws(TransportError) in
            guard let engine = layers.last else {
                while try !flush() { try await ready(for: .writing) }
                (outgoing, outgoingStart) = (bytes, 0)
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
                // Reading can make output, which goes along; only a peer that never takes any is waited for.
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

    /// Whether bytes or an end have come that nobody asked for: an idle connection that has any must not be used again.
    ///
    /// The socket itself is read, since the loop may not have seen yet what has arrived. Session tickets and key updates
    /// are no such bytes. Part of a record could be the beginning of anything.
    func hasInput() -> Bool {
        guard end == nil, !holdsInput() else { return true }
        for _ in 0..<Self.turn {
            readiness.insert(.reading)
            switch take() {
            case .wouldBlock:
                return false
            case .bytes(let bytes):
                guard let engine = layers.first, (try? engine.feed(bytes.span)) != nil, !holdsInput() else {
                    return true
                }
            case .end, .failed:
                return true
            }
        }
        return true
    }

    /// Hands what the layers hold upwards: whether any of it is for whoever reads, or an end or part of a record.
    private func holdsInput() -> Bool {
        for (index, engine) in layers.enumerated() {
            var input = engine.isEmpty ? .wantsInput : engine.read()
            while case .bytes(let bytes) = input, layers.indices.contains(index + 1),
                (try? layers[index + 1].feed(bytes.span)) != nil
            { input = engine.read() }
            guard input == .wantsInput, engine.isEmpty else { return true }
        }
        return false
    }

    /// Says close_notify and closes; without effect on a connection that has ended.
    func close() {
        guard end == nil else { return }
        layers.last?.close()
        leave()
    }

    // MARK: Socket

    /// Hands bytes to the kernel; false when it takes no more at this moment.
    private func flush() throws(TransportError) -> Bool {
        while true {
            if outgoingStart == outgoing.count {
                outgoing = try takeOutput()
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

    /// What the lowest layer has for the peer, after every layer above has handed down its own.
    private func takeOutput() throws(TransportError) -> [UInt8] {
        for upper in layers.indices.dropFirst().reversed() {
            let output = layers[upper].takeOutput()
            do throws(OpenSSLError) { try layers[upper - 1].write(output.span) } catch { throw failure(error) }
        }
        return layers.first?.takeOutput() ?? []
    }

    /// Waits for bytes for a layer from the one below, or from the socket, and feeds it.
    private func fill(_ layer: Int) async throws(TransportError) {
        let bytes = layer == 0 ? try await read() : try await plaintext(of: layer - 1)
        guard let bytes else { throw isEstablished ? .truncated(peer: peer) : lost("the peer closed the connection") }
        fruitlessCount += bytes.count
        guard fruitlessCount <= Self.fruitlessLimit else {
            throw failure(OpenSSLError(code: 0, reason: "the peer sends without saying anything"))
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

    /// The next bytes of the socket; nil at its end.
    private func read() async throws(TransportError) -> [UInt8]? {
        while true {
            readsInARow += 1
            if readsInARow >= Self.turn { await takeTurns() }
            switch take() {
            case .bytes(let bytes): return bytes
            case .end: return nil
            case .failed(let error): throw lost(error.description)
            case .wouldBlock: try await ready(for: .reading)
            }
        }
    }

    /// Reads the socket when it is known to have something.
    private func take() -> Socket.Input {
        guard readiness.contains(.reading) else { return .wouldBlock }
        guard let input = socket?.read(atMost: readSize) else { return .wouldBlock }
        switch input {
        // Behind an end there is nothing to wait for.
        case .wouldBlock: readiness.subtract([.reading, .hangUp])
        case .bytes(let bytes):
            let isAll = bytes.count < readSize
            readSize = isAll ? Self.firstRead : Self.readChunk
            // Less than was asked for is all there was, and more of it is another edge (epoll(7)); an end is not.
            if isAll, !readiness.contains(.hangUp) { readiness.remove(.reading) }
        case .end, .failed: break
        }
        return input
    }

    /// Lets timers, cancellations and other connections have their turn: a peer that sends faster than it is read would
    /// otherwise have the loop to itself.
    private func takeTurns() async {
        readsInARow = 0
        await withCheckedContinuation { continuation in loop.execute { continuation.resume() } }
    }

    private func ready(for wanted: Readiness) async throws(TransportError) {
        if isWaiting(for: wanted) {
            readsInARow = 0
            // A continuation resumes on the task's preferred executor before it hops to its actor's: without this one
            // that is the global pool, two thread changes for every wait.
            await withTaskExecutorPreference(loop) {
                await withCheckedContinuation { continuation in
                    // The loop may have turned meanwhile.
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

    private func isWaiting(for wanted: Readiness) -> Bool { readiness.isDisjoint(with: wanted) && end == nil }

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
