/// An action that runs on the event loop at a given time, unless it is cancelled first.
package struct TransportTimer: Sendable {
    private let identifier: TimerQueue.Identifier

    /// Calls `action` on the event loop's thread. It must not block.
    package init(at instant: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void) {
        identifier = EventLoop.shared.schedule(at: instant, action)
    }

    /// Cancels the timer. A timer that is already due may still run.
    package func cancel() {
        EventLoop.shared.cancel(identifier)
    }
}
