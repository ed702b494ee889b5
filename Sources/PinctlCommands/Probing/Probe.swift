import CertificateTrust
import TLSTransport

/// What one handshake with a server brought.
struct Probe: Sendable {
    /// The kind of key that the server was asked for.
    enum Key: String, Sendable, CaseIterable {
        case rsa
        case ecdsa
    }

    let target: Target
    /// The address that was reached, or tried, `192.0.2.1:443`; nil when there is none.
    let address: String?
    /// Nil for whichever key the server shows.
    let key: Key?
    let outcome: Result<ServedChain, TransportError>
    /// From the first byte to the verdict on the connection.
    let duration: Duration
}

/// What a server showed.
struct ServedChain: Sendable {
    let presented: PresentedChain
    /// `TLSv1.3` (`SSL_get_version`).
    let version: String
    /// The stapled OCSP response, DER (RFC 6066, section 8); nil without one, or where none was asked for.
    var staple: [UInt8]?
}
