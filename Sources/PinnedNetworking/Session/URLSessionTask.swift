import CertificateTrust
public import Foundation
import PinctlBasics
import PinctlHTTPMessages
import Synchronization

/// The size of a body that isn't known.
// swift-format-ignore: AlwaysUseLowerCamelCase
public let NSURLSessionTransferSizeUnknown: Int64 = -1

/// A request of a session. Delegate methods receive the task that they are called for.
///
/// A task created by ``URLSession/dataTask(with:)-(URLRequest)`` and similar methods starts with ``resume()``. The
/// tasks of the `async` methods start at once.
// Unchecked, since the class has subclasses. Every stored property is a constant of a Sendable type.
open class URLSessionTask: NSObject, NSCopying, @unchecked Sendable {
    /// The state of a task.
    public enum State: Int, Sendable {
        /// The task is running.
        case running
        /// The task hasn't started, or is suspended.
        case suspended
        /// The task was cancelled and will complete with `URLError.cancelled`.
        case canceling
        /// The task has succeeded or failed.
        case completed
    }

    struct Status: Sendable {
        var state = State.suspended
        var delegate: (any URLSessionTaskDelegate)?
        var currentRequest: URLRequest
        var response: URLResponse?
        var error: (any Error)?
        var description: String?
        /// The reason why the task can't start, if any.
        var refusal: URLError?
        var bytesSent: Int64 = 0
        var bytesExpectedToSend: Int64?
        var progress: Progress?
        var transactions: [TransactionRecord] = []
        var redirectCount = 0
        /// Whether a protocol class has redirected the task to another origin. The session's additional header fields
        /// may have credentials, which stay with the first one.
        var hasLeftOrigin = false
        var begin: Date?
        var priority = URLSessionTask.defaultPriority
        var unused = UnusedTaskSettings()
        /// 1 while a started task is suspended, otherwise 0.
        var suspendCount = 0
        var waiting: [OnceOnlyAnswer<Void>] = []
        var bytesReceived: Int64 = 0
        /// The work that ``resume()`` starts, or `nil` after the start.
        var start: (@Sendable (URLSessionTask) -> Void)?
    }

    /// The number of the task, unique in its session, from 1.
    public let taskIdentifier: Int
    /// The original request.
    public let originalRequest: URLRequest?
    /// The delegate of this task alone. It can be set until the task starts; afterwards, setting it has no effect and
    /// is logged.
    public var delegate: (any URLSessionTaskDelegate)? {
        get { status.withLock { $0.delegate } }
        set {
            let isSet = status.withLock { status in
                guard status.start != nil else { return false }
                status.delegate = newValue
                return true
            }
            if !isSet { NSLog("%@", "PinnedNetworking ignores a delegate that is set on \(self): it has started") }
            if isSet, newValue != nil { isMeasured.store(true, ordering: .relaxed) }
        }
    }

    let limit: WorkLimit
    let status: Locked<Status>
    /// Whether a delegate receives metrics. Collecting unused metrics would take a tenth of the time of a short
    /// request.
    private let isMeasured: Atomic<Bool>

    /// The parts of a task that a session creates.
    struct Parts {
        let taskIdentifier: Int
        let originalRequest: URLRequest
        let delegate: (any URLSessionTaskDelegate)?
        let isMeasured: Bool
        let limit: WorkLimit
        let start: (@Sendable (URLSessionTask) -> Void)?
    }

    init(_ parts: Parts) {
        taskIdentifier = parts.taskIdentifier
        originalRequest = parts.originalRequest
        isMeasured = Atomic(parts.isMeasured)
        limit = parts.limit
        var status = Status(
            delegate: parts.delegate, currentRequest: parts.originalRequest, start: parts.start)
        if parts.start == nil { (status.state, status.begin) = (.running, Date()) }
        self.status = Locked(consume status)
    }

    /// Creates a task without a session, for subclasses that replace a task in tests. It has no request, and
    /// ``resume()`` sends nothing.
    public override init() {
        taskIdentifier = 0
        originalRequest = nil
        isMeasured = Atomic(false)
        limit = WorkLimit(requestTimeout: 60, resourceTimeout: 60)
        status = Locked(Status(currentRequest: .withoutURL, start: { _ in }))
    }

    /// The kind and number of the task, and its request without the parts that may be secret.
    open override var description: String {
        "<\(type(of: self))>: {\(taskIdentifier)} \(originalRequest.map { "\($0)" } ?? "no request")"
    }

    /// Returns the task itself, as Apple's does.
    public func copy(with zone: NSZone? = nil) -> Any { self }

    /// The last request that was sent. After redirects it differs from ``originalRequest``.
    open var currentRequest: URLRequest? { status.withLock { $0.currentRequest } }
    /// The response, after its header has arrived.
    open var response: URLResponse? { status.withLock { $0.response } }
    /// The error of a failed task, otherwise `nil`.
    open var error: (any Error)? { status.withLock { $0.error } }
    /// The state of the task.
    open var state: State { status.withLock { $0.state } }
    /// The number of bytes of the request's body that were sent.
    public var countOfBytesSent: Int64 { status.withLock { $0.bytesSent } }
    /// The number of bytes of the response's body that were received, after decoding. It is the number of bytes that
    /// the program got. ``URLSessionTaskTransactionMetrics/countOfResponseBodyBytesReceived`` counts them before
    /// decoding.
    public var countOfBytesReceived: Int64 { status.withLock { $0.bytesReceived } }
    /// The size of the request's body in bytes.
    ///
    /// -1 (`NSURLSessionTransferSizeUnknown`) for a stream.
    public var countOfBytesExpectedToSend: Int64 {
        status.withLock {
            $0.bytesExpectedToSend
                ?? Int64($0.currentRequest.content?.isStream == true ? -1 : $0.currentRequest.httpBody?.count ?? 0)
        }
    }
    /// The size of the response's body in bytes according to the server, or -1 if it doesn't send it or if the body has
    /// to be decoded.
    public var countOfBytesExpectedToReceive: Int64 { response?.expectedContentLength ?? -1 }
    /// A description of the task for the program's own use.
    public var taskDescription: String? {
        get { status.withLock { $0.description } }
        set { status.withLock { $0.description = newValue } }
    }

