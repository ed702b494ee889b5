import CPinctlOpenSSL

/// The largest supported RSA key, in bits. The cost of a verification grows with the square of the size.
private let largestRSAKey: Int32 = 8_192

/// Returns whether `signature` over the DER element `signed` verifies with the key in a DER SubjectPublicKeyInfo. The
/// algorithm is the signer's DER AlgorithmIdentifier (`ASN1_item_verify` over `ASN1_ANY`, which keeps the bytes as they
/// are).
///
/// Returns false for input that OpenSSL can't read, and for RSA keys over 8,192 bits. The caller decides which
/// algorithms are strong enough.
package func verifySignature(
    of signed: Span<UInt8>, algorithm: Span<UInt8>, signature: Span<UInt8>, by subjectPublicKeyInfo: Span<UInt8>
) -> Bool {
    OpenSSLError.clear()
    // A rejected signature leaves errors in the queue. Don't leave them for the next caller.
    defer { OpenSSLError.clear() }
    guard let key = unsafe publicKey(subjectPublicKeyInfo) else { return false }
    defer { unsafe EVP_PKEY_free(key) }
    let identifier = unsafe algorithm.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        return unsafe d2i_X509_ALGOR(nil, &cursor, buffer.count)
    }
    guard let identifier = unsafe identifier else { return false }
    defer { unsafe X509_ALGOR_free(identifier) }
    let value = unsafe signed.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        return unsafe d2i_ASN1_TYPE(nil, &cursor, buffer.count)
    }
    guard let value = unsafe value else { return false }
    defer { unsafe ASN1_TYPE_free(value) }
    guard let bits = unsafe ASN1_BIT_STRING_new() else { return false }
    defer { unsafe ASN1_BIT_STRING_free(bits) }
    let isCopied = unsafe signature.withUnsafeBufferPointer { buffer in
        unsafe ASN1_BIT_STRING_set(bits, UnsafeMutablePointer(mutating: buffer.baseAddress), Int32(buffer.count))
    }
    guard isCopied == 1 else { return false }
    // mutant list-signature-one: { return unsafe COpenSSL_verify_any(value, identifier, bits, key) != 0 } by
    //   RevocationListTests/unjudgedSignatures
    return unsafe COpenSSL_verify_any(value, identifier, bits, key) == 1
}

/// Returns whether `signature` over any bytes verifies with the key in a DER SubjectPublicKeyInfo (`EVP_DigestVerify`).
/// An RSA signature has the padding of PKCS#1 v1.5, and an ECDSA signature is DER.
///
/// Returns false for input that OpenSSL can't read, and for RSA keys over 8,192 bits. The caller decides which keys are
/// acceptable.
package func verifySignature(
    of message: Span<UInt8>, _ signature: Span<UInt8>, by subjectPublicKeyInfo: Span<UInt8>, _ hashing: MessageHashing
) -> Bool {
    OpenSSLError.clear()
    defer { OpenSSLError.clear() }
    guard let key = unsafe publicKey(subjectPublicKeyInfo) else { return false }
    defer { unsafe EVP_PKEY_free(key) }
    guard let context = unsafe EVP_MD_CTX_new() else { return false }
    defer { unsafe EVP_MD_CTX_free(context) }
    guard
        unsafe EVP_DigestVerifyInit_ex(context, nil, hashing.name, LibraryContext.pointer, nil, key, nil) == 1
    else { return false }
    return unsafe signature.withUnsafeBufferPointer { signature in
        unsafe message.withUnsafeBufferPointer { message in
            // mutant timestamp-signature-one: unsafe EVP_DigestVerify( context, signature.baseAddress, signature.count,
            //   message.baseAddress, message.count) <= 1 by TimestampTests
            unsafe EVP_DigestVerify(
                context, signature.baseAddress, signature.count, message.baseAddress, message.count) == 1
        }
    }
}

/// Returns the other ECDSA signature of the same message by the same key: (r, n - s) for (r, s), where n is the order
/// of the key's group. Anyone can compute it. Both signatures are DER, and the key is a SubjectPublicKeyInfo of a
/// curve.
package func otherSignature(
    _ signature: Span<UInt8>, by subjectPublicKeyInfo: Span<UInt8>
) throws(OpenSSLError) -> [UInt8] {
    OpenSSLError.clear()
    guard let key = unsafe publicKey(subjectPublicKeyInfo) else { throw OpenSSLError.take() }
    defer { unsafe EVP_PKEY_free(key) }
    // The name is that of the macro OSSL_PKEY_PARAM_EC_ORDER.
    var order: OpaquePointer?
    guard unsafe EVP_PKEY_get_bn_param(key, "order", &order) == 1 else { throw OpenSSLError.take() }
    defer { unsafe BN_free(order) }
    let numbers = unsafe signature.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        return unsafe d2i_ECDSA_SIG(nil, &cursor, buffer.count)
    }
    guard let numbers = unsafe numbers else { throw OpenSSLError.take() }
    defer { unsafe ECDSA_SIG_free(numbers) }
    let (r, s) = unsafe (BN_dup(ECDSA_SIG_get0_r(numbers)), BN_dup(ECDSA_SIG_get0_s(numbers)))
    guard unsafe r != nil, unsafe s != nil, unsafe BN_sub(s, order, s) == 1,
        unsafe ECDSA_SIG_set0(numbers, r, s) == 1
    else {
        unsafe BN_free(r)
        unsafe BN_free(s)
        throw OpenSSLError.take()
    }
    let other = unsafe derBytes { unsafe i2d_ECDSA_SIG(numbers, $0) }
    guard !other.isEmpty else { throw OpenSSLError.take() }
    return other
}

/// The digest of a message that a signature is made over.
package enum MessageHashing: Sendable {
    case sha256
    /// The signature scheme hashes the message itself, as Ed25519 does.
    case bySignatureScheme

    /// The name for OpenSSL, or nil for the scheme's own.
    var name: String? {
        switch self {
        case .sha256: "SHA2-256"
        case .bySignatureScheme: nil
        }
    }
}

/// Returns the key in a DER SubjectPublicKeyInfo (`d2i_PUBKEY`), which the caller frees. Returns nil for an RSA key
/// over 8,192 bits.
private func publicKey(_ subjectPublicKeyInfo: Span<UInt8>) -> OpaquePointer? {
    let key = unsafe subjectPublicKeyInfo.withUnsafeBufferPointer { buffer in
        var cursor = buffer.baseAddress
        return unsafe d2i_PUBKEY(nil, &cursor, buffer.count)
    }
    guard let key = unsafe key else { return nil }
    let family = unsafe EVP_PKEY_get_base_id(key)
    let isRSA = family == EVP_PKEY_RSA || family == EVP_PKEY_RSA_PSS
    guard !isRSA || (unsafe EVP_PKEY_get_bits(key)) <= largestRSAKey else {
        unsafe EVP_PKEY_free(key)
        return nil
    }
    return unsafe key
}
