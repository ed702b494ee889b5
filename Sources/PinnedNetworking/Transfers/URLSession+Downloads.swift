import PinctlBasics
import PinctlHTTPMessages

// Downloads, which save a body to a file and can be resumed.

extension URLSession {
    /// Downloads a URL to a file. See ``download(for:delegate:)``.
    public func download(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await download(for: URLRequest(url: url), delegate: delegate)
    }

    /// Sends a request and saves the body to a temporary file that only this user can read. The caller must move or
    /// remove the file.
    ///
    /// The file has the body, whatever the status is. Throws `URLError`, with
    /// ``Foundation/URLError/downloadTaskResumeData`` if the download can be resumed later.
    public func download(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        let task = makeTask(URLSessionDownloadTask.init, request, delegate: delegate)
        return try await keepFile(of: task)
    }

    /// Resumes a download that was cancelled or failed. See ``download(for:delegate:)``.
    ///
    /// If the server has another version by now, the download starts from the beginning.
    public func download(
        resumeFrom resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (URL, URLResponse) {
        try await keepFile(of: makeDownload(resumeData, delegate: delegate))
    }

    /// Creates a task whose file is passed to the delegate, a ``URLSessionDownloadDelegate``.
    public func downloadTask(with url: URL) -> URLSessionDownloadTask { downloadTask(with: URLRequest(url: url)) }

    /// Creates a task whose file is passed to the delegate, a ``URLSessionDownloadDelegate``.
    public func downloadTask(with request: URLRequest) -> URLSessionDownloadTask {
        makeTask(URLSessionDownloadTask.init, request) { self.deliverFile($0) }
    }

    /// Creates a task that resumes a download. Its file is passed to the delegate.
    public func downloadTask(withResumeData resumeData: Data) -> URLSessionDownloadTask {
        makeDownload(resumeData) { self.deliverFile($0) }
    }

    /// Creates a task whose file is passed to the handler. See
    /// ``downloadTask(with:completionHandler:)-(URLRequest,_)``.
    public func downloadTask(
        with url: URL, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        downloadTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// Creates a task whose file is passed to the handler, once, on the delegates' queue. The file is removed when the
    /// handler returns.
    public func downloadTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeTask(URLSessionDownloadTask.init, request) { self.fetchFile($0, completionHandler) }
    }

    /// Creates a task that resumes a download. Its file is passed to the handler, and removed when the handler returns.
    public func downloadTask(
        withResumeData resumeData: Data,
        completionHandler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDownloadTask {
        makeDownload(resumeData) { self.fetchFile($0, completionHandler) }
    }

    // MARK: Work

    private func makeDownload(
        _ resumeData: Data, delegate: (any URLSessionTaskDelegate)? = nil,
        start: (@Sendable (URLSessionTask) -> Void)? = nil
    ) -> URLSessionDownloadTask {
        do throws(DownloadError) {
            let resumption = try ResumeData(resumeData)
            let task = makeTask(URLSessionDownloadTask.init, resumption.request, delegate: delegate, start: start)
            task.download.withLock { $0.resumption = resumption }
            return task
        } catch {
            let task = makeTask(URLSessionDownloadTask.init, .withoutURL, delegate: delegate, start: start)
            task.status.withLock { $0.refusal = URLError(error, url: nil) }
            return task
        }
    }

    private func keepFile(of task: URLSessionDownloadTask) async throws -> (URL, URLResponse) {
        do {
            let (file, response) = try await load(task)
            let url = try file.moveOut()
            task.complete(with: nil)
            await ended(task)
            return (url, response)
        } catch {
            let error = fail(task, error)
            await ended(task)
            throw error
        }
    }

    private func fetchFile(
        _ task: URLSessionTask, _ handler: @escaping @Sendable (URL?, URLResponse?, (any Error)?) -> Void
    ) {
        guard let task = task as? URLSessionDownloadTask else { return }
        Task {
            do {
                let (file, response) = try await load(task)
                task.complete(with: nil)
                await reportMetrics(of: task)
                await onDelegateQueue { handler(file.url, response, nil) }
            } catch {
                let error = fail(task, error)
                await reportMetrics(of: task)
                await onDelegateQueue { handler(nil, task.response, error) }
            }
            forget(task)
        }
    }

    private func deliverFile(_ task: URLSessionTask) {
        guard let task = task as? URLSessionDownloadTask else { return }
        Task {
            var failure: (any Error)?
            do {
                let (file, _) = try await load(task)
                // The file is removed after this call.
                await report(.file, about: task, Self.asDownloadDelegate) { delegate in
                    delegate.urlSession(self, downloadTask: task, didFinishDownloadingTo: file.url)
                }
                task.complete(with: nil)
            } catch {
                failure = fail(task, error)
            }
            await reportEnd(of: task, failure)
        }
    }

    /// Continues a data task whose response has arrived as a download, and reports its end.
    func deliverFile(of transfer: any TaskTransfer, _ response: URLResponse, insteadOf dataTask: URLSessionTask) async {
        guard let dataTask = dataTask as? URLSessionDataTask, let request = dataTask.originalRequest else { return }
        let task = makeTask(
            URLSessionDownloadTask.init, request, delegate: dataTask.delegate, continuing: dataTask)
        let past = dataTask.status.withLock { $0 }
        task.status.withLock { status in
            (status.currentRequest, status.response) = (past.currentRequest, response)
            (status.transactions, status.redirectCount) = (past.transactions, past.redirectCount)
        }
        await report(.download, about: dataTask, Self.asDataDelegate) { delegate in
            delegate.urlSession(self, dataTask: dataTask, didBecome: task)
        }
        dataTask.status.withLock { $0.state = .completed }
        forget(dataTask)
        var failure: (any Error)?
        do {
            let file = try DownloadFile()
            try await write(transfer, to: file, task, response, isTakenOver: true)
            await report(.file, about: task, Self.asDownloadDelegate) { delegate in
                delegate.urlSession(self, downloadTask: task, didFinishDownloadingTo: file.url)
            }
            task.complete(with: nil)
        } catch {
            failure = fail(task, error)
        }
        task.end(with: nil)
        await reportEnd(of: task, failure)
    }

    private static let asDownloadDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionDownloadDelegate)? = {
        $0 as? any URLSessionDownloadDelegate
    }

    /// Loads the body, or the rest of it, into a file.
    private func load(_ task: URLSessionDownloadTask) async throws -> (DownloadFile, URLResponse) {
        var file: DownloadFile?
        var answer: URLResponse?
        // Whether the file has only bytes of this response's version.
        var isOfAnswer = false
        do {
            let resumption = task.download.withLock { $0.resumption }
            file = try resumption.map { try DownloadFile(resuming: $0.file, count: $0.count) }
            var (transfer, response) = try await begin(task)
            if resumption != nil, (response as? HTTPURLResponse)?.statusCode == 416 {
                // The resource is now shorter than the part that was already loaded.
                guard let url = resumption?.url else { throw DownloadError.nothingToResume }
                task.status.withLock { $0.currentRequest = URLRequest(url: url) }
                (transfer, response) = try await begin(task)
            }
            let loaded = try file ?? DownloadFile()
            (file, answer) = (loaded, response)
            if let resumption, let answer = response as? HTTPURLResponse, try resumption.continues(with: answer) {
                let total = response.expectedLength(after: loaded.count)
                await report(.resumption, about: task, Self.asDownloadDelegate) { delegate in
                    delegate.urlSession(
                        self, downloadTask: task, didResumeAtOffset: resumption.count, expectedTotalBytes: total)
                }
            } else {
                try loaded.restart()
            }
            isOfAnswer = true
            try await write(transfer, to: loaded, task, response)
            task.end(with: nil)
            return (loaded, response)
        } catch let failure as ProtocolClassFailure {
            // The error is passed on unchanged. The resume data that the program has stays valid.
            if answer == nil, task.download.withLock({ $0.resumption }) != nil { file?.keep() }
            task.end(with: nil)
            throw failure
        } catch {
            var resumeData: Data?
            if let file, let request = task.originalRequest {
                // A download without a response keeps its earlier resume data. A download with one resumes from the
                // current position. If the response has a part other than the missing one, there is no resume data: its
                // tag would identify another version than that of the bytes in the file.
                let now = (answer as? HTTPURLResponse).flatMap {
                    isOfAnswer ? ResumeData(request.withoutRange, $0, file) : nil
                }
                var isOtherPart = false
                if case .otherPart? = error as? HTTPResponseError { isOtherPart = true }
                let isUnanswered = answer == nil && !isOtherPart
                resumeData = (now ?? (isUnanswered ? task.download.withLock { $0.resumption } : nil))?.encoded
                if resumeData != nil { file.keep() }
            }
            task.end(with: resumeData)
            let failure = error as? URLError ?? URLError(error, url: task.currentRequest?.url)
            guard let resumeData else { throw failure }
            throw URLError(
                failure.code,
                userInfo: failure.errorUserInfo.merging([NSURLSessionDownloadTaskResumeData: resumeData]) { $1 })
        }
    }

    /// `isTakenOver` is true for the transfer of another task, which counts the bytes for that task.
    private func write(
        _ transfer: any TaskTransfer, to file: DownloadFile, _ task: URLSessionDownloadTask, _ response: URLResponse,
        isTakenOver: Bool = false
    ) async throws {
        let total = response.expectedLength(after: file.count)
        while let part = try await nextPart(of: transfer, task) {
            if isTakenOver { task.noteDecoded(part.count) }
            try file.append(part)
            let written = file.count
            await report(.wroteData, about: task, Self.asDownloadDelegate) { delegate in
                delegate.urlSession(
                    self, downloadTask: task, didWriteData: Int64(part.count), totalBytesWritten: written,
                    totalBytesExpectedToWrite: total)
            }
        }
    }
}

extension URLResponse {
    /// The length of the body together with this many bytes before it, or -1 if it isn't known.
    fileprivate func expectedLength(after count: Int64) -> Int64 {
        let (sum, overflows) = expectedContentLength.addingReportingOverflow(count)
        return expectedContentLength < 0 || overflows ? -1 : sum
    }
}

extension URLRequest {
    /// The same request without a range.
    fileprivate var withoutRange: URLRequest {
        var request = self
        request.setValue(nil, forHTTPHeaderField: "Range")
        request.setValue(nil, forHTTPHeaderField: "If-Range")
        return request
    }
}

/// Methods for downloads that were started with ``URLSessionTask/resume()`` and have no completion handler.
public protocol URLSessionDownloadDelegate: URLSessionTaskDelegate {
    /// Receives the complete file, which only this user can read. The file is removed when the method returns, so move
    /// or read it before.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL)

    /// Reports the progress. The expected number is -1 if the server doesn't send it.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64)

    /// Reports that a download resumes at this offset. If it isn't called, the download started again because the
    /// server has another version.
    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64)
}

extension URLSessionDownloadDelegate {
    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        DelegateCall.reachedDefault(of: .wroteData, on: self)
    }

    /// Lets the next delegate receive the call by default.
    public func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        DelegateCall.reachedDefault(of: .resumption, on: self)
    }
}
