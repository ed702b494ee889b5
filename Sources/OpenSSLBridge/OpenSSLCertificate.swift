import COpenSSL

/// An `X509`, owned.
///
/// Unchecked: the object is never changed after `init`. OpenSSL fills its extension cache lazily and under its own
/// lock; it is filled here, before anyone shares the object.
@safe package final class OpenSSLCertificate: @unchecked Sendable {
    let pointer: OpaquePointer

    /// Parses one DER certificate that fills `der` (`d2i_X509`, `X509_check_purpose` with -1).
    package convenience init(parsing der: Span<UInt8>) throws(OpenSSLError) {
        OpenSSLError.clear()
        let parsed = unsafe der.withUnsafeBufferPointer { buffer -> OpaquePointer? in
            var cursor = buffer.baseAddress
            guard let certificate = unsafe d2i_X509(nil, &cursor, buffer.count) else { return nil }
            guard unsafe cursor == buffer.baseAddress.map({ unsafe $0 + buffer.count }) else {
                unsafe X509_free(certificate)
                return nil
            }
            return unsafe certificate
        }
        guard let parsed = unsafe parsed else { throw OpenSSLError.take() }
        try unsafe self.init(owning: parsed)
    }

    /// A certificate that OpenSSL parsed for a use of its own, held along with it (`X509_up_ref`).
    convenience init(sharing certificate: OpaquePointer) throws(OpenSSLError) {
        OpenSSLError.clear()
        guard unsafe X509_up_ref(certificate) == 1 else { throw OpenSSLError.take() }
        try unsafe self.init(owning: certificate)
    }

    private init(owning certificate: OpaquePointer) throws(OpenSSLError) {
        unsafe pointer = certificate
        // -1 asks for nothing and caches everything. What the cache finds malformed has to be refused here: verification
        // looks at it only where it is asked for a purpose.
        guard unsafe X509_check_purpose(certificate, -1, 0) == 1 else { throw OpenSSLError.take() }
    }

    deinit { unsafe X509_free(pointer) }
}
