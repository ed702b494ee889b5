package import CertificateTrust
package import OpenSSLBridge

/// Why there is no connection, or why one ended. `peer` is `name:port` and, once known, the address.
package enum TransportError: Error, Sendable, Hashable {
    /// The host has no address, or the resolver said why it cannot tell.
    case unresolvable(host: ServerName, reason: String)
    /// A phase or the whole took longer than its limit.
    case timedOut(Phase, peer: String, limit: Duration)
    /// No address accepted; one entry for each that was tried, in order.
    case unreachable(peer: String, attempts: [ConnectAttempt])
    /// The TLS handshake failed, with OpenSSL's reason, which may be the peer's alert.
    case handshakeFailed(peer: String, reason: OpenSSLError)
    /// The server rejected what was offered, in an alert before its certificate: it has no cipher suite or key exchange
    /// in common with this client, or another reason that it gives the same alert for.
    case offerRejected(peer: String, reason: OpenSSLError)
    /// The server, asked for one kind of key alone, has none of it: it ended the handshake, or showed another.
    case otherKey(peer: String, wanted: ServerKeyKind, reason: String)
    /// The server does not offer to turn to TLS.
    case startTLSNotOffered(peer: String, StartTLSProtocol)
    /// The server was asked to turn to TLS and would not; its own words.
    case startTLSRefused(peer: String, StartTLSProtocol, answer: String)
    /// What the server said before TLS is not what its protocol says.
    case startTLSUnreadable(peer: String, StartTLSProtocol, reason: String)
    /// The peer closed the connection, or the network lost it, before the handshake was done.
    case lostDuringHandshake(peer: String, reason: String)
    /// The server sent certificates that cannot be read, so there is nothing to verify.
    case unreadableCertificates(peer: String, reason: PresentedChainError)
    /// The path given to ``PendingConnection/accept(_:identity:approval:)`` is for another certificate or another name.
    case foreignPath(peer: String)
    /// A proxy's answer to CONNECT could not be read.
    case tunnelRefused(peer: String, reason: String)
    /// A SOCKS proxy did not connect to the host.
    case relayRefused(peer: String, reason: SOCKSError)
    /// The peer ended the stream without a close_notify (RFC 8446, section 6.1): bytes may be missing.
    case truncated(peer: String)
    /// The connection failed after the handshake, in TLS.
    case protocolFailure(peer: String, reason: OpenSSLError)
    /// The connection failed after the handshake, in TCP.
    case lost(peer: String, reason: String)
    /// The connection was closed on this side.
    case closed(peer: String)
    /// The task was cancelled; the connection is closed.
    case cancelled
    /// The system or OpenSSL refused what every connection needs: a descriptor, a thread, memory.
    case exhausted(what: String, reason: String)

    /// What a limit was put on.
    package enum Phase: String, Sendable, Hashable {
        case resolve = "name resolution"
        case connect = "the connection"
        case handshake = "the TLS handshake"
        case startTLS = "what comes before TLS"
        case tunnel = "the proxy's answer to CONNECT"
        case relay = "the SOCKS proxy's answer"
        case total = "name resolution, connection and TLS handshake"
    }
}

extension TransportError {
    /// What a server says about the client's certificate.
    package enum IdentityRefusal: Sendable, Hashable {
        /// It wants one and got none.
        case missing
        /// It does not take the one it got.
        case rejected
    }

    /// The same failure before the server's certificate: whether the server took nothing of what was offered, and so has
    /// no key of the `wanted` kind, if one kind alone was asked for.
    func asRejectedOffer(_ wanted: ServerKeyKind?) -> TransportError {
        guard case .handshakeFailed(let peer, let reason) = self else { return self }
        switch (reason.alert, wanted) {
        // handshake_failure, insufficient_security: what servers say that share no algorithm.
        case (40, nil), (71, nil): return .offerRejected(peer: peer, reason: reason)
        case (40, let wanted?), (71, let wanted?):
            return .otherKey(
                peer: peer, wanted: wanted, reason: "\(reason.reason), or it supports only finite-field DHE")
        // illegal_parameter: others say that.
        case (47, let wanted?): return .otherKey(peer: peer, wanted: wanted, reason: reason.reason)
        case (_, let wanted?) where reason.isForeignSignature:
            return .otherKey(peer: peer, wanted: wanted, reason: reason.reason)
        default: return self
        }
    }

