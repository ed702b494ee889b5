/// A task whose body is written to a file.
public final class URLSessionDownloadTask: URLSessionTask, @unchecked Sendable {
    /// What a download has beside what every task has.
    struct Download: Sendable {
        /// What it goes on with; nil for one that begins at the beginning.
        var resumption: ResumeData?
        /// Who is to be given resume data when it is cancelled.
        var wantsResumeData: [@Sendable (Data?) -> Void] = []
        var hasEnded = false
    }

    let download = Locked(Download())

    /// Ends the download as ``URLSessionTask/cancel()`` does, and calls the handler with what resumes it; nil when the
    /// server gave nothing to tell versions apart by (ETag, Last-Modified), or nothing has come yet.
    ///
    /// Resume data names the URL and the place of the part that was loaded, and holds no login and no header field.
    public func cancel(byProducingResumeData completionHandler: @escaping @Sendable (Data?) -> Void) {
        let hasEnded = download.withLock { download in
            if !download.hasEnded { download.wantsResumeData.append(completionHandler) }
            return download.hasEnded
        }
        if hasEnded { completionHandler(nil) } else { cancel() }
    }

    /// Ends the download and returns what resumes it; see ``cancel(byProducingResumeData:)``.
    public func cancelByProducingResumeData() async -> Data? {
        await withCheckedContinuation { continuation in cancel { continuation.resume(returning: $0) } }
    }

    /// Gives resume data to those who want it; once.
    func end(with resumeData: Data?) {
        let handlers = download.withLock { download in
            defer { (download.wantsResumeData, download.hasEnded) = ([], true) }
            return download.wantsResumeData
        }
        for handler in handlers { handler(resumeData) }
    }
}
