import Synchronization

/// One request on its way; delegates get it with a challenge.
public final class URLSessionTask: Sendable {
    /// Unique in its session, from 1.
    public let taskIdentifier: Int
    /// The request as it was given to the session.
    public let originalRequest: URLRequest?
    /// The delegate of this task alone.
    public let delegate: (any URLSessionTaskDelegate)?

    let limit: WorkLimit

    init(
        taskIdentifier: Int, originalRequest: URLRequest, delegate: (any URLSessionTaskDelegate)?, limit: WorkLimit
    ) {
        self.taskIdentifier = taskIdentifier
        self.originalRequest = originalRequest
        self.delegate = delegate
        self.limit = limit
    }

    /// Ends the request with `URLError.cancelled`, and its connection with it.
    public func cancel() {
        limit.end(.cancelled)
    }
}
