import CertificateTrust
import TLSTransport

/// What one handshake with a server brought.
struct Probe: Sendable {
    typealias Key = ServerKeyKind

    let target: Target
    /// The address that was reached, or tried, `192.0.2.1:443`; nil when there is none.
    let address: String?
    /// Nil for whichever key the server shows.
    var key: Key?
    let outcome: Result<ServedChain, TransportError>
    /// From the first byte to the verdict on the connection.
    let duration: Duration
    /// How often it was connected, or tried to.
    var tries = 1
}

/// What a server showed.
struct ServedChain: Sendable {
    let presented: PresentedChain
    /// `TLSv1.3` (`SSL_get_version`).
    let version: String
    /// `TLS_AES_256_GCM_SHA384` (`SSL_CIPHER_get_name`).
    var cipherSuite = ""
    /// The stapled OCSP response, DER (RFC 6066, section 8); nil without one, or where none was asked for.
    var staple: [UInt8]?
    /// What became of the client's certificate; nil where there is none to show.
    var identity: PendingConnection.IdentityOutcome?
}

extension [Probe] {
    /// Without handshakes for one kind of key that the server ended where it showed the other: dovecot and slapd have no
    /// alert for a kind that they lack. To look at what there is that is no failure; whoever has to know of both kinds
    /// cannot take it for an answer.
    var withoutEndedBesides: [Probe] {
        let shown = filter { if case .success = $0.outcome { true } else { false } }
        return filter { probe in
            guard case .failure(.lostDuringHandshake) = probe.outcome, probe.key != nil else { return true }
            return !shown.contains { $0.address == probe.address || probe.address == nil }
        }
    }
}
