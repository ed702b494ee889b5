import Foundation

/// Runs what may wait for a disk, a lock or another program: never on the event loop, which every transfer shares, nor on
/// Swift's own threads, of which there are as many as processors.
enum BlockingWork {
    /// Runs `body` on a queue, or on a thread of its own, and returns behind it; nil when the task is cancelled first.
    /// The work is left behind then, and goes on.
    ///
    /// Work that can be stuck together, such as that on one file, shares a serial queue, and with it one thread.
    static func run<Value: Sendable, Failure: Error>(
        on queue: DispatchQueue = DispatchQueue(label: "PinnedNetworking.blocking"),
        _ body: @escaping @Sendable () throws(Failure) -> Value
    ) async throws(Failure) -> Value? {
        let answer = OnceOnlyAnswer<Result<Value, Failure>>()
        queue.async {
            answer.answer(Result { () throws(Failure) in try body() })
        }
        return try await answer.value?.get()
    }
}
