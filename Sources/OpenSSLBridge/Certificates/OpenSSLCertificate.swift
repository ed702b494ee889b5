import CPinctlOpenSSL

/// An owned `X509`.
///
/// Unchecked Sendable: the object is never changed after `init`. OpenSSL fills its extension cache lazily, under its
/// own lock. The cache is filled here, before the object is shared.
@safe package final class OpenSSLCertificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Parses `der`, which must be exactly one DER certificate (`d2i_X509`, `X509_check_purpose` with -1).
    package convenience init(parsing der: Span<UInt8>) throws(OpenSSLError) {
        OpenSSLError.clear()
        let parsed = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            // `d2i_X509` frees the object, and sets the variable to nil, if it fails.
            var certificate = unsafe X509_new_ex(LibraryContext.pointer, nil)
            guard unsafe certificate != nil, unsafe d2i_X509(&certificate, &cursor, buffer.count) != nil else {
                return nil
            }
            guard unsafe cursor == buffer.baseAddress.map({ unsafe $0 + buffer.count }) else {
                unsafe X509_free(certificate)
                return nil
            }
            return unsafe certificate
        }
        guard let parsed = unsafe parsed else { throw OpenSSLError.take() }
        try unsafe self.init(owning: parsed)
    }

    /// Takes a reference to a certificate that OpenSSL has parsed and also keeps (`X509_up_ref`).
    convenience init(sharing certificate: OpaquePointer) throws(OpenSSLError) {
        OpenSSLError.clear()
        guard unsafe X509_up_ref(certificate) == 1 else { throw OpenSSLError.take() }
        try unsafe self.init(owning: certificate)
    }

    private init(owning certificate: OpaquePointer) throws(OpenSSLError) {
        unsafe pointer = certificate
        // -1 checks no purpose and fills the cache. A certificate that the cache finds malformed has to be rejected
        // here, because verification looks at the cache only when a purpose is set.
        // mutant certificate-well-formed: true for `X509_check_purpose(certificate, -1, 0) == 1` by
        //   ServerTrustTests/malformedExtension
        guard unsafe X509_check_purpose(certificate, -1, 0) == 1 else { throw OpenSSLError.take() }
    }

    deinit { unsafe X509_free(pointer) }
}

/// A certificate received in a handshake: its bytes and the object OpenSSL parsed from them.
///
/// Parsing it again for verification would cost as much as the signatures of the handshake itself, because OpenSSL 3
/// decodes the key with every certificate.
package struct ReceivedCertificate: Sendable {
    /// DER (`i2d_X509`). The signed part and the key are the bytes that were received.
    package let derBytes: [UInt8]
    /// The parsed certificate, or nil if its extensions are malformed.
    package let certificate: OpenSSLCertificate?

    init(_ pointer: OpaquePointer) {
        derBytes = unsafe OpenSSLBridge.derBytes(pointer)
        certificate = try? unsafe OpenSSLCertificate(sharing: pointer)
    }
}

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
