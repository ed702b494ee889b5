/// Which delegate method answers a challenge: each step is asked in turn, in both spellings, until one is implemented.
enum ChallengeRouting {
    enum Delegate: Sendable {
        case session
        case task
    }

    /// `urlSession(_:didReceive:)` or `urlSession(_:task:didReceive:)`.
    enum Method: Sendable {
        case session
        case task
    }

    struct Step: Sendable, Hashable {
        let delegate: Delegate
        let method: Method

        /// Whether the answer holds for all tasks of the session.
        var isSessionWide: Bool { delegate == .session && method == .session }
    }

    /// The order for challenges that concern a whole session: server trust, client certificate, NTLM, Negotiate.
    static let sessionWide = [
        Step(delegate: .session, method: .session),
        Step(delegate: .task, method: .session),
        Step(delegate: .task, method: .task),
        Step(delegate: .session, method: .task),
    ]

    /// The order for challenges that concern a task: Basic, Digest and the rest.
    static let taskSpecific = [
        Step(delegate: .task, method: .task),
        Step(delegate: .task, method: .session),
        Step(delegate: .session, method: .task),
        Step(delegate: .session, method: .session),
    ]

    /// The order for an authentication method.
    static func steps(for method: String) -> [Step] {
        switch method {
        case NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate:
            sessionWide
        default: taskSpecific
        }
    }
}

/// What a delegate answered.
struct ChallengeAnswer: Sendable {
    let disposition: URLSession.AuthChallengeDisposition
    let credential: URLCredential?
    /// Who answered; nil for nobody.
    var step: ChallengeRouting.Step?

    /// Nobody implements a method for the challenge.
    static let byDefault = ChallengeAnswer(disposition: .performDefaultHandling, credential: nil)
    /// The answer of default implementations.
    static let unimplemented = ChallengeAnswer(disposition: .performDefaultHandling, credential: .unimplemented)
    static let cancelled = ChallengeAnswer(disposition: .cancelAuthenticationChallenge, credential: nil)

    /// False for the answer of a default implementation that a delegate passes on unchanged. A refusal counts whatever
    /// credential comes with it.
    var isImplemented: Bool {
        disposition != .performDefaultHandling || credential !== URLCredential.unimplemented
    }
}

extension URLSession {
    /// Asks the delegates along the routing table.
    ///
    /// Waits as long as the task lets it: a delegate that never answers is left behind when the task is cancelled, and
    /// then this throws `CancellationError`.
    func answer(to challenge: URLAuthenticationChallenge, of task: URLSessionTask) async throws -> ChallengeAnswer {
        for step in ChallengeRouting.steps(for: challenge.protectionSpace.authenticationMethod) {
            let delegate: (any URLSessionDelegate)? = step.delegate == .session ? self.delegate : task.delegate
            guard let delegate,
                var answer = try await answer(to: challenge, of: step.method == .task ? task : nil, by: delegate),
                answer.isImplemented
            else { continue }
            answer.step = step
            return answer
        }
        return .byDefault
    }

    /// Asks one delegate: its method about a task when there is one, else the one about the session. Returns nil when it
    /// implements the method in none of the spellings.
    func answer(
        to challenge: URLAuthenticationChallenge, of task: URLSessionTask?, by delegate: any URLSessionDelegate,
        in spellings: [DelegateCall.Spelling] = .all
    ) async throws -> ChallengeAnswer? {
        guard let task else {
            return try await ask(.sessionChallenge, of: delegate, in: spellings) { box in
                delegate.urlSession(self, didReceive: challenge.answered(by: box), completionHandler: box.handler)
            } async: { box in
                let (disposition, credential) = await delegate.urlSession(self, didReceive: challenge.answered(by: box))
                box.handler(disposition, credential)
            }
        }
        guard let delegate = delegate as? any URLSessionTaskDelegate else { return nil }
        return try await ask(.taskChallenge, of: delegate, in: spellings) { box in
            delegate.urlSession(
                self, task: task, didReceive: challenge.answered(by: box), completionHandler: box.handler)
        } async: { box in
            let (disposition, credential) = await delegate.urlSession(
                self, task: task, didReceive: challenge.answered(by: box))
            box.handler(disposition, credential)
        }
    }

    /// The answer of a default implementation to which another delegate has forwarded a challenge: that of the method's
    /// other spelling.
    func forwardedAnswer(
        to challenge: URLAuthenticationChallenge, of task: URLSessionTask? = nil, by delegate: any URLSessionDelegate,
        in spelling: DelegateCall.Spelling
    ) async -> (AuthChallengeDisposition, URLCredential?) {
        let answer: ChallengeAnswer
        do {
            answer = try await self.answer(to: challenge, of: task, by: delegate, in: [spelling]) ?? .unimplemented
        } catch {
            answer = .cancelled
        }
        return (answer.disposition, answer.credential)
    }
}

extension URLAuthenticationChallenge {
    /// The same challenge with a sender whose answers go into the box.
    fileprivate func answered(by box: OnceOnlyAnswer<ChallengeAnswer>) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(authenticationChallenge: self, sender: ChallengeAnswerSender { box.take($0) })
    }
}

extension OnceOnlyAnswer<ChallengeAnswer> {
    fileprivate var handler: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void {
        { take(ChallengeAnswer(disposition: $0, credential: $1)) }
    }
}
