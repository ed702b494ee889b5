import OpenSSLBridge

/// A TCP connection with any number of TLS layers. It moves bytes between a socket and TLS engines on the event loop.
///
/// No layer means cleartext, one means https or an https proxy, two mean https through an https proxy. The connection
/// ends only once: the socket is closed, and every waiting and later call throws the reason. The owners decide who may
/// send.
///
/// Every call consists of attempts that never wait. An attempt goes as far as it can without the peer. If it returns
/// nil, it can be repeated after the wait that it requires.
@TransportActor
final class Connection {
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

    /// The event without which a call can't continue.
    private enum Wait {
        case readiness(Readiness)
        /// Timers, cancellations and other connections have their turn.
        case turn
    }

    private struct Waiter {
        let wanted: Readiness
        let resume: @TransportActor () -> Void
    }

    /// The wait required by the last attempt that returned nil.
    private var wait = Wait.turn
    private var waiting: [Waiter] = []
    /// The waiting calls, so that a late cancellation or timer doesn't end a connection that has moved on.
    private var calls: Set<Int> = []
    private var callCount = 0
    /// The number of bytes that brought no plaintext, since the last that did or since the handshake began.
    private var fruitlessCount = 0
    /// The first bytes that the peer sent in the handshake of the uppermost layer.
    private(set) var handshakeHead: [UInt8] = []
    /// The bytes in the clear for which ``idleState()`` has returned ``IdleState/bytes``.
    private(set) var unaskedBytes: [UInt8] = []
    /// The number of reads since a call last waited for the socket.
    private var readsInARow = 0
    /// The time since which messages without plaintext have been processed, unless a call has waited since.
    private var messageTurn: TransportTime?
    /// The permission of the bytes that are being sent, or nil between two calls, and for bytes of no request.
    private var permit: SendPermit?
    /// Whether the last flush stopped because the permission has ended.
    private var isHeldBack = false
    /// The uppermost layer that holds part of a record that came before the request. The record can't be part of the
    /// answer. `nil` if no layer holds one.
    private var earlyLayer: Int?

    /// The bytes read last, from any connection. Two full records.
    private static var buffer = [UInt8](repeating: 0, count: 32 * 1024)

    /// The plaintext encrypted between two waits for the kernel, in bytes.
    private static let writeChunk = 64 * 1024
    /// The most bytes without plaintext: a Certificate message of 100 KiB, tickets, key updates.
    private static let fruitlessLimit = 256 * 1024
    /// The number of bytes that show what a peer speaks instead of TLS.
    private static let headLimit = 256
    /// The most messages of TLS after the handshakes, in the life of a connection: tickets, key updates, HelloRequests.
    /// Servers send a few tickets, and new keys after gigabytes. A message costs up to 15 µs.
    private static let messageLimit = 1_000
    /// The most of these messages between two requests.
    private static let idleMessageLimit = 32
    /// The number of reads after which timers, cancellations and other connections get their turn.
    private static let turn = 16

    nonisolated init(_ connected: consuming ConnectedSocket, peer: String) {
        self.peer = peer
        token = connected.token
        socket = BufferedSocket(consume connected.socket)
        // The loop keeps the connection until it has ended. Every owner ends it.
        EventLoop.shared.rewatch(token) { _, readiness in
            TransportActor.assumeIsolated { self.becameReady(readiness) }
        }
    }

    // MARK: Handshake

    /// Adds a layer and runs its handshake up to the server's certificates.
    func ask(
        _ engine: sending TLSClientEngine, until deadline: Deadline
    ) async throws(TransportError) -> Question {
        // Not `append`: Swift would check each use of a property that is changed in place.
        layers = layers + [engine]
        isEstablished = false
        fruitlessCount = 0
        handshakeHead = []
        return try await call(until: deadline) { () throws(TransportError) in
            guard let action = try advance() else { return nil }
            guard case .askTrust = action else {
                throw failure(OpenSSLError(code: 0, reason: "the server did not authenticate itself"))
            }
            guard let engine = layers.last else { throw ended }
            return Question(
                certificates: engine.presentedCertificates, isResumed: engine.isResumed, version: engine.version,
                cipherSuite: engine.cipherSuite, timestamps: engine.timestamps, group: engine.group)
        }
    }

