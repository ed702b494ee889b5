import PinctlTestPKI
import PinnedNetworking

/// A question that a delegate can answer with a rejection.
enum RefusableQuestion: CaseIterable {
    case sessionChallenge, taskChallenge, redirection, bodyStream, response
}

enum Spelling: CaseIterable {
    case handler, async
}

/// Implements no method with an effect.
final class SilentDataDelegate: URLSessionDataDelegate, URLSessionDownloadDelegate {
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}
}

/// Forwards every question to another delegate through completion handlers, and then rejects one of them.
final class HandlerDecorator: URLSessionDataDelegate {
    private let inner: any URLSessionDataDelegate
    private let refused: RefusableQuestion?

    init(_ inner: any URLSessionDataDelegate, refusing refused: RefusableQuestion?) {
        self.inner = inner
        self.refused = refused
    }

    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let isRefused = refused == .sessionChallenge
        inner.urlSession(session, didReceive: challenge) { disposition, credential in
            completionHandler(isRefused ? .cancelAuthenticationChallenge : disposition, credential)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        let isRefused = refused == .taskChallenge
        inner.urlSession(session, task: task, didReceive: challenge) { disposition, credential in
            completionHandler(isRefused ? .cancelAuthenticationChallenge : disposition, credential)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        let isRefused = refused == .redirection
        inner.urlSession(session, task: task, willPerformHTTPRedirection: response, newRequest: request) {
            completionHandler(isRefused ? nil : $0)
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        let isRefused = refused == .bodyStream
        inner.urlSession(session, task: task) { completionHandler(isRefused ? nil : $0) }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        let isRefused = refused == .response
        inner.urlSession(session, dataTask: dataTask, didReceive: response) {
            completionHandler(isRefused ? .cancel : $0)
        }
    }
}

/// Forwards every question to another delegate through `async` methods, and then rejects one of them.
final class AsyncDecorator: URLSessionDataDelegate {
    private let inner: any URLSessionDataDelegate
    private let refused: RefusableQuestion?

    init(_ inner: any URLSessionDataDelegate, refusing refused: RefusableQuestion?) {
        self.inner = inner
        self.refused = refused
    }

    func urlSession(_ session: URLSession, didReceive challenge: URLAuthenticationChallenge) async -> Answer {
        let (disposition, credential) = await inner.urlSession(session, didReceive: challenge)
        return (refused == .sessionChallenge ? .cancelAuthenticationChallenge : disposition, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> Answer {
        let (disposition, credential) = await inner.urlSession(session, task: task, didReceive: challenge)
        return (refused == .taskChallenge ? .cancelAuthenticationChallenge : disposition, credential)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest
    ) async -> URLRequest? {
        let answer = await inner.urlSession(
            session, task: task, willPerformHTTPRedirection: response, newRequest: request)
        return refused == .redirection ? nil : answer
    }

    func urlSession(_ session: URLSession, needNewBodyStreamForTask task: URLSessionTask) async -> InputStream? {
        let answer = await inner.urlSession(session, needNewBodyStreamForTask: task)
        return refused == .bodyStream ? nil : answer
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse
    ) async -> URLSession.ResponseDisposition {
        let answer = await inner.urlSession(session, dataTask: dataTask, didReceive: response)
        return refused == .response ? .cancel : answer
    }
}

/// Forwards every notification to a delegate that implements none of them.
final class NoticeDecorator: URLSessionDataDelegate, URLSessionDownloadDelegate {
    let notices = Collected<String>()
    private let inner = SilentDataDelegate()

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        notices.append("sent")
        inner.urlSession(
            session, task: task, didSendBodyData: bytesSent, totalBytesSent: totalBytesSent,
            totalBytesExpectedToSend: totalBytesExpectedToSend)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        notices.append("metrics")
        inner.urlSession(session, task: task, didFinishCollecting: metrics)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {}

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        notices.append("written")
        inner.urlSession(
            session, downloadTask: downloadTask, didWriteData: bytesWritten, totalBytesWritten: totalBytesWritten,
            totalBytesExpectedToWrite: totalBytesExpectedToWrite)
    }
}
