public import Foundation

/// One request with a delegate, as programs were written before `URLSession`. New ones use ``URLSession``.
///
/// It works through a ``URLSession`` of its own, so that everything about trust and pins is as it is there. It is held
/// until it has ended, and its delegate with it.
public final class NSURLConnection: NSObject, Sendable {
    let load: ConnectionLoad<any NSURLConnectionDelegate>

    /// A connection that begins at once, or with ``start()``; never nil.
    ///
    /// `configuration` is copied. Pins are in it: ``URLSessionConfiguration/pinning``.
    public init?(
        request: URLRequest, delegate: (any NSURLConnectionDelegate)?, startImmediately: Bool = true,
        configuration: URLSessionConfiguration = .default
    ) {
        load = ConnectionLoad(request, delegate, configuration)
        super.init()
        if startImmediately { start() }
    }

    /// The request as it was given.
    public var originalRequest: URLRequest { load.request }
    /// The request that was sent last: after redirects another than ``originalRequest``.
    public var currentRequest: URLRequest { load.currentRequest }

    /// Calls the delegate on this queue, and not on a serial one of the connection's own. Without effect once it has
    /// started.
    public func setDelegateQueue(_ queue: OperationQueue) { load.setQueue(queue) }

    /// Begins; without effect when it has begun.
    public func start() {
        load.start(ConnectionAdapter(self)) { delegate in
            delegate.connectionShouldUseCredentialStorage(self)
        } makeTask: { session in
            session.dataTask(with: self.originalRequest)
        }
    }

    /// Ends the request. The delegate hears nothing more, once a method that is running has returned.
    public func cancel() { load.cancel() }
}

/// Tells a connection's delegate what its session says.
private final class ConnectionAdapter: URLSessionDataDelegate {
    private let connection: NSURLConnection

    init(_ connection: NSURLConnection) { self.connection = connection }

    private var dataDelegate: (any NSURLConnectionDataDelegate)? {
        connection.load.delegate as? any NSURLConnectionDataDelegate
    }

    // For the whole session, which is this one task: so that a server that was accepted is not asked about twice.
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
