import PinctlBasics
import PinctlLibC

/// A server on a Unix socket whose clients send frames: a length in 4 bytes, big-endian, and that many bytes.
///
/// A client's frames are answered one after another. Handlers run on the event loop, so they have to be short, or
/// return work that is done elsewhere.
package final class LocalServer: Sendable {
    /// The treatment of a frame. Answers get their length here.
    package enum Response: Sendable {
        case none
        case answer([UInt8])
        /// The answer is computed on another thread.
        case work(@Sendable () -> [UInt8])
        /// The connection is closed after the answer.
        case lastAnswer([UInt8])
    }

    /// Handles a frame, without its length. A frame that is longer than the limit is passed with the bytes `nil`.
    package typealias Handler = @Sendable ([UInt8]?) -> Response

    private let listener: Listener
    private let frameLimit: Int
    private let handler: Handler
    /// The path of the socket and the identity of its file, if this server made it.
    private let file: (path: String, identity: [UInt64])?
    private let clients = Locked<[EventLoop.Token: LocalClient]>([:])
    /// Whether a timer accepts connections again.
    private let isPaused = Locked(false)

    /// The number of clients at a time. More are disconnected, which they take for a refusal.
    private static let maximumClients = 4_096
    /// The time that a client may take for a frame.
    private static let patience = Duration.seconds(10)
    /// The time after which connections are accepted again after a failure.
    private static let pause = Duration.milliseconds(100)

    /// A socket in a class, because closures can't capture one.
    private final class Listener: Sendable {
        let socket: Socket
        init(_ socket: consuming Socket) { self.socket = socket }
    }

    /// Serves at a path. A socket that no process listens at any more is replaced. `mode` is the file's.
    package convenience init(
        path: String, mode: UInt32, frameLimit: Int, _ handler: @escaping Handler
    ) throws(SystemError) {
        try Socket.removeUnused(at: path)
        let listener = Listener(try Socket(listeningAt: path, mode: mode_t(mode)))
        try self.init(listener, Socket.fileIdentity(at: path).map { (path, $0) }, frameLimit, handler)
    }

    /// Serves at a listening socket that the process inherited.
    package convenience init(descriptor: Int32, frameLimit: Int, _ handler: @escaping Handler) throws(SystemError) {
        try self.init(Listener(try Socket(adopting: descriptor)), nil, frameLimit, handler)
    }

    private init(
        _ listener: Listener, _ file: (path: String, identity: [UInt64])?, _ frameLimit: Int,
        _ handler: @escaping Handler
    ) throws(SystemError) {
        (self.listener, self.file, self.frameLimit, self.handler) = (listener, file, frameLimit, handler)
        _ = try EventLoop.shared.watch(listener.socket, isBrief: false) { [weak self] _, _ in self?.acceptAll() }
        EventLoop.shared.execute { [weak self] in self?.acceptAll() }
        endLateFrames()
    }

    /// Removes the file of the socket, unless another server's is at its path now.
    package func removeFile() {
        if let file { Socket.remove(file.path, identity: file.identity) }
    }

    private func acceptAll() {
        while true {
            let socket: Socket
            do throws(SystemError) {
                guard let next = try listener.socket.nextConnection() else { return }
                socket = next
            } catch {
                return acceptLater()
            }
            guard clients.withLock({ $0.count }) < Self.maximumClients else { continue }
            let client = LocalClient(socket)
            let token = try? EventLoop.shared.watch(client.socket, isBrief: false) { [weak self] token, _ in
                self?.serve(token)
            }
            guard let token else { continue }
            clients.withLock { $0[token] = client }
            serveSoon(token)
        }
    }

    /// Accepts again after a failure, such as too many open files, which other parts of the process may have.
    private func acceptLater() {
        let isFirst = isPaused.withLock { isPaused in
            defer { isPaused = true }
            return !isPaused
        }
        guard isFirst else { return }
        _ = EventLoop.shared.schedule(at: TransportTime.now + Self.pause) { [weak self] in
            self?.isPaused.withLock { $0 = false }
            self?.acceptAll()
        }
    }

    private func serveSoon(_ token: EventLoop.Token) {
        EventLoop.shared.execute { [weak self] in self?.serve(token) }
    }

    /// Handles everything that clients have sent until now.
    package func drain() async {
        await withCheckedContinuation { continuation in
            EventLoop.shared.execute {
                self.acceptAll()
                for token in self.clients.withLock({ Array($0.keys) }) {
                    // A client that never stops doesn't hold this up.
                    var rest = Self.longestDrain
                    while rest > 0, self.takeTurn(of: token) { rest -= 1 }
                }
                continuation.resume()
            }
        }
    }

    private func serve(_ token: EventLoop.Token) {
        // Readiness is reported only when it begins.
        if takeTurn(of: token) { serveSoon(token) }
    }

    private static let longestDrain = 10_000
    /// The number of frames of a client that are handled before those of others.
    private static let framesAtOnce = 64

    /// Reads what has arrived, and answers the first frames in it. Returns whether there are more, or may be.
    private func takeTurn(of token: EventLoop.Token) -> Bool {
        guard let client = clients.withLock({ $0[token] }) else { return false }
        let mayHaveMore = client.receive(upTo: frameLimit + 4)
        for _ in 0..<Self.framesAtOnce where !client.isWaiting {
            guard let frame = client.nextFrame(limit: frameLimit) else {
                client.flush()
                if client.isFinished { close(token) }
                return mayHaveMore
            }
            handle(frame, of: client, token)
        }
        client.flush()
        return !client.isWaiting
    }

    private func handle(_ frame: LocalClient.Frame, of client: LocalClient, _ token: EventLoop.Token) {
        let bytes: [UInt8]? = if case .whole(let bytes) = frame { bytes } else { nil }
        switch handler(bytes) {
        case .none: break
        case .answer(let answer): client.send(answer)
        case .lastAnswer(let answer):
            client.send(answer)
            client.end()
        case .work(let work):
            client.isWaiting = true
            Task.detached {
                let answer = work()
                EventLoop.shared.execute { [weak self] in
                    client.isWaiting = false
                    client.send(answer)
                    self?.serve(token)
                }
            }
        }
    }

    private func close(_ token: EventLoop.Token) {
        EventLoop.shared.unwatch(token)
        _ = clients.withLock { $0.removeValue(forKey: token) }
        acceptAll()
    }

    /// Disconnects clients that sent no frame, or a part of one, for too long.
    private func endLateFrames() {
        let now = TransportTime.now
        _ = EventLoop.shared.schedule(at: now + Self.patience) { [weak self] in
            guard let self else { return }
            let late = clients.withLock { clients in
                clients.filter { $0.value.frameStart.map { $0 < now } ?? false }.keys
            }
            for token in late { close(token) }
            endLateFrames()
        }
    }
}
