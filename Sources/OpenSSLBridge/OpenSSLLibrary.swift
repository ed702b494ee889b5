import COpenSSL

/// The library's one-time start.
package enum OpenSSLLibrary {
    /// Starts OpenSSL without its exit handler (`OPENSSL_INIT_NO_ATEXIT`), and says whether that worked.
    ///
    /// The handler frees global state while other threads may still be inside a handshake, which would make a crash of
    /// an ordinary exit. Whoever starts OpenSSL first decides; ``OpenSSLError/clear()``, which stands before every
    /// call, does it for this project. Everything else is loaded when it is first needed.
    package static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
