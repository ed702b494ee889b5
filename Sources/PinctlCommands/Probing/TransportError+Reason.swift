import TLSTransport

extension TransportError {
    /// The reason why there is no chain, as a stable word that doesn't change between versions and that many hosts
    /// share.
    var reasonWord: String {
        switch self {
        case .unresolvable: "not-resolved"
        case .timedOut: "timed-out"
        case .unreachable(_, let attempts):
            if attempts.allSatisfy({ $0.reason == Self.refused }) {
                "refused"
            } else {
                attempts.contains { $0.reason.contains("timed out") } ? "timed-out" : "no-connection"
            }
        case .handshakeFailed, .offerRejected, .lostDuringHandshake, .unreadableCertificates: "handshake"
        case .otherKey: "other-key"
        case .startTLSNotOffered, .startTLSRefused, .startTLSUnreadable: "starttls"
        case .tunnelRefused, .relayRefused: "proxy"
        default: "failed"
        }
    }

    private static let refused = connectionRefusedText
}
