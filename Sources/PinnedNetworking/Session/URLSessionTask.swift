import CertificateTrust
import Foundation

/// One request on its way; delegates get it with what they are told.
///
/// A task made by ``URLSession/dataTask(with:)-(URLRequest)`` and its like begins with ``resume()``; those of the `async`
/// methods have begun.
// Unchecked, since it has subclasses; every stored property is a constant of a Sendable type.
public class URLSessionTask: @unchecked Sendable {
    /// Where a task is.
    public enum State: Int, Sendable {
        /// On its way.
        case running
        /// Not yet begun.
        case suspended
        /// Cancelled; it will complete with `URLError.cancelled`.
        case canceling
        /// Done, well or badly.
        case completed
    }

    struct Status: Sendable {
        var state = State.suspended
        var currentRequest: URLRequest
        var response: URLResponse?
        var error: URLError?
        var description: String?
        /// Why it is not begun at all.
        var refusal: URLError?
        var bytesSent: Int64 = 0
        var bytesExpectedToSend: Int64?
        var progress: Progress?
        var transactions: [TransactionRecord] = []
        var redirectCount = 0
        var begin: Date?
        var priority = URLSessionTask.defaultPriority
        /// Calls of ``suspend()`` that were not taken back, while the task is under way.
        var suspendCount = 0
        var waiting: [OnceOnlyAnswer<Void>] = []
        var bytesReceived: Int64 = 0
        /// What ``resume()`` starts; nil when the task has begun.
        var start: (@Sendable (URLSessionTask) -> Void)?
    }

    /// Unique in its session, from 1.
    public let taskIdentifier: Int
    /// The request as it was given to the session.
    public let originalRequest: URLRequest?
    /// The delegate of this task alone.
    public let delegate: (any URLSessionTaskDelegate)?

    let limit: WorkLimit
    let status: Locked<Status>
    /// Whether a delegate hears of metrics: to note what nobody hears of would cost a tenth of a short request.
    private let isMeasured: Bool

    required init(
        taskIdentifier: Int, originalRequest: URLRequest, delegate: (any URLSessionTaskDelegate)?, isMeasured: Bool,
        limit: WorkLimit, start: (@Sendable (URLSessionTask) -> Void)?
    ) {
        self.taskIdentifier = taskIdentifier
        self.originalRequest = originalRequest
        self.delegate = delegate
        self.isMeasured = isMeasured
        self.limit = limit
        var status = Status(currentRequest: originalRequest, start: start)
        if start == nil { (status.state, status.begin) = (.running, Date()) }
        self.status = Locked(status)
    }

    /// The request that was sent last: after redirects another than ``originalRequest``.
    public var currentRequest: URLRequest? { status.withLock { $0.currentRequest } }
    /// The response, once its header has come.
    public var response: URLResponse? { status.withLock { $0.response } }
    /// Why the task failed; nil while it runs and when it did not.
    public var error: (any Error)? { status.withLock { $0.error } }
    /// Where the task is.
    public var state: State { status.withLock { $0.state } }
    /// Bytes of the request's body that were sent.
    public var countOfBytesSent: Int64 { status.withLock { $0.bytesSent } }
    /// Bytes of the body that were received.
    public var countOfBytesReceived: Int64 { status.withLock { $0.bytesReceived } }
    /// Bytes of the request's body.
    ///
    /// -1 (`NSURLSessionTransferSizeUnknown`) for those of a stream.
    public var countOfBytesExpectedToSend: Int64 {
        status.withLock {
            $0.bytesExpectedToSend
                ?? Int64($0.currentRequest.content?.isStream == true ? -1 : $0.currentRequest.httpBody?.count ?? 0)
        }
    }
    /// Bytes of the body as the server states them, -1 when it does not.
    public var countOfBytesExpectedToReceive: Int64 { response?.expectedContentLength ?? -1 }
    /// Anything that helps to tell tasks apart.
    public var taskDescription: String? {
        get { status.withLock { $0.description } }
        set { status.withLock { $0.description = newValue } }
    }

    /// A number from 0 to 1 that is kept and changes nothing: connections are given out in the order of the requests.
    public var priority: Float {
        get { status.withLock { $0.priority } }
        set { status.withLock { $0.priority = newValue } }
    }

    /// The priority of a task that has been given no other.
    public static let defaultPriority: Float = 0.5
    /// The priority of a task that others may overtake.
    public static let lowPriority: Float = 0.25
    /// The priority of a task that is to be first.
    public static let highPriority: Float = 0.75

