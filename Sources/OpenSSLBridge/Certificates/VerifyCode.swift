import CPinctlOpenSSL

/// A verification error code, `X509_V_ERR_…`.
package struct VerifyCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// OpenSSL's text for the code (`X509_verify_cert_error_string`).
    package var reason: String {
        guard let text = unsafe X509_verify_cert_error_string(Int(rawValue)) else { return "error \(rawValue)" }
        return unsafe String(cString: text)
    }

    /// No issuer was found, or the chain ends in a self-signed certificate that isn't an anchor.
    package static let unknownIssuers: Set<VerifyCode> = codes(
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
        X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE)
    /// A signature doesn't verify.
    package static let badSignatures: Set<VerifyCode> = codes(X509_V_ERR_CERT_SIGNATURE_FAILURE)
    /// An issuer isn't allowed to issue certificates.
    package static let notAuthorities: Set<VerifyCode> = codes(
        X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN, X509_V_ERR_INVALID_NON_CA)
    /// More CA certificates follow than a path length constraint allows.
    package static let pathLengths: Set<VerifyCode> = codes(
        X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_CERT_CHAIN_TOO_LONG)
    /// The certificate, or OpenSSL's trust settings for it, doesn't allow this use.
    package static let purposes: Set<VerifyCode> = codes(
        X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_REJECTED)
    /// The name constraints of a CA exclude a name, or the constraints can't be applied.
    package static let nameConstraints: Set<VerifyCode> = codes(
        X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
        X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
        X509_V_ERR_UNSUPPORTED_NAME_SYNTAX)
    /// A key or digest is below the security level.
    package static let weakCryptography: Set<VerifyCode> = codes(
        X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK)
    /// A critical extension isn't processed by OpenSSL.
    package static let criticalExtensions: Set<VerifyCode> = codes(X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION)

    /// None of the required policies applies, or the policies can't be read.
    package static let certificatePolicies: Set<VerifyCode> = codes(
        X509_V_ERR_NO_EXPLICIT_POLICY, X509_V_ERR_INVALID_POLICY_EXTENSION)

    /// OpenSSL ran out of memory, or hit its limit of 1,000 nodes in a policy tree (CVE-2023-0464), which it reports
    /// the same way.
    package static let exhaustions: Set<VerifyCode> = codes(X509_V_ERR_OUT_OF_MEM)

    private static func codes(_ values: Int32...) -> Set<VerifyCode> { Set(values.map(VerifyCode.init(rawValue:))) }
}
