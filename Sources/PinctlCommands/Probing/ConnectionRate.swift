import Synchronization
import TLSTransport

/// Keeps connections apart, so that no more than some begin in a second: each in its turn, evenly.
final class ConnectionRate: Sendable {
    private let pause: Duration
    private let next: Mutex<ContinuousClock.Instant>

    init(perSecond rate: Double) {
        pause = .seconds(1 / rate)
        next = Mutex(.now)
    }

    /// Waits for a turn and says how long that took; at once when the task is cancelled.
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
