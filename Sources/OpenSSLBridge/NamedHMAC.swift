import COpenSSL

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
