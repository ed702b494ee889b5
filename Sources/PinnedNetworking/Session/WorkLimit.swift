import CertificateTrust
import TLSTransport

/// Ends a piece of work when it is cancelled, makes no progress for too long, or takes too long in all; and remembers
/// which it was.
final class WorkLimit: Sendable {
    /// What the work waits for, in words that follow "waiting for".
    enum Wait: String, Sendable {
        case certificate = "the server's certificate"
        case delegate = "a delegate's answer to the server trust challenge"
        case handshake = "the end of the TLS handshake"
        case response = "the response"
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
        var wait = Wait.certificate
        var progress: ContinuousClock.Instant
        var end: End?
        var cancelWork: (@Sendable () -> Void)?
    }

    private let requestTimeout: Duration
    private let resourceTimeout: Duration
    private let state = Locked(State(progress: .now))

    /// Both in seconds.
    init(requestTimeout: TimeInterval, resourceTimeout: TimeInterval) {
        self.requestTimeout = Self.duration(requestTimeout)
        self.resourceTimeout = Self.duration(resourceTimeout)
    }

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
        state.withLock {
            $0.progress = .now
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

    /// Runs `work` within the limits. Throws an ``End`` when that is what ended it, else what `work` throws.
    func run<Value: Sendable>(_ work: @escaping @Sendable () async throws -> Value) async throws -> Value {
        let task = Task(operation: work)
        let hasEnded = state.withLock { state in
            state.cancelWork = { task.cancel() }
            return state.end != nil
        }
        if hasEnded { task.cancel() }
        let watch = Task { await self.watch() }
        defer { watch.cancel() }
        return try await withTaskCancellationHandler {
            do {
                return try await task.value
            } catch {
                throw state.withLock(\.end) ?? error
            }
        } onCancel: {
            end(.cancelled)
        }
    }

    private func watch() async {
        let deadline = ContinuousClock.now + resourceTimeout
        while !Task.isCancelled {
            let (progress, wait) = state.withLock { ($0.progress, $0.wait) }
            let stalled = progress + requestTimeout
            if .now >= deadline { return end(.overlong(limit: resourceTimeout)) }
            if .now >= stalled { return end(.stalled(wait, limit: requestTimeout)) }
            try? await Task.sleep(until: min(stalled, deadline), clock: .continuous)
        }
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
