import OpenSSLBridge
import PinctlBasics

/// The text of an error: where, what is wrong, and what to do. It names the step that failed, and no step that was
/// done.
extension TransportError: CustomStringConvertible {
    package var description: String {
        let text = "\(problem): \(remedy)"
        return peer.map { "\($0): \(text)" } ?? text
    }

    /// The name of the peer, with its address if it is known, unless the problem names the host.
    package var peer: String? {
        switch self {
        case .unresolvable, .noAddress, .unreachable, .cancelled, .exhausted, .timedOut(.connect, _, _): nil
        case .timedOut(_, let peer, _), .handshakeFailed(let peer, _), .notTLS(let peer, _),
            .otherVersion(let peer, _, _), .offerRejected(let peer, _), .otherKey(let peer, _, _),
            .startTLSNotOffered(let peer, _), .startTLSRefused(let peer, _, _), .startTLSNeedless(let peer, _),
            .startTLSUnreadable(let peer, _, _), .lostDuringHandshake(let peer, _, _),
            .unreadableCertificates(let peer, _), .foreignPath(let peer), .tunnelRefused(let peer, _),
            .relayRefused(let peer, _), .truncated(let peer), .protocolFailure(let peer, _), .lost(let peer, _),
            .closed(let peer):
            peer
        }
    }

    /// The reason alone, for a caller that names the failure itself.
    package var cause: String {
        switch self {
        case .handshakeFailed(_, let reason), .protocolFailure(_, let reason): reason.reason
        case .lost(_, let reason), .lostDuringHandshake(_, let reason, _): reason
        case .truncated: "unexpected EOF"
        default: problem
        }
    }

    /// The failure, in lower case and without the remedy.
    package var problem: String {
        switch self {
        case .unresolvable(let host, let reason): "could not resolve host \(host) (\(reason))"
        case .noAddress(let host, let family, let others):
            others == ["\(host)"]
                ? "\(host) is not an \(family.title) address"
                : "\(host) has no \(family.title) address, only \(others.joined(separator: ", "))"
        case .timedOut(let phase, let peer, let limit): Self.problem(phase, peer, limit.secondsText)
        case .unreachable(let peer, let attempts): "could not connect to \(peer) (\(Self.list(attempts, of: peer)))"
        case .handshakeFailed(_, let reason), .offerRejected(_, let reason): "TLS handshake failed (\(reason.reason))"
        case .notTLS(_, let answer):
            if let spoken = answer.spoken {
                "connected, but the server speaks \(spoken) here, not TLS (it sent \(answer))"
            } else {
                "connected, but the server's answer isn't TLS (it sent \(answer))"
            }
        case .otherVersion(_, "TLS 1.0"?, _): "the server offers TLS 1.0 alone"
        case .otherVersion(_, let newest?, _): "the server offers no newer version than \(newest)"
        case .otherVersion(_, nil, let offered):
            "the server offers \(offered.count > 1 ? "only TLS 1.1 or older" : "no \(offered[0])") (alert protocol "
                + "version)"
        case .otherKey(_, let wanted, let reason): "the server has no \(wanted.rawValue.uppercased()) key (\(reason))"
        case .startTLSNotOffered(_, let spoken): "the server does not offer STARTTLS (\(spoken.rawValue))"
        case .startTLSRefused(_, let spoken, let answer):
            "the server refused STARTTLS (\(spoken.rawValue), \(visibleText(answer)))"
        case .startTLSNeedless(_, let spoken): "the server speaks TLS from the first byte, not \(spoken.rawValue)"
        case .startTLSUnreadable(_, let spoken, let reason):
            "invalid \(spoken.rawValue) reply before STARTTLS (\(reason))"
        case .lostDuringHandshake(_, let reason, false): "connected, but no TLS answer (\(reason))"
        case .lostDuringHandshake(_, let reason, true): "TLS handshake failed (\(reason))"
        case .unreadableCertificates(_, let reason): "malformed server certificates (\(reason))"
        case .foreignPath: "the verified path is for another certificate or hostname"
        case .tunnelRefused(_, .unreadable(let reason)): "CONNECT tunnel failed, \(ProblemText(reason).problem)"
        case .tunnelRefused(_, .status(407, let hadLogin)):
            "CONNECT tunnel failed, response 407 "
                + "(\(hadLogin ? "the proxy rejected the login" : "proxy authentication required"))"
        case .tunnelRefused(_, .status(let code, _)): "CONNECT tunnel failed, response \(code)"
        case .relayRefused(_, let reason): ProblemText("\(reason)").problem
        case .truncated: "unexpected EOF (no TLS close_notify, data may be missing)"
        case .protocolFailure(_, let reason): "TLS error (\(reason.reason))"
        case .lost(_, let reason): "connection lost (\(reason))"
        case .closed: "connection closed"
        case .cancelled: "cancelled, and the connection is closed"
        case .exhausted(let what, let reason): "cannot get \(what) (\(reason))"
        }
    }

