import OpenSSLBridge

/// The version of OpenSSL that verifies signatures and paths, and that speaks TLS.
public enum OpenSSLVersion {
    /// The loaded version, such as `3.0.19` (`OPENSSL_VERSION_STRING`).
    public static let loaded = OpenSSLLibrary.version

    /// The reason why the loaded version can't be used, or `nil` if it can. Nothing is verified with one that can't.
    public static let problem = OpenSSLLibrary.incompatibility?.reason
}
