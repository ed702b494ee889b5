import Foundation

/// A runner for work that may wait for a disk, a lock or another program. Such work must not run on the event loop,
/// which all transfers share, or on Swift's own threads, of which there are only as many as processors.
enum BlockingWork {
    /// Runs `body` on a queue, or on its own thread, and returns its result. Returns `nil` if the task is cancelled
    /// first. The work then continues in the background.
    ///
    /// Use one serial queue, and therefore one thread, for work that can block together, such as access to one file.
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
