import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// A limit that ends work which is cancelled, makes no progress for too long, or takes too long in total. It also
/// records which of these applies.
final class WorkLimit: Sendable {
    /// The event that the work waits for, in words that follow "waiting for".
    enum Wait: String, Sendable {
        case connection = "a free connection"
        case certificate = "the server's certificate"
        case delegate = "a delegate's answer to a challenge of the TLS handshake"
        case handshake = "the end of the TLS handshake"
        case tunnel = "the proxy's answer"
        case login = "a delegate's answer to an HTTP challenge"
        case loginMessage = "a login message"
        case redirect = "a delegate's answer to a redirect"
        case bodyStream = "a delegate's body stream"
        case disposition = "a delegate's answer to a response"
        case sending = "the server to take the request"
        case response = "the response"
        case reader = "the body to be read"
        case protocolClass = "a protocol class"

        /// Whether the request timeout applies to the wait. It doesn't apply to people who enter passwords or choose
        /// what to do with a response, or to programs that read slowly.
        var isLimited: Bool {
            switch self {
            case .login, .loginMessage, .disposition, .reader: false
            default: true
            }
        }

        /// Whether the program's own delegate has to end the wait.
        var isForDelegate: Bool {
            switch self {
            case .delegate, .login, .redirect, .bodyStream, .disposition: true
            default: false
            }
        }
    }

    /// The reason why work was ended.
    enum End: Error, Hashable, Sendable {
        case cancelled
        /// There was no progress for the request timeout.
        case stalled(Wait, limit: Duration)
        /// The total time exceeded the resource timeout.
        case overlong(Wait, limit: Duration)
    }

    private struct State {
        var wait = Wait.connection
        var progress: TransportTime
        var end: End?
        var cancelWork: (@Sendable () -> Void)?
        var timer: TransportTimer?
        var isFinished = false
    }

    private struct Times: Sendable {
        let request: Duration
        let resource: Duration
        let deadline: TransportTime
    }

    private let times: Times
    private let state: Locked<State>

    /// Creates a limit. Both timeouts are in seconds from now.
    init(requestTimeout: TimeInterval, resourceTimeout: TimeInterval) {
        let now = TransportTime.now
        let resource = Self.duration(resourceTimeout)
        times = Times(request: Self.duration(requestTimeout), resource: resource, deadline: now + resource)
        state = Locked(State(progress: now))
    }

    var requestTimeout: Duration { times.request }

    deinit { finish() }

    /// The transport's own limits, none of which is shorter than the request timeout.
    var dialOptions: DialOptions {
        var options = DialOptions()
        options.resolveTimeout = requestTimeout
        options.connectTimeout = requestTimeout
        options.handshakeTimeout = requestTimeout
        options.totalTimeout = requestTimeout
        return options
    }

    /// The reason why the work was ended, if it was.
    var reason: End? { state.withLock { $0.end } }

    /// Records progress, which restarts the request timeout.
    func progress(to wait: Wait) {
        let now = TransportTime.now
        state.withLock {
            $0.progress = now
            $0.wait = wait
        }
    }

    /// Ends the work. Only the first reason is recorded.
    func end(_ reason: End) { Self.end(reason, state) }

    private static func end(_ reason: End, _ state: Locked<State>) {
        let cancelWork = state.withLock { state in
            if state.end == nil { state.end = reason }
            return state.cancelWork
        }
        cancelWork?()
    }

    /// Stops the timer, since there is no more work.
    func finish() {
        state.withLock { state in
            state.timer?.cancel()
            state.timer = nil
            state.isFinished = true
        }
    }

    /// Runs `work` on the event loop within the limits. Throws an ``End`` if a limit ended it, even if `work` had a
    /// result without waiting for anything, otherwise the error of `work`.
    func run<Value: Sendable>(
        _ work: @escaping @TransportActor @Sendable () async throws -> Value
    ) async throws -> Value {
        // The work could send something before the handler below has run.
        if Task.isCancelled { end(.cancelled) }
        let task = Task { @TransportActor in
            guard startWatching() else { throw reason ?? .cancelled }
            return try await work()
        }
        return try await run(work: { try await task.value }, cancel: { task.cancel() })
    }

    /// Runs `work` and calls `cancel` when a limit ends it. `work` has to call ``startWatching()`` on the event loop.
    /// Throws like ``run(_:)``. When it is called within other work, the limit cancels only the inner work, whose error
    /// then ends the outer work.
    func run<Value: Sendable>(
        work: () async throws -> Value, cancel: @escaping @Sendable () -> Void
    ) async throws -> Value {
        let (hasEnded, outer) = state.withLock { state in
            defer { state.cancelWork = cancel }
            return (state.end != nil, state.cancelWork)
        }
        if hasEnded { cancel() }
        defer { state.withLock { $0.cancelWork = outer } }
        return try await withTaskCancellationHandler {
            do {
                let value = try await work()
                if let reason { throw reason }
                return value
            } catch {
                throw reason ?? error
            }
        } onCancel: {
            end(.cancelled)
        }
    }

    /// Starts the timer, on the event loop's own thread, where it doesn't have to wake the loop. Returns false if a
    /// limit has ended the work.
    @TransportActor @discardableResult
    func startWatching() -> Bool {
        if state.withLock({ $0.timer == nil }) { Self.watch(state, times) }
        return reason == nil
    }

    /// Ends work that has reached a limit, or schedules the next check. The timer doesn't keep the limit, which cancels
    /// it when it is released. A weak reference would slow down every use of the limit.
    private static func watch(_ state: Locked<State>, _ times: Times) {
        let now = TransportTime.now
        let end = state.withLock { current -> End? in
            guard !current.isFinished else { return nil }
            let stalled = current.wait.isLimited ? current.progress + times.request : times.deadline
            if now >= times.deadline { return .overlong(current.wait, limit: times.resource) }
            if now >= stalled { return .stalled(current.wait, limit: times.request) }
            // A wait without a limit can become a limited one, which expires after the request timeout at the earliest.
            let next = current.wait.isLimited ? min(stalled, times.deadline) : min(now + times.request, times.deadline)
            current.timer = TransportTimer(at: next) { watch(state, times) }
            return nil
        }
        if let end { Self.end(end, state) }
    }

    /// Converts seconds to a duration. Negative numbers and NaN become 0. The maximum is a century.
    private static func duration(_ seconds: TimeInterval) -> Duration {
        let century: TimeInterval = 100 * 366 * 24 * 60 * 60
        // The conversion of a fraction takes much longer.
        if let whole = Int(exactly: min(seconds, century)) { return .seconds(max(0, whole)) }
        return seconds > 0 ? .seconds(min(seconds, century)) : .zero
    }
}

extension WorkLimit.End: CustomStringConvertible {
    private static let remedy = "call the delegate method's completion handler in every case"

    var description: String {
        switch self {
        case .cancelled: "the request was cancelled: send it again if it is still needed"
        case .stalled(let wait, let limit):
            "nothing happened for \(limit) while waiting for \(wait.rawValue): "
                + (wait.isForDelegate
                    ? "\(Self.remedy), within timeoutIntervalForRequest"
                    : "try again, or raise timeoutIntervalForRequest")
        case .overlong(let wait, let limit) where wait.isForDelegate:
            "the request took more than \(limit) in total and is waiting for \(wait.rawValue): \(Self.remedy), within "
                + "timeoutIntervalForResource"
        case .overlong(_, let limit):
            "the request took more than \(limit) in total: try again, or raise timeoutIntervalForResource"
        }
    }
}
