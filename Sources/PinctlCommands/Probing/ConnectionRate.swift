import PinctlBasics
import PinctlTLSTransport

/// A limiter that spaces connections evenly so that at most a given number begin per second.
final class ConnectionRate: Sendable {
    private let pause: Duration
    private let next: Locked<ContinuousClock.Instant>

    init(perSecond rate: Double) {
        pause = .seconds(1 / rate)
        next = Locked(.now)
    }

    /// Waits for the next turn and returns how long that took. Returns at once if the task is cancelled.
    func turn() async -> Duration {
        let now = ContinuousClock.now
        let turn = next.withLock { next in
            let turn = max(next, now)
            next = turn + pause
            return turn
        }
        guard turn > now else { return .zero }
        await Transport.shared.pause(for: turn - now)
        return .now - now
    }
}
