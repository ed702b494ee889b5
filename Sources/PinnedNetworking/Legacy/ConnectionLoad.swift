import Foundation

/// What a connection and a download have in common: a task in a session of its own, and the delegate that hears of it.
///
/// The session is not shared: what a delegate accepts is for its own connection.
final class ConnectionLoad<Delegate: Sendable>: Sendable {
    private struct State {
        var delegate: Delegate?
        var queue: OperationQueue
        var hasStarted = false
        /// Cancelled, or told of its end: the delegate hears nothing more.
        var isOver = false
        var session: URLSession?
        var task: URLSessionTask?
        /// The last one that there was.
        var challenge: URLAuthenticationChallenge?
        /// Where the stored credential had its turn.
        var triedSpaces: Set<URLProtectionSpace> = []
    }

    let request: URLRequest
    private let configuration: URLSessionConfiguration
    private let state: Locked<State>

    init(_ request: URLRequest, _ delegate: Delegate?, _ configuration: URLSessionConfiguration) {
        self.request = request
        // A copy: later changes do not reach it, and its own do not reach the caller's.
        self.configuration = URLSessionConfiguration(settings: configuration.snapshot)
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        state = Locked(State(delegate: delegate, queue: queue))
    }

    /// Where the delegate is called; without effect once it has started.
    func setQueue(_ queue: OperationQueue) {
        state.withLock { if !$0.hasStarted { $0.queue = queue } }
    }

    var currentRequest: URLRequest { state.withLock { $0.task }?.currentRequest ?? request }
    var delegate: Delegate? { state.withLock { $0.delegate } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Begins, once. `usesStorage` and `makeTask` are called on the delegate's queue.
    func start(
        _ adapter: any URLSessionDelegate, usesStorage: @escaping @Sendable (Delegate) -> Bool,
        makeTask: @escaping @Sendable (URLSession) -> URLSessionTask
    ) {
        let queue: OperationQueue? = state.withLock { state in
            guard !state.hasStarted, !state.isOver else { return nil }
            state.hasStarted = true
            return state.queue
        }
        queue?.addOperation {
            guard !self.isOver else { return }
            if let delegate = self.delegate, !usesStorage(delegate) { self.configuration.urlCredentialStorage = nil }
            let session = URLSession(configuration: self.configuration, delegate: adapter, delegateQueue: queue)
            let task = makeTask(session)
            let begins = self.state.withLock { state in
                guard !state.isOver else { return false }
                (state.session, state.task) = (session, task)
                return true
            }
            if begins { task.resume() }
            // The session lets go of the adapter, and that of all else, when its only task has ended.
            session.finishTasksAndInvalidate()
        }
    }

    /// Ends the task; the delegate hears nothing more, not even of this.
    func cancel() {
        let task = state.withLock { state in
            (state.isOver, state.delegate, state.session) = (true, nil, nil)
            return state.task
        }
        task?.cancel()
    }

    // MARK: Challenges

    /// The delegate that is to be asked; nil for nobody.
    func delegate(for challenge: URLAuthenticationChallenge) -> Delegate? {
        state.withLock { state in
            state.challenge = challenge
            return state.delegate
        }
    }

    /// Asks the older pair of methods. Default handling answers where the delegate will not, and uses the stored
    /// credential before the delegate is asked for one.
    func ask(
        _ challenge: URLAuthenticationChallenge, canAuthenticate: (URLProtectionSpace) -> Bool,
        receive: (URLAuthenticationChallenge) -> Void
    ) {
        if canAuthenticate(challenge.protectionSpace), !hasUntriedCredential(for: challenge) {
            receive(challenge)
        } else {
            challenge.sender?.performDefaultHandling(for: challenge)
        }
    }

    private func hasUntriedCredential(for challenge: URLAuthenticationChallenge) -> Bool {
        let space = challenge.protectionSpace
        // FTP, whose method this is, has tried it before it asks.
        guard space.authenticationMethod != NSURLAuthenticationMethodDefault,
            let session = state.withLock({ $0.session })
        else { return false }
        let isLogin = space.authenticationMethod != NSURLAuthenticationMethodClientCertificate
        let user = isLogin ? currentRequest.url?.user(percentEncoded: false) : nil
        let storages = [session.credentials, session.settings.credentialStorage].compactMap { $0?.currentSnapshot() }
        guard let stored = StoredCredentials(storages: storages).credential(for: space, user: user),
            stored.hasPassword || stored.identity != nil,
            challenge.previousFailureCount == 0 || stored.kind != challenge.proposedCredential?.kind
        else { return false }
        return state.withLock { $0.triedSpaces.insert(space).inserted }
    }

    // MARK: End

    /// What is left to tell at the end of the task: whom, of which error, and of which challenge that was cancelled.
    /// Nil when the delegate is to hear nothing.
    func end(
        _ error: (any Error)?, of session: URLSession
    ) -> (delegate: Delegate, error: (any Error)?, cancelled: URLAuthenticationChallenge?)? {
        keepCredentials(of: session)
        let (delegate, challenge) = state.withLock { state in
            defer { (state.isOver, state.delegate, state.session) = (true, nil, nil) }
            return (state.delegate, state.challenge)
        }
        guard let delegate else { return nil }
        // Whoever cancels the task itself is not told, so this was a challenge.
        guard let failure = error as? URLError, failure.code == .cancelled, let challenge else {
            return (delegate, error, nil)
        }
        return (delegate, URLError(.userCancelledAuthentication, userInfo: failure.errorUserInfo), challenge)
    }

    /// A credential for the session is one for all connections of the program, which has no other session.
    private func keepCredentials(of session: URLSession) {
        guard let storage = configuration.urlCredentialStorage else { return }
        for (space, users) in session.credentials.allCredentials {
            for credential in users.values { storage.setDefaultCredential(credential, for: space) }
        }
    }
}

extension URLProtectionSpace {
    /// Whether delegates that do not say can answer for it: not who the server is, and not which certificate to show.
    var isAnsweredUnlessRefused: Bool {
        authenticationMethod != NSURLAuthenticationMethodServerTrust
            && authenticationMethod != NSURLAuthenticationMethodClientCertificate
    }
}
