/// What was decided about a server, for ``URLSessionConfiguration/serverTrustObserver``.
public struct ServerTrustDecision: Sendable {
    /// What was decided, and why.
    @nonexhaustive
    public enum Outcome: Sendable {
        /// Verified, and accepted by the policy where there is one. `.forgiven` is a mismatch in report mode.
        case accepted(VerifiedPath, PinDecision)
        /// Not verified, for this reason, nil on a reused connection; a delegate accepted it, and no pins hold for the host.
        case acceptedByDelegate(PinningError?)
        /// Refused; the text says why. The error is nil when a delegate refused.
        case refused(PinningError?, reason: String)
    }

    /// On what connection.
    public enum Connection: Sendable, Hashable {
        /// A full TLS handshake.
        case new
        /// A handshake that resumed a session; its stored chain was judged again.
        case resumed
        /// One that an earlier request had left open; the decision about it was made again.
        case reused
    }

    /// The name that was verified.
    public let host: ServerName
    /// The server's TCP port.
    public let port: Int
    /// Whether the server is a proxy.
    public let isProxy: Bool
    /// On what connection.
    public let connection: Connection
    /// The task that asked; see ``URLSessionTask/taskIdentifier``.
    public let taskIdentifier: Int
    /// What was decided, and why.
    public let outcome: Outcome
}
