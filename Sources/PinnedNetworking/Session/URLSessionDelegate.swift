/// Methods that a session asks its delegate about all of its tasks.
///
/// Implement either spelling of a method. A misspelt one compiles and is never called: what must hold belongs into
/// ``URLSessionConfiguration/pinning``, which no delegate can loosen.
public protocol URLSessionDelegate: AnyObject, Sendable {
    /// Answers a challenge by calling the handler: once, from any thread, before the request's timeout.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// Answers a challenge by returning.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Methods that a session asks about one task: the task's own delegate, or the session's.
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// Answers a challenge of a task by calling the handler: once, from any thread, before the request's timeout.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// Answers a challenge of a task by returning.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

extension URLCredential {
    /// Says that a delegate has no method of its own; never leaves the routing.
    static let unimplemented = URLCredential(kind: .unimplemented, persistence: .none)
}

extension URLSessionDelegate {
    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, .unimplemented)
    }

    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        (.performDefaultHandling, .unimplemented)
    }
}

extension URLSessionTaskDelegate {
    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        completionHandler(.performDefaultHandling, .unimplemented)
    }

    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        (.performDefaultHandling, .unimplemented)
    }
}
