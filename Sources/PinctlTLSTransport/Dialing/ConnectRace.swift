/// A race to connect to the first of several addresses that accepts (RFC 8305, section 5).
///
/// The next address is tried when the previous one has failed, or after 250 ms. The first to connect wins and the
/// others are closed.
actor ConnectRace {
    nonisolated let loop: EventLoop
    private let peer: String
    private var waiting: ArraySlice<SocketAddress>
    private var connecting: [EventLoop.Token: Runner] = [:]
    private var failed: [ConnectAttempt] = []
    private var stagger: TimerQueue.Identifier?
    private var isWon = false
    private let outcome = OneShot<EventLoop.Token>()

    /// The Connection Attempt Delay that RFC 8305, section 8 recommends.
    private static let attemptDelay = Duration.milliseconds(250)

    /// A socket that is connecting. It is a class because a dictionary can't hold a noncopyable value.
    private final class Runner {
        let address: SocketAddress
        var socket: Socket?

        init(address: SocketAddress, socket: consuming Socket) {
            self.address = address
            self.socket = consume socket
        }
    }

    init(to addresses: [SocketAddress], peer: String, on loop: EventLoop) {
        waiting = ArraySlice(addresses)
        self.peer = peer
        self.loop = loop
    }

    /// Runs the race. Call it once.
    func run(until deadline: Deadline) async throws(TransportError) -> ConnectedSocket {
        let timer = loop.schedule(at: deadline.instant) { [outcome] in outcome.give(.failure(deadline.error)) }
        defer {
            loop.cancel(timer)
            finish()
        }
        startNext()
        let token = try await outcome.value()
        guard let winner = connecting.removeValue(forKey: token), let socket = winner.socket.take() else {
            throw .closed(peer: peer)
        }
        return ConnectedSocket(socket: socket, token: token, address: winner.address)
    }

    private func startNext() {
        if let stagger { loop.cancel(stagger) }
        while let address = waiting.popFirst() {
            do throws(SystemError) {
                try start(address)
                stagger = loop.schedule(at: .now + Self.attemptDelay) { self.assumeIsolated { $0.startNext() } }
                return
            } catch {
                if error.isExhaustion {
                    return outcome.give(.failure(.exhausted(what: "a socket", reason: error.description)))
                }
                // The kernel looks for a route before it sends anything, so the failure is known at once.
                failed.append(
                    ConnectAttempt(
                        address: address.description, error: error, isUnrouted: error.isUnrouted(address)))
            }
        }
        if connecting.isEmpty { outcome.give(.failure(.unreachable(peer: peer, attempts: failed))) }
    }

    private func start(_ address: SocketAddress) throws(SystemError) {
        let socket = try Socket(for: address)
        try socket.startConnecting(to: address)
        let token = try loop.watch(socket, isBrief: true) { token, readiness in
            guard readiness.contains(.writing) else { return }
            self.assumeIsolated { $0.connected(token) }
        }
        connecting[token] = Runner(address: address, socket: socket)
    }

    private func connected(_ token: EventLoop.Token) {
        guard !isWon, let runner = connecting[token] else { return }
        guard let error = runner.socket?.pendingError() else {
            // From here on, the connection handles whatever happens to the socket.
            isWon = true
            return outcome.give(.success(token))
        }
        drop(token)
        failed.append(ConnectAttempt(address: runner.address.description, error: error))
        startNext()
    }

    private func finish() {
        waiting = []
        if let stagger { loop.cancel(stagger) }
        for token in connecting.keys { drop(token) }
    }

    private func drop(_ token: EventLoop.Token) {
        loop.unwatch(token)
        connecting[token] = nil
    }
}

/// A connected socket that the loop watches.
struct ConnectedSocket: ~Copyable, Sendable {
    let socket: Socket
    let token: EventLoop.Token
    let address: SocketAddress
}
