import PinnedNetworking

/// What the Objective-C listings call on `self`.
extension NSObject {
    var preferencesName: String { Site.login[0] }
    var preferencesPassword: String { Site.login[1] }

    func showPreferencesCredentialsAreIncorrectPanel(_ sender: Any) { print("panel") }
}

// Listing 4-1 of "Authentication Challenges and TLS Chain Validation", line for line.
final class SessionPreferencesDelegate: NSObject, URLSessionDelegate {
    func urlSession(
        _ session: URLSession,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if challenge.previousFailureCount == 0 {
            let newCredential = URLCredential(
                user: self.preferencesName,
                password: self.preferencesPassword,
                persistence: .none)
            completionHandler(.useCredential, newCredential)
        } else {
            // Inform the user that the user name and password are incorrect
            completionHandler(.cancelAuthenticationChallenge, nil)
        }
    }
}

// Listing 1 of "Authentication Challenges" (2010), line for line; a session's delegate in place of a connection's.
final class ConnectionPreferencesDelegate: NSObject, URLSessionTaskDelegate {
    func urlSession(
        _ session: URLSession,
        task: URLSessionTask,
        didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        if challenge.previousFailureCount == 0 {
            let newCredential = URLCredential(
                user: self.preferencesName,
                password: self.preferencesPassword,
                persistence: .none)
            challenge.sender?.use(
                newCredential,
                for: challenge)
        } else {
            challenge.sender?.cancel(challenge)
            // inform the user that the user name and password
            // in the preferences are incorrect
            self.showPreferencesCredentialsAreIncorrectPanel(self)
        }
    }
}