    /// Whether the peer's alert is about the client's certificate, which it had asked for (RFC 8446, section 6.2);
    /// `wasShown` says whether it got one.
    package func identityRefusal(wasShown: Bool) -> IdentityRefusal? {
        let alert: UInt8? =
            switch self {
            case .handshakeFailed(_, let reason), .protocolFailure(_, let reason): reason.alert
            default: nil
            }
        switch alert {
        // certificate_required
        case 116: return .missing
        // handshake_failure: what TLS 1.2 has for a missing one (RFC 5246, section 7.4.6)
        case 40: return wasShown ? nil : .missing
        // bad_certificate, unsupported_certificate, certificate_revoked, certificate_expired, certificate_unknown,
        // unknown_ca, access_denied
        case 42, 43, 44, 45, 46, 48, 49: return wasShown ? .rejected : .missing
        default: return nil
        }
    }
}

/// One address that was tried and what came of it.
package struct ConnectAttempt: Sendable, Hashable {
    /// `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let address: String
    /// The system's words, such as `Connection refused`.
    package let reason: String

    package init(address: String, reason: String) {
        self.address = address
        self.reason = reason
    }
}

extension TransportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unresolvable(let host, let reason):
            "cannot resolve \(host): \(reason); check the name and this machine's DNS"
        case .timedOut(let phase, let peer, let limit):
            "\(peer): \(phase.rawValue) took longer than \(limit); check the way there or raise the limit"
        case .unreachable(let peer, let attempts):
            "cannot connect to \(peer): \(Self.list(attempts)); check the port and that the server runs"
        case .handshakeFailed(let peer, let reason):
            "\(peer): the TLS handshake failed: \(reason.reason); check that the port speaks TLS 1.2 or 1.3"
        case .offerRejected(let peer, let reason):
            "\(peer): the server rejected the TLS handshake (\(reason.reason)); it may support only finite-field DHE or "
                + "static RSA key exchange, which this client does not offer: enable ECDHE with X25519, P-256, P-384 or "
                + "P-521 on the server"
        case .otherKey(let peer, let wanted, let reason):
            "\(peer): the server has no \(wanted.rawValue.uppercased()) key to show: \(reason); ask for another, or for any"
        case .startTLSNotOffered(let peer, let spoken):
            "\(peer): the server does not offer STARTTLS (\(spoken.rawValue)); switch it on there, or use its TLS port"
        case .startTLSRefused(let peer, let spoken, let answer):
            "\(peer): the server refuses STARTTLS (\(spoken.rawValue)): it says \(answer); look into its log"
        case .startTLSUnreadable(let peer, let spoken, let reason):
            "\(peer): this is no \(spoken.rawValue) before STARTTLS: \(reason); check the port and the protocol"
        case .lostDuringHandshake(let peer, let reason):
            "\(peer): \(reason) during the TLS handshake; check that the port speaks TLS"
        case .unreadableCertificates(let peer, let reason):
            "\(peer): the server's certificates cannot be read: \(reason); correct them on the server"
        case .foreignPath(let peer):
            "\(peer): the verified path is not for this server's certificate and name; verify the chain it presented"
        case .tunnelRefused(let peer, let reason):
            "\(peer): the proxy made no tunnel: \(reason)"
        case .relayRefused(let peer, let reason):
            "\(peer): \(reason)"
        case .truncated(let peer):
            "\(peer): the connection ended without TLS close_notify, bytes may be missing; discard them and try again"
        case .protocolFailure(let peer, let reason):
            "\(peer): TLS failed: \(reason.reason); connect again"
        case .lost(let peer, let reason):
            "\(peer): connection lost: \(reason); connect again"
        case .closed(let peer):
            "\(peer): the connection is closed; connect again"
        case .cancelled:
            "cancelled; the connection is closed, connect again when it is wanted"
        case .exhausted(let what, let reason):
            "cannot get \(what): \(reason); close connections or raise the process's limits"
        }
    }

    private static func list(_ attempts: [ConnectAttempt]) -> String {
        attempts.map { "\($0.address) \($0.reason)" }.joined(separator: ", ")
    }
}
