package import CertificateTrust
import OpenSSLBridge

/// A TLS handshake that is suspended at the server's certificate until it gets an answer.
///
/// It can't send. One answer consumes it: an acceptance or ``refuse()``. Dropping it refuses the server. A refusal
/// sends the server an alert, unless a session is being resumed, and closes.
package struct PendingConnection: ~Copyable, Sendable {
    /// The certificates that the server sent, leaf first. They were parsed but not verified.
    package let presented: PresentedChain
    /// The remote address, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let remoteAddress: String
    /// Whether a session is being resumed. If so, the certificates are those of its first handshake.
    package let isResumed: Bool
    /// The agreed version: `TLSv1.3` or `TLSv1.2` (`SSL_get_version`).
    package let version: String
    /// The OpenSSL name of the agreed cipher suite (`SSL_CIPHER_get_name`).
    package let cipherSuite: String
    /// The SignedCertificateTimestampList that the server sent in an extension (RFC 6962, section 3.3.1), unchecked, or
    /// nil if there is none. For a resumed session it is that of its first handshake.
    package let timestamps: [UInt8]?
    /// The agreed key exchange group, such as `X25519MLKEM768`, or nil in TLS 1.2, where the server sends it after its
    /// certificate.
    package let group: String?

    private let connection: Connection
    private let name: ServerName
    /// The time limit for the rest of the handshake.
    private let limit: Duration
    /// The deadline for everything that is done with a server that is only inspected.
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
        timestamps = question.timestamps
        group = question.group
        self.remoteAddress = remoteAddress
        self.name = name
        self.limit = limit
        self.total = total
        self.context = context
    }

    deinit {
        if !isAnswered { connection.refuseSoon() }
    }

    /// A closure that chooses the client's identity, or nil for none. `issuers` are the DER names of the CAs that the
    /// server accepts.
    package typealias IdentityChoice = @Sendable (_ issuers: [[UInt8]]) async throws -> ClientIdentity?

    /// Accepts the server, and returns when the handshake is done.
    ///
    /// The leaf of `path` must be the presented leaf and its name the endpoint's. Any other path refuses the server and
    /// throws ``TransportError/foreignPath(peer:)``. Nil means that a delegate decided for an unpinned host, which the
    /// caller logs. If the server requests a client certificate, `identity` chooses it while the handshake waits, and
    /// an error it throws ends the connection.
    package consuming func accept(
        _ path: VerifiedPath?, identity: @escaping IdentityChoice = { _ in nil }
    ) async throws -> VerifiedConnection {
        let (connection, negotiated, wasIdentityRequested) = try await finish(path, identity)
        return VerifiedConnection(
            connection, path: path, remoteAddress: remoteAddress, negotiated: negotiated,
            wasIdentityRequested: wasIdentityRequested)
    }

    /// Accepts a proxy in order to tunnel through it. No request can be sent to it.
    package consuming func acceptProxy(
        _ path: VerifiedPath?, identity: @escaping IdentityChoice = { _ in nil }
    ) async throws -> BareConnection {
        let (connection, _, _) = try await finish(path, identity)
        return BareConnection(connection, remoteAddress: remoteAddress, context: context)
    }

    /// Closes the connection and returns the OCSP response that was requested with the certificate, DER (RFC 6066,
    /// section 8), or nil if there is none. The server isn't accepted.
    package consuming func staple() async throws(TransportError) -> [UInt8]? {
        isAnswered = true
        let staple = try await connection.staple(until: wholeDeadline)
        // In TLS 1.3 the handshake is still suspended at the certificate, so it can be refused with an alert.
        if version == "TLSv1.2" { await connection.drop() } else { await connection.refuse() }
        return staple
    }

    /// A server's reaction to the client certificate.
    package enum IdentityOutcome: Sendable, Hashable {
        /// The server didn't request a certificate.
        case notAsked
        /// The server continued, or didn't object while the client waited.
        case taken
        case refused(TransportError)
    }

    /// Presents the client certificate to an unverified server, and closes without sending any of a request. The server
    /// learns only the client's identity. `patience` is how long to wait for a rejection after the handshake.
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
                // Some servers reject with an alert, others by closing.
                default: outcome = .refused(error)
                }
            }
        }
        let staple = await connection.capturedStaple
        await connection.close()
        return (outcome, staple)
    }

    /// Refuses the server and closes. Sends an alert unless a session is being resumed.
    package consuming func refuse() async {
        isAnswered = true
        await connection.refuse()
    }

    private mutating func finish(
        _ path: VerifiedPath?, _ identity: IdentityChoice
    ) async throws -> (Connection, NegotiatedTLS, wasIdentityRequested: Bool) {
        isAnswered = true
        // mutant foreign-path: false for 2 by HandshakeTests FailureTests HandshakeAttackTests
        if let path, path.leaf != presented.leaf || path.name != name {
            await connection.refuse()
            throw TransportError.foreignPath(peer: connection.peer)
        }
        var step = try await connection.accept(until: deadline)
        var wasIdentityRequested = false
        if case .askIdentity(let issuers) = step {
            wasIdentityRequested = true
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
        return (connection, negotiated, wasIdentityRequested)
    }

    private var wholeDeadline: Deadline {
        total?.during(.handshake, peer: connection.peer, limit: limit) ?? deadline
    }

    private var deadline: Deadline { Deadline(for: .handshake, peer: connection.peer, limit: limit) }
}

// The results of a handshake, and the wait for a late refusal.

extension Connection {
    /// The facts known about a server once its certificate has arrived.
    struct Question: Sendable {
        /// The server's certificates, leaf first.
        let certificates: [ReceivedCertificate]
        /// Whether the certificates are those of a resumed session.
        let isResumed: Bool
        let version: String
        let cipherSuite: String
        /// The list of timestamps in the server's extension, or that of the session's first handshake.
        let timestamps: [UInt8]?
        let group: String?
    }

    /// The next step of a handshake after the server was accepted.
    enum Step: Sendable {
        /// The server requests a client certificate from one of these issuers, DER. An empty list means any issuer.
        case askIdentity([[UInt8]])
        case established(NegotiatedTLS)
    }

    /// Waits for the server to reject the client, which it may do after the handshake (RFC 8446, section 4.4.2.4).
    /// Silence until the time is up counts as consent, and so does any data.
    func hearRefusal(within patience: Duration, until deadline: Deadline) async throws(TransportError) {
        let patience = Deadline(for: .handshake, peer: peer, limit: patience)
        do throws(TransportError) {
            _ = try await receive(until: .earlier(patience, deadline))
        } catch {
            // The end of the time for everything isn't consent, also if its error is the same.
            // mutant identity-consent: true for 1 by ShowIdentityTests/outOfTime
            guard patience.instant <= deadline.instant, error == patience.error else { throw error }
        }
    }
}
