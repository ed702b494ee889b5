import CPinctlOpenSSL

/// The storage for what a server sends in the extension signed_certificate_timestamp (RFC 6962, section 3.3.1). The
/// SSL's ex_data refers to it, and the engine owns it.
final class TLSTimestamps {
    /// The bytes of the extension, a SignedCertificateTimestampList that wasn't checked. Nil if the server sent none.
    var bytes: [UInt8]?

    /// The ex_data index, negative if OpenSSL couldn't allocate one.
    static let index = COpenSSL_SSL_get_ex_new_index()

    /// Requests the extension on every connection of a context, as browsers do (`SSL_CTX_add_custom_ext`).
    ///
    /// OpenSSL's own CT functions aren't used: they also request an OCSP response, and parse the timestamps before the
    /// server is authenticated.
    static func request(on context: OpaquePointer) -> Bool {
        unsafe SSL_CTX_add_custom_ext(
            context, CUnsignedInt(TLSEXT_TYPE_signed_certificate_timestamp),
            CUnsignedInt(SSL_EXT_CLIENT_HELLO | SSL_EXT_TLS1_2_SERVER_HELLO | SSL_EXT_TLS1_3_CERTIFICATE),
            sendRequest, nil, nil, receiveTimestamps, nil) == 1
    }

    /// Makes this the storage of a connection.
    func attach(to ssl: OpaquePointer) -> Bool {
        unsafe SSL_set_ex_data(ssl, Self.index, Unmanaged.passUnretained(self).toOpaque()) == 1
    }
}

/// The callback that adds the request, which is empty.
private let sendRequest: SSL_custom_ext_add_cb_ex = { _, _, _, bytes, count, _, _, _, _ in
    unsafe bytes?.pointee = nil
    unsafe count?.pointee = 0
    return 1
}

/// The callback for the server's answer. In TLS 1.3 each certificate has extensions, and only those of the leaf count.
private let receiveTimestamps: SSL_custom_ext_parse_cb_ex = { ssl, _, _, bytes, count, _, position, _, _ in
    guard position == 0, let ssl = unsafe ssl, let storage = unsafe SSL_get_ex_data(ssl, TLSTimestamps.index) else {
        return 1
    }
    unsafe Unmanaged<TLSTimestamps>.fromOpaque(storage).takeUnretainedValue().bytes = Array(
        UnsafeBufferPointer(start: bytes, count: count))
    return 1
}