    /// Bytes that were sent and received, of those that are known to come. Cancelling it cancels the task.
    public var progress: Progress {
        status.withLock { status in
            if let progress = status.progress { return progress }
            let progress = Progress(totalUnitCount: -1)
            progress.cancellationHandler = { [weak self] in self?.cancel() }
            status.progress = progress
            status.showProgress()
            return progress
        }
    }

    /// Begins, or goes on after ``suspend()``; without effect on a task that runs.
    public func resume() {
        let (begin, waiting) = status.withLock { status in
            defer { (status.start, status.waiting) = (nil, []) }
            if status.state == .suspended, status.start != nil || status.suspendCount > 0 { status.state = .running }
            status.suspendCount = 0
            if status.start != nil { status.begin = Date() }
            return (status.start, status.waiting)
        }
        begin?(self)
        for wait in waiting { wait.answer(()) }
    }

    /// Stops the reading of the response's body until ``resume()``: the server waits. What was asked already goes on up
    /// to the response's header, and the time limit of the whole task goes on too; that of a request without progress
    /// does not.
    public func suspend() {
        status.withLock { status in
            guard status.state == .running else { return }
            status.state = .suspended
            status.suspendCount = 1
        }
    }

    /// Returns when the task is not suspended, or throws when it ends.
    nonisolated(nonsending) func whileSuspended() async throws {
        while true {
            let wait = status.withLock { status -> OnceOnlyAnswer<Void>? in
                guard status.suspendCount > 0 else { return nil }
                let wait = OnceOnlyAnswer<Void>()
                status.waiting.append(wait)
                return wait
            }
            guard let wait else { return }
            limit.progress(to: .reader)
            guard await wait.value != nil else { throw CancellationError() }
        }
    }

    /// Whether it waits for its first ``resume()``.
    var hasNotBegun: Bool { status.withLock { $0.start != nil } }

    /// Ends the request with `URLError.cancelled`, and its connection with it.
    public func cancel() {
        status.withLock { if $0.state != .completed { $0.state = .canceling } }
        limit.end(.cancelled)
        // One that never began has to complete too, and one that is suspended.
        resume()
    }

    /// Notes the end; false when there was one already.
    @discardableResult
    func complete(with error: URLError?) -> Bool {
        limit.finish()
        return status.withLock { status in
            guard status.state != .completed else { return false }
            status.state = .completed
            status.error = error
            status.showProgress()
            return true
        }
    }

    /// What was collected, up to now.
    var metrics: URLSessionTaskMetrics {
        let (transactions, begin, redirectCount) = status.withLock { ($0.transactions, $0.begin, $0.redirectCount) }
        let now = Date()
        return URLSessionTaskMetrics(
            transactions.map { URLSessionTaskTransactionMetrics($0) },
            // A clock that was set back makes no interval.
            DateInterval(start: min(begin ?? now, now), end: now), redirectCount: redirectCount)
    }

    /// Begins the record of another request.
    func beginTransaction(_ request: URLRequest) {
        guard isMeasured else { return }
        status.withLock { $0.transactions.append(TransactionRecord(request)) }
    }

    /// Adds to the record of the request that is under way.
    func note(_ body: (inout TransactionRecord) -> Void) {
        guard isMeasured else { return }
        status.withLock { status in
            guard !status.transactions.isEmpty else { return }
            body(&status.transactions[status.transactions.count - 1])
        }
    }

    func noteReceived(_ count: Int) {
        status.withLock { status in
            status.bytesReceived += Int64(count)
            if !status.transactions.isEmpty {
                status.transactions[status.transactions.count - 1].bodyBytesReceived += Int64(count)
            }
            status.showProgress()
        }
    }

    /// Bytes of the body, and what they were on the wire.
    func noteSent(_ count: Int, framed: Int) {
        status.withLock { status in
            status.bytesSent += Int64(count)
            if !status.transactions.isEmpty {
                status.transactions[status.transactions.count - 1].bodyBytesSent += Int64(framed)
            }
            status.showProgress()
        }
    }
}

extension URLSessionTask.Status {
    /// Puts the counts into the progress, if anybody has asked for it.
    fileprivate func showProgress() {
        guard let progress else { return }
        let sent = bytesExpectedToSend ?? Int64(currentRequest.httpBody?.count ?? 0)
        let done = bytesSent + bytesReceived
        let expected = response?.expectedContentLength ?? -1
        progress.totalUnitCount = state == .completed && error == nil ? done : expected < 0 ? -1 : sent + expected
        progress.completedUnitCount = done
    }
}

/// A task whose body comes back in memory or, piece by piece, to a ``URLSessionDataDelegate``.
public class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A task that sends a body.
public final class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
