public import Foundation

/// Methods about the challenges of a connection, and its failure. None has to be implemented.
///
/// They are called on one queue of the connection's own, or the one it was given
/// (``NSURLConnection/setDelegateQueue(_:)``).
public protocol NSURLConnectionDelegate: AnyObject, Sendable {
    /// Told of the end of a connection that failed, with a `URLError`; `.userCancelledAuthentication` says that a
    /// challenge was cancelled.
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error)

    /// Asked at the start whether stored credentials may be used, and new ones stored; yes unless implemented.
    func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool

    /// Asked about every challenge: answer it through its sender. Where it is implemented it takes the place of
    /// ``connection(_:canAuthenticateAgainstProtectionSpace:)`` and
    /// ``connection(_:didReceive:)-(_,URLAuthenticationChallenge)``.
    func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge)

    /// Whether ``connection(_:didReceive:)-(_,URLAuthenticationChallenge)`` can answer for this space. After a no
    /// default handling decides: what is stored is used, and a server has to be trusted and to have its pins.
    ///
    /// Unless implemented it is no for server trust and client certificates, and yes for all else.
    func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool

    /// Asked for a credential when neither the URL nor the storage has one that is not refused: answer through the
    /// challenge's sender, at once or later. Unless implemented default handling decides, and the request goes on
    /// without a credential.
    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge)

    /// Told of a challenge that the delegate has cancelled, before it is told of the failure.
    func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge)
}

/// Methods about the response of a connection. None has to be implemented.
public protocol NSURLConnectionDataDelegate: NSURLConnectionDelegate {
    /// Asked about a redirect, never before the first request: returns the request to go on with, or nil to take the
    /// 3xx as the response. The redirect is followed unless implemented.
    func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest?

    /// Told of the response, whatever its status.
    func connection(_ connection: NSURLConnection, didReceive response: URLResponse)

    /// Takes the next piece of the body.
    func connection(_ connection: NSURLConnection, didReceive data: Data)

    /// Told that all of the response has come.
    func connectionDidFinishLoading(_ connection: NSURLConnection)
}

extension NSURLConnectionDelegate {
    /// Stands for a method that is not implemented: nobody hears of it.
    public func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {}

    /// Stands for a method that is not implemented: yes.
    public func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { true }

    /// Stands for a method that is not implemented: the two older methods are asked.
    public func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
        connection.load.ask(challenge) { space in
            self.connection(connection, canAuthenticateAgainstProtectionSpace: space)
        } receive: { challenge in
            self.connection(connection, didReceive: challenge)
        }
    }

    /// Stands for a method that is not implemented: no for server trust and client certificates, yes for all else.
    public func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        protectionSpace.isAnsweredUnlessRefused
    }

    /// Stands for a method that is not implemented: default handling decides.
    public func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }

    /// Stands for a method that is not implemented: nobody hears of it.
    public func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge) {}
}

extension NSURLConnectionDataDelegate {
    /// Stands for a method that is not implemented: the redirect is followed.
    public func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest? {
        request
    }

    /// Stands for a method that is not implemented: nobody hears of it.
    public func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {}

    /// Stands for a method that is not implemented: the body is read and dropped.
    public func connection(_ connection: NSURLConnection, didReceive data: Data) {}

    /// Stands for a method that is not implemented: nobody hears of it.
    public func connectionDidFinishLoading(_ connection: NSURLConnection) {}
}
