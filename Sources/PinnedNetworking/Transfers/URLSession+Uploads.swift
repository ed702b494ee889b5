public import Foundation

// Uploads: bodies from memory, from files and from streams.

extension URLSession {
    /// Sends a request with this body; else as ``data(for:delegate:)``.
    public func upload(
        for request: URLRequest, from bodyData: Data, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let request = request.with(body: .data(bodyData))
        return try await collect(
            makeTask(URLSessionUploadTask.self, request, delegate: delegate, isCollected: true))
    }

    /// Sends a request with the bytes of a regular file, which is read as it is sent; else as ``data(for:delegate:)``.
    public func upload(
        for request: URLRequest, fromFile fileURL: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let request = request.with(body: .file(fileURL))
        return try await collect(
            makeTask(URLSessionUploadTask.self, request, delegate: delegate, isCollected: true))
    }

    /// A task that sends a body; its response goes to the delegate.
    public func uploadTask(with request: URLRequest, from bodyData: Data) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.self, request.with(body: .data(bodyData))) { self.deliver($0) }
    }

    /// A task that sends a file; its response goes to the delegate.
    public func uploadTask(with request: URLRequest, fromFile fileURL: URL) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.self, request.with(body: .file(fileURL))) { self.deliver($0) }
    }

    /// A task that sends a stream: the request's own, and where it has none, or when the body is wanted again after a
    /// challenge or a redirect, one that the delegate gives.
    ///
    /// Its length is not known, so it is sent in chunks (RFC 9112, section 7.1), and waits a second for the server's
    /// `100 Continue`, so that a refusal does not use it up.
    public func uploadTask(withStreamedRequest request: URLRequest) -> URLSessionUploadTask {
        let body = request.content?.isStream == true ? request.content : .stream(nil)
        return makeTask(URLSessionUploadTask.self, request.with(body: body)) { self.deliver($0) }
    }

    /// A task that sends a body; what comes back goes to the handler: once, on the delegates' queue.
    public func uploadTask(
        with request: URLRequest, from bodyData: Data?,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.self, request.with(body: bodyData.map { .data($0) })) {
            self.collect($0, completionHandler)
        }
    }

    /// A task that sends a file; what comes back goes to the handler: once, on the delegates' queue.
    public func uploadTask(
        with request: URLRequest, fromFile fileURL: URL,
        completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionUploadTask {
        makeTask(URLSessionUploadTask.self, request.with(body: .file(fileURL))) { self.collect($0, completionHandler) }
    }
}
