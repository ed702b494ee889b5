public import Foundation

// Uploads, with bodies from memory, files and streams.

extension URLSession {
    /// Sends a request with this body. Otherwise works like ``data(for:delegate:)``.
    public func upload(
        for request: URLRequest, from bodyData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let request = request.with(body: .data(bodyData))
        return try await collect(
            makeTask(URLSessionUploadTask.init, request, delegate: delegate, isCollected: true))
    }

    /// Sends a request with the contents of a regular file, which is read while it is sent. Otherwise works like
    /// ``data(for:delegate:)``.
    public func upload(
        for request: URLRequest, fromFile fileURL: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let request = request.with(body: .file(fileURL))
        return try await collect(
            makeTask(URLSessionUploadTask.init, request, delegate: delegate, isCollected: true))
    }

    /// Creates a task that sends a body. Its response is passed to the delegate.
    public func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.init, request.with(body: .data(bodyData))) { self.deliver($0) }
    }

    /// Creates a task that sends a file. Its response is passed to the delegate.
    public func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.init, request.with(body: .file(fileURL))) { self.deliver($0) }
    }

    /// Creates a task that sends the request's own stream. If there is none, or if a challenge or redirect requires the
    /// body again, the delegate provides a stream.
    ///
    /// The length isn't known, so the body is sent in chunks (RFC 9112, section 7.1). The task first waits up to a
    /// second for the server's `100 Continue`, so that a refusal doesn't consume the stream.
    public func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        let body = request.content?.isStream == true ? request.content : .stream(nil)
        return makeTask(URLSessionUploadTask.init, request.with(body: body)) { self.deliver($0) }
    }

    /// Creates a task that sends a body. Its result is passed to the handler, once, on the delegates' queue.
    public func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.init, request.with(body: bodyData.map { .data($0) })) {
            self.collect($0, completionHandler)
        }
    }

    /// Creates a task that sends a file. Its result is passed to the handler, once, on the delegates' queue.
    public func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.init, request.with(body: .file(fileURL))) { self.collect($0, completionHandler) }
    }
}
