/// The rules for revocation, in addition to those for the path.
extension TrustRule {
    /// The issuer revoked the certificate or put it on hold (RFC 5280, section 5.3.1; `X509_V_ERR_CERT_REVOKED`).
    public static let revoked = TrustRule(rawValue: "revoked")
    /// The available evidence doesn't say whether the certificate is revoked, and the policy requires it
    /// (`X509_V_ERR_UNABLE_TO_GET_CRL`), or the OCSP responder doesn't know the certificate (RFC 6960, section 2.2).
    public static let revocationUnknown = TrustRule(rawValue: "revocation-unknown")
    /// A list or response isn't valid yet, has expired, or has no nextUpdate (`X509_V_ERR_CRL_HAS_EXPIRED`).
    public static let revocationStale = TrustRule(rawValue: "revocation-stale")
    /// A list or response isn't signed by an authorized signer (RFC 5280, section 6.3.3 (f) and (g); RFC 6960, section
    /// 4.2.2.2; `X509_V_ERR_CRL_SIGNATURE_FAILURE`).
    public static let revocationSigner = TrustRule(rawValue: "revocation-signer")
    /// A list or response can't be read, has an unsupported critical extension, or is about another certificate.
    public static let revocationUnusable = TrustRule(rawValue: "revocation-unusable")
    /// The certificate requires a stapled response, and the server sent none (RFC 7633, section 4).
    public static let missingStaple = TrustRule(rawValue: "missing-staple")
}
