import PinctlHTTPMessages
import PinctlTLSTransport

/// The evaluations of the servers that a request connects to.
struct ServerEvaluators: Sendable {
    /// The evaluation of the origin, or `nil` for `http`, where there is no certificate.
    let origin: ServerEvaluator?
    /// The evaluation of the proxy, or `nil` without a proxy and for a cleartext proxy.
    let proxy: ServerEvaluator?
    /// The permission to send a request to servers that were approved under the settings of these evaluations.
    let permit: SendPermit

    /// Creates the evaluations. Throws if the policy doesn't allow cleartext to the origin.
    init(_ key: ConnectionPool.Key, for task: URLSessionTask, of session: URLSession) throws {
        let trust = session.permittingTrust
        permit = trust.permit
        let name = key.origin.name
        switch key.origin.scheme {
        case .https:
            origin = try ServerEvaluator(name, port: key.origin.port, by: trust, for: task, of: session)
        case .http, .ftp:
            // mutant cleartext-pinned: nil for `trust.settings…(to: name)` by PinnedRequestTests
            if let owner = trust.settings.ownerForbiddingCleartext(to: name) {
                throw RequestTargetError.pinnedCleartext(name, by: owner)
            }
            origin = nil
        }
        proxy = try key.proxy.flatMap { proxy in
            // mutant proxy-evaluated: false by ProxyTests
            guard proxy.usesTLS else { return nil }
            return try ServerEvaluator(
                proxy.host, port: proxy.port, proxyType: NSURLProtectionSpaceHTTPSProxy, by: trust, for: task,
                of: session)
        }
    }

    /// Whether the approval of every server of a connection is also valid for this request.
    @TransportActor
    func matches(_ connection: PooledConnection) -> Bool {
        guard (origin == nil) == (connection.origin == nil), (proxy == nil) == (connection.proxy == nil) else {
            return false
        }
        if let server = connection.origin, origin?.matches(server) != true { return false }
        // mutant proxy-approval: false for 2 by ProxyTests
        if let server = connection.proxy, proxy?.matches(server) != true { return false }
        return true
    }

    /// Returns the servers of a connection that were evaluated, in the order in which the request reaches them.
    @TransportActor
    func servers(of connection: PooledConnection) -> [(ServerEvaluator, EvaluatedServer)] {
        [(proxy, connection.proxy), (origin, connection.origin)].compactMap { evaluator, server in
            if let evaluator, let server { (evaluator, server) } else { nil }
        }
    }
}

extension PooledConnection {
    /// Sends bytes of a request. If the trust settings are replaced before the kernel has all bytes, sends the rest
    /// only if the new settings accept the servers too. Throws a ``SupersededApproval`` if they don't.
    func send(_ bytes: [UInt8], for task: URLSessionTask, of session: URLSession) async throws {
        var rest = bytes
        while let unsent = try await connection.send(rest, permit) {
            do {
                permit = try await approveAgain(for: task, of: session)
            } catch {
                throw SupersededApproval(reason: error)
            }
            rest = Array(unsent)
        }
    }

    /// Evaluates the servers under the current trust settings. The delegates aren't asked.
    private func approveAgain(for task: URLSessionTask, of session: URLSession) async throws -> SendPermit {
        let evaluators = try await SystemTrustStore.whenRead { try ServerEvaluators(key, for: task, of: session) }
        for (evaluator, server) in evaluators.servers(of: self) where !evaluator.hasSettings(of: server.approval) {
            // mutant send-approved-again: {} by ReplacedSettingsTests/replaced
            try await evaluator.confirm(server)
        }
        return evaluators.permit
    }
}

/// The error for a server that was approved under trust settings that were replaced before a request was sent to it.
struct SupersededApproval: Error, CustomStringConvertible {
    /// The reason why the new settings refuse the server. Nil if they weren't asked.
    var reason: (any Error)?

    var description: String {
        reason.map { "\($0)" } ?? "the session's trust settings were replaced meanwhile: send the request again"
    }
}
