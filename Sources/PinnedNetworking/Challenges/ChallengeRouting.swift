/// The order of delegate methods that can answer a challenge. Each step is tried in turn, with both method variants
/// (completion handler and async), until one is implemented.
enum ChallengeRouting {
    enum Delegate: Sendable {
        case session
        case task
    }

    /// The method `urlSession(_:didReceive:)` or `urlSession(_:task:didReceive:)`.
    enum Method: Sendable {
        case session
        case task
    }

    struct Step: Sendable, Hashable {
        let delegate: Delegate
        let method: Method

        /// Whether the answer applies to all tasks of the session.
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

    /// Returns the order for an authentication method.
    static func steps(for method: String) -> [Step] {
        switch method {
        case NSURLAuthenticationMethodServerTrust, NSURLAuthenticationMethodClientCertificate,
            NSURLAuthenticationMethodNTLM, NSURLAuthenticationMethodNegotiate:
            sessionWide
        default: taskSpecific
        }
    }
}

/// The answer of a delegate to a challenge.
struct ChallengeAnswer: Sendable {
    let disposition: URLSession.AuthChallengeDisposition
    let credential: URLCredential?
    /// The step that answered, or `nil` if no delegate did.
    var step: ChallengeRouting.Step?

    /// The answer if no delegate implements a method for the challenge.
    static let byDefault = ChallengeAnswer(disposition: .performDefaultHandling, credential: nil)
    /// The answer of default implementations.
    static let unimplemented = ChallengeAnswer(disposition: .performDefaultHandling, credential: .unimplemented)
    static let cancelled = ChallengeAnswer(disposition: .cancelAuthenticationChallenge, credential: nil)

    /// Whether a delegate answered. False if it returned the answer of a default implementation unchanged. Any other
    /// disposition counts as an answer, whatever credential comes with it.
    var isImplemented: Bool {
        disposition != .performDefaultHandling || credential !== URLCredential.unimplemented
    }
}

extension URLSession {
    /// Asks the delegates in the order of the routing table.
    ///
    /// Waits for answers until the task is cancelled. A delegate that never answers is abandoned then, and this method
    /// throws `CancellationError`.
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

    /// Asks one delegate. If there is a task, calls the task method, otherwise the session method. Returns `nil` if the
    /// delegate implements none of the method's variants.
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

    /// Returns the answer of a default implementation to which another delegate forwarded a challenge. This is the
    /// answer of the method's other variant.
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
    /// Returns the same challenge with a sender that stores its answers in the box.
    fileprivate func answered(by box: OnceOnlyAnswer<ChallengeAnswer>) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(authenticationChallenge: self, sender: ChallengeAnswerSender { box.take($0) })
    }
}

extension OnceOnlyAnswer<ChallengeAnswer> {
    fileprivate var handler: @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void {
        { self.take(ChallengeAnswer(disposition: $0, credential: $1)) }
    }
}
