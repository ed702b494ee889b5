/// Holds the first answer to a question; every later one is ignored.
///
/// A delegate may answer late, twice, from any thread, or never, and none of it may trap: hence no checked continuation.
struct OnceOnlyAnswer<Value: Sendable>: Sendable {
    private let values: AsyncStream<Value>
    private let source: AsyncStream<Value>.Continuation

    init() {
        (values, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// False when the answer comes too late to count: there is one already, or nobody waits any longer.
    @discardableResult
    func answer(_ value: Value) -> Bool {
        defer { source.finish() }
        if case .enqueued = source.yield(value) { return true }
        return false
    }

    /// Waits for the answer; nil when the task is cancelled first. Called once.
    var value: Value? {
        get async {
            for await value in values { return value }
            return nil
        }
    }
}

extension OnceOnlyAnswer<ChallengeAnswer> {
    /// Takes a delegate's answer, and logs one that does not count.
    func take(_ answer: ChallengeAnswer) {
        guard !self.answer(answer) else { return }
        NSLog("%@", "PinnedNetworking: a delegate answered twice or too late; the answer is ignored")
    }
}
