public import Foundation

// The `async` methods without a delegate. A method with a default argument can't be the witness of a protocol's method
// without it, and packages declare such protocols to replace a session in their tests. The compiler prefers these to
// the methods with a default argument.

extension URLSession {
    /// Fetches a URL. See ``data(for:delegate:)``.
    public func data(from url: URL) async throws -> (Data, URLResponse) { try await data(from: url, delegate: nil) }

    /// Sends a request, and returns the body and the response. See ``data(for:delegate:)``.
    public func data(for request: URLRequest) async throws -> (Data, URLResponse) {
        try await data(for: request, delegate: nil)
    }

    /// Fetches a URL byte by byte. See ``bytes(for:delegate:)``.
    public func bytes(from url: URL) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(from: url, delegate: nil)
    }

    /// Sends a request, and returns when the header of the response has arrived. See ``bytes(for:delegate:)``.
    public func bytes(for request: URLRequest) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: request, delegate: nil)
    }

    /// Sends a request with this body. See ``upload(for:from:delegate:)``.
    public func upload(for request: URLRequest, from bodyData: Data) async throws -> (Data, URLResponse) {
        try await upload(for: request, from: bodyData, delegate: nil)
    }

    /// Sends a request with the contents of a regular file. See ``upload(for:fromFile:delegate:)``.
    public func upload(for request: URLRequest, fromFile fileURL: URL) async throws -> (Data, URLResponse) {
        try await upload(for: request, fromFile: fileURL, delegate: nil)
    }

    /// Downloads a URL to a file. See ``download(for:delegate:)``.
    public func download(from url: URL) async throws -> (URL, URLResponse) {
        try await download(from: url, delegate: nil)
    }

    /// Sends a request, and downloads the body of the response to a file. See ``download(for:delegate:)``.
    public func download(for request: URLRequest) async throws -> (URL, URLResponse) {
        try await download(for: request, delegate: nil)
    }

    /// Resumes a download that was cancelled or failed. See ``download(resumeFrom:delegate:)``.
    public func download(resumeFrom resumeData: Data) async throws -> (URL, URLResponse) {
        try await download(resumeFrom: resumeData, delegate: nil)
    }
}
