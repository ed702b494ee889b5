import CertificateTrust
import TLSTransport

/// A server's question who the client is, put to the delegates and the stored credentials while the handshake waits.
struct IdentityQuestion: Sendable {
    let name: ServerName
    let port: UInt16
    /// Of the server that is no proxy.
    let scheme: String
    /// The proxy's type when the server is one.
    let proxyType: String?
    let session: URLSession
    let task: URLSessionTask

    /// A question that default handling answered: the delegates of another task may answer it in another way.
    struct Open: Sendable {
        /// The distinguished names, in DER, of the issuers that the server named.
        let issuers: [[UInt8]]
        /// The digest of the identity that was shown; nil for none.
        let shown: [UInt8]?
    }

    private struct State {
        var decision = Approval.Identity.none
        var open: Open?
    }

    private let state = Locked(State())

    init(
        name: ServerName, port: UInt16, scheme: String, proxyType: String?, session: URLSession, task: URLSessionTask
    ) {
        self.name = name
        self.port = port
        self.scheme = scheme
        self.proxyType = proxyType
        self.session = session
        self.task = task
    }

    /// Who decided what was shown.
    var decision: Approval.Identity { state.withLock { $0.decision } }

    /// What has to be asked again before another task uses the connection, if anything.
    var open: Open? { state.withLock { $0.open } }

    /// Chooses an identity, or none: without a credential, and with one of another kind, the handshake goes on
    /// anonymously, and the server says what it makes of that.
    ///
    /// Throws ``CancelledChallenge`` when a delegate cancels.
    @Sendable func choose(_ issuers: [[UInt8]]) async throws -> ClientIdentity? {
        let space = URLProtectionSpace(
            clientCertificateFor: name, port: port, issuers: issuers, protocol: scheme, proxyType: proxyType)
        let stored = await session.storedCredentials().credential(for: space)
        let challenge = URLAuthenticationChallenge(protectionSpace: space, proposedCredential: stored)
        task.limit.progress(to: .delegate)
        let answer = try await session.answer(to: challenge, of: task)
        task.limit.progress(to: .handshake)
        switch answer.disposition {
        case .cancelAuthenticationChallenge:
            throw CancelledChallenge(space: space)
        case .performDefaultHandling:
            let identity = try stored?.shownIdentity()
            let isForSession = answer.step?.isSessionWide ?? false
            state.withLock {
                $0.decision = .stored(digest: identity?.digest)
                $0.open = isForSession ? nil : Open(issuers: issuers, shown: identity?.digest)
            }
            return identity
        case .rejectProtectionSpace:
            return note(nil, by: answer.step)
        case .useCredential:
            guard let credential = answer.credential, let identity = try credential.shownIdentity() else {
                return note(nil, by: answer.step)
            }
            await session.keep(credential, for: space)
            return note(identity, by: answer.step)
        }
    }

    private func note(_ identity: ClientIdentity?, by step: ChallengeRouting.Step?) -> ClientIdentity? {
        state.withLock {
            $0.decision =
                step?.isSessionWide == true
                ? .session(digest: identity?.digest) : .task(task.taskIdentifier, digest: identity?.digest)
        }
        return identity
    }
}

/// A server is not content with who the client says it is.
struct IdentityRefused: Error, CustomStringConvertible {
    let refusal: TransportError.IdentityRefusal
    let reason: TransportError

    /// Nil when the failure is another.
    init?(_ reason: TransportError, shown: Approval.Identity) {
        let wasShown =
            switch shown {
            case .stored(_?), .session(_?), .task(_, _?): true
            default: false
            }
        guard shown != .none, let refusal = reason.identityRefusal(wasShown: wasShown) else { return nil }
        self.refusal = refusal
        self.reason = reason
    }

    var description: String {
        switch refusal {
        case .missing: "the server wants a client certificate: answer its challenge, or store one (\(reason))"
        case .rejected: "the server does not take the client certificate: use one that it knows (\(reason))"
        }
    }
}

/// A delegate cancelled a challenge, and the request with it.
struct CancelledChallenge: Error, CustomStringConvertible {
    let space: URLProtectionSpace

    var description: String {
        "a delegate cancelled the challenge of \(visibleText(space.host)) (\(space.authenticationMethod)): "
            + "look in the delegate for why"
    }
}

extension URLSession {
    /// What default handling uses: what was given for this session, else what the storage keeps.
    func storedCredentials() async -> StoredCredentials {
        var storages = [await credentials.snapshot()]
        if let storage = settings.credentialStorage { storages.append(await storage.snapshot()) }
        return StoredCredentials(storages: storages)
    }

    /// The identity that default handling shows in a space. Identities are kept in memory alone, so that nothing waits.
    func storedIdentity(for space: URLProtectionSpace) -> ClientIdentity? {
        let storages = [credentials, settings.credentialStorage].compactMap { $0?.lastSnapshot }
        return try? StoredCredentials(storages: storages).credential(for: space)?.shownIdentity()
    }

    /// Keeps a credential that was used, as long as its persistence says.
    func keep(_ credential: URLCredential, for space: URLProtectionSpace) async {
        switch credential.persistence {
        case .none: break
        case .forSession: await credentials.keep(credential, for: space)
        case .permanent, .synchronizable:
            await (settings.credentialStorage ?? credentials).keep(credential, for: space)
        }
    }

    /// Whether anybody could be asked about a task.
    func hasDelegate(for task: URLSessionTask) -> Bool { delegate != nil || task.delegate != nil }
}

/// What a session's storages hold at one time.
struct StoredCredentials: Sendable {
    /// The one that counts most first.
    let storages: [KeptCredentials]

    /// The credential that default handling uses for a space, of a user or of anybody.
    func credential(for space: URLProtectionSpace, user: String? = nil) -> URLCredential? {
        for storage in storages {
            let entry = storage.entry(for: space)
            if let credential = if let user { entry[user] } else { entry.bestCredential } { return credential }
        }
        return nil
    }
}
