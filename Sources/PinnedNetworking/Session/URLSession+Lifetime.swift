import PinctlBasics

// The tasks and the invalidation of a session.

/// The unfinished tasks of a session.
struct SessionTasks: Sendable {
    private enum Entry: Sendable {
        /// A task that its creator runs to its end. A weak reference would slow down every use of the object.
        case held(URLSessionTask)
        /// A task that may be released before it starts, or before its body was read.
        case known(WeakTask)

        var task: URLSessionTask? {
            switch self {
            case .held(let task): task
            case .known(let known): known.task
            }
        }
    }

    private struct WeakTask: Sendable {
        weak let task: URLSessionTask?
    }

    private var entries: [Int: Entry] = [:]
    /// Whether the session is invalidated and refuses new tasks.
    var isInvalid = false
    /// Whether the delegate was notified of the end.
    var hasEnded = false

    var all: [URLSessionTask] { entries.sorted { $0.key < $1.key }.compactMap { $0.value.task } }

    mutating func add(_ task: URLSessionTask, isHeld: Bool) {
        // Tasks that were released before they started are removed without notification.
        if entries.count > 64, entries.count.isMultiple(of: 64) { entries = entries.filter { $0.value.task != nil } }
        entries[task.taskIdentifier] = isHeld ? .held(task) : .known(WeakTask(task: task))
    }

    mutating func remove(_ task: URLSessionTask) { entries[task.taskIdentifier] = nil }

    /// Returns whether the session ends now: it is invalidated and has no unfinished tasks.
    mutating func endsNow() -> Bool {
        guard isInvalid, !hasEnded, all.isEmpty else { return false }
        hasEnded = true
        return true
    }
}

/// The error for a task of a session that was already invalidated.
struct InvalidSessionError: Error, CustomStringConvertible {
    var description: String { "the session was invalidated and does not accept requests: create a new one" }
}

extension URLSession {
    /// Invalidates the session: it refuses new tasks, and ends when the running ones have ended. Tasks that haven't
    /// started are cancelled.
    ///
    /// At the end, the delegate is notified and released. A task created afterwards fails with `URLError.cancelled`.
    public func finishTasksAndInvalidate() {
        let tasks = registry.withLock { tasks in
            tasks.isInvalid = true
            return tasks.all
        }
        for task in tasks where task.hasNotBegun { task.cancel() }
        endIfDone()
    }

    /// Cancels every task and refuses new ones. See ``finishTasksAndInvalidate()``.
    public func invalidateAndCancel() {
        let tasks = registry.withLock { tasks in
            tasks.isInvalid = true
            return tasks.all
        }
        for task in tasks { task.cancel() }
        endIfDone()
    }

    /// The tasks that haven't ended, in the order in which they were created.
    public var allTasks: [URLSessionTask] {
        get async { registry.withLock { $0.all }.filter { $0.state != .completed } }
    }

    /// The tasks that haven't ended, by kind. Upload tasks aren't included in the data tasks.
    public var tasks: ([URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]) {
        get async {
            let all = await allTasks
            return (
                all.compactMap { $0 as? URLSessionDataTask }.filter { !($0 is URLSessionUploadTask) },
                all.compactMap { $0 as? URLSessionUploadTask }, all.compactMap { $0 as? URLSessionDownloadTask }
            )
        }
    }

    /// Calls the handler with ``allTasks``, on the delegates' queue.
    public func getAllTasks(completionHandler: @escaping @Sendable ([URLSessionTask]) -> Void) {
        Task {
            let all = await allTasks
            delegateQueue.addOperation { completionHandler(all) }
        }
    }

    /// Calls the handler with ``tasks``, on the delegates' queue.
    public func getTasksWithCompletionHandler(
        _ completionHandler:
            @escaping @Sendable (
                [URLSessionDataTask], [URLSessionUploadTask], [URLSessionDownloadTask]
            ) -> Void
    ) {
        Task {
            let (data, upload, download) = await tasks
            delegateQueue.addOperation { completionHandler(data, upload, download) }
        }
    }

    // MARK: Ends of tasks

    static let asTaskDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionTaskDelegate)? = {
        $0 as? any URLSessionTaskDelegate
    }

    /// Reports the metrics of a task.
    func reportMetrics(of task: URLSessionTask) async {
        await report(.metrics, about: task, Self.asTaskDelegate) { delegate in
            delegate.urlSession(self, task: task, didFinishCollecting: task.metrics)
        }
    }

    /// Reports the end of a task to the delegates, and removes the task.
    func reportEnd(of task: URLSessionTask, _ failure: (any Error)?) async {
        await reportMetrics(of: task)
        await report(.end, about: task, Self.asTaskDelegate) { delegate in
            delegate.urlSession(self, task: task, didCompleteWithError: failure)
        }
        forget(task)
    }

    /// Reports the metrics of a task whose end isn't reported to delegates, and removes the task.
    func ended(_ task: URLSessionTask) async {
        if hasDelegate(for: task) { await reportMetrics(of: task) }
        forget(task)
    }

    func forget(_ task: URLSessionTask) {
        registry.withLock { $0.remove(task) }
        endIfDone()
    }

    private func endIfDone() {
        guard registry.withLock({ $0.endsNow() }) else { return }
        let last = sessionDelegate.withLock { delegate in
            defer { delegate = nil }
            return delegate
        }
        Task {
            await flush()
            guard let last else { return }
            await onDelegateQueue { last.urlSession(self, didBecomeInvalidWithError: nil) }
        }
    }
}
