import HTTPMessages
import Synchronization
import TLSTransport

/// Sends requests over HTTPS to servers that its configuration and its delegates accept.
///
/// Every request has a connection of its own. Nothing of a request is sent before the server's chain was verified and
/// the pins of the session's configuration were found on it.
public final class URLSession: Sendable {
    /// A session of ``URLSessionConfiguration/default``: without pins.
    public static let shared = URLSession(configuration: .default)

    /// What a delegate answers to a challenge.
    public enum AuthChallengeDisposition: Int, Sendable {
        /// Use the credential. For server trust, one made from the challenge's own trust; any other refuses.
        case useCredential
        /// Decide as if there were no delegate.
        case performDefaultHandling
        /// End the request with `URLError.cancelled`.
        case cancelAuthenticationChallenge
        /// Move on to the next challenge. There is one for server trust, so this refuses the server.
        case rejectProtectionSpace
    }

    /// Asked about every task; held as long as the session lives.
    public let delegate: (any URLSessionDelegate)?
    /// Where delegate methods with a completion handler are called.
    public let delegateQueue: OperationQueue

    let settings: SessionSettings
    private let taskCount = Atomic(0)

    /// A session without a delegate.
    public convenience init(configuration: URLSessionConfiguration) {
        self.init(configuration: configuration, delegate: nil, delegateQueue: nil)
    }

    /// A session that asks a delegate, on a serial queue of its own unless one is given.
    public init(
        configuration: URLSessionConfiguration, delegate: (any URLSessionDelegate)?, delegateQueue: OperationQueue?
    ) {
        settings = configuration.snapshot
        self.delegate = delegate
        if let delegateQueue {
            self.delegateQueue = delegateQueue
        } else {
            self.delegateQueue = OperationQueue()
            self.delegateQueue.maxConcurrentOperationCount = 1
        }
    }

    /// A copy of the configuration the session was made with.
    public var configuration: URLSessionConfiguration { URLSessionConfiguration(settings: settings) }

    /// Fetches a URL; see ``data(for:delegate:)``.
    public func data(
        from url: URL, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        try await data(for: URLRequest(url: url), delegate: delegate)
    }

    /// Sends a request and returns the body, at most 1 GiB, and the response, an ``HTTPURLResponse``.
    ///
    /// Any status is a response, 404 and 500 among them. Redirects are not followed: a 3xx is the response, with its
    /// Location. The body is as the server sent it; nothing is decompressed.
    ///
    /// Throws `URLError`. When the pins do not match its code is `.serverCertificateUntrusted`, its text holds what is
    /// served and what is pinned, and its ``Foundation/URLError/pinDecision`` the same as values.
    public func data(
        for request: URLRequest, delegate: (any URLSessionTaskDelegate)? = nil
    ) async throws -> (Data, URLResponse) {
        let limit = WorkLimit(
            requestTimeout: request.ownTimeoutInterval ?? settings.requestTimeout,
            resourceTimeout: settings.resourceTimeout)
        let task = URLSessionTask(
            taskIdentifier: taskCount.add(1, ordering: .relaxed).newValue, originalRequest: request,
            delegate: delegate, limit: limit)
        do {
            let target = try RequestTarget(request)
            return try await limit.run { try await self.load(target, for: task) }
        } catch {
            throw URLError(error, request: request)
        }
    }

    private func load(_ target: RequestTarget, for task: URLSessionTask) async throws -> (Data, URLResponse) {
        guard target.origin.scheme == .https else { throw RequestTargetError.plainHTTP }
        let body = task.originalRequest?.httpBody ?? Data()
        let head: HTTPRequestHead
        do throws(HTTPRequestError) {
            head = try HTTPRequestHead(
                method: target.method, target: .origin(target.path), origin: target.origin,
                body: body.isEmpty ? .none : .length(body.count), closes: true,
                fields: task.originalRequest?.fields ?? [])
        } catch {
            throw RequestTargetError.malformedRequest(error)
        }
        let connection = try await connect(target, for: task)
        task.limit.progress(to: .response)
        try await connection.send(head.bytes + body)
        var exchange = HTTPExchange(head)
        exchange.requestBodyWasSent()
        var limit = HTTPBodyLimit()
        var received = Data()
        var response: HTTPURLResponse?
        while true {
            switch try exchange.next() {
            case nil:
                exchange.receive(try await connection.receive())
                task.limit.progress(to: .response)
            case .goAhead: break
            case .head(let head):
                try limit.check(head)
                response = HTTPURLResponse(url: target.url, statusCode: head.statusCode, fields: head.fields)
            case .body(let part):
                try limit.add(part)
                received += part
            case .end:
                await connection.close()
                guard let response else { throw HTTPResponseError.truncated }
                return (received, response)
            }
        }
    }

    /// Connects, asks the delegates, judges the server, and ends with a connection that may send, or with an error.
    private func connect(_ target: RequestTarget, for task: URLSessionTask) async throws -> VerifiedConnection {
        let rule = settings.pinning?.rule(for: target.name, port: Int(target.port))
        let store = try rule?.anchors ?? settings.trustStore ?? SystemTrustStore.load()
        let route = settings.route.map { Route(host: $0.host, port: $0.port) }
        let pending = try await Transport.shared.dial(
            Endpoint(name: target.name, port: target.port, route: route), options: task.limit.dialOptions)

        let trust = ServerTrust(presented: pending.presented, name: target.name, store: store)
        let space = URLProtectionSpace(serverTrust: trust, port: target.port)
        task.limit.progress(to: .delegate)
        let answer = try await answer(to: URLAuthenticationChallenge(protectionSpace: space), of: task)

        task.limit.progress(to: .handshake)
        let verdict = try ServerTrustVerdict(
            trust, port: Int(target.port), answer: answer, policy: settings.pinning, at: Date())
        let approval = settings.approval(by: verdict, store: store)
        switch verdict {
        case .verified(let path, let decision):
            if case .forgiven(let mismatch) = decision { NSLog("%@", "PinnedNetworking goes on: \(mismatch)") }
            return try await pending.accept(path, approval: approval)
        case .acceptedByDelegate(let error):
            NSLog("%@", "PinnedNetworking goes on: a delegate accepted \(target.name) port \(target.port): \(error)")
            return try await pending.acceptUnverified(approval: approval)
        }
    }
}
