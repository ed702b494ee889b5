import CertificateTrust
import PinctlTLSTransport

/// The outcome of one handshake with a server.
struct Probe: Sendable {
    typealias Key = ServerKeyKind

    let target: Target
    /// The address that was reached or tried, such as `192.0.2.1:443`, or `nil` if there is none.
    let address: String?
    /// The proxy that was used for the target, if any. The address is then unknown.
    var proxy: CleartextProxy?
    /// The kind of key that was requested, or `nil` for the server's choice.
    var key: Key?
    let outcome: Result<ServedChain, ProbeFailure>
    /// The time from the start of the first attempt to the outcome, including retries and the rate limit.
    let duration: Duration
    /// The number of connection attempts.
    var tries = 1

    var failure: ProbeFailure? { if case .failure(let failure) = outcome { failure } else { nil } }

    /// Whether the server ended the handshake without an alert.
    var isLost: Bool { if case .lostDuringHandshake? = failure?.error { true } else { false } }
}

/// The chain that a server sent.
struct ServedChain: Sendable {
    let presented: PresentedChain
    /// The TLS version, such as `TLSv1.3` (`SSL_get_version`).
    let version: String
    /// The cipher suite, such as `TLS_AES_256_GCM_SHA384` (`SSL_CIPHER_get_name`).
    var cipherSuite = ""
    /// The key exchange group, such as `X25519`, or `nil` in TLS 1.2, where it isn't known before the certificate.
    var group: String?
    /// The DER-encoded stapled OCSP response (RFC 6066, section 8), or `nil` if none was requested or sent.
    var staple: [UInt8]?
    /// The SignedCertificateTimestampList that the server sent in its extension (RFC 6962, section 3.3.1), if any.
    var timestamps: [UInt8]?
    /// The outcome for the client certificate, or `nil` if there is none to send.
    var identity: PendingConnection.IdentityOutcome?
}

extension [Probe] {
    /// The probes without lost handshakes for one kind of key if the server has the other.
    ///
    /// dovecot and slapd close the connection without an alert if they lack a kind of key. Commands that only list a
    /// server's keys don't count that as a failure. Commands that need an answer for both kinds must not use this.
    var withoutEndedBesides: [Probe] {
        let shown = filter { if case .success = $0.outcome { true } else { false } }
        return filter { probe in
            guard probe.isLost, probe.key != nil else { return true }
            return !shown.contains { $0.address == probe.address || probe.address == nil }
        }
    }
}
