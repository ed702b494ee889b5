import OpenSSLBridge

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
