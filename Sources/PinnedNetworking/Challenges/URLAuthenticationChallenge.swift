/// A request for a delegate to evaluate a server or to provide a credential.
public final class URLAuthenticationChallenge: NSObject, Sendable {
    /// The space that the challenge is for.
    public let protectionSpace: URLProtectionSpace
    /// The credential that was refused last. If there is none, a credential from the URL or the storage, or `nil`. A
    /// credential without a password proposes only a user name, so ask for the password.
    public let proposedCredential: URLCredential?
    /// The number of credentials that were refused before, with any method.
    public let previousFailureCount: Int
    /// The response with the challenge, a ``HTTPURLResponse``. It refused the last credential, if there was one. `nil`
    /// for TLS.
    public let failureResponse: URLResponse?
    /// The error that refused the last credential, if the protocol reports errors.
    public let error: (any Error)?
    /// The object that accepts an answer in place of the completion handler. Only the first answer through either of
    /// them counts.
    public let sender: (any URLAuthenticationChallengeSender)?

    /// Creates a challenge from its parts.
    public init(
        protectionSpace space: URLProtectionSpace, proposedCredential credential: URLCredential?,
        previousFailureCount: Int, failureResponse response: URLResponse?, error: (any Error)?,
        sender: any URLAuthenticationChallengeSender
    ) {
        protectionSpace = space
        proposedCredential = credential
        self.previousFailureCount = previousFailureCount
        failureResponse = response
        self.error = error
        self.sender = sender
    }

    /// Creates a copy of a challenge with another sender, for forwarding it and observing the answer.
    public convenience init(
        authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender
    ) {
        self.init(
            protectionSpace: challenge.protectionSpace, proposedCredential: challenge.proposedCredential,
            previousFailureCount: challenge.previousFailureCount, failureResponse: challenge.failureResponse,
            error: challenge.error, sender: sender)
    }

    /// Returns the challenge itself, which can't be changed.
    public override func copy() -> Any { self }

    /// The protection space and the number of earlier failures.
    public override var description: String { "\(protectionSpace), failures: \(previousFailureCount)" }

    /// Creates a challenge that doesn't have a sender yet.
    init(
        protectionSpace: URLProtectionSpace, proposedCredential: URLCredential? = nil, previousFailureCount: Int = 0,
        failureResponse: URLResponse? = nil
    ) {
        self.protectionSpace = protectionSpace
        self.proposedCredential = proposedCredential
        self.previousFailureCount = previousFailureCount
        self.failureResponse = failureResponse
        error = nil
        sender = nil
    }
}
