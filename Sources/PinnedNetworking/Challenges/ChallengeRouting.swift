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

    /// The order for challenges that concern a whole session: server trust.
    static let sessionWide: [(delegate: Delegate, method: Method)] = [
        (.session, .session),
        (.task, .session),
        (.task, .task),
        (.session, .task),
    ]
}

/// What a delegate answered.
struct ChallengeAnswer: Sendable {
    let disposition: URLSession.AuthChallengeDisposition
    let credential: URLCredential?

    /// Nobody implements a method for the challenge.
    static let byDefault = ChallengeAnswer(disposition: .performDefaultHandling, credential: nil)

    /// A refusal counts whatever credential comes with it.
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
        for step in ChallengeRouting.sessionWide {
            let delegate: (any URLSessionDelegate)? = step.delegate == .session ? self.delegate : task.delegate
            guard let delegate else { continue }
            switch step.method {
            case .session:
                let answer = try await ask { handler in
                    delegate.urlSession(self, didReceive: challenge, completionHandler: handler)
                } async: {
                    await delegate.urlSession(self, didReceive: challenge)
                }
                if let answer { return answer }
            case .task:
                guard let delegate = delegate as? any URLSessionTaskDelegate else { continue }
                let answer = try await ask { handler in
                    delegate.urlSession(self, task: task, didReceive: challenge, completionHandler: handler)
                } async: {
                    await delegate.urlSession(self, task: task, didReceive: challenge)
                }
                if let answer { return answer }
            }
        }
        return .byDefault
    }

    private typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// Asks one method in its two spellings; nil when neither is implemented.
    private func ask(
        completion: @escaping @Sendable (@escaping Handler) -> Void,
        async: @escaping @Sendable () async -> (URLSession.AuthChallengeDisposition, URLCredential?)
    ) async throws -> ChallengeAnswer? {
        let handled = OnceOnlyAnswer<ChallengeAnswer>()
        delegateQueue.addOperation {
            completion { disposition, credential in
                guard !handled.answer(ChallengeAnswer(disposition: disposition, credential: credential)) else { return }
                NSLog("%@", "PinnedNetworking: a delegate answered twice or too late; the answer is ignored")
            }
        }
        guard let answer = await handled.value else { throw CancellationError() }
        if answer.isImplemented { return answer }

        let returned = OnceOnlyAnswer<ChallengeAnswer>()
        let asking = Task {
            let (disposition, credential) = await async()
            returned.answer(ChallengeAnswer(disposition: disposition, credential: credential))
        }
        guard let answer = await returned.value else {
            asking.cancel()
            throw CancellationError()
        }
        return answer.isImplemented ? answer : nil
    }
}
