package import CertificateTrust
import OpenSSLBridge

/// A TLS handshake that stands still at the server's certificate until somebody answers.
///
/// It cannot send. One answer consumes it: an acceptance or ``refuse()``; dropping it refuses. A refusal sends the
/// server an alert and closes.
package struct PendingConnection: ~Copyable, Sendable {
    /// What the server sent, leaf first; nothing is checked but that it can be read.
    package let presented: PresentedChain
    /// The address that was reached, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let remoteAddress: String
    /// Whether a session is being resumed: then this is what its first handshake presented.
    package let isResumed: Bool

    private let connection: Connection
    private let name: ServerName
    /// For the rest of the handshake.
    private let limit: Duration
    private let context: TLSContext
    private var isAnswered = false

    init(
        _ connection: Connection, presented: PresentedChain, isResumed: Bool, remoteAddress: String,
        name: ServerName, limit: Duration, context: TLSContext
    ) {
        self.connection = connection
        self.presented = presented
        self.isResumed = isResumed
        self.remoteAddress = remoteAddress
        self.name = name
        self.limit = limit
        self.context = context
    }

    deinit {
        guard !isAnswered else { return }
        let connection = connection
        connection.loop.execute { connection.assumeIsolated { $0.refuse() } }
    }

    /// Chooses the client's identity, nil for none; `issuers` are the DER names that the server says it takes.
    package typealias IdentityChoice = @Sendable (_ issuers: [[UInt8]]) async throws -> ClientIdentity?

    /// Goes on, and returns when the handshake is done.
    ///
    /// A path's leaf must be the presented leaf and its name the endpoint's; any other path refuses the server and
    /// throws ``TransportError/foreignPath(peer:)``. Without a path it is a delegate's own decision for an unpinned
    /// host, which the caller logs. When the server asks who the client is, `identity` chooses while the handshake
    /// waits, and what it throws ends the connection. `approval` is asked for last.
    package consuming func accept(
        _ path: VerifiedPath?, identity: @escaping IdentityChoice = { _ in nil },
        approval: @Sendable () -> Approval
    ) async throws -> VerifiedConnection {
        let (connection, negotiated) = try await finish(path, identity)
        return VerifiedConnection(
            connection, approval: approval(), path: path, remoteAddress: remoteAddress, negotiated: negotiated)
    }

    /// Goes on with a proxy, for the sake of the tunnel it is to make. No request can be sent to it.
    package consuming func acceptProxy(
        _ path: VerifiedPath?, identity: @escaping IdentityChoice = { _ in nil }
    ) async throws -> BareConnection {
        let (connection, _) = try await finish(path, identity)
        return BareConnection(connection, remoteAddress: remoteAddress, context: context)
    }

    /// Refuses the server, with an alert, and closes.
    package consuming func refuse() async {
        isAnswered = true
        await connection.refuse()
    }

    private mutating func finish(
        _ path: VerifiedPath?, _ identity: IdentityChoice
    ) async throws -> (Connection, NegotiatedTLS) {
        isAnswered = true
        if let path, path.leaf != presented.leaf || path.name != name {
            await connection.refuse()
            throw TransportError.foreignPath(peer: connection.peer)
        }
        var step = try await connection.accept(until: deadline)
        if case .askIdentity(let issuers) = step {
            do {
                let chosen = try await identity(issuers)
                step = try await connection.identify(as: chosen?.handle, until: deadline)
            } catch {
                await connection.close()
                throw error
            }
        }
        guard case .established(let negotiated) = step else {
            await connection.close()
            throw TransportError.closed(peer: connection.peer)
        }
        return (connection, negotiated)
    }

    private var deadline: Deadline { Deadline(for: .handshake, peer: connection.peer, limit: limit) }
}
