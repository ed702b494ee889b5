import CertificatePinning
import CertificateTrust
import PinctlHTTPMessages
import PinctlTLSTransport

/// The evaluation of one server of a request, which is its origin or a TLS proxy. It uses the session's trust settings
/// at the time of the request.
///
/// A class, since each request passes it on several times.
final class ServerEvaluator: Sendable {
    let session: URLSession
    let task: URLSessionTask
    private let name: ServerName
    private let port: UInt16
    private let scheme: String
    /// The type of the proxy, if the server is one.
    private let proxyType: String?
    private let permitting: PermittingTrust
    private let anchors: TrustStore

    /// Creates the evaluation. Throws ``SystemTrustStore/Unread`` if the system's trust store is required and hasn't
    /// been read yet.
    init(
        _ name: ServerName, port: UInt16, protocol scheme: String = NSURLProtectionSpaceHTTPS, proxyType: String? = nil,
        by permitting: PermittingTrust, for task: URLSessionTask, of session: URLSession
    ) throws {
        self.session = session
        self.task = task
        self.name = name
        self.port = port
        self.scheme = scheme
        self.proxyType = proxyType
        self.permitting = permitting
        anchors = try permitting.anchors(for: name, port: Int(port))
    }

    // MARK: Connections of earlier requests

    /// Whether the approval of a server is also valid for this request.
    func matches(_ server: EvaluatedServer) -> Bool { matches(server.approval) }

    func matches(_ approval: Approval) -> Bool {
        guard hasSettings(of: approval) else { return false }
        switch approval.acceptance {
        case .verified, .session: break
        // mutant approval-task: true by ServerTrustChallengeTests ConnectionReuseTests VerdictTests
        case .task(let identifier): guard identifier == task.taskIdentifier else { return false }
        }
        switch approval.identity {
        case .none, .session: return true
        // mutant approval-stored-identity: true by ClientCertificateTests/storedChange
        case .stored(let digest): return digest == session.storedIdentity(for: identitySpace)?.digest
        // mutant approval-identity: true by ClientCertificateTests
        case .task(let identifier, _): return identifier == task.taskIdentifier
        }
    }

    // mutant approval-settings: true for `approval.settings == permitting.settings.digest` by PolicyChangeTests
    //   TrustPolicyTests
    /// Whether a server was approved under the trust settings of this request.
    func hasSettings(of approval: Approval) -> Bool { approval.settings == permitting.settings.digest }

    private var settings: TrustSettings { permitting.settings }

    private var identitySpace: URLProtectionSpace {
        URLProtectionSpace(
            clientCertificateFor: name, port: port, issuers: [], protocol: scheme, proxyType: proxyType)
    }

    /// Asks the delegates that answer for single tasks about the server of a reused connection: whether to trust it,
    /// and which client identity to use. Calls the observer.
    ///
    /// Returns false if they select another identity than the one that was sent, since the connection is for that
    /// identity. Throws if they refuse the server or cancel.
    func reevaluate(_ server: EvaluatedServer) async throws -> Bool {
        guard session.hasDelegate(for: task) else {
            await observe(server)
            return true
        }
        if server.isAcceptedForSession {
            await observe(server)
        } else {
            // A trust of its own, as for a new connection: what one delegate has set for a trust, by identity, doesn't
            // apply to the challenge of another.
            let evaluated = try await approve(trust(over: server), on: .reused)
            guard evaluated.approval.acceptance == server.approval.acceptance else {
                throw refusal(.rejected(name))
            }
        }
        guard let request = server.identityRequest else { return true }
        // mutant identity-chosen: { return true } by ClientCertificateTests/askedAgain
        return try await identityQuestion.choose(request.issuers)?.digest == request.sent
    }

    /// Returns the claim of a server that was evaluated before, for another challenge.
    private func trust(over server: EvaluatedServer) -> ServerTrust {
        settings.claim(
            of: name, presenting: server.trust.presented,
            timestamps: server.trust.transparency.handshakeTimestamps, under: anchors)
    }

    /// Calls the observer for a server that the task's delegates were already asked about, or don't have to be. Runs
    /// off the event loop, since the observer is the program's own code.
    func observe(_ server: EvaluatedServer) async {
        report(server.grounds, .reused)
    }

