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
    /// The agreed version: `TLSv1.3` or `TLSv1.2` (`SSL_get_version`).
    package let version: String
    /// The agreed cipher suite's OpenSSL name (`SSL_CIPHER_get_name`).
    package let cipherSuite: String

    private let connection: Connection
    private let name: ServerName
    /// For the rest of the handshake.
    private let limit: Duration
    /// For all there is to do with a server that is only looked at.
    private let total: Deadline?
    private let context: TLSContext
    private var isAnswered = false

    init(
        _ connection: Connection, presented: PresentedChain, _ question: Connection.Question, remoteAddress: String,
        name: ServerName, limit: Duration, total: Deadline?, context: TLSContext
    ) {
        self.connection = connection
        self.presented = presented
        isResumed = question.isResumed
        version = question.version
        cipherSuite = question.cipherSuite
        self.remoteAddress = remoteAddress
        self.name = name
        self.limit = limit
        self.total = total
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

    /// The OCSP response that the server was asked for with its certificate, DER (RFC 6066, section 8), and closes; nil
    /// without one. The server is not accepted for it: it gets no answer.
    package consuming func staple() async throws(TransportError) -> [UInt8]? {
        isAnswered = true
        let staple = try await connection.staple(until: wholeDeadline)
        // In TLS 1.3 the handshake still stands at the certificate, and can be refused in form.
        if version == "TLSv1.2" { await connection.drop() } else { await connection.refuse() }
        return staple
    }

    /// What a server made of the client's certificate.
    package enum IdentityOutcome: Sendable, Hashable {
        /// It asked for none.
        case notAsked
        /// It went on, or said nothing against it for as long as was waited.
        case taken
        case refused(TransportError)
    }

    /// Shows the client's certificate, to a server that nobody has judged, and closes without a byte of a request: what
    /// the server learns is who is here. `patience` is how long it may take to say no after the handshake.
    package consuming func show(
        _ identity: ClientIdentity, patience: Duration
    ) async throws(TransportError) -> (outcome: IdentityOutcome, staple: [UInt8]?) {
        isAnswered = true
        let deadline = wholeDeadline
        var step = try await connection.accept(until: deadline)
        var outcome = IdentityOutcome.notAsked
        if case .askIdentity = step {
            do throws(TransportError) {
                step = try await connection.identify(as: identity.handle, until: deadline)
                try await connection.hearRefusal(within: patience, until: deadline)
                outcome = .taken
            } catch {
                switch error {
                case .timedOut, .cancelled: throw error
                // Some say it with an alert, and some by closing.
                default: outcome = .refused(error)
                }
            }
        }
        let staple = await connection.capturedStaple
        await connection.close()
        return (outcome, staple)
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

    private var wholeDeadline: Deadline {
        guard let total else { return deadline }
        return .earlier(total, deadline)
    }

    private var deadline: Deadline { Deadline(for: .handshake, peer: connection.peer, limit: limit) }
}
