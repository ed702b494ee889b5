/// What a delegate is asked; the task makes a ``URLAuthenticationChallenge`` of it.
struct AuthenticationQuestion: Sendable, Hashable {
    let space: URLProtectionSpace
    /// What was refused last in this realm, else what is stored, else the user whom the URL names.
    let proposedCredential: URLCredential?
    /// All refused answers of the task, whatever the method.
    let previousFailureCount: Int
}
