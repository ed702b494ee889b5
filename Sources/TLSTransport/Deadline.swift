/// A point in time and the error for reaching it.
struct Deadline: Sendable {
    let instant: ContinuousClock.Instant
    let error: TransportError

    /// Creates a deadline `limit` after `start`. A limit over one year is reduced to a year, so that adding it can't
    /// overflow.
    init(for phase: TransportError.Phase, peer: String, limit: Duration, since start: ContinuousClock.Instant = .now) {
        instant = start + min(limit, .seconds(365 * 86_400))
        error = .timedOut(phase, peer: peer, limit: limit)
    }

    /// Returns the earlier of two deadlines.
    static func earlier(_ left: Deadline, _ right: Deadline) -> Deadline {
        left.instant <= right.instant ? left : right
    }
}