    // MARK: Evaluation

    // It has three steps: `approve` asks the delegates, `decide` combines their answer with the policy's decision, and
    // `PinningPolicy.evaluate` verifies the chain and compares the pins.

    /// Approves a server, or throws a ``ServerTrustRefusal``, or the error that ended the task in the meantime. Asks
    /// the delegates unless `answer` is their answer.
    ///
    /// Runs off the event loop: the evaluation of a malicious chain can take a tenth of a second, which must not delay
    /// other transfers.
    private func approve(
        _ trust: ServerTrust, answer: ChallengeAnswer? = nil, on connection: ServerTrustDecision.Connection
    ) async throws -> EvaluatedServer {
        let answer = if let answer { answer } else { try await ask(about: trust) }
        let now = Date()
        do throws(ServerTrustRefusal) {
            let start = ContinuousClock.now
            let grounds = try decide(on: trust, answer, at: now)
            let time = (ContinuousClock.now - start) / .seconds(1)
            let isForSession = answer.step?.isSessionWide ?? false
            if connection != .reused { logAndQueueReport(grounds, trust, at: now) }
            report(grounds, connection)
            return EvaluatedServer(
                trust: trust, grounds: grounds, isAcceptedForSession: isForSession, evaluationTime: time,
                approval: approval(on: grounds, isForSession: isForSession), evaluated: now,
                end: settings.nextExpiry(under: grounds.decisions.compactMap(\.rule), after: now))
        } catch {
            if connection != .reused, case .mismatch(let mismatch) = error.pinningError {
                queueReport(mismatch, trust, at: now)
            }
            let error = error.explained(trust, by: settings, at: now)
            report(.refused(error.pinningError, reason: error.description), connection)
            throw refusal(error)
        }
    }

    private func ask(about trust: ServerTrust) async throws -> ChallengeAnswer {
        let space = URLProtectionSpace(serverTrust: trust, port: port, protocol: scheme, proxyType: proxyType)
        task.limit.progress(to: .delegate)
        let answer = try await session.answer(to: URLAuthenticationChallenge(protectionSpace: space), of: task)
        task.limit.progress(to: .handshake)
        return answer
    }

    /// Evaluates the server of an open connection after the trust settings were replaced. The delegates aren't asked.
    /// So a chain that only a delegate accepted, under the earlier settings, is refused.
    func confirm(_ server: EvaluatedServer) async throws {
        _ = try await approve(trust(over: server), answer: .byDefault, on: .reused)
    }

    /// Decides on a presented chain. The delegates' answer can only restrict what the policy accepts, with one
    /// exception: an untrusted chain that a delegate accepts for a host without pins.
    private func decide(
        on trust: ServerTrust, _ answer: ChallengeAnswer, at time: Date
    ) throws(ServerTrustRefusal) -> EvaluatedServer.Grounds {
        var isAcceptedByDelegate = false
        switch answer.disposition {
        case .performDefaultHandling: break
        // mutant delegate-cancel: {} by ServerTrustChallengeTests
        case .cancelAuthenticationChallenge: throw .cancelled
        case .rejectProtectionSpace: throw .rejected(name)
        case .useCredential:
            // mutant delegate-credential: true for 2 by ServerTrustChallengeTests
            guard case .trust(let accepted)? = answer.credential?.kind, accepted === trust else {
                throw .foreignCredential(name)
            }
            isAcceptedByDelegate = true
        }
        var decisions: [PinDecision] = []
        for policy in settings.policies {
            do throws(PinningError) {
                decisions.append(try policy.evaluate(trust, port: Int(port), at: time))
            } catch {
                // mutant delegate-narrows: true for 3 by ServerTrustChallengeTests PinnedRequestTests
                guard isAcceptedByDelegate, case .untrusted = error, settings.leavesToDelegate(trust, port: Int(port))
                else { throw policy.refusal(error, name, port: Int(port)) }
                return .acceptedByDelegate(despite: error)
            }
        }
        return .verified(decisions)
    }

