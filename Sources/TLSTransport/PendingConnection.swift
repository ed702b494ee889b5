package import CertificateTrust

/// A TLS handshake that stands still at the server's certificate until somebody answers.
///
/// It cannot send. One answer consumes it: ``accept(_:approval:)``, ``acceptUnverified(approval:)`` or ``refuse()``;
/// dropping it refuses. A refusal sends the server an alert and closes.
package struct PendingConnection: ~Copyable, Sendable {
    /// What the server sent, leaf first; nothing is checked but that it can be read.
    package let presented: PresentedChain
    /// The address that was reached, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let remoteAddress: String

    private let connection: Connection
    private let name: ServerName
    /// For the rest of the handshake.
    private let limit: Duration
    private var isAnswered = false

    init(
        _ connection: Connection, presented: PresentedChain, remoteAddress: String, name: ServerName,
        limit: Duration
    ) {
        self.connection = connection
        self.presented = presented
        self.remoteAddress = remoteAddress
        self.name = name
        self.limit = limit
    }

    deinit {
        guard !isAnswered else { return }
        let connection = connection
        connection.loop.execute { connection.assumeIsolated { $0.refuse() } }
    }

    /// Goes on with a verified path, and returns when the handshake is done.
    ///
    /// The path's leaf must be the presented leaf and its name the endpoint's; any other path refuses the server and
    /// throws ``TransportError/foreignPath(peer:)``.
    package consuming func accept(
        _ path: VerifiedPath, approval: ApprovalDigest
    ) async throws(TransportError) -> VerifiedConnection {
        guard path.leaf == presented.leaf, path.name == name else {
            let peer = connection.peer
            await refuse()
            throw .foreignPath(peer: peer)
        }
        isAnswered = true
        return try await finish(path: path, approval: approval)
    }

    /// Goes on without a verified path: a delegate's own decision for an unpinned host, which the caller logs.
    package consuming func acceptUnverified(
        approval: ApprovalDigest
    ) async throws(TransportError) -> VerifiedConnection {
        isAnswered = true
        return try await finish(path: nil, approval: approval)
    }

    /// Refuses the server, with an alert, and closes.
    package consuming func refuse() async {
        isAnswered = true
        await connection.refuse()
    }

    private borrowing func finish(
        path: VerifiedPath?, approval: ApprovalDigest
    ) async throws(TransportError) -> VerifiedConnection {
        let deadline = Deadline(for: .handshake, peer: connection.peer, limit: limit)
        let negotiated = try await connection.accept(until: deadline)
        return VerifiedConnection(
            connection, approval: approval, path: path, remoteAddress: remoteAddress, negotiated: negotiated)
    }
}
