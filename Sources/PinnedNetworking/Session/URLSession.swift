import Basics
import CertificateTrust
public import Foundation
import HTTPMessages
import Synchronization
import TLSTransport

/// A session that sends requests to servers which its configuration and its delegates accept.
///
/// No part of a request is sent before the server's chain is verified and matches the pins of the session's
/// configuration. This also applies to connections that earlier requests left open.
public final class URLSession: Sendable {
    /// The shared session with ``URLSessionConfiguration/default``. It has no pins.
    public static let shared = {
        let configuration = URLSessionConfiguration.default
        configuration.usesRegisteredProtocolClasses = true
        return URLSession(configuration: configuration)
    }()

    /// The answer of a delegate to a challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Use the credential. For server trust it must be made from the challenge's own trust, otherwise the server is
        /// refused. For other challenges, `nil` continues without a credential.
        case useCredential
        /// Handle the challenge as if there were no delegate.
        case performDefaultHandling
        /// Cancel the request with `URLError.cancelled`.
        case cancelAuthenticationChallenge
        /// Continue with the next challenge of the response. For server trust there is only one, so the server is
        /// refused.
        case rejectProtectionSpace
    }

    /// The answer of a delegate to a response.
    public enum ResponseDisposition: Int, Sendable {
        /// Cancel the task with `URLError.cancelled`.
        case cancel
        /// Continue.
        case allow
        /// Continue as a download, whose task is passed to
        /// ``URLSessionDataDelegate/urlSession(_:dataTask:didBecome:)``. Its body goes to a file, and its further calls
        /// to the methods of ``URLSessionDownloadDelegate``. It has no resume data.
        case becomeDownload
        /// Unavailable: there are no stream tasks.
        @available(*, unavailable, message: "there are no stream tasks: read the body with URLSession.bytes(for:)")
        case becomeStream
    }

    /// The answer of a delegate to a request that is about to start after a delay. Only background sessions of Apple's
    /// systems delay requests.
    public enum DelayedRequestDisposition: Int, Sendable {
        /// Send the original request.
        case continueLoading
        /// Send another request.
        case useNewRequest
        /// Cancel the task.
        case cancel
    }

    /// The delegate for all tasks. It is retained until the session is invalidated or deallocated.
    public var delegate: (any URLSessionDelegate)? { sessionDelegate.withLock { $0 } }
    /// The queue for calls of delegate methods with a completion handler.
    public let delegateQueue: OperationQueue
    /// A description of the session for the program's own use.
    public var sessionDescription: String? {
        get { label.withLock { $0 } }
        set { label.withLock { $0 = newValue } }
    }

    let settings: SessionSettings
    /// The reason why the session's proxies prevent every request, if any.
    let proxyError: (any Error)?
    let pool: ConnectionPool
    let logins = AuthenticationCache()
    /// The credentials for this session alone.
    let credentials = URLCredentialStorage()
    private let currentTrust: Locked<SessionTrust>
    private let label = Locked<String?>(nil)
    private let taskCount = Atomic(0)
    /// The names of the header fields that requests had and that were logged as ignored, in lower case.
    private let ignoredNames = Locked<Set<String>>([])
    let registry = Locked(SessionTasks())
    /// Whether it was logged that protocol classes handle requests that are pinned otherwise.
    let hasLoggedProtocolClasses = Atomic(false)
    let sessionDelegate: Locked<(any URLSessionDelegate)?>

    /// Creates a session without a delegate.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// Creates a session with a delegate. The delegate is called on the given queue, or on the session's own serial
    /// queue.
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
    ) {
        settings = configuration.snapshot
        proxyError = settings.proxyDictionary?.error ?? settings.proxies.lazy.compactMap(\.domainError).first
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

    /// A copy of the configuration that the session was created with, with the current trust settings.
    public var configuration: URLSessionConfiguration {
        var settings = settings
        settings.trust = trust
        return URLSessionConfiguration(settings: settings)
    }

    /// The pins for all further requests, including redirects of running ones. The initial value is the
    /// configuration's.
    ///
    /// A connection that was accepted under other pins isn't reused. All code with access to the session can set the
    /// pins, so keep a session with pins private, and leave ``shared`` without.
    public var pinning: PinningPolicy? {
        get { trust.pinning }
        set { currentTrust.withLock { $0.pinning = newValue } }
    }

    /// The trust anchors for all further requests, or `nil` for the system's. The initial value is the configuration's.
    public var trustStore: TrustStore? {
        get { trust.store }
        set { currentTrust.withLock { $0.store = newValue } }
    }

    /// The profile by which chains are verified for all further requests. The initial value is the configuration's.
    public var trustPolicy: TrustPolicy {
        get { trust.policy }
        set { currentTrust.withLock { $0.policy = newValue } }
    }

    /// The revocation lists for all further requests. The initial value is the configuration's.
    ///
    /// A connection that was accepted with other lists isn't reused.
    public var revocationEvidence: RevocationEvidence {
        get { trust.revocation.evidence }
        set {
            // Not under the lock, for which the event loop would wait.
            let revocation = DigestedEvidence(newValue)
            currentTrust.withLock { $0.revocation = revocation }
        }
    }

    var trust: SessionTrust { currentTrust.withLock { $0 } }

    /// Drops connections and TLS sessions, so that further requests create new ones. Requests in progress continue.
    public func flush() async {
        await pool.drop()
    }

    /// Drops connections, TLS sessions, the credentials of this session, and the cookies of the configuration's storage.
    public func reset() async {
        logins.removeAll()
        credentials.removeAll()
        await settings.cookieStorage?.removeAll()
        await pool.drop()
    }

    /// Does what the `async` ``flush()`` does, and then calls the handler on the delegates' queue.
    public func flush(completionHandler: @escaping @Sendable () -> Void) {
        Task {
            await flush()
            delegateQueue.addOperation(completionHandler)
        }
    }

    /// Does what the `async` ``reset()`` does, and then calls the handler on the delegates' queue.
    public func reset(completionHandler: @escaping @Sendable () -> Void) {
        Task {
            await reset()
            delegateQueue.addOperation(completionHandler)
        }
    }

    // MARK: async

    /// Fetches a URL. See ``data(for:delegate:)``.
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: delegate)
    }

    /// Sends a request, and returns the body, at most 1 GiB, and the response. The response is an ``HTTPURLResponse``,
    /// except for FTP.
    ///
    /// A response can have any status, including 404 and 500, and also 401 if there was no credential. A body that the
    /// server compressed with gzip or deflate is decompressed.
    ///
    /// Throws `URLError`, or the error of a ``URLProtocol``. If the pins don't match, its code is `.serverCertificateUntrusted` and its text has the
    /// served keys and the pins. Its ``Foundation/URLError/pinningError`` has the same data as values.
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await collect(makeTask(URLSessionDataTask.self, request, delegate: delegate, isCollected: true))
    }

    /// Fetches a URL byte by byte. See ``bytes(for:delegate:)``.
    public func bytes(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (AsyncBytes, URLResponse) {
        try await bytes(for: URLRequest(url: url), delegate: delegate)
    }

    /// Sends a request, and returns when the header of the response has arrived. The body is received only as fast as
    /// it is read. Releasing it cancels the request.
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

    /// Creates a task for a URL. Its response is passed to the delegate.
    public func dataTask(with url: URL) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url))
    }

    /// Creates a task for a request. Its response is passed to the delegate.
    public func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeTask(URLSessionDataTask.self, request) { self.deliver($0) }
    }

    /// Creates a task for a URL. See ``dataTask(with:completionHandler:)-(URLRequest,_)``.
    public func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// Creates a task for a request. Its body, response and error are passed to the handler, once, on the delegates'
    /// queue.
    public func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeTask(URLSessionDataTask.self, request) { self.collect($0, completionHandler) }
    }

    // MARK: Work

    /// The maximum size in bytes of a body that is collected in memory, since the server decides how much it sends.
    static let collectedBodyLimit = 1 << 30

    /// Creates a task. A collected task must be passed to ``collect(_:)`` at once, which runs it to its end.
    ///
    /// A task that continues another one has its limit, and is created even if the session is invalidated.
    func makeTask<Made: URLSessionTask>(
        _ type: Made.Type, _ request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil,
        isCollected: Bool = false, continuing other: URLSessionTask? = nil,
        start: (@Sendable (URLSessionTask) -> Void)? = nil
    ) -> Made {
        let limit =
            other?.limit
            ?? WorkLimit(
                requestTimeout: request.ownTimeoutInterval ?? settings.requestTimeout,
                resourceTimeout: settings.resourceTimeout)
        let task = Made(
            taskIdentifier: taskCount.add(1, ordering: .relaxed).newValue, originalRequest: request,
            delegate: delegate, isMeasured: delegate != nil || self.delegate != nil, limit: limit, start: start)
        let isInvalid = registry.withLock { tasks in
            let isRefused = tasks.isInvalid && other == nil
            if !isRefused { tasks.add(task, isHeld: isCollected || other != nil) }
            return isRefused
        }
        if isInvalid { task.status.withLock { $0.refusal = URLError(InvalidSessionError(), url: request.url) } }
        return task
    }

    /// Sends the request, and returns when the header of the response has arrived. The caller must end the task.
    func begin(_ task: URLSessionTask) async throws -> (any TaskTransfer, URLResponse) {
        if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
        let transfer = try await makeTransfer(task)
        let response = try await task.limit.run { try await transfer.begin() }
        task.limit.progress(to: .reader)
        return (transfer, response)
    }

    /// Returns the next part of the body, or `nil` at the end. Waits while the task is suspended.
    func nextPart(of transfer: any TaskTransfer, _ task: URLSessionTask) async throws -> ArraySlice<UInt8>? {
        let part = try await task.limit.run {
            try await task.whileSuspended()
            return try await transfer.nextPart()
        }
        task.limit.progress(to: .reader)
        return part
    }

    func collect(_ task: URLSessionTask) async throws -> (Data, URLResponse) {
        let result: Result<(Data, URLResponse), any Error>
        do {
            if let refusal = task.status.withLock({ $0.refusal }) { throw refusal }
            let transfer = try await makeTransfer(task)
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

    /// Runs a task whose response is passed to the delegates.
    func deliver(_ task: URLSessionTask) {
        Task {
            var failure: (any Error)?
            do {
                let (transfer, response) = try await begin(task)
                if try await deliver(response, of: transfer, task) == .becomeDownload {
                    return await deliverFile(of: transfer, response, insteadOf: task)
                }
                task.complete(with: nil)
            } catch {
                failure = fail(task, error)
            }
            await tellEnd(of: task, failure)
        }
    }

    static let asDataDelegate: @Sendable (any URLSessionDelegate) -> (any URLSessionDataDelegate)? = {
        $0 as? any URLSessionDataDelegate
    }

    /// Passes a response and its body to the delegates. Returns the answer to the response.
    private func deliver(
        _ response: URLResponse, of transfer: any TaskTransfer, _ task: URLSessionTask
    ) async throws -> ResponseDisposition {
        guard let task = task as? URLSessionDataTask else { return .cancel }
        let disposition = try await ask(about: task, Self.asDataDelegate) { delegate in
            try await self.disposition(of: task, response, by: delegate)
        }
        switch disposition ?? .allow {
        case .becomeDownload: return .becomeDownload
        case .allow: break
        default: throw WorkLimit.End.cancelled
        }
        while let part = try await nextPart(of: transfer, task) {
            let data = Data(part)
            await tell(.data, about: task, Self.asDataDelegate) { delegate in
                delegate.urlSession(self, dataTask: task, didReceive: data)
            }
        }
        return .allow
    }

    /// Logs the header fields of a request that are left out because the client writes them itself, each name once for
    /// the session.
    func logIgnoredFields(of request: URLRequest) {
        for field in request.fields where HTTPRequestHead.ignores(field) {
            guard ignoredNames.withLock({ $0.insert(HTTPField.foldedName(field.name)).inserted }) else { continue }
            NSLog("%@", "PinnedNetworking ignores the header field \(field.name): the client writes it itself")
        }
    }

    /// Ends a task and returns its error: a `URLError`, or the error of the protocol class that handled the request.
    func fail(_ task: URLSessionTask, _ reason: any Error) -> any Error {
        let request = task.currentRequest ?? task.originalRequest
        let error: any Error =
            (reason as? ProtocolClassFailure)?.error ?? (reason as? URLError) ?? URLError(reason, url: request?.url)
        task.complete(with: error)
        return error
    }
}

extension URLSession: Hashable {
    /// Whether the two are the same session.
    public static func == (left: URLSession, right: URLSession) -> Bool { left === right }

    public func hash(into hasher: inout Hasher) { hasher.combine(ObjectIdentifier(self)) }
}

extension URLSession: CustomReflectable {
    /// An empty mirror, because `dump` must not print the credentials of a session.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
