public import Foundation

/// Methods for the challenges and the failure of a connection. All are optional.
///
/// They are called on a serial queue of the connection, or on the queue set with
/// ``NSURLConnection/setDelegateQueue(_:)``.
public protocol NSURLConnectionDelegate: AnyObject, Sendable {
    /// Reports that the connection failed, with a `URLError`. The code `.userCancelledAuthentication` means that a
    /// challenge was cancelled.
    func connection(_ connection: NSURLConnection, didFailWithError error: any Error)

    /// Returns whether stored credentials may be used and new ones stored. Called at the start. The default is true.
    func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool

    /// Receives every challenge, which must be answered through its sender. If it is implemented, it replaces
    /// ``connection(_:canAuthenticateAgainstProtectionSpace:)`` and
    /// ``connection(_:didReceive:)-(_,URLAuthenticationChallenge)``.
    func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge)

    /// Returns whether ``connection(_:didReceive:)-(_,URLAuthenticationChallenge)`` can answer for this space. If
    /// false, default handling applies: stored credentials are used, and a server must be trusted and have its pins.
    ///
    /// The default is false for server trust and client certificates, and true for everything else.
    func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool

    /// Receives a challenge for a credential if neither the URL nor the storage has one that wasn't refused. It must be
    /// answered through the challenge's sender, at once or later. By default, default handling applies and the request
    /// continues without a credential.
    func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge)

    /// Reports that the delegate cancelled a challenge. Called before the failure is reported.
    func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge)
}

/// Methods for the response of a connection. All are optional.
public protocol NSURLConnectionDataDelegate: NSURLConnectionDelegate {
    /// Returns the request to continue with after a redirect, or `nil` to use the 3xx response as the result. It is
    /// never called before the first request. By default the redirect is followed.
    func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest?

    /// Reports the response, whatever its status is.
    func connection(_ connection: NSURLConnection, didReceive response: URLResponse)

    /// Receives the next part of the body.
    func connection(_ connection: NSURLConnection, didReceive data: Data)

    /// Reports that the whole response was received.
    func connectionDidFinishLoading(_ connection: NSURLConnection)
}

extension NSURLConnectionDelegate {
    /// Does nothing by default.
    public func connection(_ connection: NSURLConnection, didFailWithError error: any Error) {}

    /// Returns true by default.
    public func connectionShouldUseCredentialStorage(_ connection: NSURLConnection) -> Bool { true }

    /// Calls the two older methods by default.
    public func connection(_ connection: NSURLConnection, willSendRequestFor challenge: URLAuthenticationChallenge) {
        connection.load.ask(challenge) { space in
            self.connection(connection, canAuthenticateAgainstProtectionSpace: space)
        } receive: { challenge in
            self.connection(connection, didReceive: challenge)
        }
    }

    /// Returns false for server trust and client certificates by default, and true for everything else.
    public func connection(
        _ connection: NSURLConnection, canAuthenticateAgainstProtectionSpace protectionSpace: URLProtectionSpace
    ) -> Bool {
        protectionSpace.isAnsweredUnlessRefused
    }

    /// Performs default handling if not implemented.
    public func connection(_ connection: NSURLConnection, didReceive challenge: URLAuthenticationChallenge) {
        challenge.sender?.performDefaultHandling(for: challenge)
    }

    /// Does nothing by default.
    public func connection(_ connection: NSURLConnection, didCancel challenge: URLAuthenticationChallenge) {}
}

extension NSURLConnectionDataDelegate {
    /// Follows the redirect by default.
    public func connection(
        _ connection: NSURLConnection, willSend request: URLRequest, redirectResponse response: URLResponse?
    ) -> URLRequest? {
        request
    }

    /// Does nothing by default.
    public func connection(_ connection: NSURLConnection, didReceive response: URLResponse) {}

    /// Drops the body data by default.
    public func connection(_ connection: NSURLConnection, didReceive data: Data) {}

    /// Does nothing by default.
    public func connectionDidFinishLoading(_ connection: NSURLConnection) {}
}
