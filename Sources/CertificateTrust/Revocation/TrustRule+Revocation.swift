/// The rules of revocation, beside those of the path.
extension TrustRule {
    /// An issuer took the certificate back, or put it on hold (RFC 5280, section 5.3.1; `X509_V_ERR_CERT_REVOKED`).
    public static let revoked = TrustRule(rawValue: "revoked")
    /// Nobody at hand says whether it is revoked, though the policy asks (`X509_V_ERR_UNABLE_TO_GET_CRL`), or a
    /// responder does not know it (RFC 6960, section 2.2).
    public static let revocationUnknown = TrustRule(rawValue: "revocation-unknown")
    /// A list or response before or behind its time, or without an end (`X509_V_ERR_CRL_HAS_EXPIRED`).
    public static let revocationStale = TrustRule(rawValue: "revocation-stale")
    /// A list or response that is signed by nobody who may (RFC 5280, section 6.3.3 (f) and (g); RFC 6960,
    /// section 4.2.2.2; `X509_V_ERR_CRL_SIGNATURE_FAILURE`).
    public static let revocationSigner = TrustRule(rawValue: "revocation-signer")
    /// A list or response that cannot be read, has an unknown critical extension, or is about another certificate.
    public static let revocationUnusable = TrustRule(rawValue: "revocation-unusable")
    /// A certificate that demands a stapled response which did not come (RFC 7633, section 4).
    public static let missingStaple = TrustRule(rawValue: "missing-staple")
}
