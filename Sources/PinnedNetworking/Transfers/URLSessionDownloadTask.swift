import PinctlBasics

/// A task whose body is written to a file.
public final class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    /// The additional state of a download task.
    struct Download: Sendable {
        /// The resume data, or `nil` if the download starts at the beginning.
        var resumption: ResumeData?
        /// The handlers that receive resume data when the task is cancelled.
        var wantsResumeData: [@Sendable (Data?) -> Void] = []
        var hasEnded = false
    }

    let download = Locked(Download())

    /// Cancels the download like ``URLSessionTask/cancel()``, and passes the resume data to the handler. It is `nil` if
    /// the server sent nothing that identifies the version (ETag, Last-Modified), or if nothing has arrived yet.
    ///
    /// Resume data contains the URL and the location of the part that was loaded. It contains no credentials and no
    /// header field.
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        let hasEnded = download.withLock { download in
            if !download.hasEnded { download.wantsResumeData.append(completionHandler) }
            return download.hasEnded
        }
        if hasEnded { completionHandler(nil) } else { cancel() }
    }

    /// Cancels the download and returns its resume data. See ``cancel(byProducingResumeData:)``.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in cancel { continuation.resume(returning: $0) } }
    }

    /// Passes resume data to the waiting handlers, once.
    func end(with resumeData: Data?) {
        let handlers = download.withLock { download in
            defer { (download.wantsResumeData, download.hasEnded) = ([], true) }
            return download.wantsResumeData
        }
        for handler in handlers { handler(resumeData) }
    }
}
