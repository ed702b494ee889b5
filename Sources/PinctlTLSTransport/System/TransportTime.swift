import PinctlLibC

/// A time on the event loop's clock, which is the one of `ContinuousClock` (`clock_gettime`).
///
/// The size of `ContinuousClock.Instant` is known only when the program runs. The compiler would therefore call
/// functions to copy and compare each value that contains one.
package struct TransportTime: Hashable, Comparable, Sendable {
    /// The time since a point before the process.
    private let elapsed: Duration

    package static var now: TransportTime {
        var time = timespec()
        unsafe clock_gettime(clock, &time)
        return TransportTime(
            elapsed: Duration(
                secondsComponent: Int64(time.tv_sec), attosecondsComponent: Int64(time.tv_nsec) * 1_000_000_000))
    }

    #if canImport(Darwin)
    private static var clock: clockid_t { CLOCK_MONOTONIC_RAW }
    #else
    private static var clock: clockid_t { CLOCK_BOOTTIME }
    #endif

    package static func < (left: TransportTime, right: TransportTime) -> Bool { left.elapsed < right.elapsed }

    package static func - (left: TransportTime, right: TransportTime) -> Duration { left.elapsed - right.elapsed }

    package static func + (time: TransportTime, duration: Duration) -> TransportTime {
        TransportTime(elapsed: time.elapsed + duration)
    }

    package static func - (time: TransportTime, duration: Duration) -> TransportTime {
        TransportTime(elapsed: time.elapsed - duration)
    }

    package static func += (time: inout TransportTime, duration: Duration) { time = time + duration }
}
