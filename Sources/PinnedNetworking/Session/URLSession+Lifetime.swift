// The tasks of a session, and its end.

/// What a session knows of its tasks.
struct SessionTasks: Sendable {
    private enum Entry: Sendable {
        /// Run to its end by whoever made it: to be held weakly would slow down every use of the object.
        case held(URLSessionTask)
        /// It may be dropped before it begins, or before it was read.
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
    /// No task may be made any longer.
    var isInvalid = false
    /// The delegate was told that this was the end.
    var hasEnded = false

    var all: [URLSessionTask] { entries.sorted { $0.key < $1.key }.compactMap { $0.value.task } }

    mutating func add(_ task: URLSessionTask, isHeld: Bool) {
        // Tasks that were dropped before they began are gone without a word.
        if entries.count > 64, entries.count.isMultiple(of: 64) { entries = entries.filter { $0.value.task != nil } }
        entries[task.taskIdentifier] = isHeld ? .held(task) : .known(WeakTask(task: task))
    }

    mutating func remove(_ task: URLSessionTask) { entries[task.taskIdentifier] = nil }

    /// Whether the session ends now: nothing is under way, and nothing more will be.
    mutating func endsNow() -> Bool {
        guard isInvalid, !hasEnded, all.isEmpty else { return false }
        hasEnded = true
        return true
    }
}

/// A task was made by a session that had been invalidated.
struct InvalidSessionError: Error, CustomStringConvertible {
    var description: String { "the session was invalidated, and takes no more requests: make a new one" }
}

extension URLSession {
    /// Takes no more tasks; ends when those that run have ended. Tasks that have not begun are cancelled.
    ///
    /// The delegate is told, and let go, at the end. A task that is made afterwards ends with `URLError.cancelled`.
    public func finishTasksAndInvalidate() {
        let tasks = registry.withLock { tasks in
            tasks.isInvalid = true
            return tasks.all
        }
        for task in tasks where task.hasNotBegun { task.cancel() }
        endIfDone()
    }

    /// Cancels every task and takes no more; see ``finishTasksAndInvalidate()``.
    public func invalidateAndCancel() {
        let tasks = registry.withLock { tasks in
            tasks.isInvalid = true
            return tasks.all
        }
        for task in tasks { task.cancel() }
        endIfDone()
    }

    /// The tasks that have not ended, in the order in which they were made.
    public var allTasks: [URLSessionTask] {
        get async { registry.withLock { $0.all }.filter { $0.state != .completed } }
    }

    /// The tasks that have not ended, by their kinds. Upload tasks are not among the data tasks.
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

    // MARK: Ends

    static let asTaskDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionTaskDelegate)? = {
        $0 as? any URLSessionTaskDelegate
    }

    /// Tells what was collected about a task.
    func tellMetrics(of task: URLSessionTask) async {
        await tell(.metrics, about: task, Self.asTaskDelegate) { delegate in
            delegate.urlSession(self, task: task, didFinishCollecting: task.metrics)
        }
    }

    /// Tells the delegates of a task's end, and forgets it.
    func tellEnd(of task: URLSessionTask, _ failure: URLError?) async {
        await tellMetrics(of: task)
        await tell(.end, about: task, Self.asTaskDelegate) { delegate in
            delegate.urlSession(self, task: task, didCompleteWithError: failure)
        }
        forget(task)
    }

    /// Tells what was collected about a task that no delegate hears the end of, and forgets it.
    func ended(_ task: URLSessionTask) async {
        await tellMetrics(of: task)
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
