/// Takes the answer to a challenge. The first answer counts, through a sender or the completion handler; later ones are
/// ignored.
public protocol URLAuthenticationChallengeSender: AnyObject, Sendable {
    /// Uses a credential: `.useCredential`.
    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge)

    /// Goes on without a credential: `.useCredential` with none. A server that is to be trusted is refused.
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge)

    /// Ends the request: `.cancelAuthenticationChallenge`.
    func cancel(_ challenge: URLAuthenticationChallenge)

    /// Decides as if there were no delegate: `.performDefaultHandling`.
    func performDefaultHandling(for challenge: URLAuthenticationChallenge)

    /// Moves on to the next challenge of the same response: `.rejectProtectionSpace`.
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge)
}

/// The sender of a session's own challenges: each answer goes where the completion handler's goes, under the same rule
/// that the first one counts.
///
/// Which challenge an answer names makes no difference: a sender has but one question.
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
