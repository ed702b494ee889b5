import CPinctlOpenSSL

/// The oldest entry of OpenSSL's error queue after a failed call (`ERR_get_error`), or the one that says that memory
/// ran out. In that case the other entries describe what OpenSSL made of it, such as a certificate that it can't parse.
///
/// The queue belongs to the thread, so call ``take()`` directly after the call it explains, with no `await` between.
package struct OpenSSLError: Error, Hashable, Sendable {
    /// The packed error code (`ERR_get_error`), or 0 if the queue was empty.
    package let code: UInt
    /// OpenSSL's text for the reason (`ERR_reason_error_string`).
    package let reason: String

    package init(code: UInt, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Whether memory ran out during the call (`ERR_R_MALLOC_FAILURE`), so that its failure says nothing about the
    /// input.
    package var isOutOfMemory: Bool { COpenSSL_is_out_of_memory(code) == 1 }

    /// Whether an algorithm is unknown or not provided (`ERR_R_UNSUPPORTED` and similar reasons).
    package var isUnsupported: Bool { COpenSSL_is_unsupported(code) == 1 }

    /// The number of the TLS alert that the peer sent (RFC 8446, section 6), or nil if the error has another reason.
    /// OpenSSL numbers alerts from `SSL_AD_REASON_OFFSET` upwards.
    package var alert: UInt8? {
        let reason = COpenSSL_ssl_reason(code)
        return reason >= 1000 && reason < 1256 ? UInt8(reason - 1000) : nil
    }

    /// Whether the peer used a signature, key or cipher that it wasn't offered (`SSL_R_WRONG_SIGNATURE_TYPE` and
    /// similar reasons).
    package var isForeignSignature: Bool {
        [
            SSL_R_WRONG_SIGNATURE_TYPE, SSL_R_WRONG_CERTIFICATE_TYPE, SSL_R_UNKNOWN_CERTIFICATE_TYPE,
            SSL_R_WRONG_CIPHER_RETURNED,
        ].contains(COpenSSL_ssl_reason(code))
    }

    /// Whether the peer chose a protocol version that it wasn't offered (`SSL_R_UNSUPPORTED_PROTOCOL` and similar
    /// reasons).
    package var isForeignVersion: Bool {
        [SSL_R_UNSUPPORTED_PROTOCOL, SSL_R_WRONG_SSL_VERSION, SSL_R_WRONG_VERSION_NUMBER, SSL_R_VERSION_TOO_LOW]
            .contains(COpenSSL_ssl_reason(code))
    }

    /// Empties the queue before a call. Starts the library before the first call.
    static func clear() {
        _ = OpenSSLLibrary.isStarted
        // Emptying it takes long even if it is empty.
        if ERR_peek_error() != 0 { ERR_clear_error() }
    }

    /// Removes and returns the entry that explains the failure, and empties the queue.
    static func take() -> OpenSSLError {
        let oldest = ERR_get_error()
        var code = oldest
        while code != 0, COpenSSL_is_out_of_memory(code) != 1 { code = ERR_get_error() }
        ERR_clear_error()
        guard code == 0 else { return OpenSSLError(code: UInt(code), reason: "out of memory") }
        code = oldest
        guard code != 0 else { return OpenSSLError(code: 0, reason: "no reason given") }
        guard let text = unsafe ERR_reason_error_string(code) else {
            return OpenSSLError(code: UInt(code), reason: "OpenSSL error \(code)")
        }
        return OpenSSLError(code: UInt(code), reason: unsafe String(cString: text))
    }
}
