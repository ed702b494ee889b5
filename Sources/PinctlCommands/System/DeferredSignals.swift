import PinctlLibC
import Synchronization

/// Signals that end the program, which wait while files are replaced.
///
/// A signal in between would leave temporary files, and only some of several files replaced. Replacing is short and has
/// an end of its own: all new contents are written before the first file is replaced. Completing it needs nothing that
/// could fail again, which undoing it would. The signal has its usual effect afterwards.
enum DeferredSignals {
    private struct State {
        /// The number of replacements in progress, which can be nested.
        var depth = 0
        /// The handlers from before, in the order of `numbers`.
        var handlers: [(@convention(c) (Int32) -> Void)?] = []
    }

    private static let numbers = [SIGINT, SIGTERM, SIGHUP]
    private static let state = Mutex(State())
    /// The last signal that came, or 0.
    fileprivate static let pending = Atomic<Int32>(0)

    static func begin() {
        // A signal handler can't create it.
        _ = pending.load(ordering: .relaxed)
        state.withLock { state in
            state.depth += 1
            if state.depth == 1 { state.handlers = numbers.map { signal($0, noteSignal) } }
        }
    }

    static func end() {
        let isLast = state.withLock { state in
            state.depth -= 1
            guard state.depth == 0 else { return false }
            for (number, handler) in zip(numbers, state.handlers) { _ = signal(number, handler) }
            return true
        }
        guard isLast else { return }
        let number = pending.exchange(0, ordering: .relaxed)
        if number != 0 { _ = raise(number) }
    }
}

private func noteSignal(_ number: Int32) { DeferredSignals.pending.store(number, ordering: .relaxed) }
