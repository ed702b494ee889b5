import COpenSSL

/// The keyed digest of bytes (`EVP_Q_mac` with HMAC; RFC 2104) with the digest of this name; nil where OpenSSL's
/// configuration does not offer it, as MD5 under FIPS, and for an empty key.
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
