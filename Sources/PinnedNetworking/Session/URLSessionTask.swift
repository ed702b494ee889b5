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
        var bytesSent: Int64 = 0
        var bytesReceived: Int64 = 0
        /// What ``resume()`` starts; nil when the task has begun.
        var start: (@Sendable (URLSessionTask) -> Void)?
        /// Whether the delegate method that was just called is the one that stands for a missing one.
        var isUnimplemented = false
    }

    /// Unique in its session, from 1.
    public let taskIdentifier: Int
    /// The request as it was given to the session.
    public let originalRequest: URLRequest?
    /// The delegate of this task alone.
    public let delegate: (any URLSessionTaskDelegate)?

    let limit: WorkLimit
    let status: Locked<Status>

    required init(
        taskIdentifier: Int, originalRequest: URLRequest, delegate: (any URLSessionTaskDelegate)?, limit: WorkLimit,
        start: (@Sendable (URLSessionTask) -> Void)?
    ) {
        self.taskIdentifier = taskIdentifier
        self.originalRequest = originalRequest
        self.delegate = delegate
        self.limit = limit
        var status = Status(currentRequest: originalRequest, start: start)
        if start == nil { status.state = .running }
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
    public var countOfBytesExpectedToSend: Int64 { Int64(currentRequest?.httpBody?.count ?? 0) }
    /// Bytes of the body as the server states them, -1 when it does not.
    public var countOfBytesExpectedToReceive: Int64 { response?.expectedContentLength ?? -1 }
    /// Anything that helps to tell tasks apart.
    public var taskDescription: String? {
        get { status.withLock { $0.description } }
        set { status.withLock { $0.description = newValue } }
    }

    /// Begins; without effect on a task that has begun.
    public func resume() {
        let begin = status.withLock { status in
            defer { status.start = nil }
            if status.start != nil, status.state == .suspended { status.state = .running }
            return status.start
        }
        begin?(self)
    }

    /// Ends the request with `URLError.cancelled`, and its connection with it.
    public func cancel() {
        status.withLock { if $0.state != .completed { $0.state = .canceling } }
        limit.end(.cancelled)
        // One that never began has to complete too.
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
            return true
        }
    }

    /// Called by the delegate methods that stand for missing ones.
    func markUnimplemented() { status.withLock { $0.isUnimplemented = true } }

    func takeUnimplementedMark() -> Bool {
        status.withLock { status in
            defer { status.isUnimplemented = false }
            return status.isUnimplemented
        }
    }
}

/// A task whose body comes back in memory or, piece by piece, to a ``URLSessionDataDelegate``.
public class URLSessionDataTask: URLSessionTask, @unchecked Sendable {}

/// A task that sends a body.
public final class URLSessionUploadTask: URLSessionDataTask, @unchecked Sendable {}
