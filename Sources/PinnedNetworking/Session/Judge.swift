import CertificateTrust
import HTTPMessages
import TLSTransport

/// What one request's servers and connections are judged by: the session's trust as the request found it.
struct Judge: Sendable {
    let session: URLSession
    let task: URLSessionTask
    private let name: ServerName
    private let port: UInt16
    private let policy: PinningPolicy?
    private let store: TrustStore?
    private let roots: [UInt8]

    /// Throws when the target may not be reached in the clear, or the system's trust store cannot be read.
    init(_ target: RequestTarget, for task: URLSessionTask, of session: URLSession) throws {
        let trust = session.trust
        self.session = session
        self.task = task
        name = target.name
        port = target.port
        policy = trust.pinning
        let isCleartext = target.origin.scheme == .http
        if isCleartext, policy?.permitsCleartext(to: name) == false { throw RequestTargetError.pinnedCleartext(name) }
        let anchors = policy?.rule(for: name, port: Int(port))?.anchors
        store = isCleartext ? nil : try anchors ?? trust.store ?? SystemTrustStore.load()
        roots = store?.digest ?? []
    }

    // MARK: Connections of earlier requests

    /// Whether a connection was approved by all that this request would be approved by.
    @TransportActor
    func holds(_ connection: PooledConnection) -> Bool {
        guard let approval = connection.verified?.approval else { return true }
        return holds(approval)
    }

    func holds(_ approval: Approval) -> Bool {
        guard approval.policy == policy?.digest ?? [], approval.roots == roots else { return false }
        switch approval.acceptance {
        case .verified, .session: break
        case .task(let identifier): guard identifier == task.taskIdentifier else { return false }
        }
        switch approval.identity {
        case .none, .session: return true
        case .stored(let digest): return digest == session.storedIdentity(for: name, port: port)?.digest
        case .task(let identifier, _): return identifier == task.taskIdentifier
        }
    }

    /// Puts a reused connection's server to the delegates that judge tasks singly, and to the policy as time has made it.
    @TransportActor
    func askAgain(_ connection: PooledConnection) async throws {
        guard let verified = connection.verified, let trust = connection.trust else { return }
        guard !connection.isJudgedForSession, session.hasDelegate(for: task) else {
            if let observer = session.settings.observer { observer(reuse(of: verified)) }
            return
        }
        let judgement = try await question(trust, port, nil, .reused).judge(for: task, of: session)
        guard judgement.acceptance(for: task) == verified.approval.acceptance else {
            throw ServerTrustRefusal.rejected(name)
        }
    }

    private func reuse(of connection: VerifiedConnection) -> ServerTrustDecision {
        let outcome: ServerTrustDecision.Outcome =
            if let path = connection.path {
                .accepted(path, policy?.decide(path, port: Int(port)) ?? .unpinned(nil))
            } else {
                .acceptedByDelegate(nil)
            }
        return ServerTrustDecision(
            host: name, port: Int(port), isProxy: false, connection: .reused, taskIdentifier: task.taskIdentifier,
            outcome: outcome)
    }

    // MARK: New connections

    /// Judges the target's server and goes on with it.
    @TransportActor
    func accept(
        _ pending: consuming PendingConnection, proxyCredential: URLCredential?, generation: Int
    ) async throws -> PooledConnection {
        guard let store else { throw RequestTargetError.pinnedCleartext(name) }
        let trust = ServerTrust(presented: pending.presented, name: name, store: store)
        let question = question(trust, port, nil, pending.isResumed ? .resumed : .new)
        let judgement: ServerTrustQuestion.Judgement
        do {
            judgement = try await question.judge(for: task, of: session)
        } catch {
            await pending.refuse()
            throw error
        }
        let identity = IdentityQuestion(name: name, port: port, proxyType: nil, session: session, task: task)
        let approval = Approval(
            policy: policy?.digest ?? [], roots: roots, acceptance: judgement.acceptance(for: task))
        let connection: VerifiedConnection
        do {
            connection = try await pending.accept(judgement.path, identity: identity.choose) {
                var approval = approval
                approval.identity = identity.decision
                return approval
            }
        } catch let error as TransportError {
            throw IdentityRefused(error, shown: identity.decision) ?? error
        }
        return PooledConnection(
            connection, trust: trust, isJudgedForSession: judgement.isForSession, proxyCredential: proxyCredential,
            generation: generation)
    }

    /// Judges a proxy by its own name and goes on with it.
    @TransportActor
    func acceptProxy(
        _ pending: consuming PendingConnection, _ proxy: ProxyConfiguration
    ) async throws -> BareConnection {
        let anchors = policy?.rule(for: proxy.host, port: Int(proxy.port))?.anchors
        let store = try anchors ?? session.trust.store ?? SystemTrustStore.load()
        let trust = ServerTrust(presented: pending.presented, name: proxy.host, store: store)
        let judgement: ServerTrustQuestion.Judgement
        do {
            let question = question(trust, proxy.port, NSURLProtectionSpaceHTTPSProxy, .new)
            judgement = try await question.judge(for: task, of: session)
        } catch {
            await pending.refuse()
            throw error
        }
        let identity = IdentityQuestion(
            name: proxy.host, port: proxy.port, proxyType: NSURLProtectionSpaceHTTPSProxy, session: session, task: task)
        return try await pending.acceptProxy(judgement.path, identity: identity.choose)
    }

    private func question(
        _ trust: ServerTrust, _ port: UInt16, _ proxyType: String?, _ connection: ServerTrustDecision.Connection
    ) -> ServerTrustQuestion {
        ServerTrustQuestion(trust: trust, port: port, proxyType: proxyType, connection: connection, policy: policy)
    }
}
