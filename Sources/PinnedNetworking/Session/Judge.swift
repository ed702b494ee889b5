import CertificateTrust
import HTTPMessages
import TLSTransport

/// What one request's servers and connections are judged by: the session's trust as the request found it.
struct Judge: Sendable {
    /// A server on the way: the target, or a proxy that is spoken to over TLS.
    private struct Server {
        let name: ServerName
        let port: UInt16
        /// Nil for the target.
        let proxyType: String?
        let store: TrustStore
        let roots: [UInt8]

        init(_ name: ServerName, _ port: UInt16, proxyType: String? = nil, under trust: SessionTrust) throws {
            self.name = name
            self.port = port
            self.proxyType = proxyType
            let anchors = trust.pinning?.rule(for: name, port: Int(port))?.anchors
            store = try anchors ?? trust.store ?? SystemTrustStore.load()
            roots = store.digest
        }
    }

    let session: URLSession
    let task: URLSessionTask
    private let policy: PinningPolicy?
    private let targetName: ServerName
    /// Nil for `http`.
    private let target: Server?
    /// Nil without a proxy, and for one that proves nothing.
    private let proxy: Server?

    /// Throws when the target may not be reached in the clear, or the system's trust store cannot be read.
    init(
        _ target: RequestTarget, through proxy: ProxyConfiguration?, for task: URLSessionTask, of session: URLSession
    ) throws {
        let trust = session.trust
        self.session = session
        self.task = task
        policy = trust.pinning
        targetName = target.name
        if target.origin.scheme == .http {
            if policy?.permitsCleartext(to: target.name) == false {
                throw RequestTargetError.pinnedCleartext(target.name)
            }
            self.target = nil
        } else {
            self.target = try Server(target.name, target.port, under: trust)
        }
        self.proxy =
            if let proxy, proxy.usesTLS {
                try Server(proxy.host, proxy.port, proxyType: NSURLProtectionSpaceHTTPSProxy, under: trust)
            } else {
                nil
            }
    }

    // MARK: Connections of earlier requests

    /// Whether a connection was approved by all that this request would be approved by.
    @TransportActor
    func holds(_ connection: PooledConnection) -> Bool {
        holds(connection.target?.approval, of: target) && holds(connection.proxy?.approval, of: proxy)
    }

    /// Whether a session with the target was.
    func holds(_ approval: Approval) -> Bool { holds(approval, of: target) }

    private func holds(_ approval: Approval?, of server: Server?) -> Bool {
        guard let approval, let server else { return approval == nil && server == nil }
        guard approval.policy == policy?.digest ?? [], approval.roots == server.roots else { return false }
        switch approval.acceptance {
        case .verified, .session: break
        case .task(let identifier): guard identifier == task.taskIdentifier else { return false }
        }
        switch approval.identity {
        case .none, .session: return true
        case .stored(let digest):
            let space = URLProtectionSpace(
                clientCertificateFor: server.name, port: server.port, issuers: [], proxyType: server.proxyType)
            return digest == session.storedIdentity(for: space)?.digest
        case .task(let identifier, _): return identifier == task.taskIdentifier
        }
    }

    /// Puts a reused connection's servers to the delegates that judge tasks singly, and to the policy as time has made
    /// it.
    @TransportActor
    func askAgain(_ connection: PooledConnection) async throws {
        if let proxy, let accepted = connection.proxy { try await askAgain(proxy, accepted) }
        if let target, let accepted = connection.target { try await askAgain(target, accepted) }
    }

    @TransportActor
    private func askAgain(_ server: Server, _ accepted: AcceptedServer) async throws {
        guard !accepted.isJudgedForSession, session.hasDelegate(for: task) else {
            if let observer = session.settings.observer { observer(reuse(of: accepted, server)) }
            return
        }
        let judgement = try await question(accepted.trust, server, .reused).judge(for: task, of: session)
        guard judgement.acceptance(for: task) == accepted.approval.acceptance else {
            throw ServerTrustRefusal.rejected(server.name)
        }
    }