    /// Returns the stapled OCSP response, DER, or nil if there is none. The connection can't be used afterwards.
    ///
    /// TLS 1.2 sends it after the certificate (RFC 6066, section 8). To receive it, the handshake continues as if the
    /// server were accepted, but the client's next messages are never sent.
    func staple(until deadline: Deadline) async throws(TransportError) -> [UInt8]? {
        try await call(until: deadline) { () throws(TransportError) -> [UInt8]?? in
            guard let engine = layers.last else { throw ended }
            guard engine.staple == nil, engine.version == "TLSv1.2", !engine.isResumed else {
                return .some(engine.staple)
            }
            engine.accept()
            while true {
                let action = engine.step()
                // The client's answer to the server's whole flight has been produced.
                guard case .wantsInput = action, engine.outputCount == 0 else {
                    if case .failed(let reason) = action { throw failure(reason) }
                    return .some(engine.staple)
                }
                guard try fill(layers.count - 1) else { return nil }
            }
        }
    }

    /// The OCSP response received so far.
    var capturedStaple: [UInt8]? { layers.last?.staple }

    /// Closes the connection without sending anything.
    func drop() { finish(.closed(peer: peer)) }

    /// Accepts the server and continues the handshake.
    func accept(until deadline: Deadline) async throws(TransportError) -> Step {
        try await call(until: deadline) { () throws(TransportError) in
            layers.last?.accept()
            return try next()
        }
    }

    /// Answers the server's request for a certificate and continues the handshake.
    func identify(as identity: OpenSSLIdentity?, until deadline: Deadline) async throws(TransportError) -> Step {
        var isAnswered = false
        return try await call(until: deadline) { () throws(TransportError) in
            if !isAnswered {
                do throws(OpenSSLError) { try layers.last?.identify(as: identity) } catch { throw failure(error) }
                isAnswered = true
            }
            return try next()
        }
    }

    private func next() throws(TransportError) -> Step? {
        guard let action = try advance() else { return nil }
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
        // mutant resumption-refused: true for 2 by ResumptionAttackTests
        guard let engine = layers.last, !engine.isResumed else { return finish(.closed(peer: peer)) }
        engine.refuse()
        _ = engine.step()
        leave()
    }

