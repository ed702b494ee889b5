import COpenSSL

/// A certificate, its private key and the certificates between it and a root, ready for a handshake.
///
/// Unchecked: nothing is changed after `init`.
@safe package final class OpenSSLIdentity: @unchecked Sendable {
    let leaf: OpenSSLCertificate
    let key: OpenSSLPrivateKey
    /// `STACK_OF(X509)` without the leaf, for `SSL_set1_chain`; it borrows ``intermediates``.
    let chainPointer: OpaquePointer
    private let intermediates: [OpenSSLCertificate]

    /// `X509 *` of the leaf, for `SSL_use_certificate`.
    var certificatePointer: OpaquePointer { unsafe leaf.pointer }
    /// `EVP_PKEY *`, for `SSL_use_PrivateKey`.
    var keyPointer: OpaquePointer { unsafe key.pointer }

    /// The key has to be the leaf's; `chain` is sent behind the leaf as it is.
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
        guard key.matches(leaf) else { throw OpenSSLError(code: 0, reason: "the key is not the certificate's") }
    }

    deinit { unsafe COpenSSL_sk_X509_free(chainPointer) }
}