    /// The step to take.
    package var remedy: String {
        switch self {
        case .unresolvable: "check the name and this machine's DNS"
        case .noAddress(_, let family, _): "allow \(family == .ipv6 ? "IPv4" : "IPv6") too"
        case .timedOut(let phase, _, _): Self.remedy(phase)
        case .unreachable(_, let attempts): Self.remedy(attempts)
        case .handshakeFailed(_, let reason): Self.remedy(alert: reason.alert)
        case .notTLS(_, let answer):
            answer.otherProtocol.map { "use the port on which the server speaks TLS, not that of \($0)" }
                ?? "use the port on which the server speaks TLS from the first byte, or start it with STARTTLS"
        case .otherVersion(_, _, let offered):
            offered.count > 1 ? "enable TLS 1.2 or TLS 1.3 on the server" : "enable \(offered[0]) on the server"
        case .offerRejected:
            "enable ECDHE with X25519, P-256, P-384 or P-521 on the server, which may support only finite-field DHE or "
                + "static RSA key exchange; if it does, check its log, because it rejects this client before its "
                + "certificate"
        case .otherKey: "request another kind of key, or any"
        case .startTLSNotOffered: "enable it there, or use its TLS port"
        case .startTLSRefused: "check the server's log"
        case .startTLSNeedless: "connect without STARTTLS"
        case .startTLSUnreadable: "check the port and the protocol"
        case .lostDuringHandshake(_, _, false):
            "check that the port speaks TLS from the first byte, and the server's log"
        case .lostDuringHandshake(_, _, true): "check the server's log"
        case .unreadableCertificates: "fix them on the server"
        case .foreignPath: "verify the chain of this server"
        case .tunnelRefused(_, .unreadable(let reason)): ProblemText(reason).remedy ?? Self.operatorRemedy
        case .tunnelRefused(_, .status(407, hadLogin: false)): "give the proxy's user and password"
        case .tunnelRefused(_, .status(407, hadLogin: true)): "correct the login"
        case .tunnelRefused(_, .status(502...504, _)):
            "check the host and the port, because the proxy did not reach them, or contact the proxy's operator"
        case .tunnelRefused: Self.operatorRemedy
        case .relayRefused(_, let reason): ProblemText("\(reason)").remedy ?? Self.operatorRemedy
        case .truncated: "discard the data and try again"
        case .protocolFailure, .lost, .closed: "connect again"
        case .cancelled: "connect again if needed"
        case .exhausted: "close connections, or raise the process's limits"
        }
    }

