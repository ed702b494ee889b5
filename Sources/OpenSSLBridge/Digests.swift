import CPinctlOpenSSL

/// Returns the SHA-256 digest (`SHA256_Init`, `SHA256_Update`, `SHA256_Final`), 32 bytes.
///
/// The low-level functions can't fail: they allocate nothing and consult no provider.
package func sha256(_ bytes: Span<UInt8>) -> [32 of UInt8] {
    var digest = [32 of UInt8](repeating: 0)
    var output = digest.mutableSpan
    unsafe bytes.withUnsafeBufferPointer { input in
        unsafe output.withUnsafeMutableBufferPointer { output in
            let done = unsafe COpenSSL_SHA256(input.baseAddress, input.count, output.baseAddress)
            precondition(done == 1, "SHA256_Final failed")
        }
    }
    return digest
}

/// Returns the SHA-1 digest (`SHA1_Init`, `SHA1_Update`, `SHA1_Final`), 20 bytes. Used only for OCSP identifiers (RFC
/// 6960, section 4.1.1), which only locate a certificate, so no security depends on it.
package func sha1(_ bytes: Span<UInt8>) -> [UInt8] {
    [UInt8](capacity: Int(SHA_DIGEST_LENGTH)) { output in
        var digest = [20 of UInt8](repeating: 0)
        var target = digest.mutableSpan
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe target.withUnsafeMutableBufferPointer { target in
                let done = unsafe COpenSSL_SHA1(input.baseAddress, input.count, target.baseAddress)
                precondition(done == 1, "SHA1_Final failed")
            }
        }
        for index in digest.indices { output.append(digest[index]) }
    }
}

/// Hashes bytes with the named digest (`EVP_Q_digest`). Returns nil if OpenSSL's configuration doesn't offer the
/// digest, such as MD5 under FIPS.
package func namedDigest(_ name: String, of bytes: Span<UInt8>) -> [UInt8]? {
    OpenSSLError.clear()
    defer { OpenSSLError.clear() }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    var count = 0
    let done = unsafe bytes.withUnsafeBytes { input in
        unsafe EVP_Q_digest(nil, name, nil, input.baseAddress, input.count, &digest, &count)
    }
    return done == 1 ? Array(digest.prefix(count)) : nil
}

/// Returns the HMAC of bytes with the named digest (RFC 2104; `EVP_Q_mac`). Returns nil for an empty key, or if
/// OpenSSL's configuration doesn't offer the digest, such as MD5 under FIPS.
package func namedHMAC(_ name: String, key: Span<UInt8>, of bytes: Span<UInt8>) -> [UInt8]? {
    guard !key.isEmpty else { return nil }
    OpenSSLError.clear()
    defer { OpenSSLError.clear() }
    var digest = [UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE))
    let size = digest.count
    var count = 0
    let done = unsafe key.withUnsafeBytes { key in
        unsafe bytes.withUnsafeBufferPointer { input in
            unsafe EVP_Q_mac(
                nil, "HMAC", nil, name, nil, key.baseAddress, key.count, input.baseAddress, input.count, &digest, size,
                &count) != nil
        }
    }
    return done ? Array(digest.prefix(count)) : nil
}
