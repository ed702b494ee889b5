import PinctlBasics
import PinctlTLSTransport

/// The transfer of a task whose response is known: that of a `data` URL, or one that the program stored in the
/// session's cache. Nothing is sent.
@TransportActor
final class LocalTransfer: ScriptedTransfer {
    nonisolated let session: URLSession
    private let response: URLResponse
    nonisolated let task: URLSessionTask
    private var bytes: [UInt8]

    nonisolated init(_ response: URLResponse, _ bytes: [UInt8], _ task: URLSessionTask, of session: URLSession) {
        self.session = session
        self.task = task
        self.bytes = bytes
        self.response = response
    }

    /// Creates the transfer of the contents of a `data` URL.
    nonisolated convenience init(
        _ contents: DataURL, at url: URL, _ task: URLSessionTask, of session: URLSession
    ) {
        let response = URLResponse(
            url: url, mimeType: contents.mimeType, expectedContentLength: contents.bytes.count,
            textEncodingName: contents.charset)
        self.init(response, contents.bytes, task, of: session)
    }

    func open() async throws -> URLResponse {
        task.status.withLock { $0.response = response }
        return response
    }

    func readPart() async throws -> ArraySlice<UInt8>? {
        guard !bytes.isEmpty else { return nil }
        defer { bytes = [] }
        task.noteDecoded(bytes.count)
        return bytes[...]
    }

    func close() {}
}

extension URLSession {
    /// Creates the transfer of the response that the program stored for a task's request, if the request or the session
    /// asks for it. Throws if the request must not be sent and there is none.
    func makeCachedTransfer(_ request: URLRequest, _ task: URLSessionTask) throws -> LocalTransfer? {
        var policy = request.cachePolicy
        if policy == .useProtocolCachePolicy { policy = settings.cachePolicy }
        guard policy == .returnCacheDataElseLoad || policy == .returnCacheDataDontLoad else { return nil }
        if let stored = settings.cache?.cachedResponse(for: request) {
            return LocalTransfer(stored.response, Array(stored.data), task, of: self)
        }
        guard policy != .returnCacheDataDontLoad else { throw NothingCachedError() }
        return nil
    }
}

/// The error for a request that may only be answered from the cache.
struct NothingCachedError: Error, CustomStringConvertible {
    var description: String {
        "no response is stored for this request: store one in urlCache, or use another cachePolicy"
    }
}
