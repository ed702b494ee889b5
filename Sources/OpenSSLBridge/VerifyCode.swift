import COpenSSL

/// A code of `X509_V_ERR_…`.
package struct VerifyCode: RawRepresentable, Hashable, Sendable {
    package let rawValue: Int32
    package init(rawValue: Int32) { self.rawValue = rawValue }

    /// OpenSSL's words for it (`X509_verify_cert_error_string`).
    package var reason: String {
        guard let text = unsafe X509_verify_cert_error_string(Int(rawValue)) else { return "error \(rawValue)" }
        return unsafe String(cString: text)
    }

    /// No issuer was found, or a self-signed certificate that is no anchor stands at the end.
    package static let unknownIssuers: Set<VerifyCode> = codes(
        X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
        X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
        X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE)
    /// A signature does not verify.
    package static let badSignatures: Set<VerifyCode> = codes(X509_V_ERR_CERT_SIGNATURE_FAILURE)
    /// An issuer may not issue.
    package static let notAuthorities: Set<VerifyCode> = codes(
        X509_V_ERR_INVALID_CA, X509_V_ERR_KEYUSAGE_NO_CERTSIGN, X509_V_ERR_INVALID_NON_CA)
    /// Too many authorities below one that limits them.
    package static let pathLengths: Set<VerifyCode> = codes(
        X509_V_ERR_PATH_LENGTH_EXCEEDED, X509_V_ERR_CERT_CHAIN_TOO_LONG)
    /// A use the certificate, or OpenSSL's trust settings beside it, does not allow.
    package static let purposes: Set<VerifyCode> = codes(
        X509_V_ERR_INVALID_PURPOSE, X509_V_ERR_CERT_UNTRUSTED, X509_V_ERR_CERT_REJECTED)
    /// A name that the constraints of an authority exclude, or constraints that cannot be applied.
    package static let nameConstraints: Set<VerifyCode> = codes(
        X509_V_ERR_PERMITTED_VIOLATION, X509_V_ERR_EXCLUDED_VIOLATION, X509_V_ERR_SUBTREE_MINMAX,
        X509_V_ERR_UNSUPPORTED_CONSTRAINT_TYPE, X509_V_ERR_UNSUPPORTED_CONSTRAINT_SYNTAX,
        X509_V_ERR_UNSUPPORTED_NAME_SYNTAX)
    /// A key or digest under the security level.
    package static let weakCryptography: Set<VerifyCode> = codes(
        X509_V_ERR_EE_KEY_TOO_SMALL, X509_V_ERR_CA_KEY_TOO_SMALL, X509_V_ERR_CA_MD_TOO_WEAK)
    /// A critical extension OpenSSL does not process.
    package static let criticalExtensions: Set<VerifyCode> = codes(X509_V_ERR_UNHANDLED_CRITICAL_EXTENSION)

    /// No policy that is asked for, or policies that cannot be read.
    package static let certificatePolicies: Set<VerifyCode> = codes(
        X509_V_ERR_NO_EXPLICIT_POLICY, X509_V_ERR_INVALID_POLICY_EXTENSION)

    /// Memory, or what OpenSSL counts as such: its limit of 1,000 nodes in a tree of policies (CVE-2023-0464).
    package static let exhaustions: Set<VerifyCode> = codes(X509_V_ERR_OUT_OF_MEM)

    private static func codes(_ values: Int32...) -> Set<VerifyCode> { Set(values.map(VerifyCode.init(rawValue:))) }
}
