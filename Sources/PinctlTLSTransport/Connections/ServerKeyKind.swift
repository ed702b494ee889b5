package import CertificateTrust
import OpenSSLBridge

/// The kinds of key that servers use side by side, and the offers that select each kind.
package enum ServerKeyKind: String, Sendable, Hashable, CaseIterable {
    case rsa
    case ecdsa

    /// The signature algorithms to offer. A server with both kinds of key chooses by them in TLS 1.3, and usually in
    /// TLS 1.2.
    ///
    /// The ECDSA list also includes RSA's PKCS #1 v1.5 algorithms, for the signatures in the rest of the chain. Without
    /// them some servers withhold a leaf that was issued by an RSA CA. TLS 1.3 doesn't sign handshakes with them, and
    /// in TLS 1.2 ``cipherList`` excludes RSA keys.
    var signatureAlgorithms: String {
        let chain = "rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512"
        return switch self {
        case .rsa:
            "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:"
                + "rsa_pss_pss_sha256:rsa_pss_pss_sha384:rsa_pss_pss_sha512:" + chain
        case .ecdsa: "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512:" + chain
        }
    }

    /// The cipher suites to offer, within those of the context. In TLS 1.2 other servers choose by them.
    var cipherList: String {
        switch self {
        case .rsa: TLSContext.cipherList + ":!aECDSA"
        case .ecdsa: TLSContext.cipherList + ":!aRSA"
        }
    }

    /// Returns whether a server's leaf has a key of this kind.
    package func isKind(of certificate: X509Certificate) -> Bool {
        switch (self, certificate.keyKind) {
        case (.rsa, .rsa), (.rsa, .rsaPSS), (.ecdsa, .ellipticCurve): true
        default: false
        }
    }
}
