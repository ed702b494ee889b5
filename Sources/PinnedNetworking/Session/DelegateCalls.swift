import CertificateTrust

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
            let value: Value? = try await ask { answer in
                completion(delegate) { answer.answer($0) }
            } async: { answer in
                answer.answer(await async(delegate))
            } isImplemented: { _ in
                !task.takeUnimplementedMark()
            }
            if let value { return value }
        }
        return nil
    }

    /// Asks one method in its two spellings, each with a box of its own for the answer; nil when both answers stand for a
    /// missing method. Throws `CancellationError` when the task ends first; whoever was asked is left behind then.
    func ask<Value: Sendable>(
        completion: @escaping @Sendable (OnceOnlyAnswer<Value>) -> Void,
        async: @escaping @Sendable (OnceOnlyAnswer<Value>) async -> Void, isImplemented: (Value) -> Bool
    ) async throws -> Value? {
        let handled = OnceOnlyAnswer<Value>()
        delegateQueue.addOperation { completion(handled) }
        guard let value = await handled.value else { throw CancellationError() }
        if isImplemented(value) { return value }

        let returned = OnceOnlyAnswer<Value>()
        let asking = Task { await async(returned) }
        guard let value = await returned.value else {
            asking.cancel()
            throw CancellationError()
        }
        return isImplemented(value) ? value : nil
    }

    /// Calls a method that answers nothing, and returns behind it. With a `notice`, nobody is troubled who is known not to
    /// want it.
    func tell<Delegate: Sendable>(
        about task: URLSessionTask, _ cast: @Sendable (any URLSessionDelegate) -> Delegate?,
        of notice: UnimplementedNotices.Notice? = nil, _ call: @escaping @Sendable (Delegate) -> Void
    ) async {
        for delegate in delegates(of: task, cast) {
            if let notice, UnimplementedNotices.contains(notice, of: delegate as AnyObject) { continue }
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

/// The methods without an answer that types of delegates are known not to implement: what is told often is to cost
/// those nothing who do not listen. Only the methods that stand for missing ones say so, of the object they are called on.
enum UnimplementedNotices {
    enum Notice: Hashable {
        case metrics, sentBody, wroteData
    }

    private struct Entry: Hashable {
        let type: ObjectIdentifier
        let notice: Notice
    }

    private static let entries = Locked<Set<Entry>>([])

    static func contains(_ notice: Notice, of delegate: AnyObject) -> Bool {
        let entry = Entry(type: ObjectIdentifier(type(of: delegate)), notice: notice)
        return entries.withLock { $0.contains(entry) }
    }

    static func insert(_ notice: Notice, of delegate: AnyObject) {
        let entry = Entry(type: ObjectIdentifier(type(of: delegate)), notice: notice)
        _ = entries.withLock { $0.insert(entry) }
    }
}
