import CertificateTrust
import OpenSSLBridge

/// The kinds of key that servers have side by side, and how each is asked for.
package enum ServerKeyKind: String, Sendable, Hashable, CaseIterable {
    case rsa
    case ecdsa

    /// What a server that has both goes by, in TLS 1.3 and mostly in 1.2.
    ///
    /// RSA's old algorithms stand in the list for ECDSA too: they are for the signatures of the chain above, without
    /// which some servers hold back a leaf under an RSA authority. TLS 1.3 signs no handshake with them, and in TLS 1.2
    /// ``cipherList`` keeps RSA keys out.
    var signatureAlgorithms: String {
        let chain = "rsa_pkcs1_sha256:rsa_pkcs1_sha384:rsa_pkcs1_sha512"
        return switch self {
        case .rsa:
            "rsa_pss_rsae_sha256:rsa_pss_rsae_sha384:rsa_pss_rsae_sha512:"
                + "rsa_pss_pss_sha256:rsa_pss_pss_sha384:rsa_pss_pss_sha512:" + chain
        case .ecdsa: "ecdsa_secp256r1_sha256:ecdsa_secp384r1_sha384:ecdsa_secp521r1_sha512:" + chain
        }
    }

    /// What other servers go by in TLS 1.2, within what the context offers.
    var cipherList: String {
        switch self {
        case .rsa: TLSContext.cipherList + ":!aECDSA"
        case .ecdsa: TLSContext.cipherList + ":!aRSA"
        }
    }

    /// Whether a server's leaf has such a key.
    func isKind(of certificate: X509Certificate) -> Bool {
        switch (self, certificate.keyKind) {
        case (.rsa, .rsa), (.rsa, .rsaPSS), (.ecdsa, .ellipticCurve): true
        default: false
        }
    }
}
