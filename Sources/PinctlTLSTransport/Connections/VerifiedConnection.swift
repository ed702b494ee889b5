package import CertificateTrust
import OpenSSLBridge

/// A TLS connection whose server was accepted.
@TransportActor
package final class VerifiedConnection: RequestConnection {
    /// The accepted path, or nil if a delegate accepted the server without one.
    package nonisolated let path: VerifiedPath?
    /// The TLS parameters that were negotiated.
    package nonisolated let negotiated: NegotiatedTLS
    /// Whether the server requested a client certificate.
    private nonisolated let wasIdentityRequested: Bool

    nonisolated init(
        _ connection: Connection, path: VerifiedPath?, remoteAddress: String, negotiated: NegotiatedTLS,
        wasIdentityRequested: Bool
    ) {
        self.path = path
        self.negotiated = negotiated
        self.wasIdentityRequested = wasIdentityRequested
        super.init(connection, remoteAddress: remoteAddress)
    }

    /// Returns the session for a later connection, or nil if there is none. Also returns nil if the server requested a
    /// client certificate, since a resumed session would reuse that identity without asking. Pass true for `isSameTask`
    /// if the later connection belongs to the task that was asked.
    package func session(ofSameTask isSameTask: Bool = false) -> ResumableSession? {
        // mutant identity-session: true by ResumptionAttackTests ClientCertificateTests ConnectionReuseTests
        guard isSameTask || !wasIdentityRequested else { return nil }
        return connection.session().map(ResumableSession.init)
    }
}

/// A TLS session that a later connection to the same server may resume once (RFC 8446, appendix C.4).
package struct ResumableSession: Sendable {
    let session: TLSSession
}

/// The parameters that a TLS handshake negotiated.
package struct NegotiatedTLS: Sendable, Hashable {
    /// `TLSv1.3` or `TLSv1.2` (`SSL_get_version`).
    package let version: String
    /// The cipher suite's OpenSSL name (`SSL_CIPHER_get_name`).
    package let cipherSuite: String
    /// The ALPN name, or nil if the server chose none.
    package let applicationProtocol: String?
    /// Whether a session was resumed (`SSL_session_reused`).
    package let isResumed: Bool
}
