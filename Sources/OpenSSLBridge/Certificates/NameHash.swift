import CPinctlOpenSSL

/// Returns the hash of a DER Name by which `openssl rehash` names files (`X509_NAME_hash_ex`), or nil if the Name can't
/// be parsed.
package func subjectNameHash(_ der: Span<UInt8>) -> UInt32? {
    OpenSSLError.clear()
    let hash = unsafe der.withUnsafeBufferPointer { buffer -> UInt32? in
        var cursor = buffer.baseAddress
        guard let name = unsafe d2i_X509_NAME(nil, &cursor, buffer.count) else { return nil }
        defer { unsafe X509_NAME_free(name) }
        var done: Int32 = 0
        let hash = unsafe X509_NAME_hash_ex(name, nil, nil, &done)
        return done == 1 ? UInt32(truncatingIfNeeded: hash) : nil
    }
    OpenSSLError.clear()
    return hash
}
