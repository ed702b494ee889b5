import CertificateTrust
public import Foundation
import PinctlBasics
import PinctlTLSTransport
import Synchronization

/// A session that sends requests to servers which its configuration and its delegates accept.
///
/// No part of a request is sent before the server's chain is verified and matches the pins of the session's
/// configuration. This also applies to connections that earlier requests left open.
// Unchecked, since the class has subclasses. Every stored property is a constant of a Sendable type.
open class URLSession: NSObject, @unchecked Sendable {
    /// The shared session with ``URLSessionConfiguration/default``. It has no pins but those of ``ProcessPinning``.
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
    private let sessionTrust: SessionTrust
    private let label = Locked<String?>(nil)
    let taskCount = Atomic(0)
    /// The names of the header fields that requests had and that were logged as ignored, in lower case.
    let ignoredNames = Locked<Set<String>>([])
    let registry = Locked(SessionTasks())
    /// Whether it was logged that protocol classes handle requests that are pinned otherwise.
    let hasLoggedProtocolClasses = Atomic(false)
    /// Whether it was logged that no rule has an address for the reports that the program wants.
    private let hasLoggedReportSink = Atomic(false)
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
        settings = configuration.copyForSession()
        proxyError = settings.proxyDictionary?.error ?? settings.proxies.lazy.compactMap(\.domainError).first
        pool = ConnectionPool(limit: settings.connectionsPerHost)
        sessionTrust = ProcessPinning.trust(of: settings)
        sessionDelegate = Locked(delegate)
        if let delegateQueue {
            self.delegateQueue = delegateQueue
        } else {
            let queue = OperationQueue()
            queue.maxConcurrentOperationCount = 1
            self.delegateQueue = queue
        }
        super.init()
        logUnusedReportSink()
    }

    deinit { ProcessPinning.forget(sessionTrust) }

    /// A copy of the configuration that the session was created with, with the current trust settings. A change of it
    /// has no effect on the session: set ``pinning`` and the other trust settings of the session itself.
    public var configuration: URLSessionConfiguration {
        var settings = settings
        settings.trust = trust
        // The session has the policy in place of the process's, and not everyone who can use the session.
        // mutant process-override-copied: {} by ProcessPinningTests/overrides
        settings.processOverride = nil
        return URLSessionConfiguration(settings: settings, isCopied: true)
    }

    /// The pins for all further requests, including redirects of running ones. The initial value is the
    /// configuration's.
    ///
    /// A connection that was accepted under other pins isn't reused. A request or a WebSocket message that isn't sent
    /// yet is sent only if the new pins accept the server too. All code with access to the session can set the pins, so
    /// keep a session with pins private, and leave ``shared`` without.
    public var pinning: PinningPolicy? {
        get { trust.pinning }
        set {
            replaceTrust { $0.pinning = newValue }
            logUnusedReportSink()
        }
    }

    /// The pins that apply in addition to ``pinning``, because the program has adopted them for the whole process.
    /// `nil` if it hasn't. See ``ProcessPinning``.
    public var processPinning: PinningPolicy? { trust.process }

    /// The trust anchors for all further requests, or `nil` for the system's. The initial value is the configuration's.
    public var trustStore: TrustStore? {
        get { trust.store }
        set { replaceTrust { $0.store = newValue } }
    }

    /// The profile by which chains are verified for all further requests. The initial value is the configuration's.
    public var trustPolicy: TrustPolicy {
        get { trust.policy }
        set { replaceTrust { $0.policy = newValue } }
    }

    /// The revocation lists for all further requests. The initial value is the configuration's.
    ///
    /// A connection that was accepted with other lists isn't reused.
    public var revocationEvidence: RevocationEvidence {
        get { trust.revocation }
        set { replaceTrust { $0.revocation = newValue } }
    }

    /// The logs of Certificate Transparency for all further requests. The initial value is the configuration's.
    ///
    /// A connection that was accepted with another list isn't reused.
    public var certificateTransparencyLogs: TransparencyLogList? {
        get { trust.logs }
        set { replaceTrust { $0.logs = newValue } }
    }

    var trust: TrustSettings { permittingTrust.settings }

    /// The current trust settings, with the permission to send under them.
    var permittingTrust: PermittingTrust { sessionTrust.current }

    private func replaceTrust(_ change: (inout TrustSettings) -> Void) { sessionTrust.replace(change) }

    /// Logs once that the report sink is never called, because no rule has report URLs.
    private func logUnusedReportSink() {
        guard settings.reportSink != nil, let policy = trust.pinning, policy.rules.allSatisfy(\.reports.isEmpty),
            !hasLoggedReportSink.exchange(true, ordering: .relaxed)
        else { return }
        let reason = "no rule of the policy has \"reports\", so pinReportSink is never called"
        NSLog("%@", "PinnedNetworking: \(reason): add \"reports\": [\"https://…\"] to the rules, or remove the sink")
    }

    /// Drops connections and TLS sessions, so that further requests create new ones. Requests in progress continue.
    public func flush() async {
        await pool.drop()
    }

    /// Drops connections, TLS sessions, the credentials of this session, and the cookies of the configuration's
    /// storage.
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
    /// Throws `URLError`, or the error of a ``URLProtocol``. If the pins don't match, its code is
    /// `.serverCertificateUntrusted` and its text has the served keys and the pins. Its
    /// ``Foundation/URLError/pinningError`` has the same data as values.
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await collect(makeTask(URLSessionDataTask.init, request, delegate: delegate, isCollected: true))
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
        let task = makeTask(URLSessionDataTask.init, request, delegate: delegate)
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
    open func dataTask(with url: URL) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url))
    }

    /// Creates a task for a request. Its response is passed to the delegate.
    open func dataTask(with request: URLRequest) -> URLSessionDataTask {
        makeTask(URLSessionDataTask.init, request) { self.deliver($0) }
    }

    /// Creates a task for a URL. See ``dataTask(with:completionHandler:)-(URLRequest,_)``.
    open func dataTask(
        with url: URL, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        dataTask(with: URLRequest(url: url), completionHandler: completionHandler)
    }

    /// Creates a task for a request. Its body, response and error are passed to the handler, once, on the delegates'
    /// queue.
    open func dataTask(
        with request: URLRequest, completionHandler: @escaping @Sendable (Data?, URLResponse?, (any Error)?) -> Void
    ) -> URLSessionDataTask {
        makeTask(URLSessionDataTask.init, request) { self.collect($0, completionHandler) }
    }
}

extension URLSession: CustomReflectable {
    /// An empty mirror, because `dump` must not print the credentials of a session.
    public var customMirror: Mirror { Mirror(self, children: [:]) }
}