    /// Returns the refusal of a server as the reason of the whole request.
    private func refusal(_ reason: ServerTrustRefusal) -> ServerTrustRefusal {
        proxyType == nil ? reason : .proxyRefused(name, port: Int(port), reason)
    }

    private var identityQuestion: IdentityQuestion {
        IdentityQuestion(
            name: name, port: port, scheme: scheme, proxyType: proxyType, session: session, task: task)
    }

    private func approval(on grounds: EvaluatedServer.Grounds, isForSession: Bool) -> Approval {
        let acceptance: Approval.Acceptance =
            switch grounds {
            case .verified: .verified
            case .acceptedByDelegate: isForSession ? .session : .task(task.taskIdentifier)
            }
        return Approval(settings: settings.digest, acceptance: acceptance)
    }

    private func report(_ grounds: EvaluatedServer.Grounds, _ connection: ServerTrustDecision.Connection) {
        switch grounds {
        case .verified(let decisions): if let decision = decisions.last { report(.accepted(decision), connection) }
        case .acceptedByDelegate(let error): report(.acceptedByDelegate(error), connection)
        }
    }

    /// Calls the observer, which is the program's own code.
    private func report(_ outcome: ServerTrustDecision.Outcome, _ connection: ServerTrustDecision.Connection) {
        session.settings.observer?(
            ServerTrustDecision(
                host: name, port: Int(port), isProxy: proxyType != nil, connection: connection,
                taskIdentifier: task.taskIdentifier, outcome: outcome))
    }

    /// Logs and reports that a server was accepted without its pins.
    private func logAndQueueReport(_ grounds: EvaluatedServer.Grounds, _ trust: ServerTrust, at time: Date) {
        switch grounds {
        case .verified(let decisions):
            for decision in decisions {
                decision.log()
                if let finding = decision.path.transparencyFinding {
                    NSLog("%@", "PinnedNetworking continues: \(name) port \(port): \(finding)")
                }
                if case .forgiven(let mismatch) = decision { queueReport(mismatch, trust, at: time) }
            }
        case .acceptedByDelegate(let error):
            NSLog("%@", "PinnedNetworking continues: a delegate accepted \(name) port \(port): \(error)")
        }
    }

    private func queueReport(_ mismatch: PinMismatch, _ trust: ServerTrust, at time: Date) {
        guard !mismatch.rule.reports.isEmpty, let sink = session.settings.reportSink else { return }
        sink.take(PinFailureReport(mismatch, served: trust.presented.certificates.map(\.derBytes), at: time))
    }

    // MARK: New connections

    /// Approves the server of a handshake, and lets `finish` complete the handshake with the request for a client
    /// identity.
    @TransportActor
    private func complete<Connection: ~Copyable>(
        _ pending: consuming PendingConnection, as server: inout EvaluatedServer?,
        finish: (consuming PendingConnection, EvaluatedServer, IdentityQuestion) async throws -> Connection
    ) async throws -> Connection {
        let evaluated: EvaluatedServer
        let trust = settings.claim(
            of: name, presenting: pending.presented, timestamps: pending.timestamps, under: anchors)
        do {
            evaluated = try await approve(trust, on: pending.isResumed ? .resumed : .new)
        } catch {
            await pending.refuse()
            throw error
        }
        let identity = identityQuestion
        do {
            let connection = try await finish(pending, evaluated, identity)
            server = evaluated.identified(as: identity.decision, identity.defaultHandled)
            return connection
        } catch let error as TransportError {
            throw IdentityRefused(error, shown: identity.decision, hasAnswered: false) ?? error
        }
    }

    /// Chooses the client's identity for a server. Throws a ``SupersededApproval`` if the trust settings were replaced
    /// meanwhile: they may refuse the server, which must not learn the identity then.
    private func choose(
        _ issuers: [[UInt8]], _ question: IdentityQuestion, for server: EvaluatedServer
    ) async throws -> ClientIdentity? {
        let identity = try await question.choose(issuers)
        // mutant identity-superseded: true by ReplacedSettingsTests/identity
        guard session.trust.digest == server.approval.settings else { throw SupersededApproval() }
        return identity
    }

