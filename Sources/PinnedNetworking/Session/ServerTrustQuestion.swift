import TLSTransport

/// The question whether a server is the one it says it is, asked of the delegates and judged by the policy.
struct ServerTrustQuestion: Sendable {
    let trust: ServerTrust
    let port: UInt16
    /// The proxy's type when the server is one.
    let proxyType: String?
    let connection: ServerTrustDecision.Connection
    let policy: PinningPolicy?

    /// How it was answered.
    struct Judgement: Sendable {
        let verdict: ServerTrustVerdict
        let answer: ChallengeAnswer

        /// Who accepted the server.
        func acceptance(for task: URLSessionTask) -> Approval.Acceptance {
            switch verdict {
            case .verified: .verified
            case .acceptedByDelegate:
                answer.step?.isSessionWide == true ? .session : .task(task.taskIdentifier)
            }
        }

        var path: VerifiedPath? {
            if case .verified(let path, _) = verdict { path } else { nil }
        }

        /// Whether later tasks of the session need not ask anybody.
        var isForSession: Bool { answer.step?.isSessionWide ?? false }
    }

    /// Asks and judges; throws a ``ServerTrustRefusal``, or what ended the task meanwhile.
    ///
    /// Off the event loop: a hostile chain can cost a tenth of a second, which no other transfer is to feel.
    func judge(for task: URLSessionTask, of session: URLSession) async throws -> Judgement {
        let space = URLProtectionSpace(serverTrust: trust, port: port, proxyType: proxyType)
        task.limit.progress(to: .delegate)
        let answer = try await session.answer(to: URLAuthenticationChallenge(protectionSpace: space), of: task)
        task.limit.progress(to: .handshake)
        do throws(ServerTrustRefusal) {
            let verdict = try ServerTrustVerdict(trust, port: Int(port), answer: answer, policy: policy, at: Date())
            log(verdict)
            session.settings.observer?(decision(ServerTrustDecision.Outcome(verdict), task))
            return Judgement(verdict: verdict, answer: answer)
        } catch {
            session.settings.observer?(decision(ServerTrustDecision.Outcome(error), task))
            throw error
        }
    }

    private func decision(_ outcome: ServerTrustDecision.Outcome, _ task: URLSessionTask) -> ServerTrustDecision {
        ServerTrustDecision(
            host: trust.name, port: Int(port), isProxy: proxyType != nil, connection: connection,
            taskIdentifier: task.taskIdentifier, outcome: outcome)
    }

    private func log(_ verdict: ServerTrustVerdict) {
        // A reused connection was logged when it was made.
        guard connection != .reused else { return }
        switch verdict {
        case .verified(_, .forgiven(let mismatch)):
            NSLog("%@", "PinnedNetworking goes on: \(mismatch)")
        case .verified: break
        case .acceptedByDelegate(let error):
            NSLog("%@", "PinnedNetworking goes on: a delegate accepted \(trust.name) port \(port): \(error)")
        }
    }
}

extension ServerTrustDecision.Outcome {
    init(_ verdict: ServerTrustVerdict) {
        switch verdict {
        case .verified(let path, let decision): self = .accepted(path, decision)
        case .acceptedByDelegate(let error): self = .acceptedByDelegate(error)
        }
    }

    init(_ refusal: ServerTrustRefusal) {
        if case .refused(let error) = refusal {
            self = .refused(error, reason: refusal.description)
        } else {
            self = .refused(nil, reason: refusal.description)
        }
    }
}
