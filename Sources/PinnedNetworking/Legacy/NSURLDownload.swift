public import Foundation
import PinctlBasics

/// A single request that saves the body to a file, in the style of programs older than ``URLSessionDownloadTask``.
///
/// The download uses its own ``URLSession``. The download and its delegate are retained until it ends. The body is
/// written to a file that only this user can read, and moved to its destination when it is complete.
public final class NSURLDownload: NSObject, Sendable {
    fileprivate let load: ConnectionLoad<any NSURLDownloadDelegate>
    fileprivate let destination = Locked(DownloadDestination())

    /// Creates a download that starts at once.
    ///
    /// `configuration` is copied. It contains the pins: ``URLSessionConfiguration/pinning``.
    public init(
        request: URLRequest, delegate: (any NSURLDownloadDelegate)?,
        configuration: URLSessionConfiguration = .default
    ) {
        load = ConnectionLoad(request, delegate, configuration)
        super.init()
        load.start(DownloadAdapter(self)) { delegate in
            delegate.downloadShouldUseCredentialStorage(self)
        } makeTask: { session in
            self.load.delegate?.downloadDidBegin(self)
            return session.downloadTask(with: self.request)
        }
    }

    /// The original request.
    public var request: URLRequest { load.request }

    /// Sets the destination path of the file. Has no effect after the body has started.
    ///
    /// If `allowOverwrite` is false and the file exists, a number is added to the name. If it is true, the file is
    /// replaced when the new one is complete.
    public func setDestination(_ path: String, allowOverwrite: Bool) {
        destination.withLock { $0.set(path, allowsOverwriting: allowOverwrite) }
    }

    /// Cancels the download and removes the part that was loaded. After a delegate method that is currently running has
    /// returned, the delegate isn't called any more.
    public func cancel() { load.cancel() }
}

/// An adapter that forwards the calls of the session to the download's delegate.
private final class DownloadAdapter: URLSessionDownloadDelegate {
    private let download: NSURLDownload
    /// The reason why there is no file although there is a body, if any.
    private let failure = Locked<DownloadError?>(nil)

    init(_ download: NSURLDownload) { self.download = download }

    // Answers for the whole session, which has only this task, so that the delegate isn't asked again about a server it
    // accepted.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let delegate = download.load.delegate(for: challenge) else {
            return completionHandler(.performDefaultHandling, nil)
        }
        download.load.ask(challenge) { space in
            delegate.download(download, canAuthenticateAgainstProtectionSpace: space)
        } receive: { challenge in
            delegate.download(download, didReceive: challenge)
        }
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        prepare(downloadTask)
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        // For an empty body this is the first call.
        prepare(downloadTask)
        attempt(downloadTask) { () throws(DownloadError) in
            try download.destination.withLock { destination throws(DownloadError) in
                try destination.fill(with: location)
            }
        }
    }

    /// Reserves the destination when the body starts.
    private func prepare(_ task: URLSessionDownloadTask) {
        guard download.destination.withLock({ !$0.isTaken }) else { return }
        let delegate = download.load.delegate
        if download.destination.withLock({ $0.path == nil }) {
            let name = task.response?.suggestedFilename ?? "Unknown"
            delegate?.download(download, decideDestinationWithSuggestedFilename: name)
        }
        attempt(task) { () throws(DownloadError) in
            let path = try download.destination.withLock { destination throws(DownloadError) in
                try destination.take()
            }
            delegate?.download(download, didCreateDestination: path)
        }
    }

    /// Runs `body`, and cancels the task if it fails. Does nothing after the download has ended.
    private func attempt(_ task: URLSessionTask, _ body: () throws(DownloadError) -> Void) {
        guard !download.load.isOver, failure.withLock({ $0 == nil }) else { return }
        do throws(DownloadError) {
            try body()
        } catch {
            failure.withLock { [error] in $0 = error }
            task.cancel()
        }
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        download.destination.withLock { $0.clear() }
        let failure = failure.withLock { $0 }.map { URLError($0, url: task.currentRequest?.url) }
        guard let (delegate, error, cancelled) = download.load.end(failure ?? error, of: session) else { return }
        if let cancelled { delegate.download(download, didCancel: cancelled) }
        if let error {
            delegate.download(download, didFailWithError: error)
        } else {
            delegate.downloadDidFinish(download)
        }
    }
}
