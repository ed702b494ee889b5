import COpenSSL

/// The library's one-time start.
package enum OpenSSLLibrary {
    /// Starts OpenSSL without its exit handler (`OPENSSL_INIT_NO_ATEXIT`), and says whether that worked.
    ///
    /// The handler frees global state while other threads may still be inside a handshake, which would make a crash of
    /// an ordinary exit. Only the first start in a process decides this.
    package static let isStarted = OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1
}
