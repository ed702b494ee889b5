import CPinctlOpenSSL

/// A certificate, its private key and its intermediate certificates, ready for a handshake.
///
/// Unchecked Sendable: nothing is changed after `init`.
@safe package final class OpenSSLIdentity: @unchecked Sendable {
    let leaf: OpenSSLCertificate
    let key: OpenSSLPrivateKey
    /// `STACK_OF(X509)` without the leaf, for `SSL_set1_chain`. It borrows ``intermediates``.
    let chainPointer: OpaquePointer
    private let intermediates: [OpenSSLCertificate]

    /// The leaf's `X509 *`, for `SSL_use_certificate`.
    var certificatePointer: OpaquePointer { unsafe leaf.pointer }
    /// The key's `EVP_PKEY *`, for `SSL_use_PrivateKey`.
    var keyPointer: OpaquePointer { unsafe key.pointer }

    /// Creates an identity. Throws if `key` doesn't match the leaf. `chain` is sent after the leaf, unchanged.
    package init(
        leaf: OpenSSLCertificate, key: OpenSSLPrivateKey, chain: [OpenSSLCertificate]
    ) throws(OpenSSLError) {
        OpenSSLError.clear()
        guard let stack = unsafe COpenSSL_sk_X509_new_reserve(CInt(clamping: chain.count)) else {
            throw OpenSSLError.take()
        }
        self.leaf = leaf
        self.key = key
        intermediates = chain
        unsafe chainPointer = stack
        for certificate in chain {
            guard unsafe COpenSSL_sk_X509_push(stack, certificate.pointer) > 0 else { throw OpenSSLError.take() }
        }
        guard key.matches(leaf) else {
            throw OpenSSLError(code: 0, reason: "the private key does not match the certificate")
        }
    }

    deinit { unsafe COpenSSL_sk_X509_free(chainPointer) }
}
