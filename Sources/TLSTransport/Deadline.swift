/// A moment and what it means to reach it.
struct Deadline: Sendable {
    let instant: ContinuousClock.Instant
    let error: TransportError

    /// `limit` from `start` on; a limit over a year is a year, so that every instant can be reckoned with.
    init(for phase: TransportError.Phase, peer: String, limit: Duration, since start: ContinuousClock.Instant = .now) {
        instant = start + min(limit, .seconds(365 * 86_400))
        error = .timedOut(phase, peer: peer, limit: limit)
    }

    /// The earlier of two.
    static func earlier(_ left: Deadline, _ right: Deadline) -> Deadline {
        left.instant <= right.instant ? left : right
    }
}
