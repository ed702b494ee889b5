public import Foundation

/// Methods that a session asks its delegate about all of its tasks.
///
/// Implement either spelling of a method. A misspelt one compiles and is never called: what must hold belongs into
/// ``URLSessionConfiguration/pinning``, which no answer can loosen.
public protocol URLSessionDelegate: AnyObject, Sendable {
    /// Told that a session has ended after ``URLSession/finishTasksAndInvalidate()`` or
    /// ``URLSession/invalidateAndCancel()``: the last call. The error is nil, since nothing else ends one.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

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
    /// Answers a challenge of a task by calling the handler: once, from any thread.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// Answers a challenge of a task by returning.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// Answers a redirect by calling the handler with the request to go on with, or with nil to take the 3xx as the
    /// response.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)

    /// Answers a redirect by returning.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// Asked for the body of a task: once for one without a stream of its own, and each time that it has to be sent
    /// again. Call the handler with a stream that has not been opened; nil ends the task.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)

    /// Asked for the body of a task by returning it.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// Told of each piece of the body that was sent. A body that is sent again is counted from 0; -1 as what is expected
    /// says that it is not known.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)

    /// Told of what was measured, before the end of the task is told, and before an `async` method returns.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// Told of the end of a task that was begun with ``URLSessionTask/resume()`` and has no completion handler: once,
    /// the error nil when a response came, whatever its status.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

/// Methods for the responses of tasks that were begun with ``URLSessionTask/resume()`` and have no completion handler.
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// Told of a response; the handler says whether to go on.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)

    /// Told of a response; what is returned says whether to go on.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition

    /// Takes the next piece of the body. The one behind it is not read before this returns.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

extension URLCredential {
    /// Says that a delegate has no method of its own; never leaves the routing.
    static let unimplemented = URLCredential(kind: .unimplemented, persistence: .none)
}

extension URLSessionDelegate {
    /// Stands for a method that is not implemented: nobody hears of it.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}

    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard DelegateCall.reachedDefault(of: .sessionChallenge, .handler, on: self) else {
            return completionHandler(.performDefaultHandling, .unimplemented)
        }
        Task {
            let (disposition, credential) = await session.forwardedAnswer(to: challenge, by: self, in: .async)
            completionHandler(disposition, credential)
        }
    }

    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard DelegateCall.reachedDefault(of: .sessionChallenge, .async, on: self) else {
            return (.performDefaultHandling, .unimplemented)
        }
        return await session.forwardedAnswer(to: challenge, by: self, in: .handler)
    }
}

extension URLSessionTaskDelegate {
    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard DelegateCall.reachedDefault(of: .taskChallenge, .handler, on: self) else {
            return completionHandler(.performDefaultHandling, .unimplemented)
        }
        Task {
            let (disposition, credential) = await session.forwardedAnswer(to: challenge, of: task, by: self, in: .async)
            completionHandler(disposition, credential)
        }
    }

    /// Stands for a method that is not implemented: the next delegate is asked.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard DelegateCall.reachedDefault(of: .taskChallenge, .async, on: self) else {
            return (.performDefaultHandling, .unimplemented)
        }
        return await session.forwardedAnswer(to: challenge, of: task, by: self, in: .handler)
    }

    /// Stands for a method that is not implemented: the next delegate is asked, and without one the redirect followed.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard DelegateCall.reachedDefault(of: .redirection, .handler, on: self) else {
            return completionHandler(request)
        }
        Task {
            do {
                let answer = try await session.redirection(of: task, response, to: request, by: self, in: [.async])
                completionHandler(answer ?? request)
            } catch {
                completionHandler(nil)
            }
        }
    }

    /// Stands for a method that is not implemented: the next delegate is asked, and without one the redirect followed.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        guard DelegateCall.reachedDefault(of: .redirection, .async, on: self) else { return request }
        do {
            return try await session.redirection(of: task, response, to: request, by: self, in: [.handler]) ?? request
        } catch {
            return nil
        }
    }

    /// Stands for a method that is not implemented: the next delegate is asked, and without one there is no body.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        guard DelegateCall.reachedDefault(of: .newBodyStream, .handler, on: self) else { return completionHandler(nil) }
        Task {
            let answer = try? await session.newBodyStream(of: task, by: self, in: [.async])
            completionHandler((answer ?? nil)?.stream)
        }
    }

    /// Stands for a method that is not implemented: the next delegate is asked, and without one there is no body.
    public func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        guard DelegateCall.reachedDefault(of: .newBodyStream, .async, on: self) else { return nil }
        let answer = try? await session.newBodyStream(of: task, by: self, in: [.handler])
        return (answer ?? nil)?.stream
    }

    /// Stands for a method that is not implemented: the next delegate is told.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        DelegateCall.reachedDefault(of: .sentBody, on: self)
    }

    /// Stands for a method that is not implemented: the next delegate is told.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        DelegateCall.reachedDefault(of: .metrics, on: self)
    }

    /// Stands for a method that is not implemented: the next delegate is told.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        DelegateCall.reachedDefault(of: .end, on: self)
    }
}

extension URLSessionDataDelegate {
    /// Stands for a method that is not implemented: the next delegate is asked, and without one the task goes on.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        guard DelegateCall.reachedDefault(of: .response, .handler, on: self) else { return completionHandler(.allow) }
        Task {
            do {
                let answer = try await session.disposition(of: dataTask, response, by: self, in: [.async])
                completionHandler(answer ?? .allow)
            } catch {
                completionHandler(.cancel)
            }
        }
    }

    /// Stands for a method that is not implemented: the next delegate is asked, and without one the task goes on.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        guard DelegateCall.reachedDefault(of: .response, .async, on: self) else { return .allow }
        do {
            return try await session.disposition(of: dataTask, response, by: self, in: [.handler]) ?? .allow
        } catch {
            return .cancel
        }
    }

    /// Stands for a method that is not implemented: the next delegate is told.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        DelegateCall.reachedDefault(of: .data, on: self)
    }
}
