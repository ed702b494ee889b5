import CPinctlOpenSSL

/// Returns the DER SubjectPublicKeyInfo of an unencrypted private key: PKCS#8, PKCS#1, SEC 1 or DSA
/// (`d2i_AutoPrivateKey`, `i2d_PUBKEY`). No byte of the private key leaves OpenSSL.
package func subjectPublicKeyInfo(ofPrivateKey der: Span<UInt8>) throws(OpenSSLError) -> [UInt8] {
    OpenSSLError.clear()
    return try unsafe subjectPublicKeyInfo(owning: parsePrivateKey(der))
}

/// Parses `der`, which must be exactly one private key. The caller owns the result. Nil means that the reason is in the
/// error queue.
func parsePrivateKey(_ der: Span<UInt8>) -> OpaquePointer? {
    unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var cursor = buffer.baseAddress
        guard let key = unsafe d2i_AutoPrivateKey(nil, &cursor, buffer.count) else { return nil }
        return unsafe allOf(buffer, readTo: cursor) ? key : release(key)
    }
}

/// Returns the DER SubjectPublicKeyInfo of a bare RSA key, PKCS#1 RSAPublicKey (`d2i_PublicKey` with `EVP_PKEY_RSA`).
package func subjectPublicKeyInfo(ofRSAPublicKey der: Span<UInt8>) throws(OpenSSLError) -> [UInt8] {
    OpenSSLError.clear()
    let key = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
        var cursor = buffer.baseAddress
        guard let key = unsafe d2i_PublicKey(EVP_PKEY_RSA, nil, &cursor, buffer.count) else { return nil }
        return unsafe allOf(buffer, readTo: cursor) ? key : release(key)
    }
    return try unsafe subjectPublicKeyInfo(owning: key)
}

private func subjectPublicKeyInfo(owning key: OpaquePointer?) throws(OpenSSLError) -> [UInt8] {
    guard let key = unsafe key else { throw OpenSSLError.take() }
    defer { unsafe EVP_PKEY_free(key) }
    return try unsafe subjectPublicKeyInfo(of: key)
}

/// Returns the DER SubjectPublicKeyInfo of a key, which the caller keeps.
func subjectPublicKeyInfo(of key: OpaquePointer) throws(OpenSSLError) -> [UInt8] {
    var encoded: UnsafeMutablePointer<UInt8>?
    let length = unsafe i2d_PUBKEY(key, &encoded)
    guard length > 0, let encoded = unsafe encoded else { throw OpenSSLError.take() }
    defer { unsafe COpenSSL_free(encoded) }
    return unsafe Array(UnsafeBufferPointer(start: encoded, count: Int(length)))
}

/// Returns whether a `d2i` function read to the end of the buffer. Bytes after the object are rejected.
private func allOf(_ buffer: UnsafeBufferPointer<UInt8>, readTo cursor: UnsafePointer<UInt8>?) -> Bool {
    guard let start = buffer.baseAddress, let cursor = unsafe cursor else { return false }
    return unsafe cursor - start == buffer.count
}

private func release(_ key: OpaquePointer) -> OpaquePointer? {
    unsafe EVP_PKEY_free(key)
    return nil
}
