import TLSTransport

/// One task's way from its request to the last byte of its response, by HTTP or by FTP.
@TransportActor
protocol TaskTransfer: AnyObject, Sendable {
    nonisolated var session: URLSession { get }
    /// Returns when the response that counts has begun.
    func begin() async throws -> URLResponse
    /// The next piece of the body, at least one byte; nil at its end.
    func nextPart() async throws -> ArraySlice<UInt8>?
    /// The rest of the body, all of it.
    func collectBody(limit: Int) async throws -> Data
}

extension URLSession {
    /// The way that a task's URL and the proxies say. Throws when an entry of a proxy's domains isn't valid: the request
    /// would go another way than its author meant.
    func makeTransfer(_ task: URLSessionTask) throws -> any TaskTransfer {
        if let proxyError { throw proxyError }
        guard let request = task.originalRequest, let target = try FTPTarget(request) else {
            return try Transfer(task, of: self)
        }
        switch settings.proxies.first(where: { $0.reaches(target.name) }) {
        case nil: return try FTPTransfer(target, task, of: self)
        case let proxy? where proxy.isHTTP && target.security == .none: return try Transfer(task, of: self)
        case _?: throw FTPError.noProxy
        }
    }
}
