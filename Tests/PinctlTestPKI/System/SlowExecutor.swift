import Dispatch

/// An executor that makes a task wait before it continues for the first time.
package final class SlowExecutor: TaskExecutor {
    private let wait: @Sendable () -> Void
    private let count = Locked(0)
    private let queue = DispatchQueue(label: "SlowExecutor", attributes: .concurrent)

    package init(wait: @escaping @Sendable () -> Void) { self.wait = wait }

    package func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        let number = count.withLock { count in
            count += 1
            return count
        }
        queue.async {
            if number == 2 { self.wait() }
            unsafe job.runSynchronously(on: self.asUnownedTaskExecutor())
        }
    }
}
