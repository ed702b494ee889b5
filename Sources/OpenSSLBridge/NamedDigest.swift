import COpenSSL

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
