import PinnedNetworking

/// A text field of a user interface.
struct Field {
    var text: String?
}

// Around listings 1 to 3 of "Handling an authentication challenge".
final class LoginDelegate: NSObject, URLSessionTaskDelegate {
    let usernameField = Field(text: Site.login.first)
    let passwordField = Field(text: Site.login.last)

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        print("asked", challenge.previousFailureCount, challenge.proposedCredential?.user ?? "nobody")
        // 000: from "let authMethod" through "}"
        let credentialOrNil = credentialsFromUI()
        // 000: from "guard let credential" through "completionHandler(.useCredential"
    }

    // 000: from "func credentialsFromUI" through "}"
}
