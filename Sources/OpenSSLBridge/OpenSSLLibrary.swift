import COpenSSL

/// The library's one-time start, and what it offers.
package enum OpenSSLLibrary {
    /// Starts OpenSSL without its exit handler (`OPENSSL_INIT_NO_ATEXIT`), and says whether that worked.
    ///
    /// The handler frees global state while other threads may still be inside a handshake, which would make a crash of
    /// an ordinary exit. Whoever starts OpenSSL first decides; ``OpenSSLError/clear()``, which stands before every
    /// call, does it for this project. Everything else is loaded when it is first needed.
    package static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// The version of the library that runs, such as `3.0.19` (`OPENSSL_VERSION_STRING`).
    package static let version = unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))

    /// Whether signatures of an algorithm can be verified, by OpenSSL's name for it (`EVP_SIGNATURE_fetch`).
    package static func verifies(_ algorithm: String) -> Bool {
        OpenSSLError.clear()
        defer { OpenSSLError.clear() }
        guard let signature = unsafe EVP_SIGNATURE_fetch(nil, algorithm, nil) else { return false }
        unsafe EVP_SIGNATURE_free(signature)
        return true
    }
}