    private static func problem(_ phase: Phase, _ peer: String, _ limit: String) -> String {
        switch phase {
        case .resolve: "no answer to the name resolution within \(limit)"
        case .connect: "could not connect to \(peer), no answer within \(limit)"
        case .hello: "connected, no TLS answer within \(limit)"
        case .handshake: "connected, but the TLS handshake did not end within \(limit)"
        case .greeting: "connected, no greeting before STARTTLS within \(limit)"
        case .startTLS: "connected, but the STARTTLS negotiation did not end within \(limit)"
        case .tunnel, .relay: "no answer to the \(phase.rawValue) within \(limit)"
        }
    }

    private static func remedy(_ phase: Phase) -> String {
        switch phase {
        case .resolve: "check this machine's DNS, or raise the limit"
        case .connect: "check the address, and the firewalls in between, or raise the limit"
        case .hello:
            "check that the port speaks TLS from the first byte, and that the server isn't overloaded, or raise the "
                + "limit"
        case .handshake: "check the server and the network path for lost packets, or raise the limit"
        case .greeting: "check the port, which may speak TLS from the first byte, or raise the limit"
        case .startTLS: "check the server's log, or raise the limit"
        case .tunnel, .relay: "check the proxy's port and kind, or raise the limit"
        }
    }

    private static func remedy(_ attempts: [ConnectAttempt]) -> String {
        let errors = attempts.map(\.error)
        if errors.contains(where: \.isRefusal) { return "check the port and that the server is running" }
        if errors.contains(where: \.isForbidden) { return "allow the connection in this machine's firewall" }
        if !attempts.isEmpty, attempts.allSatisfy(\.isUnrouted) {
            return "check this machine's network, which has no route to \(errors.count == 1 ? "it" : "them")"
        }
        return "check the address, and the firewalls in between"
    }

    private static func remedy(alert: UInt8?) -> String {
        switch alert {
        // access_denied
        case 49: "check the server's access rules for this client"
        // internal_error, unrecognized_name: what servers without a certificate for the name send.
        case 80: "check the server's log, and that it has a certificate for this hostname"
        case 112: "check the hostname, and configure the server for it, because it has no certificate for this name"
        // certificate_required
        case 116: "present a client certificate"
        // no_application_protocol
        case 120: "check the server's ALPN protocols"
        case .some: "check the server's log, because it ended the handshake"
        case nil: "check the server's TLS library and log, because its answer isn't valid"
        }
    }

    private static let operatorRemedy = "contact the proxy's operator"

    /// Returns the reasons of attempts, with their addresses unless the text for the peer ends with the only one.
    private static func list(_ attempts: [ConnectAttempt], of peer: String) -> String {
        if attempts.count == 1, peer.hasSuffix("\(attempts[0].address)") { return attempts[0].reason }
        return attempts.map { "\($0.address) \($0.reason)" }.joined(separator: ", ")
    }
}

extension PlaintextAnswer {
    /// The protocol that the bytes show, in words, or nil if they fit several or none.
    fileprivate var spoken: String? {
        otherProtocol ?? (Set(upgradable.map(\.title)).count == 1 ? upgradable.first?.title : nil)
    }
}

extension StartTLSProtocol {
    /// The name of the protocol.
    package var title: String {
        switch self {
        case .smtp, .lmtp, .imap, .pop3, .nntp, .ftp, .ldap, .xmpp: rawValue.uppercased()
        case .sieve: "ManageSieve"
        case .xmppServer: "XMPP"
        case .postgres: "PostgreSQL"
        case .mysql: "MySQL"
        }
    }
}

extension DialOptions.AddressFamily {
    fileprivate var title: String {
        switch self {
        case .any: "IP"
        case .ipv4: "IPv4"
        case .ipv6: "IPv6"
        }
    }
}

extension Duration {
    /// The duration in seconds, such as `10 s` or `0.3 s`.
    fileprivate var secondsText: String {
        let thousandths = components.attoseconds / 1_000_000_000_000_000
        guard thousandths != 0 else { return "\(components.seconds) s" }
        var digits = "\(thousandths + 1_000)".dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(components.seconds).\(digits) s"
    }
}
