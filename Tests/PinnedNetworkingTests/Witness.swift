import PinnedNetworking

/// Implements every notification of a task's delegate, and provides streams.
final class Witness: URLSessionDataDelegate, URLSessionDownloadDelegate {
    let events = Collected<String>()
    let metrics = Collected<URLSessionTaskMetrics>()
    let sent = Collected<[Int64]>()
    let written = Collected<[Int64]>()
    let contents = Collected<(data: Data, mode: Int, url: URL)>()
    let errors = Collected<URLError?>()
    private let streams: @Sendable () -> InputStream?

    init(_ streams: @escaping @Sendable () -> InputStream? = { nil }) { self.streams = streams }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge
    ) async -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        guard challenge.protectionSpace.serverTrust == nil else { return (.performDefaultHandling, nil) }
        return (.useCredential, URLCredential(user: "me", password: "secret", persistence: .none))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        events.append("stream")
        completionHandler(streams())
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        sent.append([bytesSent, totalBytesSent, totalBytesExpectedToSend])
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didFinishCollecting metrics: URLSessionTaskMetrics) {
        self.metrics.append(metrics)
        events.append("metrics")
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didFinishDownloadingTo location: URL
    ) {
        events.append("file")
        let mode = try? FileManager.default.attributesOfItem(atPath: location.path)[.posixPermissions] as? Int
        contents.append(((try? Data(contentsOf: location)) ?? Data(), mode ?? 0, location))
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didWriteData bytesWritten: Int64,
        totalBytesWritten: Int64, totalBytesExpectedToWrite: Int64
    ) {
        written.append([bytesWritten, totalBytesWritten, totalBytesExpectedToWrite])
    }

    func urlSession(
        _ session: URLSession, downloadTask: URLSessionDownloadTask, didResumeAtOffset fileOffset: Int64,
        expectedTotalBytes: Int64
    ) {
        events.append("resumed at \(fileOffset) of \(expectedTotalBytes)")
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        events.append("end")
        errors.append(error as? URLError)
    }

    func urlSession(_ session: URLSession, didBecomeInvalidWithError error: (any Error)?) { events.append("invalid") }

    func end(_ event: String = "end") async throws {
        while !events.values.contains(event) { try await Task.sleep(for: .milliseconds(2)) }
    }
}
