/// A decision about a server, for ``URLSessionConfiguration/serverTrustObserver``.
public struct ServerTrustDecision: Sendable {
    /// The result and the reason.
    @nonexhaustive
    public enum Outcome: Sendable {
        /// The server was verified, and accepted by the policy if there is one. `.forgiven` is a mismatch in report
        /// mode.
        case accepted(PinDecision)
        /// The server wasn't verified, with this reason. A delegate accepted it, and no pins apply to the host.
        case acceptedByDelegate(PinningError)
        /// The server was refused, with the reason. The error is `nil` if a delegate refused.
        case refused(PinningError?, reason: String)
    }

    /// The kind of connection.
    public enum Connection: Sendable, Hashable {
        /// A full TLS handshake.
        case new
        /// A handshake that resumed a session. The stored chain was evaluated again.
        case resumed
        /// A connection that an earlier request left open. The decision about it is still valid.
        case reused
    }

    /// The name that was verified.
    public let host: ServerName
    /// The server's TCP port.
    public let port: Int
    /// Whether the server is a proxy.
    public let isProxy: Bool
    /// The kind of connection.
    public let connection: Connection
    /// The task that needed the server. See ``URLSessionTask/taskIdentifier``.
    public let taskIdentifier: Int
    /// The result and the reason.
    public let outcome: Outcome
}

extension ServerTrustDecision: CustomStringConvertible {
    /// The server and the result, such as `api.example.com port 443 (new): accepted: …`.
    public var description: String {
        let result =
            switch outcome {
            case .accepted(let decision): "accepted: \(decision)"
            case .acceptedByDelegate(let error): "accepted by a delegate, not trusted: \(error)"
            case .refused(_, let reason): "refused: \(reason)"
            }
        return "\(isProxy ? "proxy " : "")\(host) port \(port) (\(connection)): \(result)"
    }
}