    /// A number from 0 to 1. It is stored but has no effect: connections are assigned in the order of the requests.
    public var priority: Float {
        get { status.withLock { $0.priority } }
        set { status.withLock { $0.priority = newValue } }
    }

    /// The default priority of a task.
    public static let defaultPriority: Float = 0.5
    /// A priority for tasks that are less urgent.
    public static let lowPriority: Float = 0.25
    /// A priority for tasks that are more urgent.
    public static let highPriority: Float = 0.75

    /// The progress in bytes sent and received, relative to the known total. Cancelling it cancels the task.
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

    /// Starts the task, or continues it after ``suspend()``. Has no effect on a running task.
    open func resume() {
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

    /// Pauses reading of the response's body until ``resume()``, so that the server waits. A request in progress
    /// continues up to the response's header. The time limit for the whole task continues, but the one for a request
    /// without progress doesn't.
    open func suspend() {
        status.withLock { status in
            guard status.state == .running else { return }
            status.state = .suspended
            status.suspendCount = 1
        }
    }

    /// Returns when the task isn't suspended, or throws when it ends.
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

    /// Whether the task is suspended.
    var isPaused: Bool { status.withLock { $0.suspendCount > 0 } }

    /// Returns the current request with the session's additional header fields, unless they are for another origin.
    func request(adding fields: [HTTPField]?) -> URLRequest {
        status.withLock { $0.hasLeftOrigin ? $0.currentRequest : $0.currentRequest.adding(fields) }
    }

    /// Whether the task waits for its first ``resume()``.
    var hasNotBegun: Bool { status.withLock { $0.start != nil } }

    /// Cancels the request with `URLError.cancelled`, and closes its connection.
    open func cancel() {
        status.withLock { if $0.state != .completed { $0.state = .canceling } }
        limit.end(.cancelled)
        // A task that never started, or that is suspended, must also complete.
        resume()
    }

    /// Records the end of the task. Returns false if it had already ended.
    @discardableResult
    func complete(with error: (any Error)?) -> Bool {
        limit.finish()
        return status.withLock { status in
            guard status.state != .completed else { return false }
            status.state = .completed
            status.error = error
            status.showProgress()
            return true
        }
    }

    /// The metrics collected so far.
    var metrics: URLSessionTaskMetrics {
        let (transactions, begin, redirectCount) = status.withLock { ($0.transactions, $0.begin, $0.redirectCount) }
        let now = Date()
        return URLSessionTaskMetrics(
            transactions.map { URLSessionTaskTransactionMetrics($0) },
            // If the clock was set back, the interval is empty.
            DateInterval(start: min(begin ?? now, now), end: now), redirectCount: redirectCount)
    }

    /// Starts the record of another request.
    func beginTransaction(_ request: @autoclosure () -> URLRequest) {
        guard isMeasured.load(ordering: .relaxed) else { return }
        let record = TransactionRecord(request())
        status.withLock { $0.transactions.append(record) }
    }

    /// Adds to the record of the current request.
    func note(_ body: (inout TransactionRecord) -> Void) {
        guard isMeasured.load(ordering: .relaxed) else { return }
        status.withLock { status in
            guard !status.transactions.isEmpty else { return }
            body(&status.transactions[status.transactions.count - 1])
        }
    }

    /// Records the number of body bytes that were received, before decoding.
    func noteReceived(_ count: Int) { note { $0.bodyBytesReceived += Int64(count) } }

    /// Records the number of body bytes for the program, after decoding.
    func noteDecoded(_ count: Int) {
        status.withLock { status in
            status.bytesReceived += Int64(count)
            if !status.transactions.isEmpty {
                status.transactions[status.transactions.count - 1].bodyBytesDecoded += Int64(count)
            }
            status.showProgress()
        }
    }

    /// Records the number of body bytes that were sent, and their number on the wire including framing.
    func noteSent(_ count: Int, framed: Int) {
        status.withLock { status in
            status.bytesSent += Int64(count)
            if !status.transactions.isEmpty {
                status.transactions[status.transactions.count - 1].bodyBytesSent += Int64(framed)
                status.transactions[status.transactions.count - 1].bodyBytesUnframed += Int64(count)
            }
            status.showProgress()
        }
    }
}

extension URLSessionTask.Status {
    /// Updates the progress with the counts, if it was requested.
    fileprivate func showProgress() {
        guard let progress else { return }
        let sent = bytesExpectedToSend ?? Int64(currentRequest.httpBody?.count ?? 0)
        let done = bytesSent + bytesReceived
        let expected = response?.expectedContentLength ?? -1
        let (sum, overflows) = sent.addingReportingOverflow(expected)
        progress.totalUnitCount = state == .completed && error == nil ? done : expected < 0 || overflows ? -1 : sum
        progress.completedUnitCount = done
    }
}

/// A task whose body is returned in memory or passed in parts to a ``URLSessionDataDelegate``.
open class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A task that sends a body.
public final class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}

/// A task for a TCP connection. It can't be created, since every connection here belongs to a request that pins apply
/// to. The type exists so that delegates which name it compile.
public final class URLSessionStreamTask: URLSessionTask, @unchecked Sendable {}
