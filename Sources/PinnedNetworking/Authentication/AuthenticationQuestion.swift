/// A question for a delegate. The task turns it into a ``URLAuthenticationChallenge``.
struct AuthenticationQuestion: Sendable, Hashable {
    let space: URLProtectionSpace
    /// The credential that this realm refused last, otherwise the stored one, otherwise the user in the URL.
    let proposedCredential: URLCredential?
    /// The number of refused answers of the task, with any method.
    let previousFailureCount: Int
}
