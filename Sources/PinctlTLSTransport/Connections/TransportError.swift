package import CertificateTrust
package import OpenSSLBridge

/// An error in making or using a connection. `peer` is `name:port` and, once known, the address.
package enum TransportError: Error, Sendable, Hashable {
    /// The host has no address, or the resolver failed for the given reason.
    case unresolvable(host: ServerName, reason: String)
    /// The host has no address of the only family that was requested. `others` are its addresses of the other one.
    case noAddress(host: ServerName, of: DialOptions.AddressFamily, others: [String])
    /// A phase took longer than its limit, or than what the phases before it left of the limit for everything.
    case timedOut(Phase, peer: String, limit: Duration)
    /// No address accepted. There is one attempt for each address that was tried, in order.
    case unreachable(peer: String, attempts: [ConnectAttempt])
    /// The TLS handshake failed. The reason is OpenSSL's and may be the peer's alert.
    case handshakeFailed(peer: String, reason: OpenSSLError)
    /// The server answered the handshake in another protocol than TLS.
    case notTLS(peer: String, answer: PlaintextAnswer)
    /// The server supports no TLS version that was offered. `newest` is the one that it chose, such as `TLS 1.0`, or
    /// nil if it sent only an alert.
    case otherVersion(peer: String, newest: String?, offered: [String])
    /// The server rejected the client's offer with an alert before its certificate. It has no cipher suite or key
    /// exchange in common with this client, or uses the same alert for another reason.
    case offerRejected(peer: String, reason: OpenSSLError)
    /// The server has no key of the only kind that was requested. It ended the handshake, or presented another kind.
    case otherKey(peer: String, wanted: ServerKeyKind, reason: String)
    /// The server doesn't offer STARTTLS.
    case startTLSNotOffered(peer: String, StartTLSProtocol)
    /// The server refused STARTTLS. `answer` is the server's own text.
    case startTLSRefused(peer: String, StartTLSProtocol, answer: String)
    /// The server speaks TLS from the first byte, so STARTTLS isn't needed.
    case startTLSNeedless(peer: String, StartTLSProtocol)
    /// The server violated its protocol before TLS.
    case startTLSUnreadable(peer: String, StartTLSProtocol, reason: String)
    /// The peer closed the connection, or the network lost it, before the handshake was done. `isAnswered` tells
    /// whether the peer had sent anything.
    case lostDuringHandshake(peer: String, reason: String, isAnswered: Bool)
    /// The server's certificates can't be parsed, so there is nothing to verify.
    case unreadableCertificates(peer: String, reason: PresentedChainError)
    /// The path given to ``PendingConnection/accept(_:identity:approval:)`` is for another certificate or another name.
    case foreignPath(peer: String)
    /// An HTTP proxy refused a tunnel, its answer couldn't be read, or the CONNECT request couldn't be made.
    case tunnelRefused(peer: String, reason: TunnelRefusal)
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
        /// The wait for the first byte of the server's part of the handshake.
        case hello = "TLS answer"
        case handshake = "TLS handshake"
        /// The wait for the first byte of a server that starts in cleartext.
        case greeting = "greeting before STARTTLS"
        case startTLS = "STARTTLS negotiation"
        case tunnel = "CONNECT request to the proxy"
        case relay = "SOCKS negotiation with the proxy"
    }

    /// An HTTP proxy's reason for not opening a tunnel.
    package enum TunnelRefusal: Sendable, Hashable {
        /// A response other than a 2xx, to a request with or without a login.
        case status(Int, hadLogin: Bool)
        /// The answer can't be read, or the request can't be made, with the remedy.
        case unreadable(String)
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

    /// Returns a more specific error for a handshake that failed before the server's certificate, given the first bytes
    /// of the server's answer and what it was offered.
    func explained(by head: [UInt8], _ options: DialOptions) -> TransportError {
        let answer = HandshakeHead(head)
        switch self {
        case .handshakeFailed(let peer, _), .lostDuringHandshake(let peer, _, _), .timedOut(.handshake, let peer, _):
            // mutant other-protocol: false for 2 by SituationTests/row
            if !head.isEmpty, !answer.isTLS { return .notTLS(peer: peer, answer: PlaintextAnswer(head)) }
        default: return self
        }
        switch self {
        case .timedOut(_, let peer, let limit) where head.isEmpty: return .timedOut(.hello, peer: peer, limit: limit)
        case .handshakeFailed(let peer, let reason):
            let offered = options.offeredVersions
            if reason.isForeignVersion, let newest = answer.serverHelloVersion {
                return .otherVersion(peer: peer, newest: newest, offered: offered)
            }
            // protocol_version
            if reason.alert == 70 { return .otherVersion(peer: peer, newest: nil, offered: offered) }
            return asRejectedOffer(options.serverKey)
        default: return self
        }
    }

    /// Returns a more specific error if the server rejected the whole offer, or has no key of the `wanted` kind, if
    /// only one kind was requested.
    private func asRejectedOffer(_ wanted: ServerKeyKind?) -> TransportError {
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

    /// Whether the server has no certificate for the name that was sent (the alert unrecognized_name).
    package var isUnknownName: Bool {
        if case .handshakeFailed(_, let reason) = self { reason.alert == 112 } else { false }
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
    /// The system's error, such as `ECONNREFUSED`.
    package let error: SystemError
    /// Whether this machine has no route to the address, so that nothing was sent.
    package let isUnrouted: Bool

    package init(address: String, error: SystemError, isUnrouted: Bool = false) {
        self.address = address
        self.error = error
        self.isUnrouted = isUnrouted
    }

    /// The system's text for the failure, such as `Connection refused`.
    package var reason: String { error.description }
}
