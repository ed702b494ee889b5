import COpenSSL

/// What OpenSSL's error queue said of a failed call, oldest entry (`ERR_get_error`).
///
/// The queue belongs to the thread, so ``take()`` stands right behind the call it explains, with no `await` between.
package struct OpenSSLError: Error, Hashable, Sendable {
    /// The packed code, 0 when the queue was empty (`ERR_get_error`).
    package let code: UInt
    /// The reason in OpenSSL's words (`ERR_reason_error_string`).
    package let reason: String

    package init(code: UInt, reason: String) {
        self.code = code
        self.reason = reason
    }

    /// Whether an algorithm is not known or not provided (`ERR_R_UNSUPPORTED` and its like).
    var isUnsupported: Bool { COpenSSL_is_unsupported(code) == 1 }

    /// The number of the TLS alert that the peer sent (RFC 8446, section 6), nil when the reason is another:
    /// `SSL_AD_REASON_OFFSET` and above.
    package var alert: UInt8? {
        let reason = COpenSSL_ssl_reason(code)
        return reason >= 1000 && reason < 1256 ? UInt8(reason - 1000) : nil
    }

    /// Whether the peer signed with, or has a key for, what was not offered to it: `SSL_R_WRONG_SIGNATURE_TYPE` and its
    /// like.
    package var isForeignSignature: Bool {
        [
            SSL_R_WRONG_SIGNATURE_TYPE, SSL_R_WRONG_CERTIFICATE_TYPE, SSL_R_UNKNOWN_CERTIFICATE_TYPE,
            SSL_R_WRONG_CIPHER_RETURNED,
        ].contains(COpenSSL_ssl_reason(code))
    }

    /// Empties the queue before a call, and starts the library before the first.
    static func clear() {
        _ = OpenSSLLibrary.isStarted
        ERR_clear_error()
    }

    /// Takes the oldest entry and empties the queue.
    static func take() -> OpenSSLError {
        let code = ERR_get_error()
        ERR_clear_error()
        guard code != 0 else { return OpenSSLError(code: 0, reason: "no reason given") }
        guard let text = unsafe ERR_reason_error_string(code) else {
            return OpenSSLError(code: UInt(code), reason: "OpenSSL error \(code)")
        }
        return OpenSSLError(code: UInt(code), reason: unsafe String(cString: text))
    }
}
