public import Foundation

/// Methods for stream tasks, which don't exist. None is ever called.
public protocol URLSessionStreamDelegate: URLSessionTaskDelegate {
    /// Never called.
    func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask)

    /// Never called.
    func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask)

    /// Never called.
    func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask)

    /// Never called.
    func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream)
}

extension URLSessionStreamDelegate {
    /// Does nothing by default.
    public func urlSession(_ session: URLSession, readClosedFor streamTask: URLSessionStreamTask) {}

    /// Does nothing by default.
    public func urlSession(_ session: URLSession, writeClosedFor streamTask: URLSessionStreamTask) {}

    /// Does nothing by default.
    public func urlSession(_ session: URLSession, betterRouteDiscoveredFor streamTask: URLSessionStreamTask) {}

    /// Does nothing by default.
    public func urlSession(
        _ session: URLSession, streamTask: URLSessionStreamTask, didBecome inputStream: InputStream,
        outputStream: OutputStream
    ) {}
}

extension URLSession {
    /// Unavailable: there are no stream tasks.
    @available(
        *, unavailable, message: "there are no stream tasks: a connection without a request can't be pinned by host"
    )
    public func streamTask(withHostName hostname: String, port: Int) -> URLSessionStreamTask {
        makeTask(URLSessionStreamTask.init, URLRequest(url: URL(filePath: "/")))
    }
}
