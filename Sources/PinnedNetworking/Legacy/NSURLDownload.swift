public import Foundation

/// One request whose body goes to a file, as programs were written before ``URLSessionDownloadTask``.
///
/// It works through a ``URLSession`` of its own, and is held until it has ended, its delegate with it. The body is
/// written where only this user can read it, and comes to its destination when it is whole.
public final class NSURLDownload: NSObject, Sendable {
    fileprivate let load: ConnectionLoad<any NSURLDownloadDelegate>
    fileprivate let destination = Locked(DownloadDestination())

    /// A download that begins at once.
    ///
    /// `configuration` is copied. Pins are in it: ``URLSessionConfiguration/pinning``.
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

    /// The request as it was given.
    public var request: URLRequest { load.request }

    /// Says where the file is to be, a path; without effect once the body has begun.
    ///
    /// Without `allowOverwrite` a number is added to the name of a file that is there already; with it the file is
    /// replaced when the new one is whole.
    public func setDestination(_ path: String, allowOverwrite: Bool) {
        destination.withLock { $0.set(path, allowsOverwriting: allowOverwrite) }
    }

    /// Ends the download and removes what there is of it. The delegate hears nothing more, once a method that is
    /// running has returned.
    public func cancel() { load.cancel() }
}

/// Tells a download's delegate what its session says.
private final class DownloadAdapter: URLSessionDownloadDelegate {
    private let download: NSURLDownload
    /// Why there is no file, though there is a body.
    private let failure = Locked<DownloadError?>(nil)

    init(_ download: NSURLDownload) { self.download = download }

    // For the whole session, which is this one task: so that a server that was accepted is not asked about twice.
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
        // An empty body has no other sign.
        prepare(downloadTask)
        attempt(downloadTask) { () throws(DownloadError) in
            try download.destination.withLock { destination throws(DownloadError) in
                try destination.fill(with: location)
            }
        }
    }

    /// Takes the destination, once the body has begun.
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

    /// Ends the task when this fails, and does nothing when it has ended.
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
