import PinctlHTTPMessages
import PinctlTLSTransport

/// The transfer of one task, from its request to the last byte of its response: over HTTP or FTP, from a `data` URL or
/// the session's cache, or by a protocol class. Every call ends with the task's limit.
protocol TaskTransfer: AnyObject, Sendable {
    var session: URLSession { get }
    /// Sends the request, and returns when the final response has started.
    func begin() async throws -> URLResponse
    /// Returns the next part of the body, at least one byte, or `nil` at its end.
    func nextPart() async throws -> ArraySlice<UInt8>?
    /// Does what ``begin()`` does, and returns the whole body with the response. Throws if it is larger than the limit,
    /// if possible before it is received.
    func collect(limit: Int) async throws -> (Data, URLResponse)
}

/// A transfer other than that of HTTP, which is a function on the event loop. It takes one task for each call.
@TransportActor
protocol ScriptedTransfer: TaskTransfer {
    nonisolated var task: URLSessionTask { get }
    /// Does what ``TaskTransfer/begin()`` does.
    func open() async throws -> URLResponse
    /// Does what ``TaskTransfer/nextPart()`` does.
    func readPart() async throws -> ArraySlice<UInt8>?
    /// Closes what is open.
    func close()
}

extension ScriptedTransfer {
    nonisolated func begin() async throws -> URLResponse { try await task.limit.run { try await self.open() } }

    nonisolated func nextPart() async throws -> ArraySlice<UInt8>? {
        try await task.limit.run { try await self.readPart() }
    }

    nonisolated func collect(limit: Int) async throws -> (Data, URLResponse) {
        try await task.limit.run {
            let response = try await self.open()
            try await self.task.whileSuspended()
            var (body, limit) = (Data(), HTTPBodyLimit(limit))
            do {
                while let part = try await self.readPart() {
                    try limit.add(part)
                    body.append(contentsOf: part)
                }
            } catch {
                self.close()
                throw error
            }
            return (body, response)
        }
    }
}

extension URLSession {
    /// Creates the transfer of a task's current request, by a protocol class or over the network.
    func makeTransfer(_ task: URLSessionTask) async throws -> any TaskTransfer {
        let classes = protocolClasses
        guard !classes.isEmpty else { return try makeNetworkTransfer(task) }
        try Transport.shared.start()
        return try await task.limit.run { try await self.makeTransfer(task, asking: classes) }
    }

    /// Creates the transfer that a task's URL and the proxies require. Throws if an entry of a proxy's domains isn't
    /// valid, because the request could take an unintended route.
    func makeNetworkTransfer(_ task: URLSessionTask) throws -> any TaskTransfer {
        guard let request = task.currentRequest else { throw RequestTargetError.noURL }
        // Nearly every URL, for which nothing else has to be tried.
        let scheme = request.url?.absoluteURL.scheme
        let isHTTP = scheme == "http" || scheme == "https"
        if !isHTTP, let url = request.url, let contents = try DataURL(url) {
            return LocalTransfer(contents, at: url, task, of: self)
        }
        if let cached = try makeCachedTransfer(request, task) { return cached }
        if let proxyError { throw proxyError }
        guard !isHTTP, let target = try FTPTarget(request) else { return try Transfer(task, of: self) }
        switch settings.proxies.first(where: { $0.reaches(target.name, port: target.port, .ftp) }) {
        case nil: return try FTPTransfer(target, task, of: self)
        case let proxy? where proxy.isHTTP && target.security == .none: return try Transfer(task, of: self)
        case _?: throw FTPError.noProxy
        }
    }
}
