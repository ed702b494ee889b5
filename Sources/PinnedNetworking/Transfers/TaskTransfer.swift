import HTTPMessages
import TLSTransport

/// The transfer of one task, from its request to the last byte of its response: over HTTP or FTP, from a `data` URL or
/// the session's cache, or by a protocol class.
@TransportActor
protocol TaskTransfer: AnyObject, Sendable {
    nonisolated var session: URLSession { get }
    /// Sends the request, and returns when the final response has started.
    func begin() async throws -> URLResponse
    /// Returns the next part of the body, at least one byte, or `nil` at its end.
    func nextPart() async throws -> ArraySlice<UInt8>?
    /// The header of an HTTP response that is being received, or `nil`.
    var head: HTTPResponseHead? { get }
    /// Does what ``begin()`` and ``collectBody(limit:)`` do, if that takes no task on the event loop. Otherwise returns
    /// `nil`, and those two continue.
    nonisolated func collectDirectly() async throws -> (Data, URLResponse)?
    /// Closes what is open, after an error outside of the transfer.
    func abandon()
}

extension TaskTransfer {
    var head: HTTPResponseHead? { nil }

    nonisolated func collectDirectly() async throws -> (Data, URLResponse)? { nil }

    func abandon() {}

    /// Returns the rest of the body. Throws if it is larger than the limit, if possible before it is received.
    func collectBody(limit: Int) async throws -> Data {
        var limit = HTTPBodyLimit(limit)
        var body = Data()
        do {
            if let head { try limit.check(head) }
            while let part = try await nextPart() {
                try limit.add(part)
                body.append(contentsOf: part)
            }
        } catch {
            abandon()
            throw error
        }
        return body
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
        switch settings.proxies.first(where: { $0.reaches(target.name, .ftp) }) {
        case nil: return try FTPTransfer(target, task, of: self)
        case let proxy? where proxy.isHTTP && target.security == .none: return try Transfer(task, of: self)
        case _?: throw FTPError.noProxy
        }
    }
}
