/// Something that is to happen on the event loop at a time, unless it is cancelled first.
package struct TransportTimer: Sendable {
    private let identifier: TimerQueue.Identifier

    /// Calls `action` on the event loop's thread; it is not to block.
    package init(at instant: ContinuousClock.Instant, _ action: @escaping @Sendable () -> Void) {
        identifier = EventLoop.shared.schedule(at: instant, action)
    }

    /// Forgets it. One that is due at this moment may still happen.
    package func cancel() {
        EventLoop.shared.cancel(identifier)
    }
}
