import CertificateTrust
import PinctlBasics
import PinctlTLSTransport

/// A server's request for a client certificate. The delegates and the stored credentials answer it while the handshake
/// waits.
struct IdentityQuestion: Sendable {
    let name: ServerName
    let port: UInt16
    /// The scheme of the server, if it isn't a proxy.
    let scheme: String
    /// The type of the proxy, if the server is one.
    let proxyType: String?
    let session: URLSession
    let task: URLSessionTask

    /// A request that default handling answered. The delegates of another task may answer it differently.
    struct DefaultHandled: Sendable {
        /// The distinguished names, in DER, of the issuers that the server listed.
        let issuers: [[UInt8]]
        /// The digest of the identity that was sent, or `nil` if none was.
        let sent: [UInt8]?
    }

    private struct State {
        var decision = Approval.Identity.none
        var defaultHandled: DefaultHandled?
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

    /// The source of the decision on the identity.
    var decision: Approval.Identity { state.withLock { $0.decision } }

    /// The request that must be answered again before another task uses the connection, if any.
    var defaultHandled: DefaultHandled? { state.withLock { $0.defaultHandled } }

    /// Selects an identity. Without a credential, or with one of another kind, the handshake continues without an
    /// identity and the server decides whether to accept that.
    ///
    /// Throws ``CancelledChallenge`` if a delegate cancels.
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
                $0.defaultHandled = isForSession ? nil : DefaultHandled(issuers: issuers, sent: identity?.digest)
            }
            return identity
        case .rejectProtectionSpace:
            return record(nil, by: answer.step)
        case .useCredential:
            guard let credential = answer.credential, let identity = try credential.shownIdentity() else {
                return record(nil, by: answer.step)
            }
            await session.keep(credential, for: space)
            return record(identity, by: answer.step)
        }
    }

    private func record(_ identity: ClientIdentity?, by step: ChallengeRouting.Step?) -> ClientIdentity? {
        state.withLock {
            $0.decision =
                step?.isSessionWide == true
                ? .session(digest: identity?.digest) : .task(task.taskIdentifier, digest: identity?.digest)
        }
        return identity
    }
}

/// The error for a server that doesn't accept the client's identity.
struct IdentityRefused: Error, CustomStringConvertible {
    let refusal: TransportError.IdentityRefusal
    let reason: TransportError

    /// Creates the error, or `nil` for a failure with another cause. `hasAnswered` is whether the server has sent
    /// anything but its part of the handshake.
    init?(_ reason: TransportError, shown: Approval.Identity, hasAnswered: Bool) {
        let wasShown =
            switch shown {
            case .stored(_?), .session(_?), .task(_, _?): true
            default: false
            }
        guard shown != .none, let refusal = reason.identityRefusal(wasShown: wasShown, hasAnswered: hasAnswered) else {
            return nil
        }
        self.refusal = refusal
        self.reason = reason
    }

    var description: String {
        switch refusal {
        case .missing:
            "the server requires a client certificate and got none (\(reason.cause)): answer its "
                + "NSURLAuthenticationMethodClientCertificate challenge with an identity, or store one in "
                + "urlCredentialStorage"
        case .rejected:
            "the server rejected the client certificate (\(reason.cause)): use one that it accepts"
        }
    }
}

/// The error for a delegate that cancelled a challenge and therefore the request.
struct CancelledChallenge: Error, CustomStringConvertible {
    let space: URLProtectionSpace

    var description: String {
        "a delegate cancelled the challenge of \(visibleText(space.host)) (\(space.authenticationMethod)): "
            + "check the delegate for the reason"
    }
}

extension URLSession {
    /// Returns the credentials for default handling: those of this session, then those of the storage.
    func storedCredentials() async -> StoredCredentials {
        var storages = [await credentials.snapshot()]
        if let storage = settings.credentialStorage { storages.append(await storage.snapshot()) }
        return StoredCredentials(storages: storages)
    }

    /// Returns the identity that default handling uses in a space. Identities are only stored in memory, so this never
    /// waits.
    func storedIdentity(for space: URLProtectionSpace) -> ClientIdentity? {
        let storages = [credentials, settings.credentialStorage].compactMap { $0?.lastSnapshot }
        return try? StoredCredentials(storages: storages).credential(for: space)?.shownIdentity()
    }

    /// Stores a credential that was used, according to its persistence.
    func keep(_ credential: URLCredential, for space: URLProtectionSpace) async {
        switch credential.persistence {
        case .none: break
        case .forSession: await credentials.keep(credential, for: space)
        case .permanent, .synchronizable:
            await (settings.credentialStorage ?? credentials).keep(credential, for: space)
        }
    }

    /// Whether any delegate can be asked about a task.
    func hasDelegate(for task: URLSessionTask) -> Bool { delegate != nil || task.delegate != nil }
}

/// The contents of a session's storages at one time.
struct StoredCredentials: Sendable {
    /// The storages in order of precedence.
    let storages: [KeptCredentials]

    /// Returns the credential that default handling uses for a space, either of this user or of any user.
    func credential(for space: URLProtectionSpace, user: String? = nil) -> URLCredential? {
        for storage in storages {
            let entry = storage.entry(for: space)
            if let credential = if let user { entry[user] } else { entry.bestCredential } { return credential }
        }
        return nil
    }
}