    /// Continues the handshake until the uppermost engine needs something other than bytes.
    private func advance() throws(TransportError) -> TLSClientEngine.Action? {
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
            // mutant resumption-held-back: false by ResumptionAttackTests HandshakeTests
            case .askTrust where engine.isResumed:
                return action
            case .wantsInput, .askTrust, .askIdentity, .established:
                guard try flush() else { return nil }
                guard case .wantsInput = action else { return action }
                guard try fill(layers.count - 1) else { return nil }
            }
        }
    }

    /// Returns the session of the uppermost layer for a later connection, or nil if it can't be resumed.
    func session() -> TLSSession? { layers.last?.session() }

    // MARK: Data

    /// Sends bytes that belong to no request.
    func send(_ bytes: [UInt8], until deadline: Deadline? = nil) async throws(TransportError) {
        _ = try await send(bytes, nil, until: deadline)
    }

    /// Sends bytes of a request. Returns nil when the kernel has taken all. If the permission ends before, returns the
    /// rest to send with a new one, which can be empty.
    func send(
        _ bytes: [UInt8], _ permit: SendPermit?, until deadline: Deadline? = nil
    ) async throws(TransportError) -> ArraySlice<UInt8>? {
        var start = 0
        self.permit = permit
        let isDone = try await call(until: deadline) { () throws(TransportError) -> Bool? in
            if try write(bytes, from: &start) { return true }
            return isHeldBack ? false : nil
        }
        return isDone ? nil : bytes[start...]
    }

    /// Sends the bytes that the kernel takes now. Returns nil if it took all, and otherwise the rest to
    /// ``send(_:_:until:)``, which can be empty.
    func sendNow(_ bytes: [UInt8], _ permit: SendPermit) throws(TransportError) -> ArraySlice<UInt8>? {
        var start = 0
        self.permit = permit
        let isDone = try attempt { () throws(TransportError) -> Bool? in try write(bytes, from: &start) }
        return isDone == true ? nil : bytes[start...]
    }

    /// Writes bytes and moves `start` over those that were taken. Returns false if the kernel hasn't taken all.
    private func write(_ bytes: [UInt8], from start: inout Int) throws(TransportError) -> Bool {
        while true {
            guard try flush() else { return false }
            guard start < bytes.count else {
                permit = nil
                return true
            }
            guard let engine = layers.last else {
                socket.setOutput(bytes)
                start = bytes.count
                continue
            }
            let stop = min(start + Self.writeChunk, bytes.count)
            do throws(OpenSSLError) {
                try engine.write(bytes.span.extracting(start..<stop))
            } catch {
                // An alert of the peer is the cause, if it was read before (``idleState()``).
                if case .failed(let reason) = engine.read() { throw failure(reason) }
                throw failure(error)
            }
            start = stop
        }
    }

    func receive(until deadline: Deadline? = nil) async throws(TransportError) -> [UInt8]? {
        switch try await call(until: deadline, { () throws(TransportError) in try input() }) {
        case .bytes(let bytes): bytes
        case .end: nil
        }
    }

    /// Returns the bytes that have arrived. Returns nil if there are none, see ``whenReady(_:)``.
    func receiveNow() throws(TransportError) -> ReceivedInput? {
        try attempt { () throws(TransportError) in try input() }
    }

    /// Calls `body` when there may be something to receive after ``receiveNow()`` returned nil, or when the connection
    /// has ended.
    func whenReady(_ body: @escaping @TransportActor @Sendable () -> Void) {
        beginTurn()
        if case .readiness(let wanted) = wait, isWaiting(for: wanted) {
            waiting.append(Waiter(wanted: wanted, resume: body))
        } else {
            TransportActor.execute(body)
        }
    }

    private func input() throws(TransportError) -> ReceivedInput? {
        guard let engine = layers.last else {
            guard let count = try read() else { return nil }
            return count == 0 ? .end : .bytes(Array(Self.buffer[..<count]))
        }
        while true {
            if engine.isDrained { guard try fill(layers.count - 1) else { return nil } }
            let input = engine.read()
            try checkMessageCount()
            // Reading can produce output, which is sent here if the peer reads.
            _ = try flush()
            switch input {
            case .bytes(let bytes):
                guard earlyLayer == nil else {
                    throw failure(OpenSSLError(code: 0, reason: "the peer sent data before the request"))
                }
                fruitlessCount = 0
                return .bytes(bytes)
            case .message: guard takeTurn(in: layers.count - 1) else { return nil }
            case .closed: return .end
            case .failed(let reason): throw failure(reason)
            case .wantsInput: guard try fill(layers.count - 1) else { return nil }
            }
        }
    }

    /// Returns the state of a connection before a request. Reads the socket itself, since the loop may not have seen
    /// the latest bytes. A few session tickets and key updates leave it quiet.
    func idleState() -> IdleState {
        guard end == nil else { return .ended }
        // mutant message-idle: Int.max by KeptConnectionTests/surplus
        let messageLimit = min(layers.messageCount + Self.idleMessageLimit, Self.messageLimit)
        var state = layers.idleState(messageLimit: messageLimit)
        for _ in 0..<Self.turn {
            guard state == .quiet || state == .part else { return state }
            socket.readiness.insert(.reading)
            switch socket.read(into: &Self.buffer) {
            case .wouldBlock:
                // mutant unread-output-reused: true for 2 by KeptConnectionTests/unread
                guard layers.messageCount <= messageLimit, (try? flush()) == true else { return .busy }
                // mutant part-before-request: false for `state == .part` by KeptConnectionTests/early
                earlyLayer = state == .part ? layers.lastIndex { !$0.isEmpty } : nil
                return state
            case .bytes(let count):
                let buffer = Self.buffer
                guard let engine = layers.first else {
                    unaskedBytes = Array(buffer[..<count])
                    return .bytes
                }
                guard (try? engine.feed(buffer.span.extracting(first: count))) != nil else { return .ended }
                state = layers.idleState(messageLimit: messageLimit)
            case .end, .failed:
                return .ended
            }
        }
        return .busy
    }

    /// Whether the kernel has taken everything that was to be sent.
    var hasSentAll: Bool { !socket.hasOutput && layers.allSatisfy { $0.outputCount == 0 } }

    /// Sends close_notify and closes. Has no effect on a connection that has ended.
    func close() {
        guard end == nil else { return }
        layers.last?.close()
        leave()
    }

    // MARK: Socket

    /// Writes pending bytes to the kernel. Returns false if it can't take any more now, or must not get them.
    private func flush() throws(TransportError) -> Bool {
        isHeldBack = false
        while true {
            if !socket.hasOutput {
                guard !layers.isEmpty else { return true }
                do throws(OpenSSLError) { socket.setOutput(try layers.takeOutput()) } catch { throw failure(error) }
                if !socket.hasOutput { return true }
            }
            let output: Socket.Output?
            if let permit {
                guard let permitted = permit.whileCurrent({ socket.write() }) else {
                    isHeldBack = true
                    return false
                }
                output = permitted
            } else {
                output = socket.write()
            }
            switch output {
            case .bytes: continue
            case .wouldBlock:
                wait = .readiness(.writing)
                return false
            case .failed(let error): throw alertBefore(reset: error.description)
            case nil: throw ended
            }
        }
    }

    /// Returns the alert that the peer sent before it reset the connection, which is the cause of the reset, or else
    /// the loss. The kernel keeps what arrived before a reset, but reports the reset to a write first.
    private func alertBefore(reset: String) -> TransportError {
        guard isEstablished, layers.count == 1, let engine = layers.first else { return lost(reset) }
        for _ in 0..<Self.turn {
            var input = engine.read()
            while input != .wantsInput, input != .closed, layers.messageCount <= Self.messageLimit {
                if case .failed(let reason) = input { return failure(reason) }
                input = engine.read()
            }
            socket.readiness.insert(.reading)
            guard case .bytes(let count) = socket.read(into: &Self.buffer) else { break }
            let buffer = Self.buffer
            guard (try? engine.feed(buffer.span.extracting(first: count))) != nil else { break }
        }
        return lost(reset)
    }

    /// Feeds a layer with bytes from the layer below, or from the socket. Returns false if there are none.
    private func fill(_ layer: Int) throws(TransportError) -> Bool {
        if layer == 0 {
            guard let count = try read() else { return false }
            let buffer = Self.buffer
            try feed(layer, buffer.span.extracting(first: count))
        } else {
            guard let input = try plaintext(of: layer - 1) else { return false }
            switch input {
            case .bytes(let bytes): try feed(layer, bytes.span)
            case .end: try feed(layer, Span())
            }
        }
        return true
    }

    /// Feeds a layer with bytes, of which there are none at the end of the layer below.
    private func feed(_ layer: Int, _ bytes: Span<UInt8>) throws(TransportError) {
        guard !bytes.isEmpty else {
            // mutant truncation: .closed(peer: peer) for `.truncated(peer: peer)` by DataTests
            throw isEstablished ? .truncated(peer: peer) : lost("the peer closed the connection")
        }
        if !isEstablished, layer == layers.count - 1, handshakeHead.count < Self.headLimit {
            for index in 0..<min(bytes.count, Self.headLimit - handshakeHead.count) {
                handshakeHead.append(bytes[index])
            }
        }
        fruitlessCount += bytes.count
        // mutant record-flood: true by FloodAttackTests RecordAttackTests HandshakeAttackTests
        guard fruitlessCount <= Self.fruitlessLimit else {
            throw failure(OpenSSLError(code: 0, reason: "the peer sends records without data"))
        }
        do throws(OpenSSLError) { try layers[layer].feed(bytes) } catch { throw failure(error) }
    }

    private func plaintext(of layer: Int) throws(TransportError) -> ReceivedInput? {
        while true {
            let input = layers[layer].read()
            try checkMessageCount()
            _ = try flush()
            switch input {
            case .bytes(let bytes): return .bytes(bytes)
            case .closed: return .end
            case .failed(let reason): throw failure(reason)
            case .message: guard takeTurn(in: layer) else { return nil }
            case .wantsInput: guard try fill(layer) else { return nil }
            }
        }
    }

    private func checkMessageCount() throws(TransportError) {
        // mutant message-count: true by FloodAttackTests/messages
        guard layers.messageCount <= Self.messageLimit else {
            throw failure(OpenSSLError(code: 0, reason: "the peer sends messages without data"))
        }
    }

    /// Returns whether input without plaintext may be followed by more at once. False if others have their turn before.
    /// `layer` is that of a message, which was in the early record of that layer or of one below.
    private func takeTurn(in layer: Int) -> Bool {
        // mutant part-in-tunnel: true for 2 by KeptConnectionTests/earlyInTunnel
        if let early = earlyLayer, layer >= early { earlyLayer = nil }
        let now = TransportTime.now
        guard let start = messageTurn else {
            messageTurn = now
            return true
        }
        // mutant message-turns: false by FloodAttackTests/turns
        guard now - start > TransportActor.turnLimit else { return true }
        wait = .turn
        return false
    }

    private func beginTurn() {
        readsInARow = 0
        messageTurn = nil
    }

    /// Reads the next bytes into ``buffer`` and returns their number, 0 at the end of the stream. Returns nil if there
    /// are none, and after many reads in a row: otherwise a peer that sends faster than it is read would occupy the
    /// loop.
    private func read() throws(TransportError) -> Int? {
        guard readsInARow < Self.turn else {
            wait = .turn
            return nil
        }
        readsInARow += 1
        switch socket.read(into: &Self.buffer) {
        case .bytes(let count): return count
        case .end: return 0
        case .failed(let error): throw lost(error.description)
        case .wouldBlock:
            wait = .readiness(.reading)
            return nil
        }
    }

    private func isWaiting(for wanted: Readiness) -> Bool { socket.readiness.isDisjoint(with: wanted) && end == nil }

    private func becameReady(_ new: Readiness) {
        socket.readiness.formUnion(new)
        resume { !new.isDisjoint(with: $0) }
    }

    private func resume(where isReady: (Readiness) -> Bool) {
        guard !waiting.isEmpty else { return }
        // Without closures for the standard library, which would check the isolation at each call.
        let waiters = exchange(&waiting, with: [])
        for waiter in waiters where !isReady(waiter.wanted) { waiting.append(waiter) }
        for waiter in waiters where isReady(waiter.wanted) { waiter.resume() }
    }

    // MARK: Calls

    /// Runs one call with its deadline. Cancelling the task ends it. A failed call ends the connection.
    private func call<Value: Sendable>(
        until deadline: Deadline? = nil, _ body: () throws(TransportError) -> Value?
    ) async throws(TransportError) -> Value {
        // If the task is already cancelled, the body must not send anything.
        if Task.isCancelled { finish(.cancelled) }
        if let deadline, deadline.instant <= .now { finish(deadline.error) }
        if let value = try attempt(body) { return value }
        let wait = wait
        callCount += 1
        let call = callCount
        calls.insert(call)
        let timer = deadline.map { deadline in
            EventLoop.shared.schedule(at: deadline.instant) {
                TransportActor.assumeIsolated { self.stop(call, deadline.error) }
            }
        }
        defer { if let timer { EventLoop.shared.cancel(timer) } }
        let result = await withTaskCancellationHandler {
            await finish(call, after: wait, body)
        } onCancel: {
            TransportActor.execute { self.stop(call, .cancelled) }
        }
        return try result.get()
    }

    private func attempt<Value: Sendable>(
        _ body: () throws(TransportError) -> Value?
    ) throws(TransportError) -> Value? {
        if let end { throw end }
        do throws(TransportError) { return try body() } catch {
            finish(error)
            throw error
        }
    }

    /// Repeats an attempt after each wait until it has a result. Ends the call in one step with it, so that nothing can
    /// come between.
    private func finish<Value: Sendable>(
        _ call: Int, after first: Wait, _ body: () throws(TransportError) -> Value?
    ) async -> Result<Value, TransportError> {
        defer { calls.remove(call) }
        var required = first
        do throws(TransportError) {
            while true {
                await pause(for: required)
                if let value = try attempt(body) { return .success(value) }
                required = wait
            }
        } catch {
            return .failure(error)
        }
    }

    private func pause(for required: Wait) async {
        guard case .readiness(let wanted) = required else {
            beginTurn()
            return await withCheckedContinuation { continuation in EventLoop.shared.execute { continuation.resume() } }
        }
        guard isWaiting(for: wanted) else { return }
        beginTurn()
        // A continuation resumes on the task's preferred executor before it moves to its actor's executor. Without this
        // preference that is the global pool, which costs two thread changes for every wait.
        await withTaskExecutorPreference(EventLoop.shared) {
            await withCheckedContinuation { continuation in
                // The socket may have become ready meanwhile.
                if isWaiting(for: wanted) {
                    waiting.append(Waiter(wanted: wanted) { continuation.resume() })
                } else {
                    continuation.resume()
                }
            }
        }
    }

    /// Ends the connection if the given call is still waiting.
    private func stop(_ call: Int, _ reason: TransportError) {
        if calls.contains(call) { finish(reason) }
    }

    // MARK: End

    /// Closes the connection soon, from any thread.
    nonisolated func closeSoon() {
        TransportActor.execute { self.close() }
    }

    /// Refuses the server soon, from any thread.
    nonisolated func refuseSoon() {
        TransportActor.execute { self.refuse() }
    }

    /// Sends pending output as far as the kernel takes it now, and closes.
    private func leave() {
        _ = try? flush()
        socket.endWriting(dropping: &Self.buffer)
        finish(.closed(peer: peer))
    }

    private func finish(_ reason: TransportError) {
        guard end == nil else { return }
        end = reason
        EventLoop.shared.unwatch(token)
        socket.close()
        resume { _ in true }
    }

    private var ended: TransportError { end ?? .closed(peer: peer) }

    private func failure(_ reason: OpenSSLError) -> TransportError {
        isEstablished ? .protocolFailure(peer: peer, reason: reason) : .handshakeFailed(peer: peer, reason: reason)
    }

    private func lost(_ reason: String) -> TransportError {
        isEstablished
            ? .lost(peer: peer, reason: reason)
            : .lostDuringHandshake(peer: peer, reason: reason, isAnswered: !handshakeHead.isEmpty)
    }
}

/// The state of a connection before a request.
package enum IdleState: Sendable, Hashable {
    /// Nothing waits in either direction.
    case quiet
    /// The peer has sent bytes before it was asked.
    case bytes
    /// Part of a record has arrived, which could be the beginning of anything.
    case part
    /// The stream has ended, or failed.
    case ended
    /// The peer sent many messages of TLS, or doesn't read the answers to them.
    case busy
}

/// The input of a connection.
package enum ReceivedInput: Sendable {
    /// At least one byte.
    case bytes([UInt8])
    /// The clean end of the stream.
    case end
}
