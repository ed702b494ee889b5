/// The first answer to a question. Later answers are ignored.
///
/// A delegate may answer late, twice, from any thread, or never. None of this may trap, so this isn't a checked
/// continuation. It is a class, since the layout of an `AsyncStream` is known only at run time, which would slow down
/// every optional answer.
final class OnceOnlyAnswer<Value: Sendable>: Sendable {
    private let values: AsyncStream<Value>
    private let source: AsyncStream<Value>.Continuation

    init() {
        (values, source) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(1))
    }

    /// Stores an answer. Returns false if it is too late because there already is an answer or nothing waits for one
    /// any more.
    @discardableResult
    func answer(_ value: Value) -> Bool {
        defer { source.finish() }
        if case .enqueued = source.yield(value) { return true }
        return false
    }

    /// The answer, or `nil` if the task is cancelled first. Waits for it. May be read only once.
    var value: Value? {
        get async {
            for await value in values { return value }
            return nil
        }
    }
}

extension OnceOnlyAnswer<ChallengeAnswer> {
    /// Stores a delegate's answer, and logs an answer that is ignored.
    func take(_ answer: ChallengeAnswer) {
        guard !self.answer(answer) else { return }
        NSLog("%@", "PinnedNetworking ignores a delegate's second or late answer: call the completion handler once")
    }
}
