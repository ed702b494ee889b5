import CertificatePinning
import CertificateTrust
import HTTPMessages
import TLSTransport

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
    private let policy: PinningPolicy?
    private let store: TrustStore
    private let roots: [UInt8]
    private let trustPolicy: TrustPolicy
    private let revocation: DigestedEvidence
    private let logs: TransparencyLogList?

    /// Creates the evaluation. Throws ``SystemTrustStore/Unread`` if the system's trust store is required and hasn't
    /// been read yet.
    init(
        _ name: ServerName, port: UInt16, protocol scheme: String = NSURLProtectionSpaceHTTPS, proxyType: String? = nil,
        by trust: SessionTrust, for task: URLSessionTask, of session: URLSession
    ) throws {
        self.session = session
        self.task = task
        self.name = name
        self.port = port
        self.scheme = scheme
        self.proxyType = proxyType
        policy = trust.pinning
        let anchors = policy?.rule(for: name, port: Int(port))?.anchors
        store = try anchors ?? trust.store ?? SystemTrustStore.read()
        roots = store.digest
        trustPolicy = trust.policy
        revocation = trust.revocation
        logs = trust.logs
    }

    // MARK: Connections of earlier requests

    /// Whether the approval of a server is also valid for this request.
    func matches(_ server: EvaluatedServer) -> Bool { matches(server.approval) }

    func matches(_ approval: Approval) -> Bool {
        guard hasSettings(of: approval) else { return false }
        switch approval.acceptance {
        case .verified, .session: break
        case .task(let identifier): guard identifier == task.taskIdentifier else { return false }
        }
        switch approval.identity {
        case .none, .session: return true
        case .stored(let digest): return digest == session.storedIdentity(for: identitySpace)?.digest
        case .task(let identifier, _): return identifier == task.taskIdentifier
        }
    }

    /// Whether a server was approved under the trust settings of this request.
    func hasSettings(of approval: Approval) -> Bool {
        approval.policy == policy?.digest ?? [] && approval.roots == roots && approval.trustPolicy == trustPolicy
            && approval.revocation == revocation.digest && approval.transparency == logs?.digest ?? []
    }

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
            let evaluated = try await evaluate(
                trust(over: server), on: .reused)
            guard evaluated.approval.acceptance == server.approval.acceptance else {
                throw refusal(.rejected(name))
            }
        }
        guard let request = server.identityRequest else { return true }
        return try await identityQuestion.choose(request.issuers)?.digest == request.sent
    }

    /// Returns the claim of a server that presented this chain, for one challenge. `timestamps` are those in its TLS
    /// extension.
    private func trust(over presented: PresentedChain, timestamps: [UInt8]?) -> ServerTrust {
        ServerTrust(
            presented: presented, name: name, store: store, policy: trustPolicy, revocation: revocation.evidence,
            transparency: TransparencyEvidence(logs: logs, handshakeTimestamps: timestamps))
    }

    /// Returns the claim of a server that was evaluated before, for another challenge.
    private func trust(over server: EvaluatedServer) -> ServerTrust {
        trust(over: server.trust.presented, timestamps: server.trust.transparency.handshakeTimestamps)
    }

    /// Calls the observer for a server that the task's delegates were already asked about, or don't have to be. Runs
    /// off the event loop, since the observer is the program's own code.
    func observe(_ server: EvaluatedServer) async {
        report(server.result, .reused)
    }

    // MARK: Evaluation

    /// Asks the delegates about a server and evaluates it. Throws a ``ServerTrustRefusal``, or the error that ended the
    /// task in the meantime.
    ///
    /// Runs off the event loop: the evaluation of a malicious chain can take a tenth of a second, which must not delay
    /// other transfers.
    private func evaluate(
        _ trust: ServerTrust, on connection: ServerTrustDecision.Connection
    ) async throws -> EvaluatedServer {
        let space = URLProtectionSpace(serverTrust: trust, port: port, protocol: scheme, proxyType: proxyType)
        task.limit.progress(to: .delegate)
        let answer = try await session.answer(to: URLAuthenticationChallenge(protectionSpace: space), of: task)
        task.limit.progress(to: .handshake)
        return try evaluate(trust, answer, on: connection)
    }

    /// Evaluates the server of an open connection after the trust settings were replaced. The delegates aren't asked.
    /// So a chain that only a delegate accepted, under the earlier settings, is refused.
    func confirm(_ server: EvaluatedServer) async throws {
        _ = try evaluate(trust(over: server), .byDefault, on: .reused)
    }

    private func evaluate(
        _ trust: ServerTrust, _ answer: ChallengeAnswer, on connection: ServerTrustDecision.Connection
    ) throws -> EvaluatedServer {
        let now = Date()
        do throws(ServerTrustRefusal) {
            let start = ContinuousClock.now
            let result = try evaluate(trust, answer: answer, at: now)
            let time = (ContinuousClock.now - start) / .seconds(1)
            let isForSession = answer.step?.isSessionWide ?? false
            if connection != .reused { logAndQueueReport(result, trust, at: now) }
            report(result, connection)
            return EvaluatedServer(
                trust: trust, result: result, isAcceptedForSession: isForSession, evaluationTime: time,
                approval: approval(result, isForSession: isForSession), evaluated: now,
                end: end(of: result, after: now))
        } catch {
            if connection != .reused, case .refused(.mismatch(let mismatch), _, _, _) = error {
                queueReport(mismatch, trust, at: now)
            }
            let error = error.explained(trust, by: policy, at: now)
            report(.refused(error.pinningError, reason: error.description), connection)
            throw refusal(error)
        }
    }

    /// Returns the refusal of a server as the reason of the whole request.
    private func refusal(_ reason: ServerTrustRefusal) -> ServerTrustRefusal {
        proxyType == nil ? reason : .proxyRefused(name, port: Int(port), reason)
    }

    /// Evaluates a presented chain. The delegates' answer can only restrict what the policy accepts, with one
    /// exception: an untrusted chain that a delegate accepts for a host without pins.
    private func evaluate(
        _ trust: ServerTrust, answer: ChallengeAnswer, at time: Date
    ) throws(ServerTrustRefusal) -> EvaluatedServer.Result {
        var isAcceptedByDelegate = false
        switch answer.disposition {
        case .performDefaultHandling: break
        case .cancelAuthenticationChallenge: throw .cancelled
        case .rejectProtectionSpace: throw .rejected(name)
        case .useCredential:
            guard case .trust(let accepted)? = answer.credential?.kind, accepted === trust else {
                throw .foreignCredential(name)
            }
            isAcceptedByDelegate = true
        }
        do throws(PinningError) {
            return .success(try decide(on: trust, at: time))
        } catch {
            guard isAcceptedByDelegate, case .untrusted = error,
                policy?.leavesToDelegate(trust, port: Int(port)) ?? true
            else { throw .refused(error, name, port: Int(port)) }
            return .failure(error)
        }
    }

    private func decide(on trust: ServerTrust, at time: Date) throws(PinningError) -> PinDecision {
        if let policy { return try policy.evaluate(trust, port: Int(port), at: time) }
        do throws(TrustFinding) {
            return .unpinned(try trust.evaluate(at: time), nil)
        } catch {
            throw .untrusted(error)
        }
    }

    /// Returns the time when the acceptance must be evaluated again, because the rule, a revocation list or the list of
    /// logs expires.
    private func end(of result: EvaluatedServer.Result, after now: Date) -> Date? {
        let list = trustPolicy.revocation == .ignore ? nil : revocation.evidence.nextExpiry(after: now)
        let rule = (try? result.get())?.rule
        let mode = rule?.certificateTransparency ?? trustPolicy.certificateTransparency
        let logs = mode == .ignore ? nil : logs.flatMap { now < $0.end ? $0.end : nil }
        return [rule?.nextExpiry(after: now), list, logs].compactMap(\.self).min()
    }

    private var identityQuestion: IdentityQuestion {
        IdentityQuestion(
            name: name, port: port, scheme: scheme, proxyType: proxyType, session: session, task: task)
    }

    private func approval(_ result: EvaluatedServer.Result, isForSession: Bool) -> Approval {
        let acceptance: Approval.Acceptance =
            switch result {
            case .success: .verified
            case .failure: isForSession ? .session : .task(task.taskIdentifier)
            }
        return Approval(
            policy: policy?.digest ?? [], roots: roots, trustPolicy: trustPolicy, revocation: revocation.digest,
            transparency: logs?.digest ?? [], acceptance: acceptance)
    }

    private func report(_ result: EvaluatedServer.Result, _ connection: ServerTrustDecision.Connection) {
        switch result {
        case .success(let decision): report(.accepted(decision), connection)
        case .failure(let error): report(.acceptedByDelegate(error), connection)
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
    private func logAndQueueReport(_ result: EvaluatedServer.Result, _ trust: ServerTrust, at time: Date) {
        switch result {
        case .success(let decision):
            decision.log()
            if let finding = decision.path.transparencyFinding {
                NSLog("%@", "PinnedNetworking continues: \(name) port \(port): \(finding)")
            }
            if case .forgiven(let mismatch) = decision { queueReport(mismatch, trust, at: time) }
        case .failure(let error):
            NSLog("%@", "PinnedNetworking continues: a delegate accepted \(name) port \(port): \(error)")
        }
    }

    private func queueReport(_ mismatch: PinMismatch, _ trust: ServerTrust, at time: Date) {
        guard !mismatch.rule.reports.isEmpty, let sink = session.settings.reportSink else { return }
        sink.take(PinFailureReport(mismatch, served: trust.presented.certificates.map(\.derBytes), at: time))
    }

    // MARK: New connections

    /// Evaluates the server of a handshake, and lets `finish` complete the handshake with the request for a client
    /// identity.
    @TransportActor
    private func evaluate<Connection: ~Copyable>(
        _ pending: consuming PendingConnection, as server: inout EvaluatedServer?,
        finish: (consuming PendingConnection, EvaluatedServer, IdentityQuestion) async throws -> Connection
    ) async throws -> Connection {
        let evaluated: EvaluatedServer
        do {
            evaluated = try await evaluate(
                trust(over: pending.presented, timestamps: pending.timestamps), on: pending.isResumed ? .resumed : .new)
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
        let current = try? ServerEvaluator(
            name, port: port, protocol: scheme, proxyType: proxyType, by: session.trust, for: task, of: session)
        guard current?.hasSettings(of: server.approval) == true else { throw SupersededApproval() }
        return identity
    }

    /// Evaluates the origin and completes its handshake.
    @TransportActor
    func accept(_ pending: consuming PendingConnection, as server: inout EvaluatedServer?) async throws
        -> VerifiedConnection
    {
        try await evaluate(pending, as: &server) { pending, evaluated, identity in
            try await pending.accept(
                evaluated.path, identity: { try await self.choose($0, identity, for: evaluated) }
            ) {
                var approval = evaluated.approval
                approval.identity = identity.decision
                return approval
            }
        }
    }

    /// Evaluates a proxy and completes its handshake.
    @TransportActor
    func acceptProxy(
        _ pending: consuming PendingConnection, as server: inout EvaluatedServer?
    ) async throws -> BareConnection {
        try await evaluate(pending, as: &server) { pending, evaluated, identity in
            try await pending.acceptProxy(evaluated.path) { try await self.choose($0, identity, for: evaluated) }
        }
    }
}

/// A server of a connection, with the reason why it was accepted.
final class EvaluatedServer: Sendable {
    /// The policy's decision, or the reason why the chain isn't trusted if a delegate accepted the server nevertheless.
    typealias Result = Swift.Result<PinDecision, PinningError>

    let trust: ServerTrust
    let result: Result
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
        trust: ServerTrust, result: Result, isAcceptedForSession: Bool, evaluationTime: TimeInterval,
        approval: Approval, evaluated: Date, end: Date?, identityRequest: IdentityQuestion.DefaultHandled? = nil
    ) {
        self.trust = trust
        self.result = result
        self.isAcceptedForSession = isAcceptedForSession
        self.evaluationTime = evaluationTime
        self.approval = approval
        self.evaluated = evaluated
        self.end = end
        self.identityRequest = identityRequest
        lastValidity = (try? result.get())?.path.certificates.map(\.notAfter).min()
    }

    /// Returns the server after its request for a client identity, if it had one, was answered.
    fileprivate func identified(
        as identity: Approval.Identity, _ request: IdentityQuestion.DefaultHandled?
    ) -> EvaluatedServer {
        var approval = approval
        approval.identity = identity
        return EvaluatedServer(
            trust: trust, result: result, isAcceptedForSession: isAcceptedForSession, evaluationTime: evaluationTime,
            approval: approval, evaluated: evaluated, end: end, identityRequest: request)
    }

    /// The verified path, or `nil` if a delegate accepted the server without one.
    var path: VerifiedPath? { (try? result.get())?.path }

    /// Whether the server can still be used. The path and the rule that accepted it can expire while the connection is
    /// kept. If the clock was turned back, a rule that had expired applies again.
    func isValid(at time: Date) -> Bool {
        guard time >= evaluated else { return false }
        if let end, time >= end { return false }
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
