import CertificatePinning
import TLSTransport

/// The question whether a server is the one it says it is, asked of the delegates and judged by the policy.
struct ServerTrustQuestion: Sendable {
    let trust: ServerTrust
    let port: UInt16
    /// Of the server that is no proxy.
    let scheme: String
    /// The proxy's type when the server is one.
    let proxyType: String?
    let connection: ServerTrustDecision.Connection
    let policy: PinningPolicy?
    let session: URLSession
    let task: URLSessionTask

    /// How it was answered.
    struct Judgement: Sendable {
        let trust: ServerTrust
        let verdict: ServerTrustVerdict
        /// When the rule that decided ends, which ends the verdict too.
        let end: Date?
        let answer: ChallengeAnswer
        /// Seconds that verifying the chain and finding the pins took.
        let time: TimeInterval

        /// Who accepted the server.
        func acceptance(for task: URLSessionTask) -> Approval.Acceptance {
            switch verdict {
            case .verified: .verified
            case .acceptedByDelegate: isForSession ? .session : .task(task.taskIdentifier)
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
    func judge() async throws -> Judgement {
        let space = URLProtectionSpace(serverTrust: trust, port: port, protocol: scheme, proxyType: proxyType)
        task.limit.progress(to: .delegate)
        let answer = try await session.answer(to: URLAuthenticationChallenge(protectionSpace: space), of: task)
        task.limit.progress(to: .handshake)
        do throws(ServerTrustRefusal) {
            let now = Date()
            let start = ContinuousClock.now
            let verdict = try ServerTrustVerdict(trust, port: Int(port), answer: answer, policy: policy, at: now)
            let time = (ContinuousClock.now - start) / .seconds(1)
            log(verdict)
            if case .verified(_, .forgiven(let mismatch)) = verdict { report(mismatch, at: now) }
            tell(ServerTrustDecision.Outcome(verdict))
            let end = policy?.nextExpiry(for: trust.name, port: Int(port), after: now)
            return Judgement(trust: trust, verdict: verdict, end: end, answer: answer, time: time)
        } catch {
            if case .refused(.mismatch(let mismatch), _, _, _) = error { report(mismatch, at: Date()) }
            let error = error.explained(trust, by: policy)
            tell(ServerTrustDecision.Outcome(error))
            throw error
        }
    }

    /// Tells the observer of a server that needs no new judgement.
    func observe(_ server: JudgedServer) {
        if let path = server.path {
            tell(.accepted(path, policy?.decide(path, port: Int(port), at: Date()) ?? .unpinned(nil)))
        } else {
            tell(.acceptedByDelegate(nil))
        }
    }

    private func tell(_ outcome: ServerTrustDecision.Outcome) {
        session.settings.observer?(
            ServerTrustDecision(
                host: trust.name, port: Int(port), isProxy: proxyType != nil, connection: connection,
                taskIdentifier: task.taskIdentifier, outcome: outcome))
    }

    private func report(_ mismatch: PinMismatch, at time: Date) {
        // A reused connection was reported when it was made.
        guard connection != .reused, !mismatch.rule.reports.isEmpty, let sink = session.settings.reportSink else {
            return
        }
        sink.take(PinFailureReport(mismatch, served: trust.presented.certificates.map(\.derBytes), at: time))
    }

    private func log(_ verdict: ServerTrustVerdict) {
        // A reused connection was logged when it was made.
        guard connection != .reused else { return }
        switch verdict {
        case .verified(_, let decision): decision.log()
        case .acceptedByDelegate(let error):
            NSLog("%@", "PinnedNetworking goes on: a delegate accepted \(trust.name) port \(port): \(error)")
        }
    }
}

extension PinDecision {
    /// Says loudly that a server was accepted without its pins.
    func log() {
        switch self {
        case .forgiven, .bypassed, .stopped: NSLog("%@", "PinnedNetworking goes on: \(self)")
        default: break
        }
    }
}

extension ServerTrustDecision.Outcome {
    fileprivate init(_ verdict: ServerTrustVerdict) {
        switch verdict {
        case .verified(let path, let decision): self = .accepted(path, decision)
        case .acceptedByDelegate(let error): self = .acceptedByDelegate(error)
        }
    }

    fileprivate init(_ refusal: ServerTrustRefusal) {
        if case .refused(let error, _, _, _) = refusal {
            self = .refused(error, reason: refusal.description)
        } else {
            self = .refused(nil, reason: refusal.description)
        }
    }
}