    private func reuse(of accepted: AcceptedServer, _ server: Server) -> ServerTrustDecision {
        let outcome: ServerTrustDecision.Outcome =
            if let path = accepted.path {
                .accepted(path, policy?.decide(path, port: Int(server.port)) ?? .unpinned(nil))
            } else {
                .acceptedByDelegate(nil)
            }
        return ServerTrustDecision(
            host: server.name, port: Int(server.port), isProxy: server.proxyType != nil, connection: .reused,
            taskIdentifier: task.taskIdentifier, outcome: outcome)
    }

    // MARK: New connections

    /// Judges the target's server and goes on with it.
    @TransportActor
    func accept(
        _ pending: consuming PendingConnection
    ) async throws -> (connection: VerifiedConnection, server: AcceptedServer) {
        guard let target else { throw RequestTargetError.pinnedCleartext(targetName) }
        let question = question(of: pending, target)
        let judgement: ServerTrustQuestion.Judgement
        do {
            judgement = try await question.judge(for: task, of: session)
        } catch {
            await pending.refuse()
            throw error
        }
        let identity = IdentityQuestion(target.name, target.port, target.proxyType, session: session, task: task)
        let accepted = accepted(target, question, judgement)
        do {
            let connection = try await pending.accept(judgement.path, identity: identity.choose) {
                accepted.shown(identity.decision).approval
            }
            return (connection, accepted.shown(identity.decision))
        } catch let error as TransportError {
            throw IdentityRefused(error, shown: identity.decision) ?? error
        }
    }

    /// Judges a proxy by its own name and goes on with it.
    @TransportActor
    func acceptProxy(
        _ pending: consuming PendingConnection, _ server: inout AcceptedServer?
    ) async throws -> BareConnection {
        guard let proxy else { throw RequestTargetError.pinnedCleartext(targetName) }
        let question = question(of: pending, proxy)
        let judgement: ServerTrustQuestion.Judgement
        do {
            judgement = try await question.judge(for: task, of: session)
        } catch {
            await pending.refuse()
            throw error
        }
        let identity = IdentityQuestion(proxy.name, proxy.port, proxy.proxyType, session: session, task: task)
        do {
            let bare = try await pending.acceptProxy(judgement.path, identity: identity.choose)
            server = accepted(proxy, question, judgement).shown(identity.decision)
            return bare
        } catch let error as TransportError {
            throw IdentityRefused(error, shown: identity.decision) ?? error
        }
    }

    private func accepted(
        _ server: Server, _ question: ServerTrustQuestion, _ judgement: ServerTrustQuestion.Judgement
    ) -> AcceptedServer {
        let approval = Approval(
            policy: policy?.digest ?? [], roots: server.roots, acceptance: judgement.acceptance(for: task))
        return AcceptedServer(
            trust: question.trust, path: judgement.path, isJudgedForSession: judgement.isForSession, approval: approval)
    }

    private func question(of pending: borrowing PendingConnection, _ server: Server) -> ServerTrustQuestion {
        let trust = ServerTrust(presented: pending.presented, name: server.name, store: server.store)
        return question(trust, server, pending.isResumed ? .resumed : .new)
    }

    private func question(
        _ trust: ServerTrust, _ server: Server, _ connection: ServerTrustDecision.Connection
    ) -> ServerTrustQuestion {
        ServerTrustQuestion(
            trust: trust, port: server.port, proxyType: server.proxyType, connection: connection, policy: policy)
    }
}

/// What a server on the way was accepted under.
struct AcceptedServer: Sendable {
    /// The claim that it made, to ask other delegates about.
    let trust: ServerTrust
    /// Nil when a delegate accepted it without one.
    let path: VerifiedPath?
    /// Whether the session's delegate answered for every task, so that the next one asks nobody.
    let isJudgedForSession: Bool
    private(set) var approval: Approval

    /// The same where the client has shown who it is.
    func shown(_ identity: Approval.Identity) -> AcceptedServer {
        var copy = self
        copy.approval.identity = identity
        return copy
    }
}
