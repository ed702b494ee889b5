import Testing

@testable import PinnedNetworking

private let space = URLProtectionSpace(
    host: "a.test", port: 443, protocol: "https", realm: nil, authenticationMethod: NSURLAuthenticationMethodHTTPBasic)

/// A program's own sender, used by programs that forward challenges.
private final class RecordingSender: NSObject, URLAuthenticationChallengeSender {
    let answers = Collected<String>()

    func use(_ credential: URLCredential, for challenge: URLAuthenticationChallenge) { answers.append("use") }
    func continueWithoutCredential(for challenge: URLAuthenticationChallenge) { answers.append("continue") }
    func cancel(_ challenge: URLAuthenticationChallenge) { answers.append("cancel") }
    func performDefaultHandling(for challenge: URLAuthenticationChallenge) { answers.append("default") }
    func rejectProtectionSpaceAndContinue(with challenge: URLAuthenticationChallenge) { answers.append("reject") }
}

@Suite struct ChallengeSenderTests {
    private typealias Answering = @Sendable (any URLAuthenticationChallengeSender, URLAuthenticationChallenge) -> Void

    private static let credential = URLCredential(user: "me", password: "secret", persistence: .none)

    private static let rows: [(URLSession.AuthChallengeDisposition, URLCredential?, Answering)] = [
        (.useCredential, credential, { $0.use(credential, for: $1) }),
        (.useCredential, nil, { $0.continueWithoutCredential(for: $1) }),
        (.cancelAuthenticationChallenge, nil, { $0.cancel($1) }),
        (.performDefaultHandling, nil, { $0.performDefaultHandling(for: $1) }),
        (.rejectProtectionSpace, nil, { $0.rejectProtectionSpaceAndContinue(with: $1) }),
    ]

    @Test("Each answer of a sender is an answer of the completion handler", arguments: 0..<5)
    func answers(row: Int) throws {
        let (disposition, credential, answer) = Self.rows[row]
        let answers = Collected<ChallengeAnswer>()
        let sender = ChallengeAnswerSender { answers.append($0) }
        answer(sender, URLAuthenticationChallenge(protectionSpace: space))
        #expect(answers.values.map(\.disposition) == [disposition])
        #expect(try #require(answers.values.first).credential === credential)
        // It isn't the answer of an unimplemented method.
        #expect(try #require(answers.values.first).isImplemented)
    }

    @Test("A challenge keeps its parts when it is copied with another sender")
    func challenge() throws {
        let sender = RecordingSender()
        let response = HTTPURLResponse(
            url: try #require(URL(string: "https://a.test/")), statusCode: 401, httpVersion: nil, headerFields: nil)
        let original = URLAuthenticationChallenge(
            protectionSpace: space, proposedCredential: Self.credential, previousFailureCount: 3,
            failureResponse: response, error: URLError(.userAuthenticationRequired), sender: sender)
        let other = RecordingSender()
        let copy = URLAuthenticationChallenge(authenticationChallenge: original, sender: other)
        for challenge in [original, copy] {
            #expect(challenge.protectionSpace === space)
            #expect(challenge.proposedCredential === Self.credential)
            #expect(challenge.previousFailureCount == 3)
            #expect(challenge.failureResponse === response)
            #expect((challenge.error as? URLError)?.code == .userAuthenticationRequired)
        }
        copy.sender?.cancel(copy)
        original.sender?.performDefaultHandling(for: original)
        #expect(sender.answers.values == ["default"])
        #expect(other.answers.values == ["cancel"])
    }
}
