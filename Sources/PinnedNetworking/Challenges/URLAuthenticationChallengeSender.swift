/// A receiver of the answer to a challenge. Only the first answer counts, whether through a sender or the completion
/// handler. Later ones are ignored.
public protocol URLAuthenticationChallengeSender: AnyObject, Sendable {
    /// Uses a credential: `.useCredential`.
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)

    /// Continues without a credential: `.useCredential` with `nil`. For a server trust challenge, the server is
    /// refused.
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)

    /// Cancels the request: `.cancelAuthenticationChallenge`.
    func cancel(_ challenge: URLAuthenticationChallenge)

    /// Handles the challenge as if there were no delegate: `.performDefaultHandling`.
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)

    /// Moves on to the next challenge of the same response: `.rejectProtectionSpace`.
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

/// The sender of a session's own challenges. Its answers are handled like those of the completion handler, and only the
/// first one counts.
///
/// A sender has only one challenge, so the challenge in an answer is ignored.
final class ChallengeAnswerSender: URLAuthenticationChallengeSender {
    private let answer: @Sendable (ChallengeAnswer) -> Void

    init(_ answer: @escaping @Sendable (ChallengeAnswer) -> Void) {
        self.answer = answer
    }

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) {
        answer(ChallengeAnswer(disposition: .useCredential, credential: credential))
    }

    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) {
        answer(ChallengeAnswer(disposition: .useCredential, credential: nil))
    }

    func cancel(_ challenge: URLAuthenticationChallenge) {
        answer(ChallengeAnswer(disposition: .cancelAuthenticationChallenge, credential: nil))
    }

    func performDefaultHandling(for challenge: URLAuthenticationChallenge) {
        answer(ChallengeAnswer(disposition: .performDefaultHandling, credential: nil))
    }

    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) {
        answer(ChallengeAnswer(disposition: .rejectProtectionSpace, credential: nil))
    }
}
