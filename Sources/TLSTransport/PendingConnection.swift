/// A TLS handshake that stands still at the server's certificate until somebody answers.
///
/// It cannot send. One answer consumes it: ``accept(_:approval:)``, ``acceptUnverified(approval:)`` or ``refuse()``;
/// dropping it refuses. A refusal sends the server an alert and closes.
package struct PendingConnection: ~Copyable, Sendable {
    /// What the server sent, leaf first; nothing is checked but that it can be read.
    package let presented: PresentedChain
    /// The address that was reached, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let remoteAddress: String

    /// Goes on with a verified path, and returns when the handshake is done.
    ///
    /// The path's leaf must be the presented leaf and its name the endpoint's; any other path refuses the server and
    /// throws ``TransportError/foreignPath(peer:)``.
    package consuming func accept(
        _ path: VerifiedPath, approval: ApprovalDigest
    ) async throws(TransportError) -> VerifiedConnection {
        throw .cancelled
    }

    /// Goes on without a verified path: a delegate's own decision for an unpinned host, which the caller logs.
    package consuming func acceptUnverified(
        approval: ApprovalDigest
    ) async throws(TransportError) -> VerifiedConnection {
        throw .cancelled
    }

    /// Refuses the server, with an alert, and closes.
    package consuming func refuse() async {}
}
