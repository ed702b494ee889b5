public import Foundation

/// The receiver of what a ``URLProtocol`` loads.
///
/// The methods can be called from any thread. A call that is late, repeated or out of order is ignored.
public protocol URLProtocolClient: NSObjectProtocol, Sendable {
    /// Receives a redirect. The delegates can change or stop it. The new request starts again with the protocol
    /// classes, and is sent over the network if none handles it. This ends the loading.
    func urlProtocol(
        _ protocol: URLProtocol, wasRedirectedTo request: URLRequest, redirectResponse: URLResponse)

    /// Receives a cached response that is still valid. It is passed on as the response, the body and the end.
    func urlProtocol(_ protocol: URLProtocol, cachedResponseIsValid cachedResponse: CachedURLResponse)

    /// Receives the response, once. It is never kept in a cache.
    func urlProtocol(
        _ protocol: URLProtocol, didReceive response: URLResponse, cacheStoragePolicy policy: URLCache.StoragePolicy)

    /// Receives the next part of the body, after the response.
    func urlProtocol(_ protocol: URLProtocol, didLoad data: Data)

    /// Receives the end of the body. Without a response, the task fails with `URLError.badServerResponse`.
    func urlProtocolDidFinishLoading(_ protocol: URLProtocol)

    /// Receives a failure. The error is passed on unchanged, also if it isn't a `URLError`.
    func urlProtocol(_ protocol: URLProtocol, didFailWithError error: any Error)

    /// Receives a challenge. The delegates are asked, and their answer is passed to the challenge's sender. Stored
    /// credentials aren't looked up. If a delegate cancels the challenge, the task fails with `URLError.cancelled`.
    func urlProtocol(_ protocol: URLProtocol, didReceive challenge: URLAuthenticationChallenge)

    /// Withdraws the last challenge. Its answer isn't passed on.
    func urlProtocol(_ protocol: URLProtocol, didCancel challenge: URLAuthenticationChallenge)
}
