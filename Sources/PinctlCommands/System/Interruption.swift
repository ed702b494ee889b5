import PinctlLibC
import Synchronization

/// Ctrl-C (SIGINT) for commands that print what they know before they end.
enum Interruption {
    /// The time of the first SIGINT in milliseconds of the monotonic clock, or 0.
    fileprivate static let firstTime = Atomic(0)
    private static let isHandled = Atomic(false)

    /// Whether the user has pressed Ctrl-C. From the first call on, the first SIGINT only sets this, and the caller
    /// ends the command. A later one ends the program.
    static var isPending: Bool {
        if !isHandled.exchange(true, ordering: .relaxed) {
            _ = signal(SIGINT, noteInterruption)
        }
        return firstTime.load(ordering: .relaxed) != 0
    }

    /// Ends the program through the signal itself, so that a shell knows the reason and stops its script too.
    static func endProgram() {
        _ = signal(SIGINT, SIG_DFL)
        _ = raise(SIGINT)
    }
}

/// Notes the first signal, and ends the program at the next one. Signals within a second are one: `timeout` and other
/// wrappers send the signal to the program and once more to its process group.
private func noteInterruption(_ number: Int32) {
    var time = timespec()
    _ = unsafe clock_gettime(CLOCK_MONOTONIC, &time)
    let now = time.tv_sec * 1000 + time.tv_nsec / 1_000_000
    let (isFirst, first) = Interruption.firstTime.compareExchange(expected: 0, desired: now, ordering: .relaxed)
    guard !isFirst, now > first + 1000 else { return }
    _ = signal(number, SIG_DFL)
    _ = raise(number)
}
