package import CertificateTrust
package import OpenSSLBridge

/// An error in making or using a connection. `peer` is `name:port` and, once known, the address.
package enum TransportError: Error, Sendable, Hashable {
    /// The host has no address, or the resolver failed for the given reason.
    case unresolvable(host: ServerName, reason: String)
    /// A phase, or everything together, took longer than its limit.
    case timedOut(Phase, peer: String, limit: Duration)
    /// No address accepted. There is one attempt for each address that was tried, in order.
    case unreachable(peer: String, attempts: [ConnectAttempt])
    /// The TLS handshake failed. The reason is OpenSSL's and may be the peer's alert.
    case handshakeFailed(peer: String, reason: OpenSSLError)
    /// The server rejected the client's offer with an alert before its certificate. It has no cipher suite or key
    /// exchange in common with this client, or uses the same alert for another reason.
    case offerRejected(peer: String, reason: OpenSSLError)
    /// The server has no key of the only kind that was requested. It ended the handshake, or presented another kind.
    case otherKey(peer: String, wanted: ServerKeyKind, reason: String)
    /// The server doesn't offer STARTTLS.
    case startTLSNotOffered(peer: String, StartTLSProtocol)
    /// The server refused STARTTLS. `answer` is the server's own text.
    case startTLSRefused(peer: String, StartTLSProtocol, answer: String)
    /// The server violated its protocol before TLS.
    case startTLSUnreadable(peer: String, StartTLSProtocol, reason: String)
    /// The peer closed the connection, or the network lost it, before the handshake was done.
    case lostDuringHandshake(peer: String, reason: String)
    /// The server's certificates can't be parsed, so there is nothing to verify.
    case unreadableCertificates(peer: String, reason: PresentedChainError)
    /// The path given to ``PendingConnection/accept(_:identity:approval:)`` is for another certificate or another name.
    case foreignPath(peer: String)
    /// An HTTP proxy refused a tunnel, its answer couldn't be read, or the CONNECT request couldn't be made.
    case tunnelRefused(peer: String, reason: String)
    /// A SOCKS proxy didn't connect to the host.
    case relayRefused(peer: String, reason: SOCKSError)
    /// The peer ended the stream without a close_notify (RFC 8446, section 6.1). Bytes may be missing.
    case truncated(peer: String)
    /// The connection failed after the handshake, in TLS.
    case protocolFailure(peer: String, reason: OpenSSLError)
    /// The connection failed after the handshake, in TCP.
    case lost(peer: String, reason: String)
    /// The connection was closed on this side.
    case closed(peer: String)
    /// The task was cancelled. The connection is closed.
    case cancelled
    /// The system or OpenSSL couldn't provide a resource that every connection needs: a descriptor, a thread, memory.
    case exhausted(what: String, reason: String)

    /// The phase that a time limit applies to.
    package enum Phase: String, Sendable, Hashable {
        case resolve = "name resolution"
        case connect = "connection"
        case handshake = "TLS handshake"
        case startTLS = "STARTTLS negotiation"
        case tunnel = "CONNECT request to the proxy"
        case relay = "SOCKS negotiation with the proxy"
        case total = "name resolution, connection and TLS handshake"
    }
}

extension TransportError {
    /// A server's objection to the client certificate.
    package enum IdentityRefusal: Sendable, Hashable {
        /// The server requires a certificate and got none.
        case missing
        /// The server rejected the certificate it got.
        case rejected
    }

    /// Returns a more specific error for a handshake that failed before the server's certificate: the server rejected
    /// the whole offer, or has no key of the `wanted` kind, if only one kind was requested.
    func asRejectedOffer(_ wanted: ServerKeyKind?) -> TransportError {
        guard case .handshakeFailed(let peer, let reason) = self else { return self }
        switch (reason.alert, wanted) {
        // handshake_failure, insufficient_security: sent by servers that have no algorithm in common with the client.
        case (40, nil), (71, nil): return .offerRejected(peer: peer, reason: reason)
        case (40, let wanted?), (71, let wanted?):
            return .otherKey(
                peer: peer, wanted: wanted, reason: "\(reason.reason), or it supports only finite-field DHE")
        // illegal_parameter: sent by other servers in the same case.
        case (47, let wanted?): return .otherKey(peer: peer, wanted: wanted, reason: reason.reason)
        case (_, let wanted?) where reason.isForeignSignature:
            return .otherKey(peer: peer, wanted: wanted, reason: reason.reason)
        default: return self
        }
    }

