public import Foundation

/// A single request with a delegate, in the style of programs older than `URLSession`. Use ``URLSession`` in new
/// programs.
///
/// The connection uses its own ``URLSession``, so trust and pins work as they do there. The connection and its delegate
/// are retained until it ends.
public final class NSURLConnection: NSObject, Sendable {
    let load: ConnectionLoad<any NSURLConnectionDelegate>

    /// Creates a connection that starts at once or with ``start()``. Never returns `nil`.
    ///
    /// `configuration` is copied. It contains the pins: ``URLSessionConfiguration/pinning``.
    public init?(
        request: URLRequest, delegate: (any NSURLConnectionDelegate)?, startImmediately: Bool = true,
        configuration: URLSessionConfiguration = .default
    ) {
        load = ConnectionLoad(request, delegate, configuration)
        super.init()
        if startImmediately { start() }
    }

    /// The original request.
    public var originalRequest: URLRequest { load.request }
    /// The last request that was sent. After redirects it differs from ``originalRequest``.
    public var currentRequest: URLRequest { load.currentRequest }

    /// Sets the queue for delegate calls, in place of the connection's own serial queue. Has no effect after the start.
    public func setDelegateQueue(_ queue: OperationQueue) { load.setQueue(queue) }

    /// Starts the connection. Has no effect if it has already started.
    public func start() {
        load.start(ConnectionAdapter(self)) { delegate in
            delegate.connectionShouldUseCredentialStorage(self)
        } makeTask: { session in
            session.dataTask(with: self.originalRequest)
        }
    }

    /// Cancels the request. After a delegate method that is currently running has returned, the delegate isn't called
    /// any more.
    public func cancel() { load.cancel() }
}

/// An adapter that forwards the calls of the session to the connection's delegate.
private final class ConnectionAdapter: URLSessionDataDelegate {
    private let connection: NSURLConnection

    init(_ connection: NSURLConnection) { self.connection = connection }

    private var dataDelegate: (any NSURLConnectionDataDelegate)? {
        connection.load.delegate as? any NSURLConnectionDataDelegate
    }

    // Answers for the whole session, which has only this task, so that the delegate isn't asked again about a server it
    // accepted.
    func urlSession(
        _ session: URLSession, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let delegate = connection.load.delegate(for: challenge) else {
            return completionHandler(.performDefaultHandling, nil)
        }
        delegate.connection(connection, willSendRequestFor: challenge)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        guard let dataDelegate else { return completionHandler(request) }
        completionHandler(dataDelegate.connection(connection, willSend: request, redirectResponse: response))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        dataDelegate?.connection(connection, didReceive: response)
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        dataDelegate?.connection(connection, didReceive: data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let (delegate, error, cancelled) = connection.load.end(error, of: session) else { return }
        if let cancelled { delegate.connection(connection, didCancel: cancelled) }
        if let error {
            delegate.connection(connection, didFailWithError: error)
        } else {
            (delegate as? any NSURLConnectionDataDelegate)?.connectionDidFinishLoading(connection)
        }
    }
}
