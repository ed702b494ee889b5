import CPinctlOpenSSL

/// OpenSSL's one-time initialization, its version and its supported algorithms.
package enum OpenSSLLibrary {
    /// Whether OpenSSL was started without its exit handler (`OPENSSL_INIT_NO_ATEXIT`). Reading it starts OpenSSL.
    ///
    /// The exit handler frees global state while other threads may still be in a handshake, which would turn an
    /// ordinary exit into a crash. The first initialization in a process decides. In this project it happens in
    /// ``OpenSSLError/clear()``, which precedes every call. OpenSSL loads everything else on first use.
    package static let isStarted = OPENSSL_init_crypto(UInt64(OPENSSL_INIT_NO_ATEXIT), nil) == 1

    /// The version of the loaded library, such as `3.0.19` (`OPENSSL_VERSION_STRING`).
    package static let version = unsafe String(cString: OpenSSL_version(OPENSSL_VERSION_STRING))

    /// The reason why the loaded library can't be used, or nil if it can.
    package static let incompatibility = incompatibility(of: OpenSSL_version_num(), version)

    /// Returns the reason why a library with this version number (`OpenSSL_version_num`) can't be used. Its major
    /// version must be that of the headers (`OPENSSL_VERSION_MAJOR`), because it changes with the binary interface.
    package static func incompatibility(of number: UInt, _ version: String) -> OpenSSLError? {
        guard number >> 28 != UInt(OPENSSL_VERSION_MAJOR) else { return nil }
        return OpenSSLError(
            code: 0,
            reason: "OpenSSL \(version) was loaded, but this program was built for OpenSSL \(OPENSSL_VERSION_MAJOR): "
                + "install that, or build the program again")
    }

    /// Whether the process has rights that its caller lacks, such as those of a set-user-ID program. OpenSSL then
    /// ignores environment variables (`OPENSSL_issetugid`).
    package static let isSetUserID = OPENSSL_issetugid() != 0

    /// Returns whether OpenSSL can verify signatures of an algorithm, given OpenSSL's name for it
    /// (`EVP_SIGNATURE_fetch`).
    package static func verifies(_ algorithm: String) -> Bool {
        OpenSSLError.clear()
        defer { OpenSSLError.clear() }
        guard let signature = unsafe EVP_SIGNATURE_fetch(nil, algorithm, nil) else { return false }
        unsafe EVP_SIGNATURE_free(signature)
        return true
    }
}
