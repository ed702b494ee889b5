import Foundation
import PinctlBasics

/// The common part of connections and downloads: a task in its own session, and the delegate that is called.
///
/// The session isn't shared, so a delegate accepts servers only for its own connection.
final class ConnectionLoad<Delegate: Sendable>: Sendable {
    private struct State {
        var delegate: Delegate?
        var queue: OperationQueue
        var hasStarted = false
        /// Whether the load was cancelled or its end was reported. The delegate isn't called any more.
        var isOver = false
        var session: URLSession?
        var task: URLSessionTask?
        /// The last challenge, if any.
        var challenge: URLAuthenticationChallenge?
        /// The spaces in which the stored credential was already tried.
        var triedSpaces: Set<URLProtectionSpace> = []
    }

    let request: URLRequest
    private let configuration: URLSessionConfiguration
    private let state: Locked<State>

    init(_ request: URLRequest, _ delegate: Delegate?, _ configuration: URLSessionConfiguration) {
        self.request = request
        // A copy, so that later changes by the caller don't affect it, and its own changes don't affect the caller.
        self.configuration = URLSessionConfiguration(settings: configuration.snapshot)
        self.configuration.usesRegisteredProtocolClasses = true
        let queue = OperationQueue()
        queue.maxConcurrentOperationCount = 1
        state = Locked(State(delegate: delegate, queue: queue))
    }

    /// Sets the queue for delegate calls. Has no effect after the start.
    func setQueue(_ queue: OperationQueue) {
        state.withLock { if !$0.hasStarted { $0.queue = queue } }
    }

    var currentRequest: URLRequest { state.withLock { $0.task }?.currentRequest ?? request }
    var delegate: Delegate? { state.withLock { $0.delegate } }
    var isOver: Bool { state.withLock { $0.isOver } }

    /// Starts the load, once. `usesStorage` and `makeTask` are called on the delegate's queue.
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
            // When its only task has ended, the session releases the adapter, which releases everything else.
            session.finishTasksAndInvalidate()
        }
    }

    /// Cancels the task. The delegate isn't called any more, not even about the cancellation.
    func cancel() {
        let task = state.withLock { state in
            (state.isOver, state.delegate, state.session) = (true, nil, nil)
            return state.task
        }
        task?.cancel()
    }

    // MARK: Challenges

    /// Returns the delegate to ask, if any.
    func delegate(for challenge: URLAuthenticationChallenge) -> Delegate? {
        state.withLock { state in
            state.challenge = challenge
            return state.delegate
        }
    }

    /// Asks the two older methods. If the delegate can't answer, default handling does. It also uses the stored
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
        // This is the method of FTP, which tries the stored credential before the challenge.
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

    /// Returns the data for the last delegate calls: the delegate, the error and the challenge that was cancelled, if
    /// any. Returns `nil` if the delegate isn't to be called.
    func end(
        _ error: (any Error)?, of session: URLSession
    ) -> (delegate: Delegate, error: (any Error)?, cancelled: URLAuthenticationChallenge?)? {
        keepCredentials(of: session)
        let (delegate, challenge) = state.withLock { state in
            defer { (state.isOver, state.delegate, state.session) = (true, nil, nil) }
            return (state.delegate, state.challenge)
        }
        guard let delegate else { return nil }
        // If the task itself was cancelled, there is no delegate any more. So a challenge was cancelled.
        guard let failure = error as? URLError, failure.code == .cancelled, let challenge else {
            return (delegate, error, nil)
        }
        return (delegate, URLError(.userCancelledAuthentication, userInfo: failure.errorUserInfo), challenge)
    }

    /// Copies the session's credentials to the configured storage. Other connections of the program have their own
    /// sessions and find them there.
    private func keepCredentials(of session: URLSession) {
        guard let storage = configuration.urlCredentialStorage else { return }
        for (space, users) in session.credentials.allCredentials {
            for credential in users.values { storage.setDefaultCredential(credential, for: space) }
        }
    }
}

extension URLProtectionSpace {
    /// Whether a delegate that doesn't implement the query can answer for this space. True except for server trust and
    /// client certificates.
    var isAnsweredUnlessRefused: Bool {
        authenticationMethod != NSURLAuthenticationMethodServerTrust
            && authenticationMethod != NSURLAuthenticationMethodClientCertificate
    }
}
