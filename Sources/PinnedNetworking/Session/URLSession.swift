import CertificateTrust
public import Foundation
import Synchronization
import TLSTransport

/// Sends requests to servers that its configuration and its delegates accept.
///
/// Nothing of a request is sent before the server's chain was verified and the pins of the session's configuration were
/// found on it, on connections that earlier requests left open as well.
public final class URLSession: Sendable {
    /// A session of ``URLSessionConfiguration/default``: without pins.
    public static let shared = URLSession(configuration: .default)

    /// What a delegate answers to a challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Use the credential. For server trust, one made from the challenge's own trust; any other refuses. For other
        /// challenges nil goes on without one.
        case useCredential
        /// Decide as if there were no delegate.
        case performDefaultHandling
        /// End the request with `URLError.cancelled`.
        case cancelAuthenticationChallenge
        /// Move on to the next challenge of the response. There is one for server trust, so this refuses the server.
        case rejectProtectionSpace
    }

    /// What a delegate answers to a response.
    public enum ResponseDisposition: Int, Sendable {
        /// End the task with `URLError.cancelled`.
        case cancel
        /// Go on.
        case allow
    }

    /// Asked about every task; held until the session is invalidated, else as long as it lives.
    public var delegate: (any URLSessionDelegate)? { sessionDelegate.withLock { $0 } }
    /// Where delegate methods with a completion handler are called.
    public let delegateQueue: OperationQueue
    /// Anything that helps to tell sessions apart.
    public var sessionDescription: String? {
        get { label.withLock { $0 } }
        set { label.withLock { $0 = newValue } }
    }

    let settings: SessionSettings
    /// Why no request can be sent with the session's proxies.
    let proxyError: ProxyDomainError?
    let pool: ConnectionPool
    let logins = AuthenticationCache()
    /// Credentials that were given for this session alone.
    let credentials = URLCredentialStorage()
    private let currentTrust: Locked<SessionTrust>
    private let label = Locked<String?>(nil)
    private let taskCount = Atomic(0)
    let registry = Locked(SessionTasks())
    let sessionDelegate: Locked<(any URLSessionDelegate)?>

    /// A session without a delegate.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// A session that asks a delegate, on a serial queue of its own unless one is given.
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
    ) {
        settings = configuration.snapshot
        proxyError = settings.proxies.lazy.compactMap(\.domainError).first
        pool = ConnectionPool(limit: settings.connectionsPerHost)
        currentTrust = Locked(settings.trust)
        sessionDelegate = Locked(delegate)
        if let delegateQueue {
            self.delegateQueue = delegateQueue
        } else {
            self.delegateQueue = OperationQueue()
            self.delegateQueue.maxConcurrentOperationCount = 1
        }
    }

    /// A copy of the configuration the session was made with, and of the trust it has now.
    public var configuration: URLSessionConfiguration {
        var settings = settings
        settings.trust = trust
        return URLSessionConfiguration(settings: settings)
    }

    /// The pins that hold from the next request on, redirects of running ones included; at first the configuration's.
    ///
    /// A connection that was accepted under other pins is not used again. Whoever has the session can set them: keep one
    /// that pins to yourself, and ``shared`` without.
    public var pinning: PinningPolicy? {
        get { trust.pinning }
        set { currentTrust.withLock { $0.pinning = newValue } }
    }

    /// The certificates to trust from the next request on, nil for the system's; at first the configuration's.
    public var trustStore: TrustStore? {
        get { trust.store }
        set { currentTrust.withLock { $0.store = newValue } }
    }

    var trust: SessionTrust { currentTrust.withLock { $0 } }

    /// Forgets connections and TLS sessions: the next requests make new ones. Requests on their way go on.
    public func flush() async {
        await pool.drop()
    }

    /// Forgets connections, TLS sessions, and the credentials that were given for this session.
    public func reset() async {
        logins.removeAll()
        credentials.removeAll()
        await pool.drop()
    }

    // MARK: async

    /// Fetches a URL; see ``data(for:delegate:)``.
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: delegate)
    }

    /// Sends a request and returns the body, at most 1 GiB, and the response: an ``HTTPURLResponse``, but of FTP.
    ///
    /// Any status is a response, 404 and 500 among them; a 401 too, when nobody had a credential. The body is as the
    /// server sent it; nothing is decompressed.
    ///
    /// Throws `URLError`. When the pins do not match its code is `.serverCertificateUntrusted`, its text holds what is
    /// served and what is pinned, and its ``Foundation/URLError/pinningError`` the same as values.
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await collect(makeTask(URLSessionDataTask.self, request, delegate: delegate, isCollected: true))
    }

    /// Fetches a URL byte by byte; see ``bytes(for:delegate:)``.
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    /// Sends a request and returns once the response's header has come; the body is read as it is asked for, and no
    /// faster. Dropping it ends the request.
    public func bytes(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        let task = makeTask(URLSessionDataTask.self, request, delegate: delegate)
        do {
            let (transfer, response) = try await begin(task)
            return (AsyncBytes(task: task, transfer: transfer), response)
        } catch {
            let error = fail(task, error)
            await ended(task)
            throw error
        }
    }

    // MARK: Tasks

    /// A task for a URL; its response goes to the delegate.
    public func dataTask(with url: URL) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url))
    }

    /// A task for a request; its response goes to the delegate.
    public func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeTask(URLSessionDataTask.self, request) { self.deliver($0) }
    }

    /// A task for a URL; see ``dataTask(with:completionHandler:)-(URLRequest,_)``.
    public func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// A task for a request whose body, response and error go to the handler: once, on the delegates' queue.
    public func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeTask(URLSessionDataTask.self, request) { self.collect($0, completionHandler) }
    }

    // MARK: Work

    /// The most that a body may have that is collected in memory, in bytes: the server decides how much it sends.
    static let collectedBodyLimit = 1 << 30

    /// A new task. One that is collected is given to ``collect(_:)`` at once, which runs it to its end.
    func makeTask<Made: URLSessionTask>(
        _ type: Made.Type, _ request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil,
        isCollected: Bool = false, start: (@Sendable (URLSessionTask) -> Void)? = nil
    ) -> Made {
        let limit = WorkLimit(
            requestTimeout: request.ownTimeoutInterval ?? settings.requestTimeout,
            resourceTimeout: settings.resourceTimeout)
        let task = Made(
            taskIdentifier: taskCount.add(1, ordering: .relaxed).newValue, originalRequest: request,
            delegate: delegate, isMeasured: delegate != nil || self.delegate != nil, limit: limit, start: start)
        let isInvalid = registry.withLock { tasks in
            if !tasks.isInvalid { tasks.add(task, isHeld: isCollected) }
            return tasks.isInvalid
        }
        if isInvalid { task.status.withLock { $0.refusal = URLError(InvalidSessionError(), url: request.url) } }
        return task
    }

    /// Sends the request and returns when the response's header has come. Whoever calls it ends the task.
    func begin(_ task: URLSessionTask) async throws -> (any TaskTransfer, URLResponse) {
        if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
        let transfer = try makeTransfer(task)
        let response = try await task.limit.run { try await transfer.begin() }
        task.limit.progress(to: .reader)
        return (transfer, response)
    }

    /// The next piece of the body, when the task is not suspended; nil at the end.
    func nextPart(of transfer: any TaskTransfer, _ task: URLSessionTask) async throws -> ArraySlice<UInt8>? {
        let part = try await task.limit.run {
            try await task.whileSuspended()
            return try await transfer.nextPart()
        }
        task.limit.progress(to: .reader)
        return part
    }

    func collect(_ task: URLSessionTask) async throws -> (Data, URLResponse) {
        let result: Result<(Data, URLResponse), URLError>
        do {
            if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
            let transfer = try makeTransfer(task)
            let (data, response) = try await task.limit.run {
                let response = try await transfer.begin()
                try await task.whileSuspended()
                return (try await transfer.collectBody(limit: Self.collectedBodyLimit), response)
            }
            task.complete(with: nil)
            result = .success((data, response))
        } catch {
            result = .failure(fail(task, error))
        }
        await ended(task)
        return try result.get()
    }

    func collect(
        _ task: URLSessionTask, _ handler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) {
        Task {
            do {
                let (data, response) = try await self.collect(task)
                delegateQueue.addOperation { handler(data, response, nil) }
            } catch {
                delegateQueue.addOperation { handler(nil, task.response, error) }
            }
        }
    }

    /// Runs a task whose response goes to the delegates.
    func deliver(_ task: URLSessionTask) {
        Task {
            var failure: URLError?
            do {
                let (transfer, response) = try await begin(task)
                try await deliver(response, of: transfer, task)
                task.complete(with: nil)
            } catch {
                failure = fail(task, error)
            }
            await tellEnd(of: task, failure)
        }
    }

    private func deliver(_ response: URLResponse, of transfer: any TaskTransfer, _ task: URLSessionTask) async throws {
        guard let task = task as? URLSessionDataTask else { return }
        let asDataDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionDataDelegate)? = {
            $0 as? any URLSessionDataDelegate
        }
        let disposition = try await ask(about: task, asDataDelegate) { delegate in
            try await self.disposition(of: task, response, by: delegate)
        }
        guard disposition ?? .allow == .allow else { throw WorkLimit.End.cancelled }
        while let part = try await nextPart(of: transfer, task) {
            let data = Data(part)
            await tell(.data, about: task, asDataDelegate) { $0.urlSession(self, dataTask: task, didReceive: data) }
        }
    }

    /// Ends a task and says with which error.
    func fail(_ task: URLSessionTask, _ reason: any Error) -> URLError {
        let request = task.currentRequest ?? task.originalRequest
        let error = reason as? URLError ?? URLError(reason, url: request?.url)
        task.complete(with: error)
        return error
    }
}

extension URLSession: CustomReflectable {
    /// Shows nothing: `dump` must not print the logins that a session keeps.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
