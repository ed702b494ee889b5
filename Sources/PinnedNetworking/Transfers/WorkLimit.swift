import CertificateTrust
import TLSTransport

/// Ends a piece of work when it is cancelled, makes no progress for too long, or takes too long in all; and remembers
/// which it was.
final class WorkLimit: Sendable {
    /// What the work waits for, in words that follow "waiting for".
    enum Wait: String, Sendable {
        case connection = "a free connection"
        case certificate = "the server's certificate"
        case delegate = "a delegate's answer to a challenge of the TLS handshake"
        case handshake = "the end of the TLS handshake"
        case tunnel = "the proxy's answer"
        case login = "a delegate's answer to an HTTP challenge"
        case sending = "the server to take the request"
        case response = "the response"
        case reader = "the body to be read"

        /// Whether it is the other side that is waited for: people who type passwords, and programs that read slowly,
        /// have all the time there is.
        var isLimited: Bool { self != .login && self != .reader }
    }

    /// Why work was ended.
    enum End: Error, Hashable, Sendable {
        case cancelled
        /// Nothing happened for the request's timeout.
        case stalled(Wait, limit: Duration)
        /// All of it took the resource's timeout.
        case overlong(limit: Duration)
    }

    private struct State {
        var wait = Wait.connection
        var progress: ContinuousClock.Instant
        var end: End?
        var cancelWork: (@Sendable () -> Void)?
        var timer: TransportTimer?
        var isFinished = false
    }

    private let requestTimeout: Duration
    private let resourceTimeout: Duration
    private let deadline: ContinuousClock.Instant
    private let state: Locked<State>

    /// Both in seconds, reckoned from now.
    init(requestTimeout: TimeInterval, resourceTimeout: TimeInterval) {
        self.requestTimeout = Self.duration(requestTimeout)
        self.resourceTimeout = Self.duration(resourceTimeout)
        let now = ContinuousClock.now
        deadline = now + self.resourceTimeout
        state = Locked(State(progress: now))
    }

    deinit { finish() }

    /// The transport's own limits, none of which is shorter than the request's.
    var dialOptions: DialOptions {
        var options = DialOptions()
        options.resolveTimeout = requestTimeout
        options.connectTimeout = requestTimeout
        options.handshakeTimeout = requestTimeout
        options.totalTimeout = requestTimeout
        return options
    }

    /// Something happened: the time for a request without progress starts again.
    func progress(to wait: Wait) {
        let now = ContinuousClock.now
        state.withLock {
            $0.progress = now
            $0.wait = wait
        }
    }

    /// Ends the work; only the first reason counts.
    func end(_ reason: End) {
        let cancelWork = state.withLock { state in
            if state.end == nil { state.end = reason }
            return state.cancelWork
        }
        cancelWork?()
    }

    /// There is no more work: nothing is watched any longer.
    func finish() {
        state.withLock { state in
            state.timer?.cancel()
            state.timer = nil
            state.isFinished = true
        }
    }

    /// Runs `work` on the event loop within the limits. Throws an ``End`` when that is what ended it, else what `work`
    /// throws.
    func run<Value: Sendable>(
        _ work: @escaping @TransportActor @Sendable () async throws -> Value
    ) async throws -> Value {
        let task = Task { @TransportActor in try await work() }
        let (hasEnded, hasTimer) = state.withLock { state in
            state.cancelWork = { task.cancel() }
            return (state.end != nil, state.timer != nil)
        }
        if hasEnded { task.cancel() }
        if !hasTimer { watch() }
        defer { state.withLock { $0.cancelWork = nil } }
        return try await withTaskCancellationHandler {
            do {
                return try await task.value
            } catch {
                throw state.withLock({ $0.end }) ?? error
            }
        } onCancel: {
            end(.cancelled)
        }
    }

    /// Ends what has reached a limit, or looks again when it might.
    private func watch() {
        let now = ContinuousClock.now
        let end = state.withLock { state -> End? in
            guard !state.isFinished else { return nil }
            let stalled = state.wait.isLimited ? state.progress + requestTimeout : deadline
            if now >= deadline { return .overlong(limit: resourceTimeout) }
            if now >= stalled { return .stalled(state.wait, limit: requestTimeout) }
            // An unlimited wait can become a limited one, which is over in a request's timeout at the earliest.
            let next = state.wait.isLimited ? min(stalled, deadline) : min(now + requestTimeout, deadline)
            state.timer = TransportTimer(at: next) { [weak self] in self?.watch() }
            return nil
        }
        if let end { self.end(end) }
    }

    /// Seconds as a duration; a negative number and NaN are 0, and a century is the most.
    private static func duration(_ seconds: TimeInterval) -> Duration {
        seconds > 0 ? .seconds(min(seconds, 100 * 366 * 24 * 60 * 60)) : .zero
    }
}

extension WorkLimit.End: CustomStringConvertible {
    var description: String {
        switch self {
        case .cancelled: "the request was cancelled; send it again when it is wanted"
        case .stalled(let wait, let limit):
            "nothing happened for \(limit) while waiting for \(wait.rawValue); "
                + "try again, or raise timeoutIntervalForRequest"
        case .overlong(let limit):
            "the request took more than \(limit) in all; try again, or raise timeoutIntervalForResource"
        }
    }
}