    /// Approves the origin and completes its handshake.
    @TransportActor
    func accept(_ pending: consuming PendingConnection, as server: inout EvaluatedServer?) async throws
        -> VerifiedConnection
    {
        try await complete(pending, as: &server) { pending, evaluated, identity in
            try await pending.accept(evaluated.path) { try await self.choose($0, identity, for: evaluated) }
        }
    }

    /// Approves a proxy and completes its handshake.
    @TransportActor
    func acceptProxy(
        _ pending: consuming PendingConnection, as server: inout EvaluatedServer?
    ) async throws -> BareConnection {
        try await complete(pending, as: &server) { pending, evaluated, identity in
            try await pending.acceptProxy(evaluated.path) { try await self.choose($0, identity, for: evaluated) }
        }
    }
}

/// A server of a connection, with the reason why it was accepted.
final class EvaluatedServer: Sendable {
    /// The grounds on which a server was accepted.
    enum Grounds: Sendable {
        /// Every policy accepts a verified path: the process's, then the session's own.
        case verified([PinDecision])
        /// The chain isn't trusted, for this reason. A delegate accepted it, and no pins apply to the host.
        case acceptedByDelegate(despite: PinningError)

        /// The decisions of the policies, or none if they accept no path.
        var decisions: [PinDecision] { if case .verified(let decisions) = self { decisions } else { [] } }
    }

    let trust: ServerTrust
    let grounds: Grounds
    /// Whether the session's delegate answered for every task, so that later tasks don't ask again.
    let isAcceptedForSession: Bool
    /// The time in seconds for verifying the chain and comparing the pins.
    let evaluationTime: TimeInterval
    let approval: Approval
    /// The request for a client identity, if the next task's delegates also have to be asked.
    let identityRequest: IdentityQuestion.DefaultHandled?
    /// The time of the evaluation.
    private let evaluated: Date
    /// The time when the rule that decided or a revocation list expires, if any.
    private let end: Date?
    /// The last time at which every certificate of the path is valid, if there is one.
    private let lastValidity: Date?

    fileprivate init(
        trust: ServerTrust, grounds: Grounds, isAcceptedForSession: Bool, evaluationTime: TimeInterval,
        approval: Approval, evaluated: Date, end: Date?, identityRequest: IdentityQuestion.DefaultHandled? = nil
    ) {
        self.trust = trust
        self.grounds = grounds
        self.isAcceptedForSession = isAcceptedForSession
        self.evaluationTime = evaluationTime
        self.approval = approval
        self.evaluated = evaluated
        self.end = end
        self.identityRequest = identityRequest
        lastValidity = grounds.decisions.flatMap(\.path.certificates).map(\.notAfter).min()
    }

    /// Returns the server after its request for a client identity, if it had one, was answered.
    fileprivate func identified(
        as identity: Approval.Identity, _ request: IdentityQuestion.DefaultHandled?
    ) -> EvaluatedServer {
        var approval = approval
        approval.identity = identity
        return EvaluatedServer(
            trust: trust, grounds: grounds, isAcceptedForSession: isAcceptedForSession, evaluationTime: evaluationTime,
            approval: approval, evaluated: evaluated, end: end, identityRequest: request)
    }

    /// The verified path, or `nil` if a delegate accepted the server without one.
    var path: VerifiedPath? { grounds.decisions.last?.path }

    /// Whether the server can still be used. The path and the rule that accepted it can expire while the connection is
    /// kept. If the clock was turned back, a rule that had expired applies again.
    func isValid(at time: Date) -> Bool {
        // mutant clock-turned-back: true by PolicyChangeTests/clockTurnedBack
        guard time >= evaluated else { return false }
        // mutant expired-rule: false for 2 by PolicyChangeTests ConnectionReuseTests TrustPolicyTests
        if let end, time >= end { return false }
        // mutant expired-leaf: false for 2 by PolicyChangeTests ConnectionReuseTests
        if let lastValidity, time > lastValidity { return false }
        return true
    }
}

extension PinDecision {
    /// Logs that a server was accepted without its pins.
    func log() {
        switch self {
        case .forgiven, .bypassed, .stopped: NSLog("%@", "PinnedNetworking continues: \(self)")
        case .matched, .unpinned: break
        }
    }
}
