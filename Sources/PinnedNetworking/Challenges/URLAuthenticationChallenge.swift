/// A question to a delegate: is this the server, or who are you?
public final class URLAuthenticationChallenge: Sendable {
    /// What it is about.
    public let protectionSpace: URLProtectionSpace
    /// The credential that was refused last, or else one from the URL or the storage; nil when there is none. Without a
    /// password it proposes a user name alone: ask for the password.
    public let proposedCredential: URLCredential?
    /// How many credentials were refused before, whatever the method.
    public let previousFailureCount: Int
    /// The response that asks, and refused the last one if there was one, a ``HTTPURLResponse``; nil for TLS.
    public let failureResponse: URLResponse?
    /// The error that refused the last one, where a protocol answers with errors.
    public let error: (any Error)?
    /// Takes an answer instead of the completion handler. Of all answers through either the first counts.
    public let sender: (any URLAuthenticationChallengeSender)?

    /// A challenge from its parts.
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

    /// The same challenge with another sender, to hand it on and see what is answered.
    public convenience init(
        authenticationChallenge challenge: URLAuthenticationChallenge, sender: any URLAuthenticationChallengeSender
    ) {
        self.init(
            protectionSpace: challenge.protectionSpace, proposedCredential: challenge.proposedCredential,
            previousFailureCount: challenge.previousFailureCount, failureResponse: challenge.failureResponse,
            error: challenge.error, sender: sender)
    }

    /// A challenge that has no sender yet.
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