    /// Returns the objection if the peer's alert is about the client certificate that it requested (RFC 8446, section
    /// 6.2). `wasShown` tells whether the peer got one.
    ///
    /// A peer that requires a certificate may close the connection without an alert, or reset it so that the alert is
    /// lost. That is taken for the objection if the peer got no certificate and `hasAnswered` is false: it has sent
    /// nothing but its part of the handshake.
    package func identityRefusal(wasShown: Bool, hasAnswered: Bool) -> IdentityRefusal? {
        let alert: UInt8?
        switch self {
        case .handshakeFailed(_, let reason), .protocolFailure(_, let reason): alert = reason.alert
        case .lost, .truncated, .lostDuringHandshake: return wasShown || hasAnswered ? nil : .missing
        default: return nil
        }
        switch alert {
        // certificate_required
        case 116: return .missing
        // handshake_failure: in TLS 1.2 the alert for a missing certificate (RFC 5246, section 7.4.6)
        case 40: return wasShown ? nil : .missing
        // bad_certificate, unsupported_certificate, certificate_revoked, certificate_expired, certificate_unknown,
        // unknown_ca, access_denied
        case 42, 43, 44, 45, 46, 48, 49: return wasShown ? .rejected : .missing
        default: return nil
        }
    }
}

/// An address that was tried, and the result.
package struct ConnectAttempt: Sendable, Hashable {
    /// The address, `192.0.2.1:443` or `[2001:db8::1]:443`.
    package let address: String
    /// The system's text for the failure, such as `Connection refused`.
    package let reason: String
    /// Whether this machine has no route to the address, so that nothing was sent.
    package let isUnrouted: Bool

    package init(address: String, reason: String, isUnrouted: Bool = false) {
        self.address = address
        self.reason = reason
        self.isUnrouted = isUnrouted
    }
}

extension TransportError {
    /// The cause without a remedy, for a caller that has a better one.
    package var cause: String {
        switch self {
        case .handshakeFailed(_, let reason), .protocolFailure(_, let reason): reason.reason
        case .lost(_, let reason), .lostDuringHandshake(_, let reason): reason
        case .truncated: "unexpected EOF"
        default: description
        }
    }
}

extension TransportError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unresolvable(let host, let reason):
            "could not resolve host \(host) (\(reason)): check the name and this machine's DNS"
        case .timedOut(let phase, let peer, let limit):
            "\(peer): \(phase.rawValue) timed out after \(limit): check the network path, or raise the limit"
        case .unreachable(let peer, let attempts):
            "could not connect to \(peer) (\(Self.list(attempts))): check the port and that the server is running"
        case .handshakeFailed(let peer, let reason):
            "\(peer): TLS handshake failed (\(reason.reason)): check that the port speaks TLS 1.2 or 1.3"
        case .offerRejected(let peer, let reason):
            "\(peer): TLS handshake failed (\(reason.reason)), maybe because the server supports only finite-field DHE or "
                + "static RSA key exchange, which this client does not offer: enable ECDHE with X25519, P-256, P-384 or "
                + "P-521 on the server"
        case .otherKey(let peer, let wanted, let reason):
            "\(peer): the server has no \(wanted.rawValue.uppercased()) key (\(reason)): request another kind of key, or any"
        case .startTLSNotOffered(let peer, let spoken):
            "\(peer): the server does not offer STARTTLS (\(spoken.rawValue)): enable it there, or use its TLS port"
        case .startTLSRefused(let peer, let spoken, let answer):
            "\(peer): the server refused STARTTLS (\(spoken.rawValue), \(answer)): check the server's log"
        case .startTLSUnreadable(let peer, let spoken, let reason):
            "\(peer): invalid \(spoken.rawValue) reply before STARTTLS (\(reason)): check the port and the protocol"
        case .lostDuringHandshake(let peer, let reason):
            "\(peer): TLS handshake failed (\(reason)): check that the port speaks TLS"
        case .unreadableCertificates(let peer, let reason):
            "\(peer): malformed server certificates (\(reason)): fix them on the server"
        case .foreignPath(let peer):
            "\(peer): the verified path is for another certificate or hostname: verify the chain of this server"
        case .tunnelRefused(let peer, let reason):
            "\(peer): CONNECT tunnel failed, \(reason)"
        case .relayRefused(let peer, let reason):
            "\(peer): \(reason)"
        case .truncated(let peer):
            "\(peer): unexpected EOF (no TLS close_notify, data may be missing): discard the data and try again"
        case .protocolFailure(let peer, let reason):
            "\(peer): TLS error (\(reason.reason)): connect again"
        case .lost(let peer, let reason):
            "\(peer): connection lost (\(reason)): connect again"
        case .closed(let peer):
            "\(peer): connection closed: connect again"
        case .cancelled:
            "cancelled, and the connection is closed: connect again if needed"
        case .exhausted(let what, let reason):
            "cannot get \(what) (\(reason)): close connections, or raise the process's limits"
        }
    }

    private static func list(_ attempts: [ConnectAttempt]) -> String {
        attempts.map { "\($0.address) \($0.reason)" }.joined(separator: ", ")
    }
}
