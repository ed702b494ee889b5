import CPinctlOpenSSL

/// A TLS session that can be resumed once (`SSL_SESSION`). It holds the chain that the server presented with it.
@safe package final class TLSSession: @unchecked Sendable {
    // Sendable because nothing here changes it, and OpenSSL counts its references atomically.
    let pointer: OpaquePointer
    /// The list of timestamps that the server sent with the chain, or nil if it sent none. OpenSSL doesn't keep it.
    let timestamps: [UInt8]?

    /// Takes ownership of a reference. Returns nil and releases the reference if the session can't be resumed.
    init?(owning session: OpaquePointer, timestamps: [UInt8]?) {
        guard unsafe SSL_SESSION_is_resumable(session) == 1 else {
            unsafe SSL_SESSION_free(session)
            return nil
        }
        unsafe pointer = session
        self.timestamps = timestamps
    }

    deinit { unsafe SSL_SESSION_free(pointer) }
}

/// The supported TLS versions (RFC 5246, RFC 8446).
package enum TLSVersion: CInt, Sendable, Hashable {
    /// `TLS1_2_VERSION`
    case tls12 = 0x0303
    /// `TLS1_3_VERSION`
    case tls13 = 0x0304
}
