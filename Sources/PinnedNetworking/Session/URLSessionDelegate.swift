public import Foundation

/// Methods that a session calls on its delegate for all of its tasks.
///
/// Implement either variant of a method. A misspelled method compiles and is never called, so put every requirement
/// into ``URLSessionConfiguration/pinning``, which no answer can weaken.
public protocol URLSessionDelegate: AnyObject, Sendable {
    /// Reports that a session has ended after ``URLSession/finishTasksAndInvalidate()`` or
    /// ``URLSession/invalidateAndCancel()``. This is the last call. The error is `nil`, since sessions don't end for
    /// other reasons.
    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?)

    /// Answers a challenge by calling the handler, once, from any thread, before the request's timeout.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// Answers a challenge by returning the answer.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)
}

/// Methods that a session calls for one task, on the task's own delegate or on the session's.
public protocol URLSessionTaskDelegate: URLSessionDelegate {
    /// Answers a challenge of a task by calling the handler, once, from any thread.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void)

    /// Answers a challenge of a task by returning the answer.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?)

    /// Answers a redirect by calling the handler with the request to continue with, or with `nil` to use the 3xx
    /// response as the result.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void)

    /// Answers a redirect by returning the request.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest?

    /// Provides the body of a task: once for a task without its own stream, and each time that the body has to be sent
    /// again. Call the handler with a stream that hasn't been opened. `nil` ends the task.
    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void)

    /// Provides the body of a task by returning it.
    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream?

    /// Reports each part of the body that was sent. If a body is sent again, counting starts at 0. The expected number
    /// is -1 if it isn't known.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64)

    /// Never called: requests aren't delayed.
    func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void)

    /// Never called: a request that can't connect fails at once.
    func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask)

    /// Reports the metrics of a task, before its end is reported and before an `async` method returns.
    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics)

    /// Reports the end of a task that was started with ``URLSessionTask/resume()`` and has no completion handler.
    /// Called once. The error is `nil` if there was a response, whatever its status is.
    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?)
}

/// Methods for the responses of tasks that were started with ``URLSessionTask/resume()`` and have no completion
/// handler.
public protocol URLSessionDataDelegate: URLSessionTaskDelegate {
    /// Receives a response. Call the handler to continue or cancel.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void)

    /// Receives a response, and returns whether to continue or cancel.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition

    /// Receives the download task that continues a data task after the answer
    /// ``URLSession/ResponseDisposition/becomeDownload``. The data task receives no further calls.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask)

    /// Never called: no responses are cached.
    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void)

    /// Receives the next part of the body. The part after it isn't read before the method returns.
    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data)
}

extension URLCredential {
    /// A marker for a method that a delegate doesn't implement. It is only used internally.
    static let unimplemented = URLCredential(kind: .unimplemented, persistence: .none)
}

extension URLSessionDelegate {
    /// Does nothing by default.
    public func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) {}

    /// Lets the next delegate answer by default.
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

    /// Lets the next delegate answer by default.
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
    /// Lets the next delegate answer by default.
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

    /// Lets the next delegate answer by default.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard DelegateCall.reachedDefault(of: .taskChallenge, .async, on: self) else {
            return (.performDefaultHandling, .unimplemented)
        }
        return await session.forwardedAnswer(to: challenge, of: task, by: self, in: .handler)
    }

    /// Lets the next delegate answer by default. Without one, the redirect is followed.
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

    /// Lets the next delegate answer by default. Without one, the redirect is followed.
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

    /// Lets the next delegate answer by default. Without one, there is no body.
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

    /// Lets the next delegate answer by default. Without one, there is no body.
    public func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        guard DelegateCall.reachedDefault(of: .newBodyStream, .async, on: self) else { return nil }
        let answer = try? await session.newBodyStream(of: task, by: self, in: [.handler])
        return (answer ?? nil)?.stream
    }

    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        DelegateCall.reachedDefault(of: .sentBody, on: self)
    }

    /// Continues with the request by default.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, willBeginDelayedRequest request: URLRequest,
        completionHandler: @escaping @Sendable (URLSession.DelayedRequestDisposition, URLRequest?) -> Void
    ) {
        completionHandler(.continueLoading, nil)
    }

    /// Does nothing by default.
    public func urlSession(_ session: URLSession, taskIsWaitingForConnectivity task: URLSessionTask) {}

    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics
    ) {
        DelegateCall.reachedDefault(of: .metrics, on: self)
    }

    /// Lets the next delegate receive the call by default.
    public func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        DelegateCall.reachedDefault(of: .end, on: self)
    }
}

extension URLSessionDataDelegate {
    /// Lets the next delegate answer by default. Without one, the task continues.
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

    /// Lets the next delegate answer by default. Without one, the task continues.
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

    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didBecome downloadTask: URLSessionDownloadTask
    ) {
        DelegateCall.reachedDefault(of: .download, on: self)
    }

    /// Continues with the response by default.
    public func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, willCacheResponse proposedResponse: CachedURLResponse,
        completionHandler: @escaping @Sendable (CachedURLResponse?) -> Void
    ) {
        completionHandler(proposedResponse)
    }

    /// Lets the next delegate receive the call by default.
    public func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        DelegateCall.reachedDefault(of: .data, on: self)
    }
}
