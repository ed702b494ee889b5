import PinctlTLSTransport

extension TransportError {
    /// The reason why there is no chain, as a stable word that doesn't change between versions and that many hosts
    /// share.
    var reasonWord: String {
        switch self {
        case .unresolvable, .noAddress, .timedOut(.resolve, _, _): "not-resolved"
        case .timedOut: "timed-out"
        case .unreachable(_, let attempts):
            if attempts.allSatisfy(\.error.isRefusal) {
                "refused"
            } else {
                attempts.contains(where: \.error.isTimeout) ? "timed-out" : "no-connection"
            }
        case .notTLS: "not-tls"
        case .lostDuringHandshake(_, _, isAnswered: false): "closed"
        case .otherVersion: "tls-version"
        case .handshakeFailed, .offerRejected, .lostDuringHandshake, .unreadableCertificates: "handshake"
        case .otherKey: "other-key"
        case .startTLSNotOffered, .startTLSRefused, .startTLSNeedless, .startTLSUnreadable: "starttls"
        case .tunnelRefused, .relayRefused: "proxy"
        default: "failed"
        }
    }

    /// The failure without the host, for all hosts that fail in the same way.
    var groupTitle: String {
        switch self {
        case .unresolvable(_, let reason): "could not resolve host (\(reason))"
        case .noAddress: "no address of the requested family"
        case .timedOut(.connect, _, _): "no answer to the connection"
        case .unreachable(_, let attempts):
            "could not connect (\(ConnectAttempt.reasons(attempts)))"
        default: problem
        }
    }
}

extension ConnectAttempt {
    /// Returns the different reasons of some attempts.
    static func reasons(_ attempts: [ConnectAttempt]) -> String {
        Set(attempts.map(\.reason)).sorted().joined(separator: ", ")
    }
}
