import CertificateTrust
import HTTPMessages
import TLSTransport

/// What one server of a request, its origin or a proxy over TLS, is judged by: the session's trust as the request found
/// it.
struct Judge: Sendable {
    let session: URLSession
    let task: URLSessionTask
    private let name: ServerName
    private let port: UInt16
    private let scheme: String
    /// The proxy's type when the server is one.
    private let proxyType: String?
    private let policy: PinningPolicy?
    private let store: TrustStore
    private let roots: [UInt8]

    /// Throws ``SystemTrustStore/Unread`` when the system's trust store is needed and was not read yet.
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
    }

    // MARK: Connections of earlier requests

    /// Whether a server was approved by all that this request would approve it by.
    func holds(_ server: JudgedServer) -> Bool { holds(server.approval) }

    func holds(_ approval: Approval) -> Bool {
        guard approval.policy == policy?.digest ?? [], approval.roots == roots else { return false }
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

    private var identitySpace: URLProtectionSpace {
        URLProtectionSpace(
            clientCertificateFor: name, port: port, issuers: [], protocol: scheme, proxyType: proxyType)
    }

    /// Asks the delegates that answer for single tasks about the server of a reused connection: whether to trust it, and
    /// who the client is. Tells the observer.
    ///
    /// Returns false when they choose another identity than the one that was shown: the connection speaks for somebody
    /// else. Throws when they refuse the server, or cancel.
    func askAgain(about server: JudgedServer) async throws -> Bool {
        guard session.hasDelegate(for: task) else {
            await observe(server)
            return true
        }
        if server.isJudgedForSession {
            await observe(server)
        } else {
            let judgement = try await question(server.trust, .reused).judge()
            guard judgement.acceptance(for: task) == server.approval.acceptance else {
                throw ServerTrustRefusal.rejected(name)
            }
        }
        guard let open = server.identityQuestion else { return true }
        return try await identityQuestion().choose(open.issuers)?.digest == open.shown
    }

    /// Tells the observer about a server that the task's delegates were asked about, or needn't be. Off the event loop,
    /// since the observer is the program's own code.
    func observe(_ server: JudgedServer) async {
        if session.settings.observer != nil { question(server.trust, .reused).observe(server) }
    }

    // MARK: New connections

    /// Judges the server behind a handshake, and lets `goOn` go on with it.
    ///
    /// `goOn` gets the verified path, nil when a delegate accepted an untrusted chain, and the question who the client is.
    @TransportActor
    private func judge<Connection: ~Copyable>(
        _ pending: consuming PendingConnection,
        goOn: (consuming PendingConnection, ServerTrustQuestion.Judgement, IdentityQuestion) async throws -> Connection
    ) async throws -> Connection {
        let question = question(
            ServerTrust(presented: pending.presented, name: name, store: store), pending.isResumed ? .resumed : .new)
        let judgement: ServerTrustQuestion.Judgement
        do {
            judgement = try await question.judge()
        } catch {
            await pending.refuse()
            guard proxyType != nil, let refusal = error as? ServerTrustRefusal else { throw error }
            throw ProxyTrustRefusal(name: name, port: port, refusal: refusal)
        }
        let identity = identityQuestion()
        do {
            return try await goOn(pending, judgement, identity)
        } catch let error as TransportError {
            throw IdentityRefused(error, shown: identity.decision) ?? error
        }
    }

    /// Judges the origin and finishes its handshake.
    @TransportActor
    func accept(_ pending: consuming PendingConnection, as server: inout JudgedServer?) async throws
        -> VerifiedConnection
    {
        var judged: JudgedServer?
        defer { server = judged }
        return try await judge(pending) { pending, judgement, identity in
            let approval = approval(judgement)
            let connection = try await pending.accept(judgement.path, identity: identity.choose) {
                approval.with(identity.decision)
            }
            judged = JudgedServer(judgement, connection.approval, identity.open)
            return connection
        }
    }

    /// Judges a proxy and finishes its handshake.
    @TransportActor
    func acceptProxy(
        _ pending: consuming PendingConnection, as server: inout JudgedServer?
    ) async throws -> BareConnection {
        var judged: JudgedServer?
        defer { server = judged }
        return try await judge(pending) { pending, judgement, identity in
            let connection = try await pending.acceptProxy(judgement.path, identity: identity.choose)
            judged = JudgedServer(judgement, approval(judgement).with(identity.decision), identity.open)
            return connection
        }
    }

    private func approval(_ judgement: ServerTrustQuestion.Judgement) -> Approval {
        Approval(policy: policy?.digest ?? [], roots: roots, acceptance: judgement.acceptance(for: task))
    }

    private func identityQuestion() -> IdentityQuestion {
        IdentityQuestion(
            name: name, port: port, scheme: scheme, proxyType: proxyType, session: session, task: task)
    }

    private func question(
        _ trust: ServerTrust, _ connection: ServerTrustDecision.Connection
    ) -> ServerTrustQuestion {
        ServerTrustQuestion(
            trust: trust, port: port, scheme: scheme, proxyType: proxyType, connection: connection, policy: policy,
            session: session, task: task)
    }
}

/// A server of a connection, and how it came to be accepted.
struct JudgedServer: Sendable {
    let trust: ServerTrust
    /// Nil when a delegate accepted the server without one.
    let path: VerifiedPath?
    let approval: Approval
    /// Whether the session's delegate answered for every task, so that the next one asks nobody.
    let isJudgedForSession: Bool
    /// Who the client is, if the next task's delegates are to be asked as well.
    let identityQuestion: IdentityQuestion.Open?
    /// Seconds that it took.
    let judgingTime: TimeInterval
    /// When the rule that decided ends.
    private let end: Date?

    fileprivate init(
        _ judgement: ServerTrustQuestion.Judgement, _ approval: Approval, _ identityQuestion: IdentityQuestion.Open?
    ) {
        self.identityQuestion = identityQuestion
        trust = judgement.trust
        path = judgement.path
        self.approval = approval
        isJudgedForSession = judgement.isForSession
        end = judgement.end
        judgingTime = judgement.time
    }

    /// A path that was valid when the connection was made can end while it is kept, and so can the rule that accepted it.
    func isValid(at time: Date) -> Bool {
        (end.map { time < $0 } ?? true) && (path?.certificates.allSatisfy { time <= $0.notAfter } ?? true)
    }
}

extension Approval {
    fileprivate func with(_ identity: Identity) -> Approval {
        var approval = self
        approval.identity = identity
        return approval
    }
}
