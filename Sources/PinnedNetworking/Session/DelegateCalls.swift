// How delegates are asked and told about a task: on the session's queue, the task's own delegate before the session's,
// and past the methods that stand for missing ones.

extension URLSession {
    /// Asks a method that has two spellings; nil when nobody implements it.
    func ask<Delegate: Sendable, Value: Sendable>(
        about task: URLSessionTask, _ cast: @Sendable (any URLSessionDelegate) -> Delegate?,
        completion: @escaping @Sendable (Delegate, @escaping @Sendable (Value) -> Void) -> Void,
        async: @escaping @Sendable (Delegate) async -> Value
    ) async throws -> Value? {
        for delegate in delegates(of: task, cast) {
            _ = task.takeUnimplementedMark()
            let handled = OnceOnlyAnswer<Value>()
            delegateQueue.addOperation { completion(delegate) { handled.answer($0) } }
            guard let value = await handled.value else { throw CancellationError() }
            if !task.takeUnimplementedMark() { return value }

            let returned = OnceOnlyAnswer<Value>()
            let asking = Task { returned.answer(await async(delegate)) }
            guard let value = await returned.value else {
                asking.cancel()
                throw CancellationError()
            }
            if !task.takeUnimplementedMark() { return value }
        }
        return nil
    }

    /// Calls a method that answers nothing, and returns behind it.
    func tell<Delegate: Sendable>(
        about task: URLSessionTask, _ cast: @Sendable (any URLSessionDelegate) -> Delegate?,
        _ call: @escaping @Sendable (Delegate) -> Void
    ) async {
        for delegate in delegates(of: task, cast) {
            _ = task.takeUnimplementedMark()
            await onDelegateQueue { call(delegate) }
            if !task.takeUnimplementedMark() { return }
        }
    }

    /// Runs `body` on the delegates' queue and returns behind it.
    func onDelegateQueue(_ body: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { continuation in
            delegateQueue.addOperation {
                body()
                continuation.resume()
            }
        }
    }

    private func delegates<Delegate>(
        of task: URLSessionTask, _ cast: @Sendable (any URLSessionDelegate) -> Delegate?
    ) -> [Delegate] {
        let own: (any URLSessionDelegate)? = task.delegate
        return [own, delegate].compactMap { $0 }.compactMap(cast)
    }
}
