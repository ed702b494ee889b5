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
        for step in ChallengeRouting.steps(for: challenge.protectionSpace.authenticationMethod) {
            let delegate: (any URLSessionDelegate)? = step.delegate == .session ? self.delegate : task.delegate
            guard let delegate, !UnimplementedMethods.contains(step.method, of: delegate) else { continue }
            let answer: ChallengeAnswer?
            switch step.method {
            case .session:
                answer = try await ask(challenge) { challenge, handler in
                    delegate.urlSession(self, didReceive: challenge, completionHandler: handler)
                } async: { challenge in
                    await delegate.urlSession(self, didReceive: challenge)
                }
            case .task:
                guard let delegate = delegate as? any URLSessionTaskDelegate else { continue }
                answer = try await ask(challenge) { challenge, handler in
                    delegate.urlSession(self, task: task, didReceive: challenge, completionHandler: handler)
                } async: { challenge in
                    await delegate.urlSession(self, task: task, didReceive: challenge)
                }
            }
            if var answer {
                answer.step = step
                return answer
            }
        }
        return .byDefault
    }

    private typealias Handler = @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void

    /// Asks one method in its two spellings; nil when neither is implemented.
    private func ask(
        _ challenge: URLAuthenticationChallenge,
        completion: @escaping @Sendable (URLAuthenticationChallenge, @escaping Handler) -> Void,
        async:
            @escaping @Sendable (URLAuthenticationChallenge) async -> (
                URLSession.AuthChallengeDisposition, URLCredential?
            )
    ) async throws -> ChallengeAnswer? {
        try await ask { (box: OnceOnlyAnswer<ChallengeAnswer>) in
            completion(challenge.answered(by: box)) { box.take(ChallengeAnswer(disposition: $0, credential: $1)) }
        } async: { box in
            let (disposition, credential) = await async(challenge.answered(by: box))
            box.answer(ChallengeAnswer(disposition: disposition, credential: credential))
        } isImplemented: {
            $0.isImplemented
        }
    }
}

extension URLAuthenticationChallenge {
    /// The same challenge with a sender whose answers go into the box.
    fileprivate func answered(by box: OnceOnlyAnswer<ChallengeAnswer>) -> URLAuthenticationChallenge {
        URLAuthenticationChallenge(authenticationChallenge: self, sender: ChallengeAnswerSender { box.take($0) })
    }
}

/// The methods that types of delegates are known not to implement, so that they are asked once.
///
/// Only the methods that stand for missing ones say so, of the object they are called on: a delegate that hands the
/// challenge on to another one answers like it, and implements the method all the same.
enum UnimplementedMethods {
    enum Spelling: CaseIterable {
        case handler
        case async
    }

    private struct Entry: Hashable {
        let type: ObjectIdentifier
        let method: ChallengeRouting.Method
        let spelling: Spelling
    }

    private static let entries = Locked<Set<Entry>>([])

    static func contains(_ method: ChallengeRouting.Method, of delegate: any URLSessionDelegate) -> Bool {
        let type = ObjectIdentifier(type(of: delegate))
        return entries.withLock { entries in
            Spelling.allCases.allSatisfy { entries.contains(Entry(type: type, method: method, spelling: $0)) }
        }
    }

    static func insert(_ method: ChallengeRouting.Method, _ spelling: Spelling, of delegate: any URLSessionDelegate) {
        let entry = Entry(type: ObjectIdentifier(type(of: delegate)), method: method, spelling: spelling)
        _ = entries.withLock { $0.insert(entry) }
    }
}
